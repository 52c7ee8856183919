"""A shop's repository at a small forge, with a program that drafts and one that builds."""

import signal
import subprocess

from forge_server import ForgeServer
from workplace import Workplace, a_task

DRAFT = """\
~~~~markdown draft
## TASK-008: Export bookings as CSV

- Output files: `export.py`, `test_export.py`
- Acceptance:
  - a booking is a line
- Test contracts:
  - TC-008 (unit): `python3 -m unittest -q test_export`

Write it plainly.
~~~~

~~~~asked
- bookings as CSV: TASK-008
~~~~
"""
PROGRAM = """\
import os, sys
from pathlib import Path
home = Path({home!r})
asked = sys.stdin.read()
mode = os.environ.get("RUNNER_MODE", "")
(home / ("asked-" + (mode or "build"))).write_text(asked + chr(10) + repr(sorted(os.environ)))
if mode == "draft":
    print((home / "draft").read_text())
else:
    exec((home / "build.py").read_text())
"""
BUILD = """\
Path("export.py").write_text("def export(rows):\\\\n    return chr(10).join(rows)\\\\n")
Path("test_export.py").write_text(
    "import unittest\\\\nfrom export import export\\\\n\\\\n\\\\n"
    "class Export(unittest.TestCase):\\\\n"
    "    def test_a_booking_is_a_line(self):\\\\n"
    "        self.assertEqual(export(['a', 'b']).split(), ['a', 'b'])\\\\n"
)
""".replace("\\\\n", "\\n")
BASE = a_task("TASK-007", "Mine", blocks={"mine.py": "M = 1\n"}, tests=["python3 -c 'import mine'"])


class Shop:
    """The clone of whoever runs the bridge, the remote, and the forge beside it."""

    def __init__(self, workplace, folder, forge):
        self.workplace, self.folder, self.forge = workplace, folder, forge
        self.home = folder / "program"
        self.home.mkdir()
        self.says(DRAFT)
        self.builds(BUILD)
        program = self.home / "program.py"
        program.write_text(PROGRAM.format(home=str(self.home)))
        settings = workplace.home / "config/runner"
        settings.mkdir(parents=True, exist_ok=True)
        text = f'build.command = "python3 {program}"\nsandbox.kind = "none"\nreview.mode = "off"\n'
        (settings / "runner.toml").write_text(text + "git.lease_seconds = 2\nbuild.attempts = 2\n")

    def keeps_artifacts(self):
        """Have what runs leave be stored in this folder."""
        settings = self.workplace.home / "config/runner/runner.toml"
        store = self.folder / "artifacts"
        settings.write_text(f'{settings.read_text()}\n[artifacts]\nstore = "{store}"\n')
        return store

    def says(self, draft):
        (self.home / "draft").write_text(draft)

    def builds(self, code):
        (self.home / "build.py").write_text(code)

    def asked(self, what):
        return (self.home / f"asked-{what}").read_text()

    def request(self, title="Export bookings", body="as CSV", *, by="eve", labelled="ada"):
        number = self.forge.open_issue(by, title, body)
        self.forge.label(labelled, number, "runner")
        return number

    def words(self, *more):
        return ("bridge", "github", "--repo", self.forge.name, "--api", self.forge.address, *more)

    @property
    def variables(self):
        return {"GH_TOKEN": self.forge.token}

    def start(self, *more):
        return self.workplace.start(*self.words("--trust", *more), **self.variables)

    def round(self, *more):
        """One round of the real program: exit code and all that it said."""
        process = self.start(*more)
        out, err = process.communicate(timeout=300)
        return process.returncode, out + err

    def status(self, number):
        """The one comment of ours."""
        (said,) = [one for one in self.forge.comments_of(number) if one["user"] == self.forge.bot]
        return said["body"]

    def digest(self, number):
        return self.status(number).partition("/runner approve ")[2][:12]

    def branch(self, number):
        """Of an issue with the title that `request` gives."""
        return f"runner/{number}-export-bookings"

    def labels(self, number):
        return set(self.forge.issues[number]["labels"]) - {"runner"}


def open_shop(tmp_path, home):
    bare = tmp_path / "shop.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", bare], check=True)
    workplace = Workplace.begin(tmp_path / "shop", home)
    workplace.plan(BASE)
    workplace.git("remote", "add", "origin", str(bare))
    workplace.git("push", "-q", "-u", "origin", "main")
    forge = ForgeServer("acme/shop", bare)
    forge.people |= {"ada": "write", "tom": "triage"}
    return workplace, forge


def kill(process):
    """SIGKILL, for the program alone: what it started goes on."""
    process.send_signal(signal.SIGKILL)
    process.wait()
