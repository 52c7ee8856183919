"""`check-coverage` says how much of a task's own lines its tests run, on the tree as it is."""

import subprocess
import sys
from pathlib import Path

import pytest

from runner.gates.coverage.lines import commits_of, lines_of_landing
from runner.journal.events import AttemptStarted, TaskDone
from runner.model import Coverage, Proof, Verdict, digest_of
from runner.repo.read import Repository

ROOT = Path(__file__).parents[2]
PLAN = """\
# Shop

## TASK-001: Price

- Status: DONE
- Output files: `price.py`, `test_price.py`
- Test contracts:
  - TC-001 (unit): `{python} -m unittest -q test_price`
- Coverage: 60%

## TASK-002: Words

- Output files: `README.md`
"""
FIRST = "def total(items):\n    if not items:\n        return 0\n    return sum(items)\n"
LATER = FIRST + "\n\ndef half(x):\n    return x / 2\n"
TEST = """\
import unittest
import price


class TestTotal(unittest.TestCase):
    def test_total(self):
        self.assertEqual(price.total([1, 2]), 3)
"""


@pytest.fixture
def shop(ground):
    ground.git("init", "-q", "-b", "main")
    ground.write("TASK-GRAPH.md", PLAN.format(python=sys.executable))
    ground.write(".gitignore", "artifacts/\n__pycache__/\n")
    ground.commit()
    ground.write("price.py", FIRST)
    ground.write("test_price.py", TEST)
    ground.commit("feat(TASK-001): price\n\nTask: TASK-001\nAttempt: 1\n")
    return ground


def check(ground, *words):
    return ground.runner("check-coverage", "--trust", "--task", *words)


def test_it_runs_the_test_contracts_and_says_what_they_leave_out(shop):
    said = check(shop, "TASK-001")
    assert said.out == ("TASK-001: ✅ 75% of 4 lines (threshold 60%)\n  not run: price.py 3\n"), (
        said.err
    )
    assert said.code == 0


def test_a_higher_threshold_is_not_reached(shop):
    said = check(shop, "1", "--threshold", "80", "--json")
    assert said.code == 1
    assert said.json["passed"] is False
    assert said.json["coverage"]["percent"] == 75
    assert said.json["coverage"]["threshold"] == 80
    assert said.json["uncovered"] == ["price.py 3"]
    assert said.json["source"] == "measured"


def test_lines_of_others_in_its_files_do_not_count(shop):
    shop.write("price.py", LATER)
    shop.commit("feat(TASK-002): half\n\nTask: TASK-002\nAttempt: 1\n")
    assert "75% of 4 lines" in check(shop, "TASK-001").out
    with Repository.open(shop.folder) as repository:
        assert lines_of_landing(commits_of("TASK-001", repository), (), repository) == {
            "price.py": {1, 2, 3, 4}
        }
        assert lines_of_landing(commits_of("TASK-002", repository), (), repository) == {
            "price.py": {5, 6, 7, 8}
        }
        assert lines_of_landing(commits_of("TASK-009", repository), (), repository) == {}


def test_what_no_commit_has_yet_counts_where_the_task_may_write(shop):
    shop.write("price.py", LATER)
    said = check(shop, "TASK-001")
    assert said.out == ("TASK-001: ✅ 66% of 6 lines (threshold 60%)\n  not run: price.py 3, 8\n")


def test_a_failing_test_is_said_instead(shop):
    shop.write("price.py", FIRST.replace("sum", "max"))
    said = check(shop, "TASK-001")
    assert said.code == 1
    assert "coverage —" in said.out
    assert "TC-001: " in said.err


def test_a_task_without_test_contracts_has_no_coverage(shop):
    said = check(shop, "TASK-002")
    assert (said.code, said.out) == (0, "TASK-002: coverage —\n")


def test_wrong_usage_says_so(shop):
    assert check(shop, "TASK-009").code == 2
    assert check(shop, "TASK-001", "--threshold", "170").code == 2


def test_the_last_measurement_is_told_while_the_tree_is_the_one_it_saw(shop):
    commit = shop.git("rev-parse", "HEAD")
    proof = Proof(
        "coverage", "coverage", "", Verdict.PASS, 0, 0.1, digest_of(b""), note="not run: a.py 7"
    )
    spec = shop.spec("TASK-001")
    shop.journal(
        (AttemptStarted(spec=spec, base="", implementer="none"), "TASK-001", 1),
        (
            TaskDone(
                spec=spec,
                commit=commit,
                tree=shop.git("rev-parse", "HEAD^{tree}"),
                proofs=(proof,),
                coverage=Coverage(88.0, 25, 70),
            ),
            "TASK-001",
            1,
        ),
    )
    said = check(shop, "TASK-001", "--json")
    assert said.json["source"] == "journal"
    assert said.json["coverage"]["percent"] == 88
    assert said.json["uncovered"] == ["a.py 7"]
    assert check(shop, "TASK-001", "--again", "--json").json["source"] == "measured"
    shop.write("other.py", "X = 1\n")
    assert check(shop, "TASK-001", "--json").json["source"] == "measured"


def test_the_script_says_the_same(shop):
    words = ["--task", "TASK-001", "--threshold", "70", "--trust"]
    said = subprocess.run(
        [sys.executable, ROOT / "scripts" / "check_coverage.py", *words],
        cwd=shop.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("TASK-001: ✅ 75% of 4 lines (threshold 70%)")
