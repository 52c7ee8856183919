import pytest
from repo_build import a_change, a_repository, git

from runner.repo.read import Repository
from runner.repo.refs import (
    branch_exists,
    draft,
    drop_ref,
    keep_ref,
    list_refs,
    own_name,
    read_ref,
    slug,
    sweep_drafts,
)


def test_a_draft_is_a_branch_on_the_base(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    with Repository.open(tmp_path) as repo:
        base = repo.head().commit
        branch = draft(
            repo, "TASK-003", "Booking model: v2!", base, (a_change("b"),), "did not pass"
        )

        assert branch == "draft/TASK-003-booking-model-v2"
        assert branch_exists(repo, branch)
        assert repo.blob(branch, "b") == b"new\n"
        assert repo.head().commit == base
    assert git(tmp_path, "rev-parse", f"{branch}^") == base
    assert git(tmp_path, "status", "--porcelain") == ""


def test_older_drafts_stay_and_equal_work_is_kept_once(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    with Repository.open(tmp_path) as repo:
        base = repo.head().commit
        made = [
            draft(repo, "TASK-003", "x", base, (a_change("b", text),), "m")
            for text in ("one", "two", "one", "two", "three")
        ]
        contents = [repo.blob(name, "b") for name in made]

    assert made == ["draft/TASK-003-x", "draft/TASK-003-x-2"] * 2 + ["draft/TASK-003-x-3"]
    assert contents == [b"one", b"two", b"one", b"two", b"three"]


def test_a_draft_before_the_first_commit_is_a_root_commit(tmp_path):
    a_repository(tmp_path)
    with Repository.open(tmp_path) as repo:
        branch = draft(repo, "TASK-001", "x", None, (a_change("b"),), "m")
        assert draft(repo, "TASK-001", "x", None, (a_change("b"),), "m") == branch
        assert repo.head().commit is None


def test_a_branch_called_draft_is_in_nobodys_way(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    git(tmp_path, "branch", "draft")
    with Repository.open(tmp_path) as repo:
        branch = draft(repo, "TASK-003", "x", repo.head().commit, (a_change("b"),), "m")

        assert branch == "draft-TASK-003-x"
        assert branch_exists(repo, branch)


def test_slugs_are_parts_of_branch_names(tmp_path):
    a_repository(tmp_path)
    for title in ("Héllo wörld", "...", "a..b~^:?*[\\", "@{x}", "x.lock", "-dash", "w " * 80):
        git(tmp_path, "check-ref-format", "--branch", f"draft/TASK-1-{slug(title)}")
    assert slug("☃") == "work"


def test_a_commit_is_kept_under_a_ref_of_our_own_and_let_go(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    with Repository.open(tmp_path) as repo:
        commit = repo.head().commit
        keep_ref(repo, "run/1", commit)
        assert read_ref(repo, "run/1") == commit
        drop_ref(repo, "run/1")
        drop_ref(repo, "run/1")
        assert read_ref(repo, "run/1") is None
        assert not branch_exists(repo, "nothing")


@pytest.mark.parametrize("folder", ["", "packages/api"])
def test_drafts_that_git_packed_are_swept_like_any_other(tmp_path, folder):
    a_repository(tmp_path, {f"{folder}/a".lstrip("/"): "1"})
    with Repository.open(tmp_path / folder) as repo:
        base = repo.head().commit
        gone = draft(repo, "TASK-003", "x", base, (a_change("b"),), "m")
        git(tmp_path, "pack-refs", "--all")
        stays = draft(repo, "TASK-004", "y", base, (a_change("b"),), "m")
        refs = list_refs(repo, own_name(repo, "drafts"))
        assert refs == (f"TASK-003/{gone}", f"TASK-004/{stays}")
        (repo.folders.common / "refs/runner/x.lock").write_text("")
        sweep_drafts(repo, lambda task: task == "TASK-003")
        assert (branch_exists(repo, gone), branch_exists(repo, stays)) == (False, True)
        assert list_refs(repo, own_name(repo, "drafts")) == (f"TASK-004/{stays}",)
    assert "TASK-003" not in git(tmp_path, "for-each-ref")


def test_refs_are_listed_as_git_lists_them_however_it_keeps_them(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    with Repository.open(tmp_path) as repo:
        for name in ("held/A", "held/A2/b", "held/Ä", "heldx/A"):
            keep_ref(repo, name, repo.head().commit)
        assert list_refs(repo, "held") == ("A", "A2/b", "Ä")
        git(tmp_path, "pack-refs", "--all")
        keep_ref(repo, "held/B", repo.head().commit)
        drop_ref(repo, "held/A")
        assert list_refs(repo, "held") == ("A2/b", "B", "Ä")
        assert list_refs(repo, "nothing") == ()
