"""The long campaign: every number and many random moments, for CAMPAIGN_SECONDS together."""

import os
import random
import time

import pytest
from crash_process import kill_later, kill_with_all, remove_stale_locks
from crash_ways import BROKEN, FULL, fail_at, power_cut_at, stop_at

SECONDS = float(os.environ.get("CAMPAIGN_SECONDS", "0"))
SEED = int(os.environ.get("CRASH_SEED", str(random.SystemRandom().randrange(10**6))))

pytestmark = pytest.mark.skipif(not SECONDS, reason="set CAMPAIGN_SECONDS to run a campaign")


def stops(story, k, _):
    house = story.begin()
    house.run(watch=stop_at(k))
    return house


def stops_twice(story, k, chance):
    house = stops(story, k, chance)
    house.run(watch=stop_at(chance.randint(20, 120)))
    return house


def power_is_cut(story, k, chance):
    house = story.begin()
    house.run(watch=power_cut_at(k, house.repo, torn=chance.choice((0, 1, 17, 200))))
    return house


def fails(story, k, chance):
    house = story.begin()
    stays = chance.random() < 0.3
    ended = house.run(watch=fail_at(k, chance.choice((FULL, BROKEN)), stays=stays))
    assert "Traceback" not in ended.said, ended.said
    return house


def is_killed(story, _, chance):
    house = story.begin()
    kill_later(house.start("--no-sandbox", "-j", "2"), chance.uniform(0.1, 1.5))
    return house


def is_killed_in_its_sandbox(story, _, chance):
    house = story.begin()
    kill_later(house.start("--sandbox", "auto"), chance.uniform(0.1, 1.5))
    return house


def is_killed_with_its_git(story, _, chance):
    house = story.begin()
    kill_with_all(house.start("--no-sandbox", "-j", "2"), chance.uniform(0.1, 1.5))
    remove_stale_locks(house.repo)
    return house


CRASHES = [
    stops,
    stops_twice,
    power_is_cut,
    fails,
    is_killed,
    is_killed_in_its_sandbox,
    is_killed_with_its_git,
]
STORIES = ["small", "whole"]


@pytest.mark.parametrize("crash", CRASHES, ids=lambda crash: crash.__name__)
@pytest.mark.parametrize("name", STORIES)
def test_a_campaign_of_crashes(request, record_property, name, crash):
    """Every number of the run in a random order, again and again while there is time."""
    story, chance = request.getfixturevalue(name), random.Random(f"{SEED} {name}")
    end = time.monotonic() + SECONDS / (len(CRASHES) + 1) / len(STORIES)
    tested = 0
    while time.monotonic() < end:
        for k in chance.sample(range(1, story.count + 1), story.count):
            where = f"seed {SEED}, {crash.__name__}, {story.told_at(k)}"
            house = crash(story, k, chance)
            tested += 1
            record_property("tried", tested)  # the last one said is what a report has
            story.still_holds(house, where)
            story.goes_on(house, where)
            if time.monotonic() >= end:
                break
    record_property("effects", story.count)


@pytest.mark.parametrize("name", STORIES)
def test_a_campaign_of_cuts(request, record_property, name):
    """The journal of a finished and of a stopped run, cut at any byte of its second half."""
    story, chance = request.getfixturevalue(name), random.Random(f"{SEED} {name}")
    end = time.monotonic() + SECONDS / (len(CRASHES) + 1) / len(STORIES)
    stopped = story.begin()
    stopped.run(watch=stop_at(story.count * 4 // 5))
    stopped = stopped.copied(story.place.with_name("stopped"))
    tested = 0
    while time.monotonic() < end:
        house = chance.choice((story.end, stopped)).copied(story.place)
        size = house.journal.stat().st_size
        length = chance.randint(size // 2, size)
        os.truncate(house.journal, length)
        ended = house.run()
        assert ended.code == 0, f"seed {SEED}, cut at {length}: {ended.said}"
        story.same_end(house, f"seed {SEED}, cut at {length}")
        tested += 1
        record_property("tried", tested)
