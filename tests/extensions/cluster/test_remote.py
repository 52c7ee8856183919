"""Tests of other tasks on a cluster: shared among the workers that are free, heard as one."""

import threading
from types import SimpleNamespace

import pytest
from settings_of import settings_of

from runner.config.settings import Settings
from runner.extensions.cluster import remote_job
from runner.extensions.cluster.executor import (
    ClusterRemote,
    ask_workers,
    join_others,
    remember_failures,
    share_out,
)
from runner.extensions.cluster.lease import PendingResult
from runner.extensions.cluster.message import Others, Work
from runner.gates.regression import Suspects, Traced, failures_before
from runner.implementers.base import Mode
from runner.model import (
    Ending,
    Finding,
    Outcome,
    Proof,
    Resource,
    ReviewMode,
    Severity,
    Spec,
    Task,
    Verdict,
)
from runner.run.workers import SpareSlots

OUTCOME = Outcome("TASK-009", 1, Ending.PASSED, "base", "tree")


def traced(number, seconds=1.0, **fields):
    task = Task(f"TASK-00{number}", "reads", 1, Spec("", ""), **fields)
    return Traced(task, f"TC-00{number}", "rules.txt", 1, "it reads rules.txt", seconds)


def said(*suspected, failed=()):
    proofs, findings = [], []
    for one in suspected:
        bad = one in failed
        verdict = Verdict.FAIL if bad else Verdict.PASS
        proofs.append(Proof(one.check, "regression", "t", verdict, int(bad), 0.1, "sha256:0"))
        findings += [Finding(one.check, "this breaks it")] if bad else []
    return Others(tuple(proofs), tuple(findings), ())


def site(slots, working=1):
    lanes = SpareSlots(slots, lambda: working, lambda _number: pytest.fail("a tree was made"))
    return SimpleNamespace(workers=SimpleNamespace(lanes=lanes))


def names(suspects):
    return [one.task.id for one in suspects.traced]


def test_shares_take_as_long_as_each_other_and_keep_the_order_of_what_fails_soonest():
    row = [traced(1, 4.0), traced(2, 1.0), traced(3, 1.0), traced(4, 1.0)]
    note = Finding("impact", "in doubt", severity=Severity.NOTE)
    first, second = share_out(Suspects(tuple(row), 10, (note,)), 2)
    assert (names(first), names(second)) == (["TASK-001"], ["TASK-002", "TASK-003", "TASK-004"])
    assert (first.notes, second.notes, first.enough, second.enough) == ((note,), (), 10, 10)


def test_what_uses_a_scarce_thing_is_all_in_one_share():
    port = (Resource("port", "5432"),)
    row = [traced(1, uses=port), traced(2), traced(3, uses=port), traced(4)]
    first, second = share_out(Suspects(tuple(row)), 2)
    assert (names(first), names(second)) == (["TASK-001", "TASK-003"], ["TASK-002", "TASK-004"])


def test_no_share_is_empty_where_one_test_takes_longer_than_all_others():
    row = (traced(1, 0.0), traced(2, 0.0), traced(3, 5.0))
    assert [names(one) for one in share_out(Suspects(row), 3)] == [
        ["TASK-001", "TASK-002", "TASK-003"]
    ]


def test_workers_are_asked_at_the_same_time_as_far_as_slots_of_the_run_are_free():
    both = threading.Barrier(2, timeout=20)

    def ask(some):
        both.wait()  # passes only where two ask at once
        return names(some)

    suspects = Suspects((traced(1), traced(2), traced(3)))
    place = site(slots=2)
    assert ask_workers(suspects, place, ask) == (["TASK-001", "TASK-003"], ["TASK-002"])
    with place.workers.lanes.claim() as free:
        assert free  # given back


def test_one_worker_is_asked_where_every_slot_is_busy_or_the_tests_are_quick():
    three = (traced(1), traced(2), traced(3))
    assert ask_workers(Suspects(three), site(slots=2, working=2), names) == (
        ["TASK-001", "TASK-002", "TASK-003"],
    )
    quick = (traced(1, 0.1), traced(2, 0.1))
    assert ask_workers(Suspects(quick), site(slots=4), names) == (["TASK-001", "TASK-002"],)


