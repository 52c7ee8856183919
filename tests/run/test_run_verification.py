import pytest
from msgspec.structs import replace
from settings_of import settings_of

from runner.config.settings import Settings
from runner.gates.base import Proved
from runner.journal.task_state import TaskState
from runner.model import (
    Coverage,
    Finding,
    GateSpec,
    Level,
    Proof,
    Severity,
    Spec,
    Status,
    Task,
    TestContract,
    Verdict,
)
from runner.run.proof.verification import Subject, as_known, plan_for
from runner.run.proof.verification_jobs import Difference, differences

SPEC = Spec("w", "p")
LINT = settings_of(gates=(GateSpec("lint", "lint it"),))


def subject(number, *tests, tree="t", proofs=(), gates=()):
    id_ = f"TASK-{number:03d}"
    contracts = tuple(
        TestContract(f"TC-{number:03d}{n or ''}", Level.UNIT, line) for n, line in enumerate(tests)
    )
    task = Task(id_, "x", 1, SPEC, test_contracts=contracts, gates=gates)
    known = TaskState(
        id_, Status.DONE, spec=SPEC, tree=tree, verified=True, proofs=proofs, done_at=f"{number}"
    )
    return Subject(task, known)


def ids(plan):
    """Per job the ids of its checks."""
    return [[check.id for _, steps in job.steps for _, check in steps] for job in plan.jobs]


def test_a_gate_of_all_runs_once_for_all_as_the_last_ones():
    plan = plan_for([subject(1, "a"), subject(2, "b")], LINT)
    assert ids(plan) == [["gate:lint"], ["TC-001"], ["TC-002"]]
    assert plan.jobs[0].owners == ("TASK-001", "TASK-002")
    assert plan.jobs[0].steps[0][0].task.id == "TASK-002"
    assert plan.commands == 3


def test_tasks_with_the_same_test_go_through_one_tree_together():
    subjects = [subject(1, "a"), subject(2, "b"), subject(3, "b", "a"), subject(4, "c")]
    plan = plan_for(subjects, Settings())
    assert ids(plan) == [["TC-001", "TC-002", "TC-003", "TC-0031"], ["TC-004"]]


def test_what_ran_on_this_very_tree_is_remembered():
    passed = Proof("gate:lint", "gate", "lint it", Verdict.PASS, 0, 1.0, "sha256:1")
    subjects = [subject(1, "a", tree="old"), subject(2, "b", tree="this", proofs=(passed,))]
    plan = plan_for(subjects, LINT, lambda known: known.tree == "this")
    assert ids(plan) == [["TC-001"]]
    assert [proof.id for proof in plan.remembered["TASK-001"]] == ["gate:lint"]
    assert plan.remembered["TASK-002"] == (passed,)


def test_a_gate_that_failed_there_is_not_remembered_as_good():
    failed = Proof("gate:lint", "gate", "lint it", Verdict.FAIL, 1, 1.0, "sha256:1")
    subjects = [subject(1, tree="old"), subject(2, tree="this", proofs=(failed,))]
    plan = plan_for(subjects, LINT, lambda known: known.tree == "this")
    assert ids(plan) == [["gate:lint"]]


def test_a_failure_that_was_there_before_the_task_is_no_news():
    failed = Proof("gate:lint", "gate", "lint it", Verdict.FAIL, 1, 1.0, "sha256:1")
    one = subject(1, proofs=(replace(failed, verdict=Verdict.KNOWN),))
    check = plan_for([one], LINT).jobs[0].steps[0][1][0][1]
    proved = Proved(failed, (Finding("gate:lint", "red"),))
    known = as_known(proved, check, one.known)
    assert known.proof.verdict is Verdict.KNOWN
    assert [finding.severity for finding in known.findings] == [Severity.WARNING]
    assert as_known(proved, check, subject(2).known) is proved


def proof(id_="TC-001", verdict=Verdict.PASS, code=0, **counts):
    return Proof(id_, "test", "x", verdict, code, 1.0, "sha256:1", counts=tuple(counts.items()))


def test_seconds_and_output_may_always_differ():
    other = Proof("TC-001", "test", "y", Verdict.PASS, 0, 9.0, "sha256:2")
    assert differences([proof()], [other]) == ()


@pytest.mark.parametrize(
    ("before", "now", "text", "worse"),
    [
        (proof(), proof(verdict=Verdict.FAIL, code=1), "was pass (exit 0), is fail (exit 1)", True),
        (proof(), proof(verdict=Verdict.FLAKY), "was pass, is flaky", False),
        (
            proof(verdict=Verdict.KNOWN, code=1),
            proof(),
            "was known (exit 1), is pass (exit 0)",
            False,
        ),
        (proof(passed=3), proof(passed=2), "was 3 passed, is 2 passed", True),
        (
            proof(passed=3),
            proof(passed=3, skipped=1),
            "was 3 passed, is 3 passed, 1 skipped",
            False,
        ),
        (proof(passed=3), proof(), "was 3 passed, is no counts", True),
    ],
)
def test_how_a_check_ended_and_what_it_counted(before, now, text, worse):
    assert differences([before], [now]) == (Difference("TC-001", text, worse),)


def test_checks_that_are_gone_or_new_are_said():
    found = differences([proof("TC-001")], [proof("TC-002")])
    assert [(one.check, one.worse) for one in found] == [("TC-001", False), ("TC-002", False)]


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ((84.9, 120), (84.0, 120), None),
        ((84.9, 120), (83.9, 120), ("was 84% of 120 lines, is 83% of 120 lines", False)),
        ((84.9, 120), (61.0, 130), ("was 84% of 120 lines, is 61% of 130 lines", True)),
        ((84.9, 120), None, ("was 84% of 120 lines, is not measured", True)),
        (None, (90.0, 10), ("was not measured, is 90% of 10 lines", False)),
    ],
)
def test_coverage_counts_in_whole_percent(before, now, said):
    covered = tuple(one and Coverage(*one, 70) for one in (before, now))
    found = differences([], [], covered)
    assert [(one.text, one.worse) for one in found] == ([said] if said else [])
