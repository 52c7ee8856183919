"""The scheduler in a world of its own: seeded faults, a virtual clock, and what must always hold.

A failure names its seed; `SEED=17 python -m pytest tests/stories/simulation -k one_seed` plays it.
"""

import os
import shutil
import time
from collections import Counter

import pytest
from simulated_run import Simulation, read_plan, virtual_time

from runner.journal.events import AttemptStarted, TaskReopened, TaskStaled
from runner.journal.state import fold
from runner.model import Status
from runner.model.work import WAITS_FOR_BATCH

SEEDS, BUNDLE = 100, 20
FAULTY_RUNS, CALM_RUNS = 3, 12
SECONDS = float(os.environ.get("CAMPAIGN_SECONDS", "0"))
FIRST = SEEDS + 10_000 * int(os.environ.get("CAMPAIGN_SEED", "0"))
"""Of a campaign, so that every night plays others."""


def play(seed, folder, monkeypatch):
    """All runs of one seed, looked at after each; gives the journal."""
    folder.mkdir()
    simulation = Simulation(seed, folder)
    try:
        with virtual_time(simulation.world, monkeypatch):
            for _ in range(FAULTY_RUNS):
                look_at(simulation, simulation.run())
                simulation.answer_everything()
            converges(simulation)
    except BaseException as error:
        error.add_note(f"seed {seed}: SEED={seed} pytest tests/stories/simulation -k one_seed")
        raise
    journal = simulation.journal.read_bytes()
    shutil.rmtree(folder)
    return journal


def converges(simulation):
    """Once nothing goes wrong any more, all is DONE, and then nothing is left to do."""
    simulation.world.calm = True
    for _ in range(CALM_RUNS):
        ran = simulation.run(named=frozenset(statuses(simulation)))
        look_at(simulation, ran)
        simulation.answer_everything()
        if not ran.code:
            break
    assert set(statuses(simulation).values()) == {Status.DONE}, statuses(simulation)
    landed = len(simulation.world.landings)
    last = simulation.run()
    look_at(simulation, last)
    assert (last.workers.started, last.code) == ([], 0)
    assert len(simulation.world.landings) == landed


def statuses(simulation):
    tasks = read_plan(simulation.world.plan.read_bytes(), "TASK-GRAPH.md").tasks
    return {task.id: simulation.state.task(task.id).status for task in tasks}


# --- what must hold after every run -------------------------------------------------------


def look_at(simulation, ran):
    records = simulation.records()
    the_journal_folds_to_what_the_run_believed(simulation, records)
    no_task_is_lost(simulation, ran)
    nothing_landed_twice(simulation, records)
    what_is_done_is_on_the_branch(simulation)
    what_is_done_was_proven(simulation)
    the_plan_says_what_the_journal_says(simulation)
    approved_writes_came_to_an_end(simulation)


def the_journal_folds_to_what_the_run_believed(simulation, records):
    assert fold(records) == simulation.state
    assert [record.seq for record in records] == list(range(1, len(records) + 1))


def no_task_is_lost(simulation, ran):
    """It is DONE, waits for a person with a reason, or for one that does; nothing is in hand."""
    state, halted = simulation.state, {int(code) for code in ran.codes} & {6, 130}
    assert not ran.workers.working
    for id_, task in ran.tasks.items():
        known = state.task(id_)
        assert known.open_attempt is None, f"{id_} was left in hand"
        assert known.status is not Status.IN_PROGRESS, id_
        if known.status is Status.BLOCKED:
            assert known.reason, id_
            assert known.note, id_
        if known.status is Status.PENDING and not halted:
            waits = [one for one in task.depends_on if state.task(one).status is not Status.DONE]
            assert waits, f"{id_} was ready, and the run ended"
        if known.held and known.status is not Status.DONE:
            assert known.held.ref in simulation.world.refs, f"the held work of {id_} is gone"
    done = all(state.task(id_).status is Status.DONE for id_ in ran.tasks)
    assert done == (not ran.code), (ran.code, done)


def nothing_landed_twice(simulation, records):
    """A task lands once for each time that somebody asked for it anew."""
    landed = Counter(id_ for id_, _, _ in simulation.world.landings)
    asked = Counter(
        record.task for record in records if isinstance(record.event, TaskReopened | TaskStaled)
    )
    for id_, times in landed.items():
        assert times <= 1 + asked[id_], f"{id_} landed {times} times"


