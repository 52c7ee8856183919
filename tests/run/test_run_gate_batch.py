"""A batch: who is in it, how often the suite runs for it, and who is the culprit; no git."""

from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from run_build import a_task
from settings_of import settings_of

from runner import effects
from runner.model import Change, Ending, Finding, GateSpec, Outcome, Proof, Verdict
from runner.model.grades import find_gaps
from runner.model.words import COULD_NOT_RUN
from runner.model.work import WAITS_FOR_BATCH
from runner.run.landing.gate_batch import GateBatch
from runner.run.landing.lander import Conflict, Moved
from runner.run.worker_assignment import Assignment

GATE = Proof("gate:tests", "gate", "pytest", Verdict.SKIPPED, 0, 0.0, "", note=WAITS_FOR_BATCH)
"""What an outcome has as long as the suite did not run."""


class Branch:
    """A lander of paper: a commit is the letters of the tasks that it holds."""

    def __init__(self):
        self.tip = ""

    def head(self):
        return self.tip

    def propose(self, outcome):
        return outcome.base + outcome.task

    def find_moved(self, base, tip):
        return set(base) ^ set(tip)

    def diff(self, base, commit):
        return tuple(Change(one, None, 0, None, None) for one in sorted(set(base) ^ set(commit)))

    def find_refusal(self, _task, outcome, tip):
        moved = self.find_moved(outcome.base, tip)
        if outcome.task in moved:
            return Conflict(tip, (outcome.task,))
        return Moved(tip) if moved else None


class Batches:
    """A batch on a branch, and a suite that fails on trees with all letters of `breaks`."""

    unable = ""
    """The note of a suite that cannot run."""

    def __init__(self, monkeypatch, breaks="", **settings):
        self.now, self.branch, self.breaks, self.runs = 100.0, Branch(), breaks, []
        monkeypatch.setattr(effects, "monotonic", lambda: self.now)
        chosen = settings_of(gates=(GateSpec("tests", "pytest"),), **settings)
        self.batch = GateBatch(SimpleNamespace(make_carried=self.carry), self.branch, chosen)

    def carry(self, task, carried, base, attempt):
        return Assignment(task, attempt, base, None, None, None, None, carried=carried)

    def outcome(self, id_, base=None, *, waits=True):
        proofs = (GATE,) if waits else ()
        base = self.branch.tip if base is None else base
        return Outcome(
            id_, 1, Ending.PASSED, base, "tree", (Change(id_, None, 0, None, None),), (), proofs
        )

    def join(self, ids, **how):
        """Each joins on those before it, as it does once it was proven there."""
        for id_ in ids:
            tip = self.batch.members[-1].commit if self.batch.members else None
            assert self.batch.join(a_task(id_), self.outcome(id_, tip, **how), "off") is None
        return self

    def run(self):
        """Run the suite as often as it is asked for."""
        step = self.batch.request()
        while isinstance(step, Assignment):
            step = self.batch.hear(self.end(step))
        return step

    def end(self, asked):
        """How the suite ends on the tree of a run."""
        assert asked.gates == (GateSpec("tests", "pytest"),)
        self.runs.append("".join(change.path for change in asked.carried))
        bad = bool(self.breaks) and set(self.breaks) <= {*asked.base, *self.runs[-1]}
        passed = Verdict.SKIPPED if self.unable else Verdict.PASS
        proof = replace(GATE, verdict=Verdict.FAIL if bad else passed, note=self.unable)
        found = (
            (Finding("gate:tests", "1 test failed", detail="tests/a.py::test_a"),) if bad else ()
        )
        ending = Ending.FAILED if bad else Ending.PASSED
        return Outcome(asked.task.id, 1, ending, asked.base, "9f" * 20, (), found, (proof,))


def named(members):
    return "".join(one.task.id for one in members)


@pytest.fixture
def batches(monkeypatch):
    return lambda *breaks, **settings: Batches(monkeypatch, *breaks, **settings)


