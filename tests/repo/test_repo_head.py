import subprocess
import sys

import pytest
from repo_build import a_repository, commit_all, git, write

from runner.errors import RunnerError
from runner.repo.head import find_git, find_project, read_head


def test_before_the_first_commit_there_is_a_branch_and_no_commit(tmp_path):
    head = read_head(a_repository(tmp_path, branch="trunk"))

    assert (head.branch, head.commit, head.detached) == ("trunk", None, False)
    assert head.ref == "refs/heads/trunk"


def test_a_branch_with_slashes_is_named_whole(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    git(tmp_path, "checkout", "-qb", "feature/one/two")

    head = read_head(tmp_path)

    assert head.branch == "feature/one/two"
    assert head.commit == git(tmp_path, "rev-parse", "HEAD")


def test_a_detached_head_is_a_commit_alone(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    git(tmp_path, "checkout", "-q", "--detach")

    head = read_head(tmp_path)

    assert (head.branch, head.detached, head.ref) == (None, True, "HEAD")
    assert head.commit == git(tmp_path, "rev-parse", "HEAD")
    assert head.shown == f"detached head {head.commit[:12]}"


def test_packed_refs_are_read_and_a_loose_one_is_newer(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    first = git(tmp_path, "rev-parse", "HEAD")
    git(tmp_path, "branch", "main-too")
    git(tmp_path, "pack-refs", "--all")
    assert not (tmp_path / ".git/refs/heads/main").exists()

    assert read_head(tmp_path).commit == first

    write(tmp_path, {"a": "2"})
    commit_all(tmp_path, "more")
    assert read_head(tmp_path).commit == git(tmp_path, "rev-parse", "HEAD") != first


def test_a_linked_worktree_has_its_own_head_and_the_common_refs(tmp_path):
    real = a_repository(tmp_path / "real", {"a": "1"})
    linked = tmp_path / "linked"
    git(real, "worktree", "add", "-q", "-b", "side", str(linked))

    head = read_head(linked)

    assert head.branch == "side"
    assert head.commit == git(linked, "rev-parse", "HEAD")
    assert head.git_dir == real / ".git/worktrees/linked"
    assert head.common_dir == real / ".git"
    assert find_git(linked).objects == real / ".git/objects"


def test_a_branch_that_is_a_symbolic_ref_is_followed(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    git(tmp_path, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
    git(tmp_path, "symbolic-ref", "HEAD", "refs/heads/alias")

    assert read_head(tmp_path).commit == git(tmp_path, "rev-parse", "HEAD")


def test_refs_that_are_no_files_are_asked_of_git(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    before = read_head(tmp_path)
    (tmp_path / ".git/reftable").mkdir()

    assert read_head(tmp_path) == before


def test_reading_head_starts_no_process_and_imports_no_git(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    code = (
        "import sys; from pathlib import Path; from runner.repo.head import read_head;"
        "import runner.repo.read, runner.repo.scratch, runner.repo.scratch, runner.repo.refs;"
        f"print(read_head(Path({str(tmp_path)!r})).branch, 'git' in sys.modules,"
        " 'subprocess' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    assert said.stdout.split() == [b"main", b"False", b"False"], said.stdout


def test_the_project_is_the_nearest_folder_with_a_plan(tmp_path):
    a_repository(tmp_path)
    write(tmp_path, {"TASK-GRAPH.md": "", "sub/TASK-GRAPH.md": "", "sub/deep/x": ""})

    assert find_project(tmp_path / "sub/deep") == tmp_path / "sub"
    assert find_project(tmp_path) == tmp_path


def test_a_plan_may_lie_in_artifacts_build(tmp_path):
    a_repository(tmp_path)
    write(tmp_path, {"artifacts/build/TASK-GRAPH.md": "", "src/x": ""})

    assert find_project(tmp_path / "src") == tmp_path


def test_a_plan_above_the_repository_is_not_the_projects(tmp_path):
    write(tmp_path, {"TASK-GRAPH.md": ""})
    a_repository(tmp_path / "inner")

    with pytest.raises(RunnerError) as refused:
        find_project(tmp_path / "inner")

    assert refused.value.message == "TASK-GRAPH.md not found"
    assert refused.value.hint == "runner init"


def test_plans_below_are_the_hint(tmp_path):
    a_repository(tmp_path)
    write(
        tmp_path, {"packages/web app/TASK-GRAPH.md": "", "packages/node_modules/TASK-GRAPH.md": ""}
    )

    with pytest.raises(RunnerError) as one:
        find_project(tmp_path)
    write(tmp_path, {"packages/api/TASK-GRAPH.md": "", "packages/x/deep/TASK-GRAPH.md": ""})
    (tmp_path / "packages/linked").symlink_to(tmp_path / "packages/api")
    with pytest.raises(RunnerError) as two:
        find_project(tmp_path / "packages")

    assert one.value.hint == "cd 'packages/web app', which has a plan"
    assert two.value.hint == "cd api, which has a plan; or web app"


def test_without_git_the_hint_is_git_init(tmp_path):
    write(tmp_path, {"TASK-GRAPH.md": ""})

    with pytest.raises(RunnerError) as refused:
        find_project(tmp_path)

    assert refused.value.message == "this folder is not in a git repository"
    assert (refused.value.hint, refused.value.code) == ("git init", 2)
