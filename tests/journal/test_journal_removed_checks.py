"""A journal with proofs and findings of checks that are gone is read as it was."""

from pathlib import Path

from runner.journal.records import decode
from runner.journal.state import fold
from runner.model import Status

JOURNAL = Path(__file__).parents[1] / "golden" / "journal" / "removed_checks.jsonl"


def test_a_journal_with_findings_of_removed_checks_folds_as_it_did():
    state = fold([decode(line) for line in JOURNAL.read_bytes().splitlines()])
    assert {name: state.task(name).status for name in sorted(state.tasks)} == {
        "TASK-001": Status.BLOCKED,
        "TASK-002": Status.BLOCKED,
        "TASK-003": Status.DONE,
        "TASK-004": Status.DONE,
    }
    assert [(one.check, one.asks, one.path) for one in state.task("TASK-001").findings] == [
        ("hardcoded-answers", True, "slug.py"),
        ("plan-examples-run", True, "slug.py"),
    ]
    assert [one.check for one in state.task("TASK-002").findings] == ["knows-tests"]
    assert [one.id for one in state.task("TASK-003").proofs] == ["TC-003", "coverage", "mutation"]
