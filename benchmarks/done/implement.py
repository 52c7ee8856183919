"""The scripted implementer: writes given bytes into the working folder and claims success.

Its source travels in the command itself (`work.Work.implementer`), since a tool's sandbox may
hide every folder but the repository. It always ends with 0.
"""

import json
import subprocess
from pathlib import Path


def implement(order: str) -> None:
    """Do what a JSON document says, and claim that all is done.

    It has `edits` (path to text, null for a file that goes), `commands` to run afterwards, `says`
    to print, and `secret` in parts that are joined only here.
    """
    task = json.loads(order)
    secret = "".join(task["secret"])
    for path, text in task["edits"].items():
        target = Path(path)
        if text is None:
            target.unlink(missing_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text.replace("{{secret}}", secret), encoding="utf-8")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    for words in task["commands"]:
        made = [word.replace("{{secret}}", secret) for word in words]
        subprocess.run(made, check=False, **quiet)
    print(task["says"].replace("{{secret}}", secret))
    print("All done: the work is complete and every test passes. TASK_COMPLETE")
