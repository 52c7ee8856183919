"""Scratch trees are lent for proofs as long as no task wants the slot."""

import signal
import threading
import time
from dataclasses import dataclass, field

from runner.run import workers
from runner.run.spare_slots import SpareSlots


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
