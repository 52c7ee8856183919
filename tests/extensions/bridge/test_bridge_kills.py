"""The real program, killed before and after its calls that write: it ends as if it had not been.

One long story goes through every phase: an epic with a part, a plan refused and one approved,
tasks mirrored, a change, a review, a stop, a pull request, a merge. Each different call that
writes is a place to be killed at: before it is made, and once more after.
"""

import json
import os
import random
import re
import signal
import time
from functools import partial

import pytest
from shop import BUILD, kill

CAMPAIGN = float(os.environ.get("CAMPAIGN_SECONDS", "0"))
SEED = int(os.environ.get("CAMPAIGN_SEED", "0"))
PHASES = 8
"""Times that the long story is looked at until it says what it has to."""
GROWING = f"{BUILD}\nwith open('export.py', 'a') as opened:\n    opened.write('# {{}}\\n')\n"


class Kills:
    """Kills what runs at a forge's calls that write: those that `chooses`, each way once.

    It is told whether a call of this kind, with other numbers, was heard before.
    """

    def __init__(self, forge, chooses):
        self.chooses, self.done, self.running = chooses, set(), None
        self.seen, self.kinds = set(), set()
        forge.before = self._at("before")
        forge.after = self._at("after")

    def _at(self, when):
        def heard(method, path, document):
            if method == "GET" or path == "/graphql" or self.running is None:
                return
            # The same text again is the same call: it passes, or the story would never end.
            place = (when, method, path, json.dumps(document, sort_keys=True))
            is_new, _ = place not in self.seen, self.seen.add(place)
            kind = (when, method, re.sub(r"\b([0-9a-f]{40}|[0-9]+)\b", "…", path))
            is_new_kind, _ = kind not in self.kinds, self.kinds.add(kind)
            if is_new and self.chooses(is_new_kind):
                self.done.add(place)
                kill(self.running)
                self.running = None
                raise ConnectionAbortedError

        return heard


class Story:
    """From the label to the merge; every look goes on until it says what it has to."""

    def __init__(self, shop, chooses):
        self.shop, self.kills, self.looked = shop, Kills(shop.forge, partial(chooses, self)), 0

    def look(self, waits):
        said = []
        self.looked += 1
        for _ in range(300):
            self.kills.running = process = self.shop.start("--sub-issues")
            out, err = process.communicate(timeout=300)
            self.kills.running = None
            said.append(out + err)
            if waits in out:
                return
            assert process.returncode == -signal.SIGKILL or "a run goes on" in out, said[-1]
        raise AssertionError("\n".join(said))

    def tell(self, *, is_long):
        shop = self.shop
        if is_long:
            number = shop.forge.open_issue("eve", "Export bookings", "as CSV")
            part = shop.forge.open_issue("eve", "Its head", "one line")
            shop.forge.add_part("ada", number, part)
            shop.forge.label("ada", number, "runner")
        else:
            number = shop.request()
        self.look("the plan needs review")
        if is_long:
            shop.forge.comment("ada", number, f"/runner reject {shop.digest(number)} plainer")
            self.look("the plan needs review")
        shop.forge.comment("ada", number, f"/runner approve {shop.digest(number)}")
        self.look("the pull request needs review")
        pull = shop.forge.pulls[0]["number"]
        if is_long:
            shop.builds(GROWING.format(1))
            shop.forge.comment("ada", number, "/runner change TASK-008 say it is the first")
            self.look("the pull request needs review")
            shop.builds(GROWING.format(2))
            shop.forge.review("ada", pull, "and the second", lines=[("export.py", 1, "say it")])
            self.look("the pull request needs review")
            shop.forge.comment("ada", number, "/runner stop")
            self.look("paused")
            shop.forge.comment("ada", number, "/runner retry")
            self.look("the pull request needs review")
        shop.forge.merge("ada", pull)
        self.look(": merged")
        return number


def check(shop, number, landings):
    assert len(shop.forge.pulls) == 1
    assert "Ended: merged." in shop.status(number)
    assert shop.labels(number) == set()
    assert {one["context"] for one in shop.forge.statuses} == {"runner/proof"}
    proven = [one["sha"] for one in shop.forge.statuses]
    assert len(proven) == len(set(proven)) == landings, "a proof is told once"
    bare = f"--git-dir={shop.forge.bare}"
    log = shop.workplace.git(bare, "log", "--format=%s", "main").splitlines()
    built = [one for one in log if one.startswith("feat(TASK-008)")]
    assert len(built) == landings
    assert shop.forge.sha_of(shop.branch(number)) == ""
    mirrors = [one for one in shop.forge.issues.values() if "runner:task" in one["labels"]]
    assert [(one["title"], one["state"]) for one in mirrors] == [
        ("TASK-008: Export bookings as CSV", "closed")
    ]
    assert shop.forge.parts[number][-1] == mirrors[0]["number"]
    assert shop.forge.issues[number]["state"] == "closed"


