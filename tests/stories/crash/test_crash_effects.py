"""A run that ends right before any one of its effects goes on to the same end."""

import os
import random

import pytest
from crash_ways import BROKEN, FULL, STOPPED, fail_at, power_cut_at, stop_at

SHARDS = 8
"""So that several workers share the numbers; each takes every eighth."""
THIN = int(os.environ.get("CRASH_THIN", "2"))
EVERY = {"small": 5 * THIN, "whole": 13 * THIN, "fail": 14 * THIN, "power": 9 * THIN}
"""The suite takes one number in so many, another one at each change of SEED; a campaign all."""
SEED = int(os.environ.get("CRASH_SEED", "1"))


def numbers(count, shard, every):
    """This shard's part of a sample of 1 … count."""
    first = random.Random(SEED).randrange(every)
    return range(1 + first + shard * every, count + 1, every * SHARDS)


@pytest.mark.nightly(
    sibling="tests/stories/simulation/test_simulation.py::test_whatever_happens_nothing_is_lost_and_nothing_lands_twice"
)
@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize("name", ["small", "whole"])
def test_a_run_stopped_before_an_effect_goes_on_to_the_same_end(request, name, shard):
    story = request.getfixturevalue(name)
    for k in numbers(story.count, shard, EVERY[name]):
        house = story.begin()
        ended = house.run(watch=stop_at(k)).code
        # threads share some effects, so a run may have a few less than the one that was counted
        assert ended == STOPPED or (ended == 0 and k > 0.95 * story.count)
        story.still_holds(house, story.told_at(k))
        story.goes_on(house, story.told_at(k))


@pytest.mark.parametrize("shard", range(SHARDS // 2))
def test_a_run_stopped_while_it_puts_an_earlier_crash_right_goes_on_too(small, shard):
    chance = random.Random(SEED * 100 + shard)
    first, second = chance.randint(60, small.count), chance.randint(25, 90)
    house = small.begin()
    house.run(watch=stop_at(first))
    house.run(watch=stop_at(second))
    small.goes_on(house, f"{small.told_at(first)}, then effect {second}")


@pytest.mark.nightly(
    sibling="tests/journal/test_journal_log.py::test_one_fsync_makes_everything_before_it_durable"
)
@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_power_cut_loses_what_no_fsync_had_reached_and_nothing_else(small, shard):
    for k in numbers(small.count, shard, EVERY["power"]):
        house = small.begin()
        house.run(watch=power_cut_at(k, house.repo, torn=random.Random(k).choice((0, 1, 40))))
        small.goes_on(house, f"power cut at {small.told_at(k)}")


@pytest.mark.nightly(
    sibling="tests/writes/test_writes_safe_io.py::test_a_full_disk_is_told_and_leaves_nothing_half_written"
)
@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize("stays", [False, True], ids=["once", "from-then-on"])
@pytest.mark.parametrize("code", [FULL, BROKEN], ids=["ENOSPC", "EIO"])
def test_an_effect_that_fails_is_told_and_the_next_run_goes_on(small, shard, code, stays):
    for k in numbers(small.count, shard, EVERY["fail"]):
        house = small.begin()
        ended = house.run(watch=fail_at(k, code, stays=stays))
        assert "Traceback" not in ended.said, f"{small.told_at(k)}\n{ended.said}"
        assert ended.code in (0, 1, 2, 3, 6), f"{small.told_at(k)}\n{ended.said}"
        assert ended.code == 0 or "hint:" in ended.said or ended.code in (1, 3), ended.said
        small.still_holds(house, small.told_at(k))
        small.goes_on(house, small.told_at(k))
