"""Work that is ended is still looked through, so that a draft of it can be kept."""

import time

from runner.run.worker_setup import LastLook
from runner.run.workers import WorkerPool


def a_look():
    crew = WorkerPool(1, lambda _number, _crew: None)
    return crew, LastLook(crew, 0)


def test_what_nobody_ended_is_looked_at_as_long_as_it_takes():
    _, over = a_look()
    assert not over()


def test_one_task_that_is_ended_is_looked_through_on_a_busy_machine_too():
    crew, over = a_look()
    crew.ends(0).set()
    assert not over()
    time.sleep(1.5)
    assert not over()


def test_a_run_that_ends_does_not_wait_for_a_long_look():
    crew, over = a_look()
    crew.ends(0).set()
    assert not over()
    crew.cancel()
    time.sleep(1.1)
    assert over()
