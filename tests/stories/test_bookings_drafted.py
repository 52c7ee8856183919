"""The bookings service from a wish: drafted, corrected twice, approved, built and proven."""

import json
import re
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "bookings" / "TASK-GRAPH.md"
BLOCK = re.compile(r"^```(\w+) file=(\S+)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
AGENT = """\
import json, os, sys
from pathlib import Path
home = Path({home!r})
if os.environ.get("RUNNER_MODE") == "draft":
    asked = sys.stdin.read()
    number = len(list(home.glob("asked-*")))
    (home / f"asked-{{number}}").write_text(asked)
    print((home / f"answer-{{number}}").read_text())
else:
    for path, text in json.loads((home / "files.json").read_text())[os.environ["RUNNER_TASK"]]:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)
"""


def test_a_wish_on_bookings_becomes_a_service_that_is_proven(workplace, tmp_path):
    text = EXAMPLE.read_text()
    sections = re.split(r"^(?=## TASK-)", text, flags=re.MULTILINE)[1:6]
    files = {one[3:11]: [found[1:] for found in BLOCK.findall(one)] for one in sections}
    drafted = "".join(BLOCK.sub("", one) for one in sections)
    assert "- Type: data" in drafted
    plain = re.sub(r"^- Type: (?:api|data)\n", "", drafted, flags=re.MULTILINE)
    wrong = plain.replace("- Output files", "- Inputs: `nobody/knows.py`\n- Output files", 1)
    home = tmp_path / "agent"
    home.mkdir()
    (home / "agent.py").write_text(AGENT.format(home=str(home)))
    (home / "files.json").write_text(json.dumps(files))
    for number, one in enumerate((wrong, drafted, plain)):
        asked = "~~~~asked\n- rooms are booked: TASK-004\n- a page: none\n~~~~\n"
        (home / f"answer-{number}").write_text(f"~~~~markdown draft\n{one}~~~~\n\n{asked}")
    settings = workplace.home / "config/runner/runner.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(
        f'build.command = "{sys.executable} {home}/agent.py"\nsandbox.kind = "none"\n'
    )
    workplace.commit({"README.md": "# Bookings\n"})

    said = workplace.runner("draft", "--trust", "people book rooms")
    assert said.code == 3, said.said
    assert "nobody/knows.py" in (home / "asked-1").read_text()
    assert "omit its Type" in (home / "asked-2").read_text()
    assert "removed, draft:" in said.out
    assert "requested, but not covered: a page" in said.out
    assert workplace.runner("approve", "DRAFT-1").code == 0
    workplace.git("add", "-A")
    workplace.git("commit", "-qm", "plan")
    ended = workplace.run()
    assert ended.code == 0, ended.said
    tasks = workplace.runner("list", "--json").document["tasks"]
    assert {one["id"]: one["grade"] for one in tasks} == dict.fromkeys(files, "proven")
    # those that wait for the same one land in any order
    assert sorted(workplace.landings) == list(files)
