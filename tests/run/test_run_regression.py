"""A task of blocks that would only take a held change back is told, with what to edit."""

import pytest
from run_build import a_task

from runner import effects
from runner.model import Action, Block, BlockKind, Change, digest_of
from runner.run.limits.budget import Backoff
from runner.run.limits.retries import CANCELLED
from runner.run.regressions.group_build import Pace
from runner.run.regressions.regression import find_taken_back, which_to_edit


def blocks(*kinds, implementer=""):
    made = tuple(Block(kind, path, text, 1) for kind, path, text in kinds)
    return a_task(blocks=made, implementer=implementer)


def change(path, content):
    action = Action.DELETE if content is None else Action.MODIFY
    return Change(path, action, 0o100644, None, content and digest_of(content), content)


FILE = (BlockKind.FILE, "rules.txt", "apart\n")


@pytest.mark.parametrize(
    ("content", "found"),
    [(b"touching\n", "rules.txt"), (None, "rules.txt"), (b"apart\n", ""), (b"apart", "")],
)
def test_a_block_takes_back_what_it_writes_otherwise(content, found):
    assert find_taken_back(blocks(FILE), [change("rules.txt", content)]) == found


def test_a_block_that_deletes_what_the_change_wrote_takes_it_back():
    gone = blocks((BlockKind.DELETE, "rules.txt", ""))
    assert find_taken_back(gone, [change("rules.txt", b"touching\n")]) == "rules.txt"
    assert find_taken_back(gone, [change("rules.txt", None)]) == ""


def test_blocks_of_other_files_and_patches_take_nothing_back():
    others = [change("other.txt", b"x\n")]
    assert find_taken_back(blocks(FILE), others) == ""
    patch = blocks((BlockKind.PATCH, "rules.txt", "--- a\n"))
    assert find_taken_back(patch, [change("rules.txt", b"touching\n")]) == ""


@pytest.mark.parametrize(("who", "found"), [("Blocks", "rules.txt"), ("agent", "")])
def test_only_who_says_the_same_again_takes_it_back(who, found):
    task = blocks(FILE, implementer=who)
    assert find_taken_back(task, [change("rules.txt", b"touching\n")]) == found


def test_the_advice_names_both_tasks_and_the_file():
    assert which_to_edit("TASK-009", {"TASK-002": "rules.txt", "TASK-003": "x"}) == (
        "TASK-002 cannot be built on this change: its own blocks write rules.txt; "
        "edit the blocks of TASK-002 or of TASK-009"
    )


# --- a member of a group rests as any task does ---------------------------------------


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
