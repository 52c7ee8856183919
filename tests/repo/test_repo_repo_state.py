import pytest
from repo_build import a_repository, commit_all, git, write

from runner.errors import ExitCode, RunnerError
from runner.repo.commit import find_filtered
from runner.repo.read import Repository
from runner.repo.repo_state import DirtyFile, find_windows_drive, require_no_windows_drive


def state_of(folder):
    with Repository.open(folder) as repo:
        return repo.state()


def test_a_clean_repository_says_nothing(tmp_path):
    a_repository(tmp_path, {"a": "1"})

    state = state_of(tmp_path)

    assert (state.dirty, state.untracked, state.submodules, state.ongoing) == ((), (), (), "")
    assert (state.lfs, state.autocrlf, state.sparse, state.shallow) == (False,) * 4


def test_dirty_files_say_whether_they_are_staged(tmp_path):
    a_repository(tmp_path, {"staged": "1", "unstaged": "1", "both": "1", "gone": "1", "ok": "1"})
    write(tmp_path, {"staged": "2", "both": "2", "new file é\n.txt": "x", "-dash": "y"})
    git(tmp_path, "add", "staged", "both")
    write(tmp_path, {"unstaged": "2", "both": "3"})
    (tmp_path / "gone").unlink()

    state = state_of(tmp_path)

    assert state.dirty == (
        DirtyFile("both", staged=True, unstaged=True),
        DirtyFile("gone", staged=False, unstaged=True),
        DirtyFile("staged", staged=True, unstaged=False),
        DirtyFile("unstaged", staged=False, unstaged=True),
    )
    assert state.untracked == ("-dash", "new file é\n.txt")


def test_staged_files_before_the_first_commit_are_dirty(tmp_path):
    a_repository(tmp_path)
    write(tmp_path, {"a": "1", "b": "2"})
    git(tmp_path, "add", "a")

    state = state_of(tmp_path)

    assert state.head.commit is None
    assert state.dirty == (DirtyFile("a", staged=True, unstaged=False),)
    assert state.untracked == ("b",)


def test_a_staged_rename_is_a_deletion_and_a_creation(tmp_path):
    a_repository(tmp_path, {"old": "same\n" * 20})
    git(tmp_path, "mv", "old", "new")

    assert [file.path for file in state_of(tmp_path).dirty] == ["new", "old"]


