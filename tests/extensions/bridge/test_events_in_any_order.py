"""Looks that come doubled, late or never, kills and noise between: the same end in the end."""

import os
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from forge_server import ForgeServer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from issue_case import Case, Direct, KilledError, Killing

EXAMPLES = 40 if "CAMPAIGN_SECONDS" in os.environ else 12
NOISE = [
    ("eve", "/runner approve {digest}"),
    ("tom", "/runner stop"),
    ("eve", "<!-- runner-bridge:1 {{}} -->"),
    ("ada", "/runner approve 0000000000"),
    ("ada", "thanks"),
    ("tom", "/runner retry"),
]


@dataclass
class Play:
    """A story of which every step may be looked at late, twice, or with a kill in it."""

    case: Case

    def look(self, kill=None):
        if kill is None:
            return self.case.advance()
        killing = Killing(self.case.forge, kill[0], is_made=kill[1])
        try:
            return self.case.advance(killing)
        except KilledError:
            return None

    def until(self, waits):
        """Look until it says so: what a person sees before they go on."""
        for _ in range(4):
            if self.case.advance() == waits:
                return
        raise AssertionError(f"it never says {waits!r}")

    def reject(self, times):
        for _ in range(times):
            self.case.say(f"/runner reject {self.case.digest} another way")

    def approve(self, times):
        for _ in range(times):
            self.case.say(f"/runner approve {self.case.digest}")

    def stop_and_retry(self, times):
        for word in ("stop", "retry"):
            for _ in range(times):
                self.case.say(f"/runner {word}")

    def request_changes(self, _times):
        pull = self.case.server.pulls[0]["number"]
        self.case.server.review("ada", pull, "as TSV")

    def merge(self, _times):
        self.case.server.merge("ada", self.case.server.pulls[0]["number"])


ACTS = [
    ("reject", "the plan needs review"),
    ("stop_and_retry", "the plan needs review"),
    ("approve", "the pull request needs review"),
    ("request_changes", "the pull request needs review"),
    ("merge", "merged"),
]
KILLS = st.one_of(st.none(), st.tuples(st.integers(0, 30), st.booleans()))
BETWEEN = st.tuples(
    st.integers(1, 3),  # how often the same is said
    st.lists(st.sampled_from(NOISE), max_size=2),
    st.lists(KILLS, max_size=3),  # looks before the one that counts
)


def end(case):
    # What a kill has done twice, one after the other, is done once.
    done = [one for one, _ in groupby(case.builder.done)]
    said = case.status.partition("<!-- runner-bridge")[0]
    return {
        "comments": len([o for o in case.server.comments_of(case.number) if o["user"] != "eve"]),
        "rows": [one for one in said.splitlines() if one.startswith("|")],
        "labels": case.labels,
        "assigned": case.server.issues[case.number]["assignees"],
        "pulls": [(one["title"], one["body"], one["state"]) for one in case.server.pulls],
        "statuses": [one["context"] for one in case.server.statuses],
        "state": case.server.issues[case.number]["state"],
        "done": [one.partition(" by ")[0].partition(" (review")[0] for one in done],
    }


def play(bare, plan):
    server = ForgeServer("acme/shop", bare)
    server.people |= {"ada": "write", "tom": "triage"}
    main = server.sha_of("main")
    server.sha_of = cache(server.sha_of)
    case = Case(server, server.sha_of("runner/1"), Direct(server))
    told = Play(case)
    try:
        case.label()
        told.until("the plan needs review")
        for (act, waits), (times, noise, looks) in zip(ACTS, plan, strict=True):
            getattr(told, act)(times)
            for who, text in noise:
                draft = case.builder.facts.draft
                case.say(text.format(digest=case.digest if draft else "0" * 12), who)
            for kill in looks:
                told.look(kill)
            told.until(waits)
    finally:
        server._git("update-ref", "refs/heads/main", main)
    assert server.mismatches == []
    came = end(case)
    people = [one for one in server.comments_of(case.number) if one["user"] != "runner-bot"]
    came["comments"] -= len([one for one in people if one["user"] != "eve"])
    return came


PLAIN = [(1, [], [])] * len(ACTS)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(plan=st.tuples(*[BETWEEN] * len(ACTS)))
def test_in_any_order_it_ends_the_same_campaign(bare, plan):
    assert play(bare, plan) == play(bare, PLAIN)
