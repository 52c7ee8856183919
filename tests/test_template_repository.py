"""A repository that is copied is one that git would have made."""

import subprocess

import pytest
from template_repository import begin_repository


def git(folder, *words):
    said = subprocess.run(["git", *words], cwd=folder, capture_output=True, check=True)
    return said.stdout.decode().strip()


def files(folder):
    found = (one for one in folder.rglob("*") if one.is_file())
    return {one.relative_to(folder): (one.stat().st_mode, one.read_bytes()) for one in found}


@pytest.mark.parametrize("name", ["Ada", ""])
def test_a_copy_is_what_git_makes(tmp_path, alone, name):
    made, copied = tmp_path / "made", tmp_path / "copied"
    made.mkdir()
    copied.mkdir()
    git(made, "init", "-q", "-b", "trunk")
    if name:
        git(made, "config", "user.name", name)
        git(made, "config", "user.email", "ada@example.org")
    begin_repository(copied, name=name, branch="trunk")
    assert files(copied) == files(made)


def test_a_second_one_is_nobody_elses(tmp_path, alone):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        begin_repository(tmp_path / name, name="Ada")
    git(tmp_path / "one", "commit", "-q", "--allow-empty", "-m", "x")
    assert git(tmp_path / "two", "status", "--porcelain=v2", "--branch").startswith(
        "# branch.oid (initial)"
    )


def test_settings_of_the_test_are_asked_of_git(tmp_path, alone):
    hooks = tmp_path / "template" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "mine").write_text("true")
    (alone / "gitconfig").write_text(f"[init]\n\ttemplateDir = {tmp_path}/template\n")
    (tmp_path / "shop").mkdir()
    begin_repository(tmp_path / "shop")
    assert (tmp_path / "shop/.git/hooks/mine").is_file()
