"""What may be used, what was, and what is left; and when time is up."""

import pytest
from run_build import a_ledger, a_task
from settings_of import settings_of

from runner import effects
from runner.config.settings import Settings
from runner.implementers.base import Allowance
from runner.journal.events import AttemptFinished, AttemptStarted, TaskApproved, TaskBlocked
from runner.journal.task_state import TaskState, Try
from runner.model import Budget, Ending, Failure, Finding, Reason, Status, Usage
from runner.run.landing.status_writer import TimeQuota
from runner.run.limits import (
    budget,
)
from runner.run.limits.budget import (
    BudgetLimits,
    Deadline,
    Deadlines,
    RunBudget,
    Scope,
    Spent,
    limit_attempt,
    limit_run,
    reopen_raised,
)

CALL = Usage(input_tokens=700, output_tokens=100, dollars=0.5, tool_calls=3)
TASK = a_task(budget=Budget(tokens=1000))


def test_a_task_may_say_its_own_limits():
    settings = settings_of(minutes=7, tokens=50, dollars=2.0, tool_calls=9)
    limits = budget.of_task(a_task(budget=Budget(tokens=1000, minutes=1)), settings)
    assert limits == BudgetLimits(minutes=1, tokens=1000, dollars=2.0, tool_calls=9)


def test_a_limit_is_used_up_when_nothing_is_left_of_it():
    assert budget.find_exhausted(BudgetLimits(tokens=801), Spent(usage=CALL)) is None
    assert (
        str(budget.find_exhausted(BudgetLimits(tokens=800), Spent(usage=CALL)))
        == "800 of 800 tokens"
    )
    assert (
        str(budget.find_exhausted(BudgetLimits(dollars=0.4), Spent(usage=CALL))) == "$0.50 of $0.40"
    )
    assert str(budget.find_exhausted(BudgetLimits(minutes=2), Spent(150))) == "2.5 of 2 minutes"
    assert budget.find_exhausted(BudgetLimits(), Spent(9e9, CALL)) is None


def test_what_is_left_is_the_least_of_attempt_task_and_run():
    left = budget.allowance(
        (BudgetLimits(tokens=600), Spent()),
        (BudgetLimits(tokens=1000, dollars=3.0, minutes=4), Spent(60, CALL)),
        (BudgetLimits(tokens=5000, tool_calls=2), Spent(usage=CALL)),
    )
    assert left == Allowance(tokens=200, dollars=2.5, tool_calls=0, minutes=3.0)
    assert budget.allowance((BudgetLimits(), Spent(5, CALL))) == Allowance()


# --- over attempts --------------------------------------------------------------------


def an_attempt(journal, number, **finished):
    started = AttemptStarted(base="", implementer="agent", spec=TASK.spec)
    journal.note(started, task=TASK.id, attempt=number)
    event = AttemptFinished(ending=Ending.FAILED, tree="t", seconds=30.0, **finished)
    journal.note(event, task=TASK.id, attempt=number)


def test_the_journal_adds_up_what_attempts_used():
    journal = a_ledger()
    an_attempt(journal, 1, usage=CALL)
    an_attempt(journal, 2, failure=Failure.TRANSIENT, usage=CALL)
    known = journal.state.task(TASK.id)
    assert known.usage == known.spent == CALL + CALL
    assert budget.sum_spent(known).seconds == 60.0
    assert known.tries[-1] == Try(2, "t", (), 30.0, Failure.TRANSIENT)
    journal.note(TaskBlocked(Reason.BUDGET, "n"), task=TASK.id, attempt=2)
    journal.note(TaskApproved(by="runner"), task=TASK.id)
    assert len(journal.state.task(TASK.id).tries) == 2  # raised: what was tried still counts
    journal.note(TaskApproved(by="person"), task=TASK.id)
    known = journal.state.task(TASK.id)
    assert (known.spent, known.usage, known.tries) == (Usage(), CALL + CALL, ())


def test_what_was_wrong_with_the_work_outlives_a_broken_connection():
    journal = a_ledger()
    an_attempt(journal, 1, findings=(Finding("TC-001", "it failed"),))
    broken = (Finding("implementer", "the connection broke"),)
    an_attempt(journal, 2, findings=broken, failure=Failure.TRANSIENT)
    known = journal.state.task(TASK.id)
    assert [one.check for one in known.findings] == ["TC-001"]
    assert known.tries[-1].checks == ("implementer",)


