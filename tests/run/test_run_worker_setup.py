"""Work that is ended is still looked through, so that a draft of it can be kept."""

import time

from runner.config.values import count_cores
from runner.repo.scratch import Scratch
from runner.run.worker_setup import LastLook
from runner.run.workers import WorkerPool


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
