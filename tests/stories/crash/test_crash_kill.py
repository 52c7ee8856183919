"""The real command, killed or interrupted by a signal at any moment, goes on when run again."""

import random
import signal
import time

import pytest
from crash_house import SMALL, House, Story
from crash_process import (
    end,
    has_bubblewrap,
    kill_later,
    kill_with_all,
    processes,
    remove_stale_locks,
    slow,
    until,
)

KILLS = 8
SANDBOXES = [
    "none",
    pytest.param(
        "bubblewrap",
        marks=pytest.mark.skipif(not has_bubblewrap(), reason="bubblewrap does not work here"),
    ),
]


@pytest.fixture(scope="module")
def timed(ground):
    """The small story, and how long the real command takes for it."""
    story = Story.told(ground / "timed", SMALL)
    house = story.begin()
    began = time.monotonic()
    assert house.start("--no-sandbox").wait() == 0
    return story, time.monotonic() - began


@pytest.mark.nightly(
    sibling="tests/journal/test_journal_log.py::test_stopped_at_any_effect_it_goes_on_and_keeps_all_that_was_said_to_be_durable"
)
@pytest.mark.parametrize("number", range(KILLS))
def test_a_run_killed_at_a_random_moment_goes_on(timed, number):
    story, seconds = timed
    house = story.begin()
    after = random.Random(number).uniform(0.15, 1.0) * seconds
    kill_later(house.start("--no-sandbox"), after)
    story.goes_on(house, f"killed after {after:.2f} s")


@pytest.mark.parametrize("number", range(KILLS // 4))
def test_a_run_killed_together_with_its_git_goes_on_once_gits_locks_are_gone(timed, number):
    story, seconds = timed
    house = story.begin()
    after = random.Random(100 + number).uniform(0.3, 1.0) * seconds
    kill_with_all(house.start("--no-sandbox"), after)
    remove_stale_locks(house.repo)
    story.goes_on(house, f"all killed after {after:.2f} s")


class Sleeping:
    """A run whose command sleeps."""

    def __init__(self, folder, sandbox):
        self.word = f"{random.randint(100, 999)}.{random.randint(10**9, 10**10)}"
        self.house = House.built(folder, slow(self.word))
        self.words = ("--sandbox", sandbox)
        self.process = self.house.start(*self.words)
        until("the command sleeps", lambda: processes(f"sleep\0{self.word}"))

    def completes(self):
        again = self.house.start(*self.words)
        out, _ = again.communicate(timeout=60)
        assert again.returncode == 0, out
        assert not processes(self.word)
        assert [one.task for one in self.house.landings()] == ["TASK-002", "TASK-001"]
        assert self.house.git("status", "--porcelain") == ""


@pytest.fixture(params=SANDBOXES)
def sleeping(request, ground):
    run = Sleeping(ground / f"sleeping-{random.randint(0, 10**9)}", request.param)
    yield run
    run.process.kill()
    run.process.wait()


@pytest.mark.nightly(
    sibling="tests/run/test_run_interruption.py::test_a_signal_wakes_the_coordinator_and_raises_nothing"
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command_and_puts_its_task_back(sleeping, number):
    code, said = end(sleeping.process, number)
    assert code == 130, said
    assert "Traceback" not in said
    assert not processes(sleeping.word)
    plan = sleeping.house.read("TASK-GRAPH.md").decode()
    assert plan.count("Status: DONE") == 1
    assert plan.count("Status: PENDING") == 1
    sleeping.completes()


def test_a_second_run_is_refused_and_what_a_killed_one_left_running_ends_with_the_next(sleeping):
    second = sleeping.house.start(*sleeping.words)
    said, _ = second.communicate(timeout=60)
    assert second.returncode == 6, said
    assert f"another run is active in this folder: process {sleeping.process.pid}" in said
    assert f"`kill {sleeping.process.pid}`" in said
    sleeping.process.kill()
    sleeping.process.wait()
    sleeping.completes()
