"""Make the folder in which an example of a page runs, by the name in the page's comment."""

import os
import subprocess
import sys
from pathlib import Path

SHOP = {
    "shop/__init__.py": "",
    "shop/price.py": "def price(net):\n    return net * 119 // 100\n",
    "tests/__init__.py": "",
    "tests/test_price.py": (
        "import unittest\n\nfrom shop.price import price\n\n\n"
        "class PriceTest(unittest.TestCase):\n"
        "    def test_price(self):\n        self.assertEqual(price(100), 119)\n"
    ),
}
PLAN = """\
## TASK-001: Double a number

- Output files: `double.py`, `test_double.py`
- Acceptance:
  - A1: four becomes eight
- Command: `sh implement.sh`
- Test contracts:
  - TC-001 (unit): `python -m pytest -q test_double.py`
"""
IMPLEMENT = """\
cat > /dev/null
printf 'def double(n):\\n    return n * 2\\n' > double.py
printf 'from double import double\\n\\n\\ndef test_double():\\n    assert double(4) == 8\\n' \\
  > test_double.py
"""
HELD_OUT = (
    'from double import double\n\n\ndef test_a1():\n    """A1"""\n    assert double(4) == 8\n'
)


class Workplace:
    """A folder with a home of its own, where the lines of an example are typed."""

    def __init__(self, place: Path):
        self.root = place / "shop"
        self.root.mkdir()
        home = place / "home"
        home.mkdir()
        # `runner` alone is not on the tests' PATH, whose `python` starts sooner.
        programs = f"{os.environ['PATH']}{os.pathsep}{Path(sys.executable).parent}"
        # Settings and CI of whoever runs the tests must not decide what an example does.
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("RUNNER_", "GIT_", "XDG_")) and name != "CI"
        }
        self.environment = {**kept, "HOME": str(home), "PATH": programs}
        (home / ".gitconfig").write_text(
            "[user]\nname = Ada\nemail = ada@example.org\n[init]\ndefaultBranch = main\n"
        )
        self.settings = home / ".config/runner/runner.toml"

    def type(self, lines: str) -> subprocess.CompletedProcess:
        """Run the lines in a shell that stops at the first failure."""
        return subprocess.run(
            ["bash", "-eu", "-o", "pipefail", "-c", lines],
            cwd=self.root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def prepare(self, lines: str) -> None:
        """Run lines that must succeed before the example."""
        done = self.type(lines)
        assert done.returncode == 0, f"{lines}\n{done.stdout}\n{done.stderr}"

    def write(self, files: dict[str, str]) -> None:
        """Write files below the folder."""
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def commit(self, files: dict[str, str]) -> None:
        """Write files and commit everything in a new repository."""
        self.write(files)
        self.prepare("git init -q && git add -A && git commit -q -m base")


def empty(place: Workplace) -> None:
    """Leave the folder empty."""


def python_project(place: Workplace) -> None:
    """Commit a package with a test."""
    place.commit(SHOP)


def command_task(place: Workplace) -> None:
    """Commit nothing but a README."""
    place.commit({"README.md": "# Shop\n"})


def plan_mistake(place: Workplace) -> None:
    """Commit a plan whose dependency does not exist."""
    place.commit({"TASK-GRAPH.md": PLAN + "- Depends on: TASK-009\n", "implement.sh": IMPLEMENT})


def waiting_review(place: Workplace) -> None:
    """Build a task whose change waits for a person."""
    place.commit({"TASK-GRAPH.md": PLAN + "- Review: prompt\n", "implement.sh": IMPLEMENT})
    place.prepare("runner --trust || test $? = 3")


def built(place: Workplace) -> None:
    """Build the plan of `runner init`."""
    place.prepare("git init -q && runner init && git add -A && git commit -q -m plan && runner")


def two_branches(place: Workplace) -> None:
    """Commit a package, and on a branch a change of it that keeps its test."""
    place.commit(SHOP)
    changed = SHOP["shop/price.py"].replace("net * 119 // 100", "net * 238 // 200")
    place.prepare("git switch -q -c change")
    place.write({"shop/price.py": changed})
    place.prepare("git commit -q -a -m change")


def held_out(place: Workplace) -> None:
    """Commit a plan with an acceptance item, and leave a test file uncommitted."""
    place.commit({"TASK-GRAPH.md": PLAN, "implement.sh": IMPLEMENT})
    place.write({"test_acceptance.py": HELD_OUT})


def team(place: Workplace) -> None:
    """Make a remote repository that this machine's worker may build."""
    remote = place.root.parent / "remotes" / "shop.git"
    place.commit({"TASK-GRAPH.md": PLAN, "implement.sh": IMPLEMENT})
    place.prepare(f"git clone -q --bare . {remote}")
    place.settings.parent.mkdir(parents=True)
    place.settings.write_text(f'team.worker_folders = ["{remote.parent}"]\nreview.mode = "off"\n')
    place.environment["REPOSITORY"] = str(remote)


def untrusted(place: Workplace) -> None:
    """Commit a plan that nobody has agreed to."""
    place.commit({"TASK-GRAPH.md": PLAN, "implement.sh": IMPLEMENT})


SETUPS = {
    "empty": empty,
    "python-project": python_project,
    "command-task": command_task,
    "plan-mistake": plan_mistake,
    "waiting-review": waiting_review,
    "built": built,
    "two-branches": two_branches,
    "held-out": held_out,
    "team": team,
    "cluster": built,
    "page": built,
    "untrusted": untrusted,
}
