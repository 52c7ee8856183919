"""The stand-in for an agent program that plays a script, set as the person's own agent."""

import json
import shlex
import shutil
import sys
from pathlib import Path

STAND_IN = Path(__file__).parents[1] / "implementers/agents/stand_in.py"


def install_agent(workplace, folder, tasks, **settings):
    """Set it as the agent, in the sandbox where there is one; `tasks` are those of its script."""
    folder.mkdir(exist_ok=True)
    shutil.copy(STAND_IN, folder)
    (folder / "script.json").write_text(json.dumps({"tasks": tasks}))
    words = [sys.executable, str(folder / "stand_in.py"), str(folder / "script.json")]
    own = {"agent_command": shlex.join(words), "sandbox_read": [str(folder)], "sandbox": "auto"}
    own |= settings
    if not shutil.which("bwrap"):
        own["sandbox"] = "none"
    workplace.settle(**own)
