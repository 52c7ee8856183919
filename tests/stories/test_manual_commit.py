"""`commit = "manual"`: work lands in the tree, and the person commits it when they like."""

import pytest
from workplace import PASSES, Workplace, a_task

ONE = "one\ntwo\n"
TWO = ONE + "three\n"
PLAN = (
    a_task("TASK-001", "First", blocks={"a.txt": ONE}, tests=[PASSES]),
    a_task("TASK-002", "Second", needs=["TASK-001"], blocks={"a.txt": TWO, "b.txt": "b\n"}),
    a_task("TASK-003", "Third", needs=["TASK-002"], blocks={"deep/c.txt": "c\n"}),
)
SEEING = [
    ("status",),
    ("evidence", "1"),
    ("verify", "--all", "--trust"),
    ("replay", "--verify", "--all"),
    ("impact", "--task", "TASK-001"),
    ("graph",),
]
ALL = ["TASK-001", "TASK-002", "TASK-003"]


def work(place):
    """What `git status` says of files that are no documents of the runner's."""
    ours = ("artifacts", "TASK-GRAPH.md", "FILE_OWNERSHIP_MAP.md")
    return [line for line in place.dirt if not line[3:].startswith(ours)]


@pytest.fixture
def shop(workplace):
    """Three tasks to build, of which two write one file, for somebody who commits by hand."""
    workplace.write({"runner.toml": 'git.commit = "manual"\n', "mine.txt": "mine\n"})
    workplace.plan(*PLAN)
    return workplace


@pytest.fixture
def built(shop):
    said = shop.run()
    assert said.code == 0, said.said
    return shop


def documents_committed(place):
    place.git("add", "TASK-GRAPH.md", "FILE_OWNERSHIP_MAP.md", "artifacts/build")
    place.git("commit", "-q", "-m", "documents")


# --- landing --------------------------------------------------------------------------


def test_work_lands_in_the_tree_and_no_commit_is_made(shop, tmp_path):
    said = shop.run()
    assert said.code == 0, said.said
    assert "note: 3 files landed but not committed: runner pipeline commit-by-task" in said.out
    assert shop.subjects == ["plan"]
    assert work(shop) == ["?? a.txt", "?? b.txt", "?? deep/"]
    assert (shop.read("a.txt"), shop.read("deep/c.txt")) == (TWO, "c\n")
    assert set(shop.statuses.values()) == {"DONE"}
    again = shop.run()
    assert (again.code, "nothing to do" in again.out) == (0, True), again.said
    for words in SEEING:
        said = shop.runner(*words)
        assert said.code == 0, (words, said.said)
    said = shop.runner("ship")
    assert said.code == 3
    assert "hint: runner pipeline commit-by-task" in said.err
    assert shop.git("tag") == ""
    # Another work tree at the same commit knows nothing of it.
    shop.git("worktree", "add", "-q", str(tmp_path / "other"), "-b", "other")
    other = Workplace(tmp_path / "other", shop.home)
    assert other.statuses["TASK-001"] == "PENDING"
    assert other.run().code == 0
    assert other.has("a.txt")
    assert other.subjects == shop.subjects == ["plan"]
    # A later task builds on what is in no commit.
    count = a_task(
        "TASK-004", "Count", needs=["TASK-002"], outputs=["n.txt"], command="wc -l < a.txt > n.txt"
    )
    shop.write({"TASK-GRAPH.md": shop.read("TASK-GRAPH.md") + "\n" + count})
    said = shop.run()
    assert said.code == 0, said.said
    assert shop.read("n.txt").strip() == "3"
    assert shop.subjects == ["plan"]


def test_there_must_be_something_below_it(workplace):
    workplace.write({"runner.toml": 'git.commit = "manual"\n'})
    workplace.plan(*PLAN, commit=False)
    said = workplace.run()
    assert said.code == 2
    assert 'git.commit = "manual" needs a first commit to build on' in said.err


