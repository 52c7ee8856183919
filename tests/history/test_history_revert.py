"""Undo and replay: a new commit, and nothing of a person is lost."""

import pytest
from cutoff_build import ANOTHER, FILES, PROVEN, modes, tasks
from history_build import ONE, cloned, commit_of, copied, tree
from workplace import PASSES, a_task


def test_its_files_are_as_before_and_the_task_is_pending(shop):
    before = shop.head
    said = shop.runner("undo", "TASK-003", "--reason", "too slow", "--yes")
    assert said.code == 0, said.said
    assert not shop.has("c.txt")
    assert shop.dirt == []
    assert shop.status_line("TASK-003") == "- Status: PENDING — undone: too slow"
    assert shop.git("merge-base", "--is-ancestor", before, "HEAD") == ""
    assert shop.subjects[-2:] == [
        f"revert(TASK-003): undo {commit_of(shop, 'TASK-003')[:12]}",
        "chore(runner): record",
    ]


def test_it_is_built_again_by_the_next_run(shop):
    there = tree(shop)
    shop.runner("undo", "3", "--yes")
    assert shop.run().code == 0
    assert tree(shop) == there
    assert shop.landings[-2:] == ["TASK-003", "TASK-003"]


def test_lines_that_later_tasks_build_on_refuse_it_with_the_list(shop):
    before = shop.everything()
    said = shop.runner("undo", "TASK-001", "--yes")
    assert said.code == 6
    assert "later commits changed the same lines as TASK-001; nothing was changed" in said.err
    assert (
        f"a.txt: TASK-002 ({commit_of(shop, 'TASK-002')[:12]} feat(TASK-002): second)" in said.err
    )
    assert "hint: runner undo TASK-002 first" in said.err
    assert shop.read("a.txt") in before[str(shop.root / "a.txt")][3].decode()
    assert shop.subjects[-1] == "chore(runner): record"


def test_what_was_undone_before_is_in_nobodys_way(workplace):
    workplace.plan(
        a_task("TASK-001", blocks={"a.txt": "1\n"}),
        a_task("TASK-002", needs=["TASK-001"], blocks={"a.txt": "12\n"}),
        a_task("TASK-003", needs=["TASK-002"], blocks={"a.txt": "123\n"}),
    )
    workplace.run()
    assert workplace.runner("undo", "TASK-003", "--yes").code == 0
    said = workplace.runner("undo", "TASK-001", "--yes")
    assert said.code == 6
    assert [line[:16] for line in said.err.splitlines() if "a.txt" in line] == ["  a.txt: TASK-00"]
    assert "hint: runner undo TASK-002 first" in said.err
    assert workplace.runner("undo", "TASK-002", "--yes").code == 0
    assert workplace.runner("undo", "TASK-001", "--yes").code == 0


def test_later_work_in_other_places_of_the_file_stays(workplace):
    top = ONE.replace("one", "ONE")
    both = top.replace("six", "SIX")
    workplace.plan(
        a_task("TASK-001", blocks={"a.txt": ONE}),
        a_task("TASK-002", needs=["TASK-001"], blocks={"a.txt": top}),
        a_task("TASK-003", needs=["TASK-002"], blocks={"a.txt": both}),
    )
    workplace.run()
    said = workplace.runner("undo", "TASK-002", "--yes")
    assert said.code == 0, said.said
    assert workplace.read("a.txt") == ONE.replace("six", "SIX")


def test_done_tasks_that_depend_on_it_become_stale(shop):
    shop.runner("undo", "TASK-003", "--yes")
    said = shop.runner("undo", "TASK-002", "--yes")
    assert said.code == 0, said.said
    assert shop.statuses == {"TASK-001": "DONE", "TASK-002": "PENDING", "TASK-003": "PENDING"}


def test_who_depends_on_what_was_undone_is_told_why(workplace):
    workplace.plan(
        a_task("TASK-001", blocks={"a.txt": "a\n"}),
        a_task("TASK-002", needs=["TASK-001"], blocks={"b.txt": "b\n"}),
    )
    workplace.run()
    said = workplace.runner("undo", "TASK-001", "--json", "--yes").document
    note = "TASK-001 was undone; this task depends on TASK-001"
    assert said["stale"] == [{"id": "TASK-002", "note": note, "via": "TASK-001"}]
    assert workplace.statuses["TASK-002"] == "STALE"
    (event,) = workplace.happened("task.staled")
    (moving,) = workplace.happened("history.moving")
    assert event["cause"] == moving["id"]


@pytest.fixture
def chain(workplace):
    """Three tasks one behind the other, of which the first was undone."""
    workplace.write(FILES)
    workplace.plan(*tasks())
    assert workplace.run("--no-sandbox").code == 0
    assert workplace.runner("undo", "TASK-001", "--yes", "--force").code == 0
    assert list(workplace.statuses.values()) == ["PENDING", "STALE", "STALE"]
    return workplace


def test_who_rests_on_it_is_only_proven_again_once_it_offers_what_it_did(chain):
    told = chain.runner("why", "TASK-003").out
    assert "once TASK-002 is DONE with the same interface, TASK-003 is only re-tested" in told
    since = len(chain.events)
    ended = chain.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert set(chain.statuses.values()) == {"DONE"}
    assert modes(chain, since) == PROVEN


def test_who_rests_on_it_waits_for_a_person_where_it_offers_something_else(chain):
    chain.commit({"made/rules.py": ANOTHER})
    ended = chain.run("--no-sandbox")
    assert ended.code == 3, ended.said
    assert list(chain.statuses.values()) == ["DONE", "STALE", "STALE"]
    assert "TASK-001 was rebuilt and rules.py changes" in chain.status_line("TASK-002")