@pytest.mark.nightly(
    sibling="tests/extensions/bridge/test_github.py::test_one_pull_request_for_a_branch"
)
def test_a_bridge_that_is_killed_at_calls_that_write_ends_as_if_it_had_not_been(shop):
    chance = random.Random(SEED)
    story = Story(shop, lambda *_: chance.random() < 0.12)
    number = story.tell(is_long=False)
    check(shop, number, 1)
    assert story.kills.done


@pytest.mark.skipif(not CAMPAIGN, reason="set CAMPAIGN_SECONDS to run a campaign")
def test_campaign_killed_before_and_after_every_call_that_writes_it_ends_the_same(
    shop, record_property
):
    began = time.monotonic()

    def chooses(story, is_new_kind):
        """Every kind of call, and every call while there is time; each phase has its share."""
        return is_new_kind or time.monotonic() - began < CAMPAIGN * story.looked / PHASES

    story = Story(shop, chooses)
    number = story.tell(is_long=True)
    assert story.looked == PHASES
    check(shop, number, 3)
    assert shop.forge.issues[2]["state"] == "closed", "the part is closed by the same request"
    assert story.kills.done, "on a slow machine there is time for few"
    record_property("kills", len(story.kills.done))


class Pair:
    """Two machines that serve one repository; each begins again when it ends."""

    def __init__(self, shop, folder):
        self.shop, self.chance, self.faults = shop, random.Random(SEED), 0
        self.places = [folder / name for name in ("here", "elsewhere")]
        self.running = [None, None]
        self.told = set()

    def begin_again(self):
        words = self.shop.words("--trust", "--follow", "--every", "1", "--sub-issues")
        for number, one in enumerate(self.running):
            if one is None or one.poll() is not None:
                state = {"XDG_STATE_HOME": str(self.places[number])}
                self.running[number] = self.shop.workplace.start(
                    *words, **state, **self.shop.variables
                )

    def fault(self):
        """One of them is killed, or sleeps for three ttl."""
        one = self.chance.choice(self.running)
        if self.chance.random() < 0.5:
            kill(one)
        else:
            one.send_signal(signal.SIGSTOP)
            time.sleep(6)
            one.send_signal(signal.SIGCONT)
        self.faults += 1

    def look(self, is_so):
        until, next_fault = time.monotonic() + 900, time.monotonic() + 5
        while not is_so():
            assert time.monotonic() < until, "it does not come"
            self.begin_again()
            if time.monotonic() > next_fault:
                self.fault()
                next_fault = time.monotonic() + self.chance.uniform(6, 16)
            time.sleep(0.1)

    def approve(self, number):
        """Approve whatever plan is shown: a machine that does not know the last one drafts anew."""
        said = [one for one in self.shop.forge.comments_of(number) if one["user"] == "runner-bot"]
        digest = said[0]["body"].partition("/runner approve ")[2][:12] if said else ""
        shown = (digest, said[0]["updated_at"] if said else "")
        waits = self.shop.labels(number) == {"runner:plan-in-review"}
        if digest and waits and shown not in self.told:
            self.told.add(shown)
            self.shop.forge.comment("ada", number, f"/runner approve {digest}")
        return self.shop.labels(number) == {"runner:in-review"}

    def end(self):
        for one in self.running:
            one.send_signal(signal.SIGCONT)
            one.terminate()
            one.communicate(timeout=120)


@pytest.mark.skipif(not CAMPAIGN, reason="set CAMPAIGN_SECONDS to run a campaign")
def test_campaign_of_two_bridges_that_are_killed_and_sleep_one_does_it(
    shop, tmp_path, record_property
):
    pair, number = Pair(shop, tmp_path), shop.request()
    try:
        pair.look(lambda: pair.approve(number))
        (pull,) = shop.forge.pulls
        shop.forge.merge("ada", pull["number"])
        pair.look(lambda: shop.labels(number) == set())
    finally:
        pair.end()
    assert len(shop.forge.pulls) == 1
    assert shop.status(number)
    bare = f"--git-dir={shop.forge.bare}"
    log = shop.workplace.git(bare, "log", "--format=%s", "main").splitlines()
    assert sum(one.startswith("feat(TASK-008)") for one in log) == 1
    record_property("faults", pair.faults)
