"""What the gate selects for real commits as pull requests, beside the whole suite.

    python benchmarks/gate/measure.py CLONE [--tests COMMAND] [--count 3] [--result FILE]

CLONE is a clone of a project without a plan, whose tests run there as they are (its virtual
environment on PATH). The newest commits that change code and tests together, and neither settings
nor CI, are taken: each is measured as a pull request into its parent, with a map that was recorded
on the parent, and once more with everything run. One line of JSON for each.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

_CODE = re.compile(r"\.(?:py|js|mjs|cjs)$")
_TEST = re.compile(r"(?:\A|/)(?:tests?|testing)/|test_\w+\.py$|\.test\.\w+$")
_MOST_FILES = 6


def git(clone: Path, *words: str) -> str:
    """What git says; CalledProcessError where it refuses."""
    done = subprocess.run(["git", *words], cwd=clone, capture_output=True, text=True, check=True)
    return done.stdout


def choose(clone: Path, count: int) -> list[str]:
    """The newest commits of code and tests together."""
    found = []
    for commit in git(clone, "log", "--no-merges", "--format=%H", "-n", "400").split():
        names = git(clone, "show", "--name-only", "--format=", commit).split()
        code = [one for one in names if _CODE.search(one) and not _TEST.search(one)]
        tests = [one for one in names if _CODE.search(one) and _TEST.search(one)]
        others = [
            one for one in names if not _CODE.search(one) and not one.endswith((".md", ".rst"))
        ]
        if code and tests and not others and len(names) <= _MOST_FILES:
            found.append(commit)
        if len(found) == count:
            break
    return found


def gate(clone: Path, *words: str) -> dict[str, object]:
    """One gate: its document, with its exit code."""
    command = (sys.executable, "-P", "-m", "runner", "gate", "--trust", "--json", *words)
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)
    said = json.loads(done.stdout) if done.stdout.strip() else {"said": done.stderr[-500:]}
    return {**said, "exit": done.returncode}


def measure(clone: Path, commit: str, tests: tuple[str, ...]) -> dict[str, object]:
    """A commit as a pull request into its parent."""
    git(clone, "checkout", "-q", "-B", "base", f"{commit}^")
    recorded = gate(clone, "--record", *tests)
    git(clone, "checkout", "-q", "-B", "change", commit)
    chosen = gate(clone, "--base", "base", *tests)
    whole = gate(clone, "--base", "base", "--all", *tests)
    return {"commit": commit, "recorded": recorded, "chosen": chosen, "whole": whole}


def main() -> None:
    """Measure the commits of one project."""
    read = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    read.add_argument("clone", type=Path)
    read.add_argument("--tests", default="")
    read.add_argument("--count", type=int, default=3)
    read.add_argument("--result", type=Path)
    given = read.parse_args()
    tests = ("--tests", given.tests) if given.tests else ()
    for commit in choose(given.clone, given.count):
        line = json.dumps(
            {"project": given.clone.resolve().name, **measure(given.clone, commit, tests)}
        )
        if given.result:
            with given.result.open("a") as file:
                file.write(line + "\n")
        print(line)


if __name__ == "__main__":
    main()