def what_is_done_is_on_the_branch(simulation):
    for id_, known in simulation.state.tasks.items():
        if known.status is Status.DONE and known.commit:
            assert simulation.world.reaches(known.commit), f"{id_} is DONE without its commit"


def what_is_done_was_proven(simulation):
    """Whether its tests ran again on a branch that moved, or stood: they ran once."""
    for id_, known in simulation.state.tasks.items():
        if known.status is Status.DONE and known.commit and known.verified:
            assert known.proofs[0].id == "TC-001", (id_, known.proofs)
            assert not [one for one in known.proofs if one.note == WAITS_FOR_BATCH], id_


def the_plan_says_what_the_journal_says(simulation):
    if not simulation.world.ref.endswith("main"):
        return
    for task in read_plan(simulation.world.plan.read_bytes(), "TASK-GRAPH.md").tasks:
        known = simulation.state.task(task.id)
        assert task.status is known.status, f"{task.id}: {task.status}, and {known.status}"


def approved_writes_came_to_an_end(simulation):
    """But for what is held: that goes on with the next run."""
    states = simulation.state.tasks.items()
    held = {(id_, known.held.attempt) for id_, known in states if known.held}
    left = simulation.log.open - held
    assert not left, f"approved, and neither landed nor dropped: {left}"


# --- the seeds ----------------------------------------------------------------------------


@pytest.mark.parametrize("first", range(0, SEEDS, BUNDLE))
def test_whatever_happens_nothing_is_lost_and_nothing_lands_twice(first, tmp_path, monkeypatch):
    for seed in range(first, first + BUNDLE):
        play(seed, tmp_path / str(seed), monkeypatch)


# No task of its plan writes anything; a task that held work of its former text.
@pytest.mark.parametrize("seed", [202611272123, 202612010599])
def test_seeds_that_a_campaign_found_tell_their_whole_story(seed, tmp_path, monkeypatch):
    play(seed, tmp_path / "one", monkeypatch)


def test_the_same_seed_gives_the_same_journal(tmp_path, monkeypatch):
    first = play(57, tmp_path / "first", monkeypatch)
    again = play(57, tmp_path / "again", monkeypatch)
    assert first == again
    assert b'"attempt.started"' in first


def test_the_faults_that_are_meant_do_happen(tmp_path, monkeypatch):
    """Else the seeds would prove nothing; these five show each of them, of the first seventy."""
    seeds = (10, 12, 13, 21, 69)
    journals = b"".join(play(seed, tmp_path / str(seed), monkeypatch) for seed in seeds)
    for sign in (b'"interrupted"', b'"failed"', b'"flaky"', b'"review"', b'"in-the-way"'):
        assert sign in journals, sign
    for said in (
        b"changed on the branch",
        b"while a run built it",
        b"cancelled by a person",
        b'"prove"',
        b"nothing it ran has changed",
        b'"exit":130',
        b'"failure":"transient"',
        b"the attempt was stopped at its limit of 0.25 minutes",
    ):
        assert said in journals, said


@pytest.mark.skipif("SEED" not in os.environ, reason="set SEED to play one seed")
def test_one_seed(tmp_path, monkeypatch):
    play(int(os.environ["SEED"]), tmp_path / "one", monkeypatch)


@pytest.mark.skipif(not SECONDS, reason="set CAMPAIGN_SECONDS to run a campaign")
def test_campaign_of_a_thousand_seeds_and_more(tmp_path, monkeypatch, record_property):
    end, seed = time.monotonic() + SECONDS / 4, FIRST
    while seed < FIRST + 1000 or time.monotonic() < end:
        play(seed, tmp_path / str(seed), monkeypatch)
        seed += 1
    record_property("tried", seed - FIRST)
    assert seed >= FIRST + 1000


def test_every_attempt_that_began_is_in_the_journal(tmp_path, monkeypatch):
    folder = tmp_path / "one"
    folder.mkdir()
    simulation = Simulation(7, folder)
    with virtual_time(simulation.world, monkeypatch):
        ran = simulation.run()
    said = [
        (record.task, record.attempt)
        for record in simulation.records()
        if isinstance(record.event, AttemptStarted)
    ]
    assert said == ran.workers.started
