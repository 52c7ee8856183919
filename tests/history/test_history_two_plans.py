"""Several plans in one repository, each with tasks of its own that bear the same names."""

import pytest
from history_build import cloned
from workplace import PASSES, Workplace, a_task

BOTH = ("TASK-001", "TASK-002")


def a_plan_in(workplace, folder, file="x.txt", **fields):
    """Two tasks, of the same words wherever they stand."""
    below, one = Workplace(workplace.root / folder, workplace.home), ["TASK-001"]
    below.plan(
        a_task("TASK-001", "First", blocks={file: "x\n"}, tests=[f"grep -qx x {file}"], **fields),
        a_task(
            "TASK-002", "Second", needs=one, blocks={"y.txt": "y\n"}, tests=["grep -qx y y.txt"]
        ),
    )
    return below


@pytest.fixture(params=[("a", "b"), (".", "packages/b"), ("packages/ b\udcff", ".")])
def two(workplace, request):
    """Two plans, of which the first is built."""
    first, second = (a_plan_in(workplace, folder) for folder in request.param)
    assert first.run().code == 0
    return first, second


def test_a_task_of_another_plan_is_not_taken_for_the_own_of_that_name(two):
    _, second = two
    ended = second.run()
    assert ended.code == 0, ended.said
    assert "2 DONE; 2 commits" in ended.said
    assert (second.read("x.txt"), second.read("y.txt")) == ("x\n", "y\n")


def test_a_clone_that_has_no_journal_knows_whose_each_landing_is(two, tmp_path, workplace):
    first, second = two
    there = cloned(workplace, tmp_path / "clone")
    here = [Workplace(there.root / one.root.relative_to(workplace.root), there.home) for one in two]
    assert "2 DONE; 0 commits" in here[0].run().said
    told = here[0].runner("evidence", "TASK-001")
    assert "recorded in commit" in told.out, told.said
    assert "2 DONE; 2 commits" in here[1].run().said
    assert second.statuses == dict.fromkeys(BOTH, "PENDING")
    assert first.statuses == dict.fromkeys(BOTH, "DONE")


@pytest.mark.parametrize("file", ["x.txt", "made/x.txt"])
def test_a_plan_whose_folder_was_moved_is_proven_where_it_is_now(workplace, file):
    a_plan_in(workplace, "packages/a", file).run()
    workplace.git("mv", "packages/a", "packages/b")
    workplace.commit(message="moved")
    moved = Workplace(workplace.root / "packages/b", workplace.home)
    said = moved.runner("status").out
    assert f"../a/{file} was deleted since it was proven (was the plan's folder moved?)" in said
    assert moved.runner("verify", "--all", "--trust").code == 0
    assert "unproven" not in moved.runner("status").out
    assert "nothing would run" in moved.runner("run", "--dry-run", "--trust").said
    assert moved.statuses == dict.fromkeys(BOTH, "DONE")


def test_what_one_plan_takes_back_stays_taken_back_in_it_alone(two):
    first, second = two
    assert second.run().code == 0
    assert second.runner("undo", "TASK-002", "--yes").code == 0
    assert first.run().code == 0
    assert first.statuses == dict.fromkeys(BOTH, "DONE")
    assert first.has("y.txt")
    told = first.runner("undo", "TASK-002", "--yes")
    assert told.code == 0, told.said
    assert not first.has("y.txt")


def test_a_replay_goes_back_in_its_own_plan_alone(two):
    first, second = two
    assert second.run().code == 0
    documents = second.read("TASK-GRAPH.md")
    told = first.runner("replay", "TASK-001", "--yes")
    assert told.code == 0, told.said
    assert not first.has("y.txt")
    assert first.statuses == {"TASK-001": "DONE", "TASK-002": "PENDING"}
    assert second.has("x.txt")
    assert second.has("y.txt")
    assert second.read("TASK-GRAPH.md") == documents
    assert "2 DONE; 0 commits" in second.run().said


# --- what did not land ----------------------------------------------------------------


@pytest.fixture(params=["another folder", "another work tree"])
def apart(workplace, request):
    """Two places that share a repository's refs."""
    if request.param == "another folder":
        yield (workplace.root / "a", workplace.root / "b")
    else:
        workplace.commit({"README.md": "the top\n"})
        workplace.git("worktree", "add", "-q", "-b", "side", "../side")
        yield (workplace.root, workplace.root.parent / "side")


def test_a_draft_stays_while_its_own_task_is_open(workplace, apart):
    left, right = (Workplace(place, workplace.home) for place in apart)
    left.plan(a_task("TASK-001", blocks={"a.txt": "a\n"}, tests=["grep -q b a.txt"]))
    right.plan(a_task("TASK-001", blocks={"a.txt": "b\n"}, tests=["grep -q b a.txt"]))
    assert left.run().code in (1, 3)
    assert "draft/TASK-001-work" in workplace.branches
    assert right.run().code == 0
    more = a_task("TASK-002", blocks={"b.txt": "b\n"}, tests=[PASSES])
    right.commit({"TASK-GRAPH.md": f"{right.read('TASK-GRAPH.md')}\n{more}"})
    assert right.run().code == 0
    assert "draft/TASK-001-work" in workplace.branches


def test_held_work_is_kept_for_its_own_task(workplace, apart):
    left, right = (Workplace(place, workplace.home) for place in apart)
    for place, text in ((left, "left\n"), (right, "right\n")):
        place.plan(a_task("TASK-001", blocks={"a.txt": text}, tests=[PASSES]))
        ended = place.run("--review", "prompt")
        assert ended.code == 3, ended.said
    for place, text in ((left, "left\n"), (right, "right\n")):
        told = place.runner("approve", "TASK-001")
        assert told.code == 0, told.said
        ended = place.run("--review", "prompt")
        assert ended.code == 0, ended.said
        assert place.read("a.txt") == text
        assert [one.get("mode") for one in place.happened("attempt.started")] == ["build", "prove"]
