"""A run that publishes at its end, cut off before any effect: one push, and the branch is home."""

import os
import random
from dataclasses import dataclass

import pytest
from crash_ways import STOPPED, stop_at
from test_crash_published import Published, goes_on

SEED = int(os.environ.get("CRASH_SEED", "1"))
EVERY = int(os.environ.get("CRASH_PUBLISHED_EVERY", "128"))
"""One number in so many, of the effects from the first word with the remote to the last."""
END_EVERY = max(1, EVERY // 16)
"""The same of the end, from the books to the lease's way back."""


@dataclass(frozen=True)
class PublishedAtEnd(Published):
    """A house whose build goes out by one push."""

    @property
    def environment(self):
        return {**super().environment, "RUNNER_GIT_PUBLISH_AT": "end"}

    def copied(self, folder):
        return PublishedAtEnd(super().copied(folder).folder)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A house to begin in, and the effects of a run that nothing disturbs."""
    folder = tmp_path_factory.mktemp("at-end")
    start = PublishedAtEnd(Published.begun(folder / "start").folder)
    ended = start.copied(folder / "place").run()
    assert ended.code == 0, ended.said
    talks = [n for n, (kind, _) in enumerate(ended.effects, 1) if kind == "push"]
    # taken, asked whether it takes pushes, renewed at the end, all of it, given back
    assert len(talks) == 5
    return start, folder / "place", ended, talks


def is_home(house, where):
    goes_on(house, where)
    assert house.git("symbolic-ref", "--short", "HEAD").strip() == "main", where
    assert house.git("for-each-ref", "refs/heads/unpublished") == "", where


def cut(told, numbers):
    start, place, ended, _ = told
    for k in numbers:
        house = start.copied(place)
        assert house.run(watch=stop_at(k)).code == STOPPED
        kind, target = ended.effects[k - 1]
        is_home(house, f"effect {k}: {kind} {target}")


def test_a_build_cut_off_before_an_effect_is_published_whole(told):
    talks = told[-1]
    numbers = range(talks[0] - 3, talks[-2])
    cut(told, numbers[random.Random(SEED).randrange(EVERY) :: EVERY])


def test_cut_off_between_its_push_and_the_way_home_it_is_home_after_the_next_run(told):
    _, _, ended, talks = told
    # behind the last of these the run has ended for the journal: what stays of the lease lapses
    home = max(n for n, effect in enumerate(ended.effects, 1) if effect == ("git", "update-ref"))
    numbers = range(talks[-2], home + 2)
    cut(told, numbers[random.Random(SEED).randrange(END_EVERY) :: END_EVERY])
