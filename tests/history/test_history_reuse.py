"""`run --reuse`: what landed before lands again byte for byte, with no implementer called."""

import pytest
from history_build import THREE, cloned, tree
from workplace import PASSES, a_task

TIME = a_task(
    "TASK-002",
    "The time",
    needs=["TASK-001"],
    outputs=["out.txt"],
    command="date +%s%N > out.txt",
    tests=[PASSES],
)


@pytest.fixture
def timed(workplace):
    """A task whose bytes nobody could make twice."""
    workplace.plan(THREE[0], TIME, a_task("TASK-003", needs=["TASK-002"], blocks={"c.txt": "c\n"}))
    ended = workplace.run()
    assert ended.code == 0, ended.said
    return workplace


def modes(place, since):
    return [one["mode"] for one in place.events[since:] if one["type"] == "attempt.started"]


def test_after_a_replay_the_same_bytes_land_again(timed):
    there, count = tree(timed), len(timed.events)
    timed.runner("replay", "TASK-001", "--yes")
    ended = timed.run("--reuse")
    assert ended.code == 0, ended.said
    assert tree(timed) == there
    assert modes(timed, count) == ["prove", "prove"]
    assert list(timed.statuses.values()) == ["DONE"] * 3


def test_without_the_flag_it_is_built_anew(timed):
    there = timed.read("out.txt")
    timed.runner("replay", "TASK-001", "--yes")
    timed.run()
    assert timed.read("out.txt") != there


def test_a_task_that_was_undone_lands_again(timed):
    there = tree(timed)
    timed.runner("undo", "TASK-003", "--yes")
    timed.runner("undo", "TASK-002", "--yes")
    assert timed.run("--reuse").code == 0
    assert tree(timed) == there


def test_what_is_asked_for_otherwise_is_built_anew(timed):
    there = timed.read("out.txt")
    timed.runner("replay", "TASK-001", "--yes")
    timed.edit_plan("The time", "The time of day")
    timed.commit()
    ended = timed.run("--reuse")
    assert ended.code == 0, ended.said
    assert timed.read("out.txt") != there


def test_a_changed_input_has_it_built_anew(workplace):
    task = a_task(
        "TASK-002",
        outputs=["out.txt"],
        command="date +%s%N > out.txt",
        needs=["TASK-001"],
        fields=["Inputs: `in/*`"],
    )
    workplace.commit({"in/a.txt": "a\n"})
    workplace.plan(THREE[0], task)
    workplace.run()
    there = workplace.read("out.txt")
    workplace.runner("replay", "TASK-001", "--yes")
    workplace.commit({"in/a.txt": "another\n"})
    assert workplace.run("--reuse").code == 0
    assert workplace.read("out.txt") != there


def test_a_gate_that_fails_today_keeps_old_bytes_out(timed):
    timed.runner("replay", "TASK-001", "--yes")
    timed.commit({"runner.toml": "[gates]\nnever = 'test ! -e out.txt'\n"})
    ended = timed.run("--reuse", "--fail-fast")
    assert ended.code == 1
    assert not timed.has("out.txt")


def test_in_a_clone_it_works_from_the_commits_alone(timed, tmp_path):
    clone = cloned(timed, tmp_path / "clone")
    there = tree(clone)
    clone.runner("replay", "TASK-001", "--yes")
    ended = clone.run("--reuse")
    assert ended.code == 0, ended.said
    assert tree(clone) == there


def test_two_attempts_that_landed_give_the_one_that_fits(timed):
    timed.runner("replay", "TASK-001", "--yes")
    timed.run()
    there = tree(timed)
    timed.runner("replay", "TASK-001", "--yes")
    timed.run("--reuse")
    assert tree(timed) == there
