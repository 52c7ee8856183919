"""A plan, what a program drafts for it, and that program: one canned answer after the other."""

from workplace import a_task

MINE = a_task("TASK-007", "Mine", blocks={"mine.py": "M = 1\n"}, tests=["python3 -c 'import mine'"])
GOOD = """Here it is.

~~~~markdown draft
## TASK-008: Export bookings as CSV

- Depends on: TASK-007
- Output files: `export.py`, `tests/test_export.py`
- Inputs: `mine.py`
- Acceptance:
  - A1: a booking is a line
- Test contracts:
  - TC-008 (unit): `python3 -m unittest -q tests.test_export`
- Keywords: csv, export
- Priority: high

Write it plainly.
~~~~

~~~~asked
- bookings as CSV: TASK-008
- sent by mail: none
~~~~
"""
SCRIPT = """\
import os, sys
from pathlib import Path
home = Path({home!r})
asked = sys.stdin.read()
assert os.environ["RUNNER_MODE"] == "draft" and os.environ["RUNNER_TASK"] == "DRAFT"
number = len(list(home.glob("asked-*")))
(home / f"asked-{{number}}").write_text(asked)
answers = sorted(home.glob("answer-*"))
print(answers[min(number, len(answers) - 1)].read_text())
"""


class CannedDrafter:
    """Gives the answers that it was told, and keeps what it was asked."""

    def __init__(self, home):
        self.home = home
        self.program = home / "drafter.py"
        self.program.write_text(SCRIPT.format(home=str(home)))

    def says(self, *answers):
        for old in self.home.glob("a*-*"):
            old.unlink()
        for at, answer in enumerate(answers):
            (self.home / f"answer-{at}").write_text(answer)

    @property
    def asked(self):
        return [one.read_text() for one in sorted(self.home.glob("asked-*"))]


def with_line(old, new):
    """The good draft with another line."""
    assert old in GOOD
    return GOOD.replace(old, new)


def plan_of(workplace):
    return (workplace.root / "TASK-GRAPH.md").read_bytes()
