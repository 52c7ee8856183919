"""Run the tests that the judgement of `runner impact` chooses for a work tree: `make changed`.

Each test file is a test contract of one task, so the answer names test files. A change that may
reach every test (settings, a conftest, a file that the product names) chooses all of them.
With `--planted` it judges the bugs of `tests/planted` instead, and fails where a test that finds
one is not chosen.
"""

import re
import statistics
import subprocess
import sys
from pathlib import Path

from campaigns import PLANTED, read_planted

from runner.app.change.change_source import of_working_tree
from runner.impact.answer import Changed, Width, judge
from runner.impact.inputs import knowledge_of
from runner.plan.document import read_plan
from runner.repo.read import Repository

ROOT = Path(__file__).parent.parent
KNOWN = ROOT / "build"  # keeps the references that were read for the next question
HEAD = "## TASK-001: Tests\n\n- Status: DONE\n- Output files: `build/none`\n- Test contracts:\n"


def find_tests(root):
    """Return the test files of a work tree, those that git does not know yet too."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "tests"]
    said = subprocess.run(words, cwd=root, capture_output=True, check=True).stdout
    names = sorted({name for name in said.decode().split("\0") if name})
    return [one for one in names if Path(one).match("test_*.py") and (root / one).is_file()]


def choose(root, cache=None, changes=()):
    """Return the changed paths, the chosen and all test files, and the first reason.

    `changes` are judged instead of what differs from HEAD.
    """
    tests = {f"TC-{number:04}": file for number, file in enumerate(find_tests(root), start=1)}
    lines = (f"  - {id_} (unit): `python -m pytest {file}`\n" for id_, file in tests.items())
    tasks = read_plan((HEAD + "".join(lines)).encode(), "tests").tasks
    with Repository.open(root) as repository:
        found = changes or of_working_tree(repository)
        head = repository.head().commit or ""
        knowledge = knowledge_of(repository, cache, tasks, head, owners=b"")
        affected = judge(found, knowledge, Width(conservative=True)).affected
    chosen = sorted(tests[id_] for one in affected for id_ in one.contracts)
    why = next((why.text for one in affected for why in one.reasons), "no test reaches them")
    return [one.path for one in found], chosen, list(tests.values()), why


def check_planted():
    """Print which share of the tests is chosen for each planted bug; return how many are missed."""
    shares, missed = [], 0
    for bug in read_planted():
        patch = (PLANTED / f"{bug.name}.patch").read_text("utf-8")
        files = [ROOT / path for path in re.findall(r"^--- a/(.+)$", patch, re.MULTILINE)]
        changes = [Changed(str(one.relative_to(ROOT)), one.read_bytes(), b"X = 1") for one in files]
        _, chosen, every, _ = choose(ROOT, KNOWN, changes)
        finders = [one.partition("::")[0] for one in bug.tests if one.startswith("tests/")]
        lost = [one for one in finders if not any(file.startswith(one) for file in chosen)]
        missed += bool(lost)
        shares.append(len(chosen) / len(every))
        print(f"{shares[-1]:4.0%} {bug.name} {' '.join(lost)}", flush=True)
    print(
        f"{len(shares)} planted bugs, {missed} missed; median share {statistics.median(shares):.0%}"
    )
    return missed


def main(options):
    """Say what is chosen and why, and run it with these options of pytest."""
    if options == ["--planted"]:
        return min(check_planted(), 1)
    paths, chosen, every, why = choose(ROOT, KNOWN)
    if not paths:
        print("changed: no file differs from HEAD, so no test runs")
        return 0
    count = f"{len(chosen)} of {len(every)} test files for {len(paths)} changed files"
    print(f"changed: {count}: {why}", flush=True)
    words = [sys.executable, "-m", "pytest", *options, *(["tests"] if chosen == every else chosen)]
    return subprocess.run(words, cwd=ROOT, check=False).returncode if chosen else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
