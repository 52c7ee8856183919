import pytest
from msgspec.structs import replace

from runner.model import Coverage, Decision, Level, Proof, Spec, Status, Task, TestContract, Verdict
from runner.report.checkpoint import Checkpoint, Criteria, criteria_of, full_checkpoint
from runner.report.decisions_file import decision_entry, next_number
from runner.report.status_line import TaskReport, regressions, sast_counts, status_line, task_name


def proof(name, kind, verdict=Verdict.PASS, level=None):
    return Proof(name, kind, "x", verdict, 0, 0.1, "sha256:0", level)


GATES = tuple(proof(f"gate:{name}", "gate") for name in ("lint", "types", "tests", "build"))
TESTS = (
    proof("TC-005", "test", level=Level.UNIT),
    proof("TC-006", "test", level=Level.INTEGRATION),
    proof("TC-007", "test", level=Level.INTEGRATION),
)
CONTRACTS = (proof("contract:schema", "contract"), proof("contract:openapi", "contract"))
PASSED = TaskReport(
    "TASK-005",
    "User Authentication",
    Status.DONE,
    (*TESTS, *CONTRACTS, *GATES),
    regressions=(),
    coverage=Coverage(84.0, 120, 70.0),
    sast={"low": 2},
    patterns=(("PATTERN-001", "Database sessions"),),
    notes=("used database sessions per PATTERN-001",),
)


def test_all_that_passed_reads_as_the_format_says():
    assert status_line(PASSED) == (
        "--- Task 5: User Authentication — DONE ✅\n"
        "TC: 3/3 pass (1 unit, 2 integration)\n"
        "Contracts: ✅ schema valid | OpenAPI: ✅ conformant\n"
        "Regression: ✅ no cross-task failures\n"
        "Gates: ✅ lint ✅ types ✅ tests ✅ build\n"
        "Coverage: ✅ 84% of 120 lines (threshold 70%)\n"
        "SAST: 2 low\n"
        "Patterns applied: PATTERN-001 (Database sessions)\n"
        "Notes: used database sessions per PATTERN-001\n"
    )


def test_what_does_not_apply_is_a_dash():
    assert status_line(TaskReport("TASK-001", "A check", Status.DONE)) == (
        "--- Task 1: A check — DONE ✅\n"
        "TC: —\n"
        "Contracts: — | OpenAPI: —\n"
        "Regression: —\n"
        "Gates: —\n"
        "Coverage: —\n"
        "SAST: —\n"
        "Patterns applied: —\n"
        "Notes: —\n"
    )


def test_what_failed_is_named():
    failed = replace(
        PASSED,
        status=Status.BLOCKED,
        proofs=(
            TESTS[0],
            proof("TC-006", "test", Verdict.FAIL, Level.INTEGRATION),
            proof("contract:schema", "contract", Verdict.FAIL),
            proof("contract:openapi", "contract", Verdict.FAIL),
            GATES[0],
            proof("gate:types", "gate", Verdict.FAIL),
        ),
        regressions=("TC-002 of TASK-002", "TC-003 of TASK-003"),
        coverage=Coverage(69.99, 120, 70.0),
        sast={"low": 1, "high": 2},
        notes=("TC-006 failed 5 times", "see draft/TASK-005-user-authentication"),
    )
    assert status_line(failed) == (
        "--- Task 5: User Authentication — BLOCKED ❌\n"
        "TC: 1/2 pass (1 unit, 1 integration) ❌ TC-006\n"
        "Contracts: ❌ schema not valid | OpenAPI: ❌ not conformant\n"
        "Regression: ❌ TC-002 of TASK-002 ❌ TC-003 of TASK-003\n"
        "Gates: ✅ lint ❌ types\n"
        "Coverage: ❌ 69% of 120 lines (threshold 70%)\n"
        "SAST: 2 high, 1 low\n"
        "Patterns applied: PATTERN-001 (Database sessions)\n"
        "Notes: TC-006 failed 5 times; see draft/TASK-005-user-authentication\n"
    )


def test_what_is_flaky_or_pending_says_so():
    mixed = replace(
        PASSED,
        proofs=(
            proof("TC-005", "test", Verdict.FLAKY, Level.E2E),
            proof("gate:lint", "gate", Verdict.FLAKY),
            proof("gate:types", "gate", Verdict.SKIPPED),
            proof("contract:command", "contract"),
        ),
        coverage=None,
        sast="pending",
        patterns=(("PATTERN-002", ""), ("PATTERN-001", "Database sessions")),
        notes=(),
    )
    assert status_line(mixed) == (
        "--- Task 5: User Authentication — DONE ✅\n"
        "TC: 1/1 pass (1 e2e) ⚠ TC-005\n"
        "Contracts: ✅ command valid | OpenAPI: —\n"
        "Regression: ✅ no cross-task failures\n"
        "Gates: ⚠ lint — types\n"
        "Coverage: —\n"
        "SAST: pending\n"
        "Patterns applied: PATTERN-002, PATTERN-001 (Database sessions)\n"
        "Notes: —\n"
    )


