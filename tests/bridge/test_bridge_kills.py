"""The real program, killed at a call to the forge, made or not: the next round goes on."""

import os
import random
import time

import pytest
from shop import kill

CAMPAIGN = float(os.environ.get("CAMPAIGN_SECONDS", "0"))
SEED = int(os.environ.get("CAMPAIGN_SEED", "0"))


def tell(shop, last=None, *, is_made=False):
    """From the label to the merge, killed at one call; how many calls there were."""
    count = [0]
    running = []

    def at_call(now_made):
        def heard(method, path):
            del method, path
            count[0] += not now_made
            if last is not None and now_made == is_made and count[0] == last + 1 and running:
                count[0] += 10**6  # only once
                kill(running[0])
                raise ConnectionAbortedError

        return heard

    shop.forge.before, shop.forge.after = at_call(False), at_call(True)

    def go_until(waits):
        said = []
        for _ in range(3):
            running[:] = [shop.start()]
            out, err = running[0].communicate(timeout=300)
            said.append(out + err)
            if waits in out:
                return
        raise AssertionError("\n".join(said))

    number = shop.request()
    go_until("a plan waits for a review")
    shop.forge.comment("ada", number, f"/runner approve {shop.digest(number)}")
    go_until("a pull request waits for a review")
    shop.forge.merge("ada", shop.forge.pulls[0]["number"])
    go_until(": merged")
    return number, count[0] % 10**6


def check(shop, number):
    assert len(shop.forge.pulls) == 1
    assert "It is merged." in shop.status(number)
    assert shop.labels(number) == set()
    assert [one["context"] for one in shop.forge.statuses] == ["runner/proof"]
    bare = f"--git-dir={shop.forge.bare}"
    log = shop.workplace.git(bare, "log", "--format=%s", "main").splitlines()
    assert log.count("feat(TASK-008): export bookings as CSV") == 1
    assert shop.forge.sha_of(f"runner/{number}") == ""


def test_a_bridge_that_is_killed_at_a_call_ends_as_if_it_had_not_been(shop):
    chance = random.Random(SEED)
    number, _ = tell(shop, chance.randrange(8, 60), is_made=chance.random() < 0.5)
    check(shop, number)


@pytest.mark.skipif(not CAMPAIGN, reason="set CAMPAIGN_SECONDS to run a campaign")
def test_campaign_killed_at_any_call_it_ends_the_same(tmp_path, alone, record_property):
    from shop import Shop, open_shop

    calls, tried, until = list(range(90)), 0, time.monotonic() + CAMPAIGN
    random.Random(SEED).shuffle(calls)
    for last in calls:
        for is_made in (False, True):
            if tried and time.monotonic() > until:
                break
            folder = tmp_path / f"{last}-{is_made}"
            folder.mkdir()
            workplace, forge = open_shop(folder, alone)
            with forge:
                one = Shop(workplace, folder, forge)
                number, _ = tell(one, last, is_made=is_made)
                check(one, number)
            tried += 1
    record_property("kills", tried)
    assert tried
