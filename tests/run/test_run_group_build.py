"""A member of a group rests as any task does: to its time, a person's word, or the run's end."""

import pytest

from runner import effects
from runner.run.limits.deadlines import Backoff
from runner.run.limits.retries import CANCELLED
from runner.run.regressions.group_build import Pace


class Clock:
    """The coordinator's clock: each look at the news moves it by a second."""

    def __init__(self):
        self.now, self.backoff, self.used_up, self.heard = 100.0, Backoff(), "", 0
        self.at = {}

    def take_due(self):
        return self.backoff.take(self.now)

    def hear(self):
        self.heard += 1
        self.now += 1.0
        self.at.get(self.heard, lambda: None)()


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(effects, "monotonic", lambda: made.now)
    return made


def test_it_goes_on_when_its_time_has_come(clock):
    assert Pace(clock, clock.hear).rest("TASK-002", 3.0) == ""
    assert (clock.heard, "TASK-002" in clock.backoff) == (3, False)


def test_without_a_pause_nobody_waits(clock):
    assert Pace(clock, clock.hear).rest("TASK-002", 0) == ""
    assert clock.heard == 0


def test_a_person_who_ends_it_is_heard_while_it_rests(clock):
    clock.at[2] = lambda: clock.backoff.drop("TASK-002")
    assert Pace(clock, clock.hear).rest("TASK-002", 60.0) == CANCELLED
    assert clock.heard == 2


def test_nothing_is_tried_after_the_end_of_the_run_and_nothing_waits_any_more(clock):
    clock.at[1] = lambda: setattr(clock, "used_up", "the run's 5 minutes")
    assert Pace(clock, clock.hear).rest("TASK-002", 60.0) == "the run's 5 minutes"
    assert "TASK-002" not in clock.backoff
    assert clock.heard == 1
