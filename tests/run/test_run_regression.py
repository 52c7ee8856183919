"""A task of blocks that would only take a held change back is told, with what to edit."""

import pytest
from run_build import a_task

from runner.model import Action, Block, BlockKind, Change, digest_of
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
        "TASK-002 cannot be built on it: its own blocks write rules.txt; "
        "edit the blocks of TASK-002 or of TASK-009"
    )
