import pytest
from msgspec.structs import replace

from runner.model import Coverage, Level, Proof, Status, Verdict
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