def test_text_from_outside_stays_on_its_line_and_is_seen():
    hostile = replace(PASSED, title="a\n--- Task 6: b — DONE ✅", notes=("x\x1b[2J\ny",))
    lines = status_line(hostile).splitlines()
    assert len(lines) == 9
    assert lines[0] == "--- Task 5: a\\n--- Task 6: b — DONE ✅ — DONE ✅"
    assert lines[-1] == "Notes: x\\x1b[2J\\ny"


@pytest.mark.parametrize(
    ("task", "name"), [("TASK-012", "Task 12"), ("T002", "T002"), ("API-3", "API-3")]
)
def test_a_task_is_called_by_its_number_where_its_id_is_the_common_one(task, name):
    assert task_name(task) == name


def test_a_scan_without_findings_is_not_the_same_as_none():
    assert sast_counts({}) == "0 findings"
    assert sast_counts(None) == "—"
    assert sast_counts({"odd": 1, "medium": 1}) == "1 medium, 1 odd"


def test_a_stale_task_is_marked():
    assert status_line(replace(PASSED, status=Status.STALE)).startswith(
        "--- Task 5: User Authentication — STALE ⚠\n"
    )
    assert status_line(replace(PASSED, status=Status.PENDING)).startswith(
        "--- Task 5: User Authentication — PENDING\n"
    )


def test_what_was_red_before_is_told_from_what_is_not():
    mixed = replace(
        PASSED,
        proofs=(
            TESTS[0],
            proof("TC-006", "test", Verdict.FLAKY, Level.INTEGRATION),
            proof("TC-007", "test", Verdict.FAIL, Level.INTEGRATION),
            proof("contract:schema", "contract"),
            proof("contract:openapi", "contract", Verdict.FLAKY),
            proof("gate:lint", "gate", Verdict.KNOWN),
            GATES[1],
            proof("gate:tests", "gate", Verdict.FAIL),
            proof("gate:build", "gate", Verdict.SKIPPED),
        ),
        status=Status.BLOCKED,
        notes=("lint: failed already before this change, first seen red at 0123abcde",),
    )
    assert status_line(mixed) == (
        "--- Task 5: User Authentication — BLOCKED ❌\n"
        "TC: 2/3 pass (1 unit, 2 integration) ⚠ TC-006 ❌ TC-007\n"
        "Contracts: ✅ schema valid | OpenAPI: ⚠ flaky\n"
        "Regression: ✅ no cross-task failures\n"
        "Gates: ⚠ lint ✅ types ❌ tests — build\n"
        "Coverage: ✅ 84% of 120 lines (threshold 70%)\n"
        "SAST: 2 low\n"
        "Patterns applied: PATTERN-001 (Database sessions)\n"
        "Notes: lint: failed already before this change, first seen red at 0123abcde\n"
    )


def of_others(name, verdict=Verdict.PASS):
    return proof(f"regression:{name}", "regression", verdict)


def test_tests_of_other_tasks_are_no_proof_of_the_tasks_own():
    ran = (*TESTS, of_others("TASK-002/TC-002"), of_others("TASK-004/TC-001", Verdict.KNOWN))
    lines = status_line(replace(PASSED, proofs=ran, regressions=regressions(ran))).splitlines()
    assert lines[1] == "TC: 3/3 pass (1 unit, 2 integration)"
    assert lines[3] == "Regression: ✅ no cross-task failures"
    assert lines[4] == "Gates: —"


def test_what_a_change_breaks_is_named():
    ran = (of_others("TASK-002/TC-002", Verdict.FAIL), of_others("TASK-004/TC-001", Verdict.FLAKY))
    lines = status_line(replace(PASSED, regressions=regressions(ran))).splitlines()
    assert lines[3] == "Regression: ❌ TASK-002/TC-002"


def test_none_of_others_that_ran_is_not_the_same_as_none_that_failed():
    assert regressions(TESTS) is None
    assert regressions((of_others("TASK-002/TC-002"),)) == ()


def test_failures_of_others_are_named_by_id_whichever_test_ended_first():
    ran = (
        of_others("TASK-003/TC-003", Verdict.FAIL),
        of_others("TASK-002/TC-002", Verdict.FAIL),
    )
    assert regressions(ran) == ("TASK-002/TC-002", "TASK-003/TC-003")


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