@pytest.mark.parametrize(
    ("calls", "is_agent", "stays"),
    [("6/minute", True, True), ("6/minute", False, False), ("", True, False)],
)
def test_who_calls_models_at_a_rate_stays_where_it_is_kept(calls, is_agent, stays):
    who = SimpleNamespace(name="x", is_agent=is_agent)
    given = SimpleNamespace(
        implementer=who, is_check=False, mode=Mode.EXECUTE, review=ReviewMode.OFF, secrets=()
    )
    place = SimpleNamespace(settings=settings_of(model_calls=calls), included=None)
    assert bool(ClusterRemote(None)._stays(given, place)) is stays


def joined(suspects, *others):
    return join_others(OUTCOME, others, suspects, SimpleNamespace(secrets=(("KEY", "hush-hush"),)))


def test_what_the_shares_say_stands_in_the_order_that_was_asked_for():
    one, two, three = row = (traced(1), traced(2), traced(3))
    outcome = joined(Suspects(row), said(three, one), said(two))
    assert [proof.id for proof in outcome.proofs] == [each.check for each in row]
    assert (outcome.ending, outcome.findings) == (Ending.PASSED, ())


def test_a_share_that_says_nothing_of_a_test_is_no_proof():
    one, two = row = (traced(1), traced(2))
    outcome = joined(Suspects(row), said(one))
    assert outcome.ending is Ending.FAILED
    assert outcome.findings[0].message == f"the worker did not run {two.check}"


def test_what_was_left_out_after_failures_is_counted_over_all_shares():
    one, two, three, four = row = tuple(map(traced, range(1, 5)))
    wrong = Finding("regression", "99 proofs of other tasks failed", severity=Severity.NOTE)
    first = said(one, failed=(one,))
    first = Others(first.proofs, (*first.findings, wrong), ())
    outcome = joined(Suspects(row, 1), first, said(two, failed=(two,)))
    assert outcome.ending is Ending.FAILED
    assert [each.message for each in outcome.findings if each.check == "regression"] == [
        "2 proofs of other tasks failed; 2 more were not run"
    ]
    assert {three.check, four.check}.isdisjoint(proof.id for proof in outcome.proofs)


def test_a_secret_in_what_a_worker_says_is_no_longer_there():
    (one,) = row = (traced(1),)
    words = Others(said(one).proofs, (Finding(one.check, "it printed hush-hush"),), ())
    assert "hush-hush" not in str(joined(Suspects(row), words).findings)


def test_what_failed_on_a_worker_is_known_at_home_when_the_next_order_is_made(tmp_path):
    one, two = row = (traced(1), traced(2))
    outcome = joined(Suspects(row), said(one, two, failed=(two,)))
    for times in (1, 2):
        remember_failures(outcome, Suspects(row), tmp_path, "/shop")
        assert failures_before(tmp_path, "/shop", "TASK-002", "TC-002") == times
    assert failures_before(tmp_path, "/shop", "TASK-001", "TC-001") == 0


def test_a_worker_that_does_not_even_hear_of_the_end_is_not_waited_for_longer(monkeypatch):
    clock, asked = [100.0], threading.Event()
    monkeypatch.setattr(remote_job.effects, "monotonic", lambda: clock[0])

    def passes(seconds):
        clock[0] += seconds
        return False

    cluster = SimpleNamespace(
        end=lambda _worker, _ticket: passes(5.0),
        require_there=lambda: None,
        is_alive=lambda _worker: True,
        patience=SimpleNamespace(silence=120.0),
    )
    task = Task("TASK-001", "waits", 1, Spec("", ""))
    asked.set()
    workers = SimpleNamespace(cancelled=threading.Event())
    here = SimpleNamespace(cancelled=asked, workers=workers, settings=Settings())
    job = remote_job.RemoteJob(
        SimpleNamespace(cluster=cluster), SimpleNamespace(task=task), here, Work(None), "tree"
    )
    ticket = PendingResult("ticket", "TASK-001", 1, print, began=True)
    with pytest.raises(remote_job.Cancelled):
        job._wait(SimpleNamespace(wait=passes), ticket, "tcp://w")
    assert clock[0] - 100.0 < remote_job._LAST_WORD + 0.5
