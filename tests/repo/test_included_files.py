"""Ignored files that `.worktreeinclude` names: which, and how scratch trees get them."""

import pytest
from repo_build import a_repository, commit_all, git, write
from settings_of import settings_of

from runner.repo import included_files
from runner.repo.included_files import IncludedFiles, find_matches
from runner.repo.read import Repository
from runner.repo.scratch import Scratch
from runner.run.worktree_include import match_included, read_patterns

IGNORED = ".env*\n/data/\npkg/_version.py\nmix/*.bin\n"
FILES = {
    ".env": "KEY=1\n",
    "data/a/x": "1",
    "data/y": "2",
    "pkg/_version.py": "v = 1\n",
    "mix/a.bin": "b",
    "mix/seen.txt": "not ignored",
    "sub/.env.local": "L=1\n",
}


@pytest.fixture
def real(tmp_path):
    folder = a_repository(tmp_path / "real", {".gitignore": IGNORED, "pkg/__init__.py": ""})
    write(folder, FILES)
    return folder


def found(real, patterns):
    with Repository.open(real) as repository:
        return find_matches(repository, patterns.encode())


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        ("", ()),
        (".env\n", (".env",)),
        (".env*\n", (".env", "sub/.env.local")),
        ("# comment\n\ndata/\n", ("data/",)),
        ("data/a/\n", ("data/",)),
        ("pkg/_version.py", ("pkg/_version.py",)),
        ("*.bin\n.env*\n!.env.local\n", (".env", "mix/a.bin")),
        ("mix/\n", ("mix/a.bin",)),
        ("mix/seen.txt\npkg/__init__.py\n.gitignore\n", ()),
        ("../outside\n/etc/passwd\n", ()),
    ],
)
def test_a_file_counts_that_matches_and_that_git_ignores(real, patterns, names):
    assert found(real, patterns).names == names


def test_installed_dependencies_are_not_copied(real):
    write(
        real,
        {
            ".gitignore": "node_modules/\n.venv/\n*.bin\n",
            "app/node_modules/x/a.bin": "x",
            "app/.venv/pyvenv.cfg": "",
            "app/.venv/a.bin": "x",
            "env/a.bin": "not an environment",
        },
    )
    with Repository.open(real) as repository:
        own = settings_of(worktree_include=("*",))
        assert match_included(repository, own).names == ("env/a.bin", "mix/a.bin")


@pytest.mark.parametrize("kind", ["link", "repository", "large"])
def test_links_repositories_and_large_folders_are_refused_with_a_reason(real, kind, monkeypatch):
    match kind:
        case "link":
            (real / "data/z").symlink_to("/etc/passwd")
            name, why = "data/z", "it is a symbolic link"
        case "repository":
            a_repository(real / "data/z", {"a": "1"})
            name, why = "data/z/", "it is a separate git repository"
        case "large":
            monkeypatch.setattr(included_files, "LARGEST", 1)
            name, why = "data/", "its size is 2; the limit is 1"
    matches = found(real, "data/\n")
    assert [one.shown for one in matches.refused] == [
        f"not copied into scratch trees: {name}: {why}"
    ]
    assert all(not path.startswith("data/z") for path in matches.paths)


def test_only_the_committed_rules_count(real):
    write(real, {".worktreeinclude": ".env\n"})
    with Repository.open(real) as repository:
        assert read_patterns(repository, repository.head().commit) == b""
    commit_all(real, "include")
    write(real, {".worktreeinclude": "*\n"})
    with Repository.open(real) as repository:
        assert read_patterns(repository, repository.head().commit) == b".env\n"


# --- in scratch trees -----------------------------------------------------------------


def scratch_with(real, tmp_path, patterns="*\n"):
    with Repository.open(real) as repository:
        matches = find_matches(repository, patterns.encode())
        files = IncludedFiles.read(real, matches.paths, tmp_path / "cache")
        scratch = Scratch.open(tmp_path / "slot", repository.lender())
        scratch.include(files)
        scratch.reset(repository.head().commit)
    return scratch


def test_each_reset_brings_the_files_as_they_were_when_the_run_began(real, tmp_path):
    scratch = scratch_with(real, tmp_path)
    write(real, {".env": "KEY=later\n"})
    tree = scratch.project
    for spoil in (
        lambda: write(tree, {".env": "KEY=bad\n", "data/more": "x"}),
        (tree / "data/a/x").unlink,
        lambda: (tree / "pkg/_version.py").chmod(0),
        lambda: write(tree, {"pkg/__init__.py": "changed"}),
    ):
        spoil()
        scratch.reset(scratch.base)
        assert (tree / ".env").read_text() == "KEY=1\n"
        assert (tree / "data/a/x").read_text() == "1"
        assert (tree / "pkg/_version.py").read_text() == "v = 1\n"
        assert not (tree / "data/more").exists()
        assert not (tree / "mix/seen.txt").exists()
        assert scratch.changes() == ()


@pytest.mark.parametrize("many", [False, True], ids=["here", "by git"])
def test_they_are_never_proposed_even_where_the_task_no_longer_ignores_them(real, tmp_path, many):
    scratch = scratch_with(real, tmp_path)
    new = {f"new/{number}.txt": "n" for number in range(150 if many else 1)}
    write(scratch.project, {".gitignore": "", ".env": "KEY=2\n", **new})
    proposed = {change.path for change in scratch.changes()}
    assert proposed == {".gitignore", *new}


def test_a_file_that_the_commit_holds_wins(real, tmp_path):
    git(real, "add", "-f", "pkg/_version.py")
    commit_all(real, "tracked")
    write(real, {"pkg/_version.py": "v = 2\n"})
    scratch = scratch_with(real, tmp_path)
    assert (scratch.project / "pkg/_version.py").read_text() == "v = 1\n"
    assert scratch.changes() == ()


def test_a_link_in_the_tree_is_not_followed(real, tmp_path):
    scratch = scratch_with(real, tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (real / "sub/.env.local").unlink()
    (real / "sub").rmdir()
    (real / "sub").symlink_to(outside)
    scratch.reset(commit_all(real, "link"))
    assert list(outside.iterdir()) == []


def test_the_mark_tells_names_and_bytes(real, tmp_path):
    def mark(*paths):
        return IncludedFiles.read(real, [*paths, "data/y"], tmp_path / "cache").mark

    before = mark(".env")
    assert before == mark(".env") != mark()
    write(real, {"data/y": "3"})
    assert mark(".env") != before