def test_a_person_is_warned_once_of_each_limit():
    said, journal = [], a_ledger()
    purse = RunBudget(settings_of(run_dollars=1.1), {TASK.id: TASK}, said.append)
    journal.listen(purse.hear)
    an_attempt(journal, 1, usage=CALL)
    assert said == ["TASK-001 has used at least 80% of a limit: 800 of 1,000 tokens"]
    assert purse.used_up is None
    assert purse.allowance(TASK, journal.state.task(TASK.id)).tokens == 200
    an_attempt(journal, 2, usage=CALL)
    an_attempt(journal, 3, usage=CALL)
    assert said[1:] == ["the run has used at least 80% of a limit: $1.00 of $1.10"]
    assert str(purse.used_up) == "$1.50 of $1.10"


def test_only_a_raised_budget_lets_a_task_go_on():
    journal = a_ledger()
    an_attempt(journal, 1, usage=CALL + CALL)
    journal.note(TaskBlocked(Reason.BUDGET, "n"), task=TASK.id, attempt=1)
    reopen_raised([TASK], journal, Settings())
    assert journal.state.task(TASK.id).status is Status.BLOCKED
    reopen_raised([a_task(budget=Budget(tokens=2000))], journal, Settings())
    assert journal.state.task(TASK.id).status is Status.PENDING


# --- time -----------------------------------------------------------------------------


def test_an_attempt_ends_with_its_own_minutes_or_its_tasks():
    known = TaskState("TASK-001", tries=(Try(1, "", (), 90.0),))
    settings = settings_of(minutes=2, attempt_minutes=1)
    assert limit_attempt(TASK, known, settings, 10.0) == Deadline(40.0, Scope.TASK, 2)
    settings = settings_of(minutes=30, attempt_minutes=1)
    assert limit_attempt(TASK, known, settings, 10.0) == Deadline(70.0, Scope.ATTEMPT, 1)
    assert limit_run(settings, 10.0) is None
    assert limit_run(settings_of(run_minutes=3), 10.0) == Deadline(190.0, Scope.RUN, 3)


def test_deadlines_are_named_once_when_they_are_over():
    deadlines = Deadlines()
    deadlines.begin("A", Deadline(5, Scope.ATTEMPT, 1))
    deadlines.begin("B", Deadline(3, Scope.ATTEMPT, 1))
    deadlines.begin("C", None)
    assert len(deadlines.take_near(0)) == 2
    assert deadlines.first == 3
    deadlines.over("B")
    assert (deadlines.take(4.9), deadlines.first) == ((), 5)
    assert [name for name, _ in deadlines.take(5)] == ["A"]
    assert (deadlines.take(9), deadlines.first) == ((), None)


def test_a_limit_of_time_comes_near_once_however_many_attempts_there_are():
    deadlines = Deadlines()
    deadlines.begin("A", Deadline(600, Scope.TASK, 10))
    assert (deadlines.first, deadlines.take_near(479)) == (480, ())
    assert [name for name, _ in deadlines.take_near(480)] == ["A"]
    assert (deadlines.first, deadlines.take_near(500)) == (600, ())
    deadlines.begin("A", Deadline(700, Scope.TASK, 10))
    assert deadlines.take_near(650) == ()


# --- what is written again and again costs a share of a run ---------------------------


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [100.0]
    monkeypatch.setattr(effects, "monotonic", lambda: now[0])
    return now


def spent(quota, clock, seconds):
    with quota.spend():
        clock[0] += seconds


def test_the_first_time_is_affordable_and_then_its_share_decides(clock):
    quota = TimeQuota(0.02, clock[0])
    assert quota.affordable
    spent(quota, clock, 0.01)
    assert not quota.affordable
    clock[0] += 0.6
    assert quota.affordable


@pytest.mark.parametrize(("took", "rest"), [(0.3, 5.0), (3.0, 30.0)])
def test_after_a_time_that_took_long_nobody_waits_for_minutes(clock, took, rest):
    quota = TimeQuota(0.02, clock[0])
    spent(quota, clock, took)
    clock[0] += rest - 0.1
    assert not quota.affordable
    clock[0] += 0.2
    assert quota.affordable


def test_it_tells_from_when_on_it_may_be_done(clock):
    quota = TimeQuota(0.02, clock[0])
    clock[0] += 10.0
    assert quota.affordable_at <= clock[0]
    with quota.spend():
        clock[0] += 0.3
    assert quota.affordable_at == pytest.approx(clock[0] + 4.7)  # two hundredths of 15 s
    with quota.spend():
        clock[0] += 2.0
    assert quota.affordable_at == pytest.approx(clock[0] + 20.0)  # ten times as long as the last
    clock[0] = quota.affordable_at - 0.01
    assert not quota.affordable
    clock[0] += 0.02
    assert quota.affordable
