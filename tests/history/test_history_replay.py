"""Back to a checkpoint: nothing is rewritten, nothing of a person's is lost."""

import pytest
from history_build import cloned, commit_of, copied, tree
from workplace import PASSES, a_task


def test_the_code_is_as_it_was_and_what_came_later_is_pending(shop):
    before = shop.head
    said = shop.runner("!replay", "TASK-001", "--yes")
    assert said.code == 0, said.said
    assert tree(shop) == tree(shop, commit_of(shop, "TASK-001"))
    assert not shop.has("b.txt")
    assert shop.statuses == {"TASK-001": "DONE", "TASK-002": "PENDING", "TASK-003": "PENDING"}
    assert shop.status_line("TASK-002") == "- Status: PENDING — undone by going back to TASK-001"
    assert shop.dirt == []
    assert shop.git("rev-parse", f"refs/runner/replay/TASK-001-{before[:12]}") == before
    assert shop.git("merge-base", "HEAD", before) == before


def test_a_run_goes_on_from_there(shop):
    there = tree(shop)
    shop.runner("replay", "TASK-001", "--yes")
    ended = shop.run()
    assert ended.code == 0, ended.said
    assert tree(shop) == there


def test_without_a_yes_it_only_says_what_it_would_do(shop):
    head, count = shop.head, len(shop.events)
    said = shop.runner("replay", "TASK-001")
    assert said.code == 3
    assert "2 tasks PENDING again: TASK-002, TASK-003" in said.out
    assert "hint: runner replay TASK-001 --yes" in said.err
    assert (head, count) == (shop.head, len(shop.events))
    assert shop.runner("replay", "TASK-001", "-n").code == 0
    assert head == shop.head


def test_commits_by_hand_to_other_files_stay(shop):
    shop.commit({"mine.txt": "mine\n"}, message="by hand")
    said = shop.runner("replay", "TASK-001", "--yes", "--json").document
    assert (said["done"], said["pending"]) == (True, ["TASK-002", "TASK-003"])
    assert said["byHand"] == [shop.git("log", "--format=%H", "--grep=by hand")]
    assert shop.read("mine.txt") == "mine\n"
    assert {one["path"] for one in said["files"]} == {"a.txt", "b.txt", "c.txt"}


def test_a_file_that_a_person_and_a_task_changed_is_a_conflict(shop):
    shop.commit({"b.txt": "mine\n"}, message="by hand")
    head = shop.head
    said = shop.runner("replay", "TASK-001", "--yes")
    assert said.code == 6
    assert f"  b.txt: {head[:12]} by hand" in said.err
    assert (shop.head, shop.read("b.txt")) == (head, "mine\n")


def test_a_persons_merge_that_changed_such_a_file_is_a_conflict_too(shop):
    shop.git("switch", "-q", "-c", "side", "HEAD~2")
    shop.commit({"b.txt": "other\n"}, message="side")
    shop.git("switch", "-q", "main")
    shop.git("merge", "-q", "side", check=False)
    shop.commit({"b.txt": "both\n"}, message="merged")
    assert shop.runner("replay", "TASK-001", "--yes").code == 6


@pytest.mark.parametrize("path", ["b.txt", "c.txt"])
def test_unsaved_work_in_the_way_is_a_conflict_with_nothing_done(shop, path):
    shop.write({path: "unsaved\n"})
    head = shop.head
    said = shop.runner("replay", "TASK-001", "--yes")
    assert (said.code, shop.head, shop.read(path)) == (6, head, "unsaved\n")
    assert f"  {path}" in said.err


def test_going_back_where_nothing_came_later_does_nothing(shop):
    head = shop.head
    said = shop.runner("replay", "TASK-003", "--yes")
    assert (said.code, shop.head) == (0, head)
    assert said.out.startswith("nothing came after ")


def test_checks_that_came_later_are_pending_and_earlier_ones_stay(workplace):
    workplace.plan(
        a_task("TASK-001", blocks={"a.txt": "a\n"}),
        a_task("TASK-002", needs=["TASK-001"], tests=[PASSES]),
        a_task("TASK-003", needs=["TASK-002"], blocks={"c.txt": "c\n"}),
        a_task("TASK-004", needs=["TASK-003"], tests=[PASSES]),
    )
    workplace.run()
    assert workplace.runner("replay", "TASK-001", "--yes").code == 0
    assert list(workplace.statuses.values()) == ["DONE", "DONE", "PENDING", "PENDING"]


def test_a_check_has_a_checkpoint_too(workplace):
    workplace.plan(
        a_task("TASK-001", blocks={"a.txt": "a\n"}),
        a_task("TASK-002", needs=["TASK-001"], tests=[PASSES]),
        a_task("TASK-003", needs=["TASK-002"], blocks={"c.txt": "c\n"}),
    )
    workplace.run()
    assert workplace.runner("replay", "TASK-002", "--yes").code == 0
    assert not workplace.has("c.txt")
    assert list(workplace.statuses.values()) == ["DONE", "DONE", "PENDING"]


def test_back_and_back_again(shop):
    shop.runner("replay", "TASK-002", "--yes")
    said = shop.runner("replay", "TASK-001", "--yes")
    assert said.code == 0, said.said
    assert tree(shop) == tree(shop, commit_of(shop, "TASK-001"))
    shop.run()
    assert shop.runner("replay", "TASK-002", "--yes").code == 0
    assert not shop.has("c.txt")


def test_what_was_taken_back_has_no_checkpoint(shop):
    shop.runner("replay", "TASK-001", "--yes")
    said = shop.runner("replay", "TASK-002", "--yes")
    assert said.code == 2
    assert "TASK-002 has no checkpoint on this branch" in said.err


def test_a_clone_without_a_journal_can_go_back(shop, tmp_path):
    clone = cloned(shop, tmp_path / "clone")
    assert clone.runner("replay", "TASK-001", "--yes").code == 0
    assert tree(clone) == tree(clone, commit_of(clone, "TASK-001"))
    assert list(clone.statuses.values()) == ["DONE", "PENDING", "PENDING"]


def test_lines_that_came_back_are_blamed_on_who_wrote_them(shop):
    shop.runner("replay", "TASK-001", "--yes")
    said = shop.runner("blame", "a.txt").out
    assert said.count("TASK-001 attempt 1") == 1
    shop.run()
    shop.edit_plan("\nb\n", "\nb, too\n")
    shop.edit_plan("PENDING", "PENDING") if "PENDING" in shop.read("TASK-GRAPH.md") else None
    assert "1-6  TASK-001" in shop.runner("blame", "a.txt").out


def test_a_file_restored_whole_is_followed_to_its_first_author(workplace):
    workplace.plan(
        a_task("TASK-001", blocks={"a.txt": "one\n"}),
        a_task("TASK-002", needs=["TASK-001"], blocks={"a.txt": "two\n"}),
    )
    workplace.run()
    workplace.runner("replay", "TASK-001", "--yes")
    said = workplace.runner("blame", "a.txt:1").out
    assert "TASK-001 attempt 1" in said
    assert "restored by" in said


def test_the_script_says_the_same(shop, tmp_path):
    import subprocess
    import sys
    from pathlib import Path

    script = Path(__file__).parents[2] / "scripts/pipeline_replay.py"
    other = copied(shop, tmp_path / "other")
    done = subprocess.run(
        [sys.executable, str(script), "TASK-001", "-n", "--json"],
        cwd=other.root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == shop.runner("replay", "TASK-001", "-n", "--json").out