def test_a_project_in_a_folder_of_its_repository(workplace):
    place = Workplace(workplace.root / "services" / "shop", workplace.home)
    place.root.mkdir(parents=True)
    place.write({"runner.toml": 'git.commit = "manual"\n'})
    place.plan(*PLAN)
    assert place.run().code == 0
    assert place.run().code == 0
    assert place.subjects == ["plan"]
    assert place.runner("commit-by-task").code == 0
    assert place.landings == ALL
    assert place.git("show", "HEAD~1:./a.txt") + "\n" == TWO
    assert place.run().code == 0


def test_a_detached_head_stays_where_it_is(shop):
    shop.git("checkout", "-q", "--detach")
    assert shop.run().code == 0
    assert shop.subjects == ["plan"]
    assert shop.runner("commit-by-task").code == 0
    assert shop.landings == ALL


# --- commit-by-task -------------------------------------------------------------------


def test_commit_by_task_makes_one_commit_a_task_and_touches_nothing_else(shop):
    shop.write({"staged.txt": "staged\n", "mine.txt": "mine, and dirty\n"})
    shop.git("add", "staged.txt")
    before = shop.git("ls-files", "-s")
    said = shop.run("--allow-dirty")
    assert said.code == 0, said.said
    assert shop.git("ls-files", "-s") == before, "the index is the person's"
    assert work(shop)[:2] == [" M mine.txt", "A  staged.txt"]

    said = shop.runner("commit-by-task")
    assert said.code == 0, said.said
    assert shop.landings == ALL
    assert work(shop) == [" M mine.txt", "A  staged.txt"]
    assert shop.git("show", "HEAD~2:a.txt") + "\n" == ONE
    assert shop.git("show", "HEAD~1:a.txt") + "\n" == TWO
    assert shop.git("show", "--format=", "--name-only", "HEAD") == "deep/c.txt"
    first = shop.git("log", "--format=%B", "-1", "HEAD~2")
    assert first.startswith("feat(TASK-001): first\n")
    for word in ("Task: TASK-001", "Attempt: 1", "Spec: ", "Proof: TC-001", "Review: "):
        assert word in first

    # Nothing waits, and a run has nothing to do.
    assert shop.git("for-each-ref", "refs/worktree", "refs/runner") == ""
    head = shop.head
    again = shop.run("--allow-dirty")
    assert again.code == 0, again.said
    assert (shop.head, set(shop.statuses.values())) == (head, {"DONE"})
    assert not shop.happened("attempt.started")[3:]

    # A fresh clone adopts what was committed.
    documents_committed(shop)
    clone = shop.cloned()
    said = clone.run()
    assert said.code == 0, said.said
    assert {one["task"] for one in clone.happened("task.adopted")} == set(ALL)
    assert not clone.happened("attempt.started")


def test_one_task_is_committed_and_the_others_wait_on(shop):
    shop.plan(*PLAN[:2], a_task("TASK-003", "Third", blocks={"deep/c.txt": "c\n"}))
    built = shop
    assert built.run().code == 0
    count = len(built.happened("attempt.started"))
    said = built.runner("commit-by-task", "--task", "3")
    assert said.code == 0, said.said
    assert built.landings == ["TASK-003"]
    assert work(built) == ["?? a.txt", "?? b.txt"]
    again = built.run()
    assert again.code == 0, again.said
    assert built.runner("commit-by-task").code == 0
    assert sorted(built.landings) == ALL
    assert len(built.happened("attempt.started")) == count


# --- a person's own hand --------------------------------------------------------------


def test_a_persons_own_commit_is_as_good(built):
    built.commit(message="all of it, my way")
    said = built.run()
    assert said.code == 0, said.said
    assert built.head == built.git("rev-parse", "HEAD")
    assert built.subjects == ["plan", "all of it, my way"]
    assert set(built.statuses.values()) == {"DONE"}
    assert not built.happened("attempt.started")[3:]
    assert {one["commit"] for one in built.happened("task.adopted")} == {built.head}


