"""Calls of models keep to the rate over all threads, and a wait ends with what it is for."""

import threading

import pytest

from runner.config.sizes import CallRate, parse_rate
from runner.implementers import base
from runner.implementers.base import Pacer, find_pacer


class FakeTime:
    """A clock that goes on once every thread waits; it stands in for an attempt's event, too."""

    def __init__(self, threads):
        self.now, self.threads, self.until = 0.0, threads, []
        self.changed = threading.Condition()

    def clock(self):
        return self.now

    def wait(self, seconds):
        with self.changed:
            until = self.now + seconds
            self.until.append(until)
            self._go_on()
            assert self.changed.wait_for(lambda: self.now >= until, timeout=20)
        return False

    def leave(self):
        with self.changed:
            self.threads -= 1
            self._go_on()

    def _go_on(self):
        if self.until and len(self.until) == self.threads:
            self.now = min(self.until)
            self.until = [one for one in self.until if one > self.now]
            self.changed.notify_all()


def test_threads_together_call_no_more_often_than_the_rate_says():
    time, calls = FakeTime(4), []
    pacer = Pacer(parse_rate("6/minute"), time.clock)

    def work():
        for _ in range(3):
            assert pacer.wait(time, lambda _: None)
            calls.append(time.now)
        time.leave()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(30)
    assert calls == [10.0 * number for number in range(12)]


def test_calls_that_were_not_made_are_not_saved_up():
    time = FakeTime(1)
    pacer = Pacer(parse_rate("60/hour"), time.clock)
    assert pacer.take() == 0
    time.now = 1000.0
    assert (pacer.take(), pacer.take()) == (0, 60)


def test_a_wait_ends_at_once_where_the_attempt_is_cancelled():
    pacer, cancelled = Pacer(parse_rate("1/hour")), threading.Event()
    assert pacer.wait(cancelled, pytest.fail)
    heard = []
    waiting = threading.Thread(target=lambda: heard.append(pacer.wait(cancelled, heard.append)))
    waiting.start()
    cancelled.set()
    waiting.join(5)
    assert heard == ["waiting to call the model, limited by model.calls = 1/hour", False]


@pytest.mark.parametrize(("rate", "told"), [("30/minute", 0), ("20/minute", 1)])
def test_only_a_wait_of_more_than_two_seconds_is_told_and_once(rate, told):
    time, said = FakeTime(1), []
    pacer = Pacer(parse_rate(rate), time.clock)
    pacer.wait(time, said.append)
    pacer.wait(time, said.append)
    assert len(said) == told


def test_one_rate_has_one_pacer_in_a_process(monkeypatch):
    monkeypatch.setattr(base, "_PACERS", {})
    assert find_pacer("") is None
    assert find_pacer("6/minute") is find_pacer("6/minute")


def test_rates_are_read_and_written_alike():
    assert parse_rate("60/minute") == CallRate(60, "minute")
    assert str(parse_rate("90/hour")) == "90/hour"
    assert parse_rate("6/minute").hourly == parse_rate("360/hour").hourly == 360


@pytest.mark.parametrize(
    "text",
    ["60", "0/minute", "x/minute", "60/fortnight", "-1/hour", "1.5/hour", "1234567/hour", ""],
)
def test_what_is_no_rate_is_refused(text):
    with pytest.raises(ValueError, match="must be calls per minute or hour, such as 6/minute"):
        parse_rate(text)
