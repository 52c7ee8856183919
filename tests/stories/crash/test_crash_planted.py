"""The crash stories are tested themselves: a bug planted on purpose must make them fail."""

import os

import pytest
from crash_ways import power_cut_at, stop_at

from runner import effects
from runner.journal.events import TaskLanded, TaskLanding
from runner.journal.log import Journal
from runner.repo.read import Repository
from runner.run import (
    crash_cleanup,
    recovery,
)
from runner.run.journal_writer import JournalWriter
from runner.run.landing import (
    lander,
)


def landed_is_told_before_the_branch_moves():
    def land(self, task, outcome, review):
        def early(repository, head, commit, why="", index=None):
            event = TaskLanded(commit=commit, tree="", paths=())
            self.journal.note(event, task=task.id, attempt=outcome.attempt, durable=True)
            return move(repository, head, commit, why, index)

        move, lander.move_branch = lander.move_branch, early
        try:
            return whole(self, task, outcome, review)
        finally:
            lander.move_branch = move

    whole, lander.Lander.land = lander.Lander.land, land


def no_commit_is_looked_up():
    Repository.find_landing = lambda *_, **__: None
    Repository.log_trailers = lambda *_, **__: iter(())


def landing_is_never_told():
    real = JournalWriter.note

    def note(self, event, **words):
        if not isinstance(event, TaskLanding):
            return real(self, event, **words)
        return None

    JournalWriter.note = note
    crash_cleanup.adopt_unknown = lambda *_: None


def the_journal_is_never_synced():
    Journal._sync = lambda *_: None


def the_plan_is_written_in_place():
    real = effects.write_file

    def write_file(path, content, **words):
        if path.name != "TASK-GRAPH.md":
            return real(path, content, **words)
        whole = content if isinstance(content, bytes | bytearray) else b"".join(content)
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC)
        half = len(whole) // 2
        effects.append(descriptor, whole[:half], path)
        effects.append(descriptor, whole[half:], path)
        os.close(descriptor)
        return True

    effects.write_file = write_file


def a_landing_is_forgotten_by_the_next_run():
    recovery.complete_landing = lambda *_: None
    crash_cleanup.adopt_unknown = lambda *_: None


def nothing_is_swept():
    crash_cleanup.sweep = lambda *_: None


PLANTED = [
    landed_is_told_before_the_branch_moves,
    no_commit_is_looked_up,
    landing_is_never_told,
    the_plan_is_written_in_place,
    a_landing_is_forgotten_by_the_next_run,
    nothing_is_swept,
]


def found(story, bug, watch):
    """What a crash of a run with this bug breaks; nothing where every crash is harmless."""
    undisturbed = story.begin().run(prepare=bug)
    assert undisturbed.code == 0, undisturbed.said
    for k, (kind, target) in enumerate(undisturbed.effects, start=1):
        if (kind, target.rpartition("/")[2]) not in _TELLING:
            continue
        house = story.begin()
        try:
            house.run(watch=watch(k, house), prepare=bug)
            story.still_holds(house, f"effect {k}: {kind} {target}")
            story.goes_on(house, f"effect {k}: {kind} {target}", prepare=bug)
        except AssertionError as broken:
            return str(broken)
    return ""


_TELLING = {
    ("git", "update-ref"),
    ("ref", "main"),
    ("open", "index.lock"),
    ("replace", "index"),
    ("replace", "TASK-GRAPH.md"),
    ("write", "TASK-GRAPH.md"),
    ("replace", "one.txt"),
}
"""Effects around which these bugs show; the suite proper stops at all kinds."""


@pytest.mark.nightly(sibling="tests/test_campaigns.py::test_every_campaign_has_a_bug_to_find")
@pytest.mark.parametrize("bug", PLANTED, ids=lambda bug: bug.__name__)
def test_a_planted_bug_is_found(small, bug):
    assert found(small, bug, lambda k, _: stop_at(k))


def test_a_dropped_fsync_is_found_by_a_power_cut(small):
    watch = lambda k, house: power_cut_at(k, house.repo)  # noqa: E731
    assert found(small, the_journal_is_never_synced, watch)


@pytest.mark.nightly(
    sibling="tests/stories/simulation/test_simulation.py::test_every_attempt_that_began_is_in_the_journal"
)
def test_without_a_bug_nothing_is_found(small):
    assert not found(small, None, lambda k, house: power_cut_at(k, house.repo))
