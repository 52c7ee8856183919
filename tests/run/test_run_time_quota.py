"""What is written again and again costs a share of a run; a slow disk keeps nobody waiting."""

import pytest

from runner import effects
from runner.run.landing.status_writer import TimeQuota


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [100.0]
    monkeypatch.setattr(effects, "monotonic", lambda: now[0])
    return now


def spent(quota, clock, seconds):
    with quota.spend():
        clock[0] += seconds


def test_the_first_time_is_affordable_and_then_its_share_decides(clock):
    quota = TimeQuota(0.02, clock[0])
    assert quota.affordable
    spent(quota, clock, 0.01)
    assert not quota.affordable
    clock[0] += 0.6
    assert quota.affordable


@pytest.mark.parametrize(("took", "rest"), [(0.3, 5.0), (3.0, 30.0)])
def test_after_a_time_that_took_long_nobody_waits_for_minutes(clock, took, rest):
    quota = TimeQuota(0.02, clock[0])
    spent(quota, clock, took)
    clock[0] += rest - 0.1
    assert not quota.affordable
    clock[0] += 0.2
    assert quota.affordable


def test_it_tells_from_when_on_it_may_be_done(clock):
    quota = TimeQuota(0.02, clock[0])
    clock[0] += 10.0
    assert quota.affordable_at <= clock[0]
    with quota.spend():
        clock[0] += 0.3
    assert quota.affordable_at == pytest.approx(clock[0] + 4.7)  # two hundredths of 15 s
    with quota.spend():
        clock[0] += 2.0
    assert quota.affordable_at == pytest.approx(clock[0] + 20.0)  # ten times as long as the last
    clock[0] = quota.affordable_at - 0.01
    assert not quota.affordable
    clock[0] += 0.02
    assert quota.affordable