def test_unsaved_work_in_the_way_is_listed_and_kept(shop):
    shop.write({"c.txt": "mine\n"})
    said = shop.runner("undo", "TASK-003", "--yes")
    assert said.code == 6
    assert "your uncommitted changes are in the way; nothing was changed" in said.err
    assert "  c.txt" in said.err
    assert shop.read("c.txt") == "mine\n"
    assert shop.statuses["TASK-003"] == "DONE"


def test_unsaved_work_elsewhere_and_what_is_staged_stay(shop):
    shop.write({"a.txt": "mine\n", "new.txt": "staged\n"})
    shop.git("add", "new.txt")
    assert shop.runner("undo", "TASK-003", "--yes").code == 0
    assert shop.read("a.txt") == "mine\n"
    assert shop.dirt == [" M a.txt", "A  new.txt"]


def test_a_dry_run_changes_nothing(shop):
    before = shop.git("rev-parse", "HEAD"), shop.read("TASK-GRAPH.md"), len(shop.events)
    said = shop.runner("undo", "TASK-003", "-n", "--yes")
    assert (said.code, said.out.splitlines()[0]) == (0, "delete c.txt")
    assert before == (shop.head, shop.read("TASK-GRAPH.md"), len(shop.events))


@pytest.mark.parametrize("id_", ["TASK-004", "TASK-099"])
def test_what_never_landed_cannot_be_undone(shop, id_):
    shop.plan(shop.read("TASK-GRAPH.md").split("\n", 2)[2], a_task("TASK-004", outputs=["d.txt"]))
    said = shop.runner("undo", id_, "--yes")
    assert said.code == 2
    assert ("has no commit on this branch to undo" in said.err) == (id_ == "TASK-004")


def test_the_hint_for_what_is_undone_already_says_how_it_is(shop):
    assert shop.runner("undo", "TASK-003", "--yes").code == 0
    said = shop.runner("undo", "TASK-003", "--yes")
    assert said.code == 2
    assert said.err.endswith("hint: TASK-003 is PENDING; for details: runner show TASK-003\n")


def test_a_clone_knows_that_it_was_undone(shop, tmp_path):
    shop.runner("undo", "TASK-003", "--yes")
    shop.git("revert", "--no-edit", "HEAD")  # even without the record of the statuses
    clone = cloned(shop, tmp_path / "clone")
    assert "Status: DONE" in clone.status_line("TASK-003")
    assert clone.statuses["TASK-003"] == "PENDING"
    assert clone.statuses["TASK-002"] == "DONE"
    assert clone.run().code == 0
    assert clone.has("c.txt")


def test_undone_twice_there_is_nothing_left_to_undo(shop):
    shop.runner("undo", "TASK-003", "--yes")
    assert shop.runner("undo", "TASK-003", "--yes").code == 2


def test_a_task_that_landed_twice_is_undone_whole(shop):
    shop.edit_plan("\nc\n", "\nc, better\n")
    shop.edit_plan(
        "- Status: DONE — unproven: only documents\n- Depends on: TASK-002",
        "- Status: PENDING\n- Depends on: TASK-002",
    )
    shop.commit()
    assert shop.run().code == 0
    assert shop.read("c.txt") == "c, better\n"
    assert shop.runner("undo", "TASK-003", "--yes").code == 0
    assert not shop.has("c.txt")


def test_the_blame_of_lines_that_came_back_is_honest(workplace):
    workplace.plan(
        a_task("TASK-001", blocks={"a.txt": ONE}),
        a_task("TASK-002", needs=["TASK-001"], blocks={"a.txt": ONE.replace("three", "3")}),
    )
    workplace.run()
    workplace.runner("undo", "TASK-002", "--yes")
    assert "undone: TASK-002 · " in workplace.runner("blame", "a.txt:3").out
    assert "TASK-001 attempt 1" in workplace.runner("blame", "a.txt:2").out


def test_a_person_is_asked_first(shop):
    before = shop.head
    said = shop.runner("undo", "TASK-003", "--reason", "too slow")
    assert (said.code, shop.head) == (3, before)
    assert said.out == "delete c.txt\n"
    assert "hint: runner undo TASK-003 --reason 'too slow' --yes" in said.err
    assert shop.runner("undo", "TASK-003", "--reason", "too slow", "--yes").code == 0


A = "def a():\n    return 1\n"


def test_files_that_others_import_are_removed_by_force_alone(workplace):
    workplace.plan(
        a_task("TASK-001", blocks={"a.py": A}, tests=["python3 -c 'import a; assert a.a() == 1'"]),
        a_task("TASK-002", blocks={"b.py": "import a\n"}, tests=["grep -q a b.py"]),
    )
    workplace.run()
    before = workplace.head
    for more in ((), ("--yes",)):
        said = workplace.runner("undo", "TASK-001", *more)
        assert (said.code, workplace.head) == (6, before)
        assert "remaining files import what it would remove" in said.err
        assert "b.py imports a.py" in said.err
        assert (
            "hint: first undo the tasks of these files, or: runner undo TASK-001 --force"
            in said.err
        )
    seen = workplace.runner("undo", "TASK-001", "-n", "--json").document
    assert seen["importers"] == [{"path": "b.py", "imports": "a.py"}]
    said = workplace.runner("undo", "TASK-001", "--force", "--yes")
    assert said.code == 0, said.said
    assert not workplace.has("a.py")


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
    assert said.out.startswith("nothing landed after ")


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
