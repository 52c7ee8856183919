"""What the first versions kept under names that all plans of a repository shared."""

import subprocess

import pytest

from runner.journal.task_state import HeldWork
from runner.model import Action, Change, digest_of
from runner.repo.commit import commit_tree
from runner.repo.read import Repository
from runner.repo.refs import keep_ref, list_refs, own_name, read_ref
from runner.run.landing.drafts import load_held_changes, move_old_refs


def git(folder, *words):
    ended = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return ended.stdout.strip()


def keep(repository, name, path):
    """Work as an older version kept it: under a plain name, whosever it was."""
    base = repository.head().commit
    raw = path.encode()
    change = Change(path, Action.CREATE, 0o100644, None, digest_of(raw), raw)
    commit = commit_tree(repository, base, (change,), "draft(TASK-001): attempt 1 x\n", sign=False)
    keep_ref(repository, name, commit.sha)
    return commit.sha


@pytest.fixture
def two(workplace):
    """Two plans in folders of one repository."""
    for name in ("api", "web"):
        workplace.write({f"packages/{name}/TASK-GRAPH.md": "# Plan\n"})
    workplace.commit(message="two plans")
    folders = [workplace.root / "packages" / name for name in ("api", "web")]
    with Repository.open(folders[0]) as api, Repository.open(folders[1]) as web:
        yield api, web


@pytest.mark.parametrize("packed", [False, True])
def test_each_plan_takes_its_own_and_leaves_what_is_another_s(workplace, two, packed):
    api, web = two
    held = keep(api, "held/TASK-001", "a.txt")
    tried = keep(web, "tried/TASK-001", "w.txt")
    draft = keep(web, "drafts/TASK-002/draft/TASK-002-x", "x.txt")
    if packed:
        git(workplace.root, "pack-refs", "--all")
    known = HeldWork("review", "held/TASK-001", api.head().commit, "", None)
    with Repository.open(workplace.root) as top:
        move_old_refs(top)
    assert len(list_refs(api, "held") + list_refs(api, "tried") + list_refs(api, "drafts")) == 3
    for one in (api, web, api, web):
        move_old_refs(one)
    assert read_ref(api, own_name(api, "held/TASK-001")) == held
    assert read_ref(web, own_name(web, "tried/TASK-001")) == tried
    assert read_ref(web, own_name(web, "drafts/TASK-002/draft/TASK-002-x")) == draft
    assert list_refs(api, "held") + list_refs(api, "tried") + list_refs(api, "drafts") == ()
    assert [one.path for one in load_held_changes(api, known)] == ["a.txt"]


def test_what_is_held_is_found_before_it_is_moved_and_what_is_there_by_now_stays(two):
    api, _ = two
    old = keep(api, "held/TASK-001", "a.txt")
    known = HeldWork("review", "held/TASK-001", api.head().commit, "", None)
    assert [one.path for one in load_held_changes(api, known)] == ["a.txt"]
    new = keep(api, own_name(api, "held/TASK-001"), "b.txt")
    move_old_refs(api)
    assert read_ref(api, own_name(api, "held/TASK-001")) == new
    assert read_ref(api, "held/TASK-001") == old, "nothing is lost"


def test_a_linked_work_tree_takes_what_no_other_one_can_have_built(workplace, tmp_path):
    workplace.write({"TASK-GRAPH.md": "# Plan\n"})
    workplace.commit(message="plan")
    beside = tmp_path / "beside"
    git(workplace.root, "worktree", "add", "-q", "-b", "beside", str(beside))
    for folder in (workplace.root, beside):
        journal = folder / "artifacts/build/journal.jsonl"
        journal.parent.mkdir(parents=True, exist_ok=True)
        journal.touch()
    with Repository.open(beside) as linked:
        shared = keep(linked, "tried/TASK-001", "a.txt")
        move_old_refs(linked)
        assert read_ref(linked, "tried/TASK-001") == shared, "it may be the other one's"
        git(beside, "commit", "-q", "--allow-empty", "-m", "its own")
        own = keep(linked, "tried/TASK-002", "b.txt")
        move_old_refs(linked)
        assert read_ref(linked, own_name(linked, "tried/TASK-002")) == own
        assert list_refs(linked, "tried") == ("TASK-001",)
    (workplace.root / "artifacts/build/journal.jsonl").unlink()
    with Repository.open(beside) as linked:
        move_old_refs(linked)
        assert read_ref(linked, own_name(linked, "tried/TASK-001")) == shared
