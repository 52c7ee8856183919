from runner.model import Decision, Level, Spec, Task, TestContract
from runner.report.checkpoint import Checkpoint, Criteria, criteria_of, full_checkpoint
from runner.report.decisions_file import decision_entry, next_number


def test_a_full_checkpoint_says_all_of_it():
    assert full_checkpoint(
        Checkpoint(
            number=2,
            date="2026-11-21",
            completed=(("TASK-001", "Model"), ("TASK-002", "Storage")),
            pending=3,
            blocked=(("TASK-004", "TC-004 failed 5 times"),),
            stale=(("TASK-003", "CHANGE-001: other fields"),),
            patterns=(("PATTERN-001", "Database sessions"),),
            regressions=(),
            commit="0123456789abcdef",
            criteria=Criteria(2, (("TASK-002", "an end before its start is refused"),)),
            sast=(("TASK-001", "1 low"),),
        )
    ) == (
        "\n=== Checkpoint 2 — 2026-11-21\n"
        "Completed since the last: TASK-001 (Model), TASK-002 (Storage)\n"
        "PENDING: 3\n"
        "BLOCKED: 1 — TASK-004 (TC-004 failed 5 times)\n"
        "STALE: 1 — TASK-003 (CHANGE-001: other fields)\n"
        "Patterns applied: PATTERN-001 (Database sessions)\n"
        "Regression: ✅ no cross-task failures\n"
        "Last landed: 0123456789ab\n"
        "Acceptance: 2 of 3 criteria have a test contract that names them, these have none:\n"
        "- TASK-002: an end before its start is refused\n"
        "SAST of TASK-001: 1 low\n"
        "\n"
    )


def test_an_empty_one_has_dashes():
    assert full_checkpoint(Checkpoint(1, "2026-11-21", (), 0)) == (
        "\n=== Checkpoint 1 — 2026-11-21\n"
        "Completed since the last: —\n"
        "PENDING: 0\n"
        "BLOCKED: 0\n"
        "STALE: 0\n"
        "Patterns applied: —\n"
        "Regression: —\n"
        "Last landed: —\n"
        "Acceptance: —\n"
        "\n"
    )


def test_a_regression_is_named():
    text = full_checkpoint(Checkpoint(1, "d", (), 0, regressions=("TC-002",)))
    assert "Regression: ❌ TC-002\n" in text


def test_a_criterion_is_named_by_the_contracts_id_or_by_the_tests_name():
    spec = Spec("sha256:0", "sha256:0")
    contracts = (
        TestContract("TC-002", Level.UNIT, "pytest tests/t.py::test_an_end_before_its_start"),
    )
    task = Task(
        "TASK-002",
        "t",
        1,
        spec,
        acceptance=(
            "An end before its start",
            "it is fast (tc-002)",
            "it is small (TC-0021)",
            "!!!",
        ),
        test_contracts=contracts,
    )
    found = criteria_of([task, Task("TASK-003", "t", 9, spec, acceptance=("x",))])
    assert found == Criteria(
        2, (("TASK-002", "it is small (TC-0021)"), ("TASK-002", "!!!"), ("TASK-003", "x"))
    )


def test_a_decision_is_written_as_the_format_says():
    decision = Decision(
        "Optimistic locking instead of row locks",
        "Row locks deadlocked under concurrent booking requests in the load test.",
        "Optimistic locking with at most 3 retries.",
        "Some retries, against no deadlock.",
        "candidate for PATTERN-007",
    )
    assert decision_entry(7, decision, "TASK-018", "2026-11-21") == (
        "## DECISION-007: Optimistic locking instead of row locks\n"
        "Date: 2026-11-21\n"
        "Task: TASK-018\n"
        "Context: Row locks deadlocked under concurrent booking requests in the load test.\n"
        "Decision: Optimistic locking with at most 3 retries.\n"
        "Trade-off: Some retries, against no deadlock.\n"
        "Pattern: candidate for PATTERN-007\n"
        "\n"
    )


def test_a_decision_with_a_title_alone_has_dashes_and_cannot_forge_another():
    entry = decision_entry(1, Decision("x\n## DECISION-999: y"), "", "2026-11-21")
    assert entry == (
        "## DECISION-001: x\\n## DECISION-999: y\n"
        "Date: 2026-11-21\n"
        "Task: —\n"
        "Context: —\n"
        "Decision: x\\n## DECISION-999: y\n"
        "Trade-off: —\n"
        "\n"
    )
    assert next_number(entry) == 2


def test_numbers_go_on_behind_the_highest():
    assert next_number("") == 1
    assert next_number("## DECISION-007: a\n\n### DECISION-3: b\ntext DECISION-99") == 8
    assert next_number("## DECISION-007: a\n", last=12) == 13
