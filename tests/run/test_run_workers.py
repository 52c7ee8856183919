"""Scratch trees are lent for proofs as long as no task wants the slot."""

import signal
import threading
import time
from dataclasses import dataclass, field

from runner.config.setting_values import count_cores
from runner.repo.scratch import Scratch
from runner.run import workers
from runner.run.worker_setup import LastLook
from runner.run.workers import SpareSlots, WorkerPool


@dataclass
class Tree:
    number: int
    closed: bool = False

    def close(self):
        self.closed = True


@dataclass
class Made:
    """Two slots, and every tree that was made."""

    working: list = field(default_factory=lambda: ["TASK-001"])
    trees: list = field(default_factory=list)

    def lanes(self):
        return SpareSlots(2, lambda: len(self.working), self.make)

    def make(self, number):
        self.trees.append(Tree(number))
        return self.trees[-1]


def test_what_is_free_beside_the_tasks_is_lent_and_no_more():
    made = Made()
    lanes = made.lanes()
    with lanes.lend() as one, lanes.lend() as another:
        assert (one.number, another) == (2, None)
    made.working.append("TASK-002")
    with lanes.lend() as none:
        assert none is None


def test_a_tree_is_used_again_and_given_back_at_the_end():
    made = Made()
    lanes = made.lanes()
    for _ in range(3):
        with lanes.lend() as tree:
            assert tree is made.trees[0]
    lanes.close()
    assert [one.closed for one in made.trees] == [True]


def test_a_task_that_starts_takes_the_slot_back():
    made = Made()
    lanes = made.lanes()
    with lanes.lend():
        assert lanes.may_go_on
        made.working.append("TASK-002")
        assert not lanes.may_go_on
    made.working.pop()
    with lanes.lend() as tree:
        assert tree is made.trees[0]


def test_a_tree_that_cannot_be_made_leaves_its_place_to_the_next():
    made = Made()
    lanes = SpareSlots(2, lambda: 1, lambda _number: 1 // 0)
    for _ in range(2):
        try:
            with lanes.lend():
                raise AssertionError
        except ZeroDivisionError:
            continue
    assert made.trees == []
    lanes.close()


def test_what_works_elsewhere_claims_a_slot_without_a_tree():
    made = Made()
    lanes = made.lanes()
    with lanes.claim() as claimed, lanes.claim() as too_many, lanes.lend() as tree:
        assert (claimed, too_many, tree) == (True, False, None)
    assert made.trees == []
    with lanes.lend() as tree:
        assert tree is made.trees[0]  # a claim that is over is nobody's


def test_a_signal_that_wakes_no_wait_is_heard_within_moments():
    """As one does that comes right before the coordinator begins to wait."""
    pool, heard = workers.WorkerPool(1, lambda *_: None), []
    done = threading.Event()
    before = signal.signal(signal.SIGUSR1, lambda *_: (heard.append(1), pool.interrupt()))

    def send():
        # To this thread alone: the one that waits is not woken by it.
        time.sleep(0.2)
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        done.wait(30)
        pool._inbox.put(None)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        message = pool.wait()
        assert heard, "the wait ended without the signal"
        assert isinstance(message, workers.Interrupted)
    finally:
        done.set()
        sender.join()
        signal.signal(signal.SIGUSR1, before)
        pool.close()


# --- work that is ended is still looked through ---------------------------------------


def a_look():
    workers = WorkerPool(1, lambda _number, _crew: None)
    return workers, LastLook(workers, 0)


def test_what_nobody_ended_is_looked_at_as_long_as_it_takes():
    _, over = a_look()
    assert not over()


def test_one_task_that_is_ended_is_looked_through_on_a_busy_machine_too():
    workers, over = a_look()
    workers.ends(0).set()
    assert not over()
    time.sleep(1.5)
    assert not over()


def test_a_run_that_ends_does_not_wait_for_a_long_look():
    workers, over = a_look()
    workers.ends(0).set()
    assert not over()
    workers.cancel()
    time.sleep(1.1)
    assert over()


def test_of_many_slots_that_begin_at_once_only_as_many_are_made_at_once_as_cores(
    workplace, monkeypatch
):
    making, most, reset = [0], [0], Scratch.reset

    def counted(self, base, *, is_commit=False):
        making[0] += 1
        most[0] = max(most[0], making[0])
        try:
            return reset(self, base, is_commit=is_commit)
        finally:
            making[0] -= 1

    monkeypatch.setattr(Scratch, "reset", counted)
    checks = (
        f"## TASK-{n:03d}: Look\n- Status: PENDING\n- Test contracts:\n"
        f"  - TC-001 (unit): `sleep 0.{n}`\n"
        for n in range(100, 124)
    )
    workplace.plan(*checks)
    ended = workplace.run("-j", "24", "--no-sandbox", "--no-verify-at-end")
    assert ended.code == 0, ended.said
    assert 1 <= most[0] <= max(2, count_cores())