@pytest.mark.parametrize(
    ("ids", "breaks", "lands", "culprit", "runs"),
    [
        ("A", "", "A", "", 1),
        ("ABCD", "", "ABCD", "", 1),
        ("A", "A", "", "A", 1),
        ("ABCD", "A", "", "A", 3),
        ("ABCD", "C", "AB", "C", 3),
        ("ABCD", "AD", "ABC", "D", 3),  # together alone: the later one
        ("ABCDEFGH", "BF", "ABCDE", "F", 4),
    ],
)
def test_the_suite_runs_once_and_else_until_the_culprit_is_found(
    batches, ids, breaks, lands, culprit, runs
):
    site = batches(breaks).join(ids)
    verdict = site.run()
    assert named(verdict.passed) == lands
    assert named([verdict.culprit] if verdict.culprit else []) == culprit
    assert len(site.runs) == runs, site.runs
    assert not site.batch.members
    assert named(iter(site.batch.take_later, None)) == ids[len(lands) + len(culprit) :]
    if culprit:
        (finding,) = verdict.culprit.outcome.findings
        assert finding.detail == "tests/a.py::test_a"
        assert ("the gate passes with A" in finding.message) == bool(lands)
    for one in verdict.passed:
        (proof,) = one.outcome.proofs
        assert proof.verdict is Verdict.PASS
        assert ("ran once for A" in proof.note and "9f9f9f" in proof.note) == (len(lands) > 1)


def test_a_suite_that_cannot_run_is_a_gap_of_each_member(batches):
    site = batches().join("AB")
    site.unable = COULD_NOT_RUN
    gaps = [find_gaps(one.outcome.proofs) for one in site.run().passed]
    assert gaps == [(f"gate:tests {COULD_NOT_RUN}",)] * 2


def test_the_next_one_is_proven_on_those_before_it_and_the_others_wait_for_that(batches):
    site = batches().join("A")
    assert site.batch.join(a_task("B"), site.outcome("B"), "off") == Moved("A")
    again = site.batch.above(site.carry(a_task("B"), (), "A", 1))
    assert again.beneath == {"A"}
    assert site.batch.join(a_task("C"), site.outcome("C"), "off") is None
    assert site.batch.take_later() is None
    site.batch.forget("B")
    assert site.batch.join(a_task("B"), site.outcome("B", "A"), "off") is None
    assert site.batch.take_later().task.id == "C"
    assert named(site.batch.members) == "AB"


def test_what_comes_while_the_suite_runs_is_placed_afterwards(batches):
    site = batches().join("AB")
    run = site.end(site.batch.request())
    site.join("C")
    assert named(site.batch.hear(run).passed) == "AB"
    assert site.batch.take_later().task.id == "C"


def test_who_is_taken_out_takes_the_run_along_and_those_after_are_placed_again(batches):
    site = batches().join("ABC")
    run = site.end(site.batch.request())
    assert site.batch.withdraw("B").task == "B"
    assert site.batch.hear(run) is None
    assert named(site.batch.members) == "A"
    assert site.batch.take_later().task.id == "C"
    assert named(site.run().passed) == "A"


def test_a_branch_that_moved_has_all_placed_again(batches):
    site = batches().join("AB")
    site.branch.tip = "X"
    assert site.batch.request() is None
    assert named(iter(site.batch.take_later, None)) == "AB"


def test_proven_on_other_commits_with_the_same_files_it_need_not_be_proven_again(batches):
    site = batches().join("AB")
    site.run()
    site.branch.tip = "BA"  # what landed bears other names than what was proposed
    site.batch._made.add("AB")
    assert site.batch.join(a_task("C"), site.outcome("C", "AB"), "off") is None
    assert site.batch.members[0].outcome.base == "BA"


def test_it_waits_as_long_as_the_settings_say_and_never_for_what_needs_no_run(batches):
    site = batches(gate_batch_seconds=7).join("A")
    assert site.batch.due_at == 107.0
    assert not site.batch.is_due
    site.now = 107.0
    assert site.batch.is_due
    assert site.batch.due_at is None
    other = batches().join("A", waits=False)
    assert other.batch.is_due
    assert (named(other.run().passed), other.runs) == ("A", [])


def test_a_task_s_own_outcome_that_comes_twice_is_no_answer(batches):
    site = batches().join("A")
    run = site.end(site.batch.request())
    own = replace(GATE, id="TC-001", kind="test")
    late = replace(site.outcome("A"), proofs=(own, GATE))
    assert site.batch.take_answer(late) is None
    assert site.batch.take_answer(run) == site.batch.members[0].outcome


def test_work_that_breaks_a_member_is_proven_again_once_that_has_landed(batches):
    site = batches().join("A")
    failed = replace(site.outcome("B", "A"), ending=Ending.FAILED)
    assert not site.batch.delays(a_task("B"), failed, ("Z",))
    assert site.batch.delays(a_task("B"), failed, ("A",))
    assert site.batch.take_later() is None
    site.run()
    assert site.batch.take_later().outcome is failed


def test_a_run_that_ends_gives_back_everything_that_waits(batches):
    site = batches().join("AB")
    site.batch.request()
    site.join("C")
    assert named(site.batch.give_up()) == "ABC"
    assert not site.batch.is_open()