def test_a_conflict_is_dirty_and_a_merge_is_ongoing(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    git(tmp_path, "checkout", "-qb", "other")
    write(tmp_path, {"a": "other"})
    commit_all(tmp_path, "other")
    git(tmp_path, "checkout", "-q", "main")
    write(tmp_path, {"a": "main"})
    commit_all(tmp_path, "main")
    with pytest.raises(AssertionError):
        git(tmp_path, "merge", "other")

    state = state_of(tmp_path)

    assert state.ongoing == "merge"
    assert [file.path for file in state.dirty] == ["a"]


def test_ongoing_work_is_named(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    names = {
        "rebase-merge": "rebase",
        "CHERRY_PICK_HEAD": "cherry-pick",
        "REVERT_HEAD": "revert",
        "BISECT_LOG": "bisect",
    }
    for name, word in names.items():
        (tmp_path / ".git" / name).write_text("")
        with Repository.open(tmp_path) as repo:
            from runner.repo.head import describe_ongoing

            assert describe_ongoing(repo.folders.git) == word
        (tmp_path / ".git" / name).unlink()


def test_submodules_that_are_not_checked_out_are_named(tmp_path):
    inner = a_repository(tmp_path / "inner", {"x": "1"})
    real = a_repository(tmp_path / "real", {"a": "1"})
    git(
        real,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(inner),
        "lib/inner",
    )
    commit_all(real, "submodule")
    write(real, {"lib/inner/x": "a person's edit"})

    state = state_of(real)

    assert state.submodules == ()
    assert state.dirty == ()

    git(real, "submodule", "--quiet", "deinit", "--force", "lib/inner")

    assert state_of(real).submodules == ("lib/inner",)


@pytest.mark.parametrize(
    ("files", "settings", "expected"),
    [
        ({".gitattributes": "*.bin filter=lfs diff=lfs -text\n"}, {}, (True, False)),
        ({"deep/down/.gitattributes": "*.bin filter=lfs\n"}, {}, (True, False)),
        ({"a": "1"}, {"core.autocrlf": "true"}, (False, True)),
        ({"a": "1"}, {"core.autocrlf": "input"}, (False, True)),
        ({"a": "1"}, {"core.autocrlf": "false"}, (False, False)),
        ({".gitattributes": "*.bat eol=crlf\n"}, {}, (False, True)),
        ({".gitattributes": "*.txt working-tree-encoding=UTF-16\n"}, {}, (False, True)),
    ],
)
def test_what_plumbing_does_not_carry_is_seen(tmp_path, files, settings, expected):
    a_repository(tmp_path, files)
    for key, value in settings.items():
        git(tmp_path, "config", key, value)

    state = state_of(tmp_path)

    assert (state.lfs, state.autocrlf) == expected


def test_sparse_and_shallow_are_seen(tmp_path):
    real = a_repository(tmp_path / "real", {"a/x": "1", "b/x": "1"})
    write(real, {"a/x": "2"})
    commit_all(real, "more")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{real}", "copy")
    git(tmp_path / "copy", "sparse-checkout", "set", "a")

    state = state_of(tmp_path / "copy")

    assert (state.sparse, state.shallow, state.dirty) == (True, True, ())


def test_attributes_that_apply_are_named_without_running_them(tmp_path):
    a_repository(tmp_path, {".gitattributes": "*.bin filter=lfs\n*.txt text\n"})
    with Repository.open(tmp_path) as repo:
        found = repo.attributes(("x.bin", "y z.txt", "plain"), ("filter", "text"))

    assert found == {"x.bin": {"filter": "lfs"}, "y z.txt": {"text": "set"}}


@pytest.mark.parametrize(
    "place",
    [
        "shop/assets/.gitattributes",
        "shop/.gitattributes",
        ".gitattributes",
        ".git/info/attributes",
        "../config/git/attributes",
        "../own",
    ],
)
def test_a_filter_is_heard_of_wherever_git_reads_of_it(tmp_path, monkeypatch, place):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    top = a_repository(tmp_path / "top", {"shop/a.txt": "1"})
    write(top, {place: "*.bin filter=lfs\n", "other/.gitattributes": "* filter=other\n"})
    if place == "../own":
        git(top, "config", "core.attributesFile", str(tmp_path / "own"))
    with Repository.open(top / "shop") as repo:
        assert find_filtered(repo, ["a.txt", "assets/deep/a.bin"]) == ("assets/deep/a.bin",)


def test_attributes_in_the_home_of_nobody_are_none(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    top = a_repository(tmp_path / "top", {"a.txt": "1"})
    git(top, "config", "core.attributesFile", "~nobody-is-called-so/attributes")
    with Repository.open(top) as repo:
        assert find_filtered(repo, ["a.txt"]) == ()


def test_where_nothing_speaks_of_attributes_no_git_is_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    top = a_repository(tmp_path / "top", {"other/.gitattributes": "* filter=other\n"})
    with Repository.open(top) as repo:
        repo.configuration()
        monkeypatch.setattr(repo, "git", None)
        assert find_filtered(repo, ["a/b.bin", "c.bin"]) == ()


def test_an_identity_is_invented_and_said_so_when_nobody_is_configured(tmp_path, monkeypatch):
    a_repository(tmp_path, name=None)
    monkeypatch.setenv("LOGNAME", "grace")
    with Repository.open(tmp_path) as repo:
        who = repo.identity()

    assert who.invented
    assert who.name == "grace"
    assert who.email.startswith("grace@")


def test_an_identity_is_taken_from_configuration_and_environment(tmp_path, monkeypatch):
    a_repository(tmp_path)
    with Repository.open(tmp_path) as repo:
        who = repo.identity()
    assert (who.name, who.email, who.invented) == ("Ada", "ada@example.org", False)

    monkeypatch.setenv("GIT_COMMITTER_NAME", "Grace <x>")
    with Repository.open(tmp_path) as repo:
        assert repo.identity().name == "Grace x"


def test_git_variables_of_a_hook_do_not_lead_elsewhere(tmp_path, monkeypatch):
    real = a_repository(tmp_path / "real", {"a": "1"})
    other = a_repository(tmp_path / "other", {"b": "1"})
    for name, value in {
        "GIT_DIR": other / ".git",
        "GIT_WORK_TREE": other,
        "GIT_INDEX_FILE": tmp_path / "nowhere",
        "GIT_OBJECT_DIRECTORY": tmp_path / "nowhere",
    }.items():
        monkeypatch.setenv(name, str(value))

    with Repository.open(real) as repo:
        assert repo.state().dirty == ()
        assert repo.blob("HEAD", "a") == b"1"


def test_a_work_tree_that_the_configuration_moves_elsewhere_is_not_followed(tmp_path):
    real = a_repository(tmp_path / "real", {"a": "1"})
    (tmp_path / "elsewhere").mkdir()
    git(real, "config", "core.worktree", str(tmp_path / "elsewhere"))

    assert state_of(real).dirty == ()


WSL = r"""/dev/sdc / ext4 rw,relatime,discard 0 0
none /mnt/wsl tmpfs rw,relatime 0 0
C:\134 /mnt/c 9p rw,noatime,dirsync,aname=drvfs;path=C:\;uid=1000;gid=1000;symlinkroot=/mnt/ 0 0
D:\134 /mnt/my\040drive drvfs rw,noatime 0 0
/dev/sdd /mnt/c/inner ext4 rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "drive"),
    [
        ("/mnt/c/src/shop", "/mnt/c"),
        ("/mnt/c", "/mnt/c"),
        ("/mnt/my drive/shop", "/mnt/my drive"),
        ("/mnt/c/inner/shop", ""),
        ("/mnt/cellar/shop", ""),
        ("/home/ada/shop", ""),
    ],
)
def test_the_innermost_mount_says_what_a_folder_is_on(path, drive):
    assert find_windows_drive(path, WSL) == drive


def test_another_9p_is_as_good_as_any_disk():
    assert find_windows_drive("/work/shop", "none / 9p rw,trans=fd,cache=remote 0 0\n") == ""


def test_a_later_mount_on_the_same_place_counts():
    mounts = WSL + "tmpfs /mnt/c tmpfs rw 0 0\n"
    assert find_windows_drive("/mnt/c/src", mounts) == ""


def test_it_is_refused_with_what_to_do(tmp_path):
    mounts = tmp_path / "mounts"
    mounts.write_text(WSL + f"E:\\134 {tmp_path} 9p rw,aname=drvfs;path=E:\\ 0 0\n")
    with pytest.raises(RunnerError, match="Windows drive") as caught:
        require_no_windows_drive(tmp_path, mounts)
    assert caught.value.code is ExitCode.PERSON
    assert "~/src" in caught.value.hint


def test_where_nothing_tells_of_mounts_nothing_is_refused(tmp_path):
    require_no_windows_drive(tmp_path, tmp_path / "none")