def test_what_a_person_went_on_with_is_dirty_and_their_commit_of_it_wins(built):
    built.write({"b.txt": "b, and mine\n"})
    built.edit_plan("Status: DONE", "Status: PENDING")
    said = built.run()
    assert said.code == 2
    assert "there are uncommitted changes" in said.err
    assert "b.txt" in said.err
    assert "a.txt" not in said.err
    built.git("add", "b.txt")
    built.git("commit", "-q", "-m", "my b")
    said = built.run()
    assert said.code == 0, said.said
    assert built.read("b.txt") == "b, and mine\n"
    assert built.git("show", "HEAD:b.txt") == "b, and mine"


def test_a_persons_commit_during_a_run_is_built_on(shop):
    shop.plan(
        a_task("TASK-001", "First", blocks={"a.txt": ONE}),
        a_task(
            "TASK-002",
            "Second",
            needs=["TASK-001"],
            outputs=["b.txt"],
            command=f"git -C {shop.root} commit -q --allow-empty -m meanwhile; cat a.txt > b.txt",
        ),
        a_task(
            "TASK-003", "Third", needs=["TASK-002"], outputs=["c.txt"], command="cp b.txt c.txt"
        ),
    )
    said = shop.run("--no-sandbox")
    assert said.code == 0, said.said
    assert shop.subjects[-1] == "meanwhile"
    assert shop.read("c.txt") == ONE


def test_after_an_amend_and_on_a_new_branch_it_is_still_to_be_committed(built):
    built.git("switch", "-q", "-c", "feature")
    assert built.run().code == 0
    built.git("commit", "-q", "--amend", "-m", "the plan")
    said = built.runner("commit-by-task")
    assert said.code == 0, said.said
    assert built.landings == ALL
    assert built.git("show", "HEAD~2:a.txt") + "\n" == ONE
    assert built.git("log", "--format=%s", "main") == "plan"
    assert built.run().code == 0
    assert not built.happened("attempt.started")[3:]


def test_work_that_was_thrown_away_is_built_again_and_kept_aside(built):
    for path in ("a.txt", "b.txt", "deep/c.txt"):
        (built.root / path).unlink()
    built.git("checkout", "-q", "--", "TASK-GRAPH.md")
    said = built.run()
    assert said.code == 0, said.said
    assert built.read("a.txt") == TWO
    kept = built.git("for-each-ref", "--format=%(refname)", "refs/runner/manual").splitlines()
    assert [built.git("show", f"{ref}:a.txt") + "\n" for ref in kept] == [TWO]


def test_without_the_setting_what_waits_still_waits_and_it_is_said(built):
    built.write({"runner.toml": ""})
    built.git("commit", "-q", "-m", "settings", "runner.toml")
    said = built.run()
    assert "landed and not committed yet: a.txt" in said.err
    assert built.subjects == ["plan", "settings"]
    built.runner("commit-by-task")
    count = a_task("TASK-004", "Count", outputs=["n.txt"], command="echo 4 > n.txt")
    built.write({"TASK-GRAPH.md": built.read("TASK-GRAPH.md") + "\n" + count})
    assert built.run().code == 0
    assert built.landings[-1] == "TASK-004"


# --- what looks at it, and what takes it back -----------------------------------------


def test_undo_takes_back_what_is_in_no_commit_and_leaves_the_bytes_of_the_task_before(built):
    said = built.runner("undo", "TASK-003", "--yes")
    assert said.code == 0, said.said
    assert not built.has("deep/c.txt")
    assert built.subjects == ["plan"]
    assert built.statuses["TASK-003"] == "PENDING"
    assert built.runner("undo", "TASK-002", "--yes").code == 0
    built.runner("commit-by-task")
    assert built.landings == ["TASK-001"]
    assert built.git("show", "HEAD:a.txt") + "\n" == ONE


def test_replay_goes_back_in_the_tree_alone(built):
    said = built.runner("replay", "TASK-001", "--yes")
    assert said.code == 0, said.said
    assert (built.read("a.txt"), built.has("b.txt")) == (ONE, False)
    assert built.subjects == ["plan"]
    assert built.run("--reuse").code == 0
    assert built.read("a.txt") == TWO
