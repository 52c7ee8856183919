import os

import pytest
from context_build import a_repository, a_tree
from settings_of import settings_of

from runner.config.settings import Settings
from runner.config.shell_rules import Permission, Permit
from runner.context.tree import LARGEST, Tree, is_private, read_text
from runner.repo.read import Repository

KEY = "".join(("gh", "p_", *(f"{chr(65 + n)}{n % 10}{chr(97 + n)}" for n in range(12))))


@pytest.fixture
def repository(tmp_path):
    commit = a_repository(
        tmp_path, {"src/a.py": "committed = 1\n", ".env": "X=1\n", "docs/b.md": "# b\n"}
    )
    with Repository.open(tmp_path) as opened:
        yield opened, commit


def test_files_have_their_committed_bytes_and_not_a_persons_unsaved_edits(repository):
    opened, commit = repository
    (opened.root / "src/a.py").write_text("edited = 2\n")
    (opened.root / "new.py").write_text("new = 3\n")
    tree = Tree.of(opened, commit, Settings())
    assert tree.text("src/a.py") == ("committed = 1\n", "")
    assert tree.text("new.py") == ("", "new.py is not shown: not tracked by git")


def test_what_is_private_is_neither_listed_nor_read(repository):
    opened, commit = repository
    tree = Tree.of(opened, commit, Settings())
    assert sorted(tree.files) == ["docs/b.md", "src/a.py"]
    assert tree.text(".env") == ("", ".env is private and not shown")


def test_read_allow_leaves_out_all_else(repository):
    opened, commit = repository
    tree = Tree.of(opened, commit, settings_of(read_allow=("src/**",)))
    assert sorted(tree.files) == ["src/a.py"]
    assert tree.text("docs/b.md") == (
        "",
        "docs/b.md is not shown: excluded by agent.read_allow or a permission rule",
    )


def test_of_two_lists_a_file_must_be_in_both(repository):
    settings = settings_of(read_allow=("src/**", "docs/**"), read_allow_floor=("docs/**",))
    opened, commit = repository
    assert sorted(Tree.of(opened, commit, settings).files) == ["docs/b.md"]
    assert Settings().read_allowed == ()


@pytest.mark.parametrize("action", [Permit.DENY, Permit.ASK])
def test_what_a_permission_rule_does_not_let_a_model_read_is_not_shown_either(repository, action):
    opened, commit = repository
    rule = Permission("read_file", "src/**", action)
    for settings in (settings_of(permission=(rule,)), settings_of(permission_floor=(rule,))):
        assert sorted(Tree.of(opened, commit, settings).files) == ["docs/b.md"]


def test_before_the_first_commit_there_is_nothing(repository):
    opened, _ = repository
    assert Tree.of(opened, "", Settings()).files == {}


def test_a_project_below_the_top_sees_its_own_files_by_its_own_paths(tmp_path):
    commit = a_repository(tmp_path, {"sub/a.py": "a = 1\n", "other.py": "b = 1\n"})
    with Repository.open(tmp_path / "sub") as opened:
        tree = Tree.of(opened, commit, Settings())
        assert (list(tree.files), tree.text("a.py")) == (["a.py"], ("a = 1\n", ""))


def test_secrets_are_redacted_and_what_is_no_text_or_too_long_is_not_shown():
    tree = a_tree({"a.py": f"key = '{KEY}'\n", "b.bin": b"\0\1", "c.txt": "x" * 70_000})
    assert KEY not in tree.text("a.py")[0]
    assert "[REDACTED:github]" in tree.text("a.py")[0]
    assert tree.text("b.bin") == ("", "b.bin is not a text file")
    assert tree.text("c.txt") == ("", "c.txt is larger than 65536 bytes")


def test_paths_and_globs_name_files_in_their_order():
    tree = a_tree({"src/a.py": "", "src/x/b.py": "", "c.md": ""})
    assert tree.match(("./c.md", "src/**", "gone.py")) == ("c.md", "src/a.py", "src/x/b.py")
    assert (tree.is_folder("src/x"), tree.is_folder("srcx"), tree.is_folder("")) == (
        True,
        False,
        True,
    )


def test_a_file_of_the_repository_is_read(tmp_path):
    (tmp_path / "patterns").mkdir()
    (tmp_path / "patterns" / "a.md").write_bytes(b"\xef\xbb\xbfUse \xff it.")
    assert read_text(tmp_path, "./patterns/a.md") == ("Use \ufffd it.", "")


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        ".env.local",
        "config/.ENV",
        ".git/config",
        "node_modules/x/readme.md",
        "deploy/server.pem",
        "id_ed25519",
        "a/credentials.json",
        ".npmrc",
    ],
)
def test_private_files_are_never_shown(tmp_path, path):
    assert is_private(path)
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("private")
    text, note = read_text(tmp_path, path)
    assert text == ""
    assert "private" in note


@pytest.mark.parametrize("path", ["environment.md", "docs/keys.md", "src/credential_form.py"])
def test_files_that_only_sound_like_it_are(path):
    assert not is_private(path)


@pytest.mark.parametrize("path", ["../outside.md", "/etc/hostname", "missing.md", "a//b", ""])
def test_what_lies_outside_or_nowhere_is_a_note(tmp_path, path):
    (tmp_path.parent / "outside.md").write_text("outside")
    text, note = read_text(tmp_path, path)
    assert text == ""
    assert note


def test_links_pipes_folders_and_giants_are_a_note(tmp_path):
    (tmp_path / "real.md").write_text("real")
    (tmp_path / "link.md").symlink_to(tmp_path / "real.md")
    (tmp_path / "folder").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "folder")
    (tmp_path / "folder" / "a.md").write_text("a")
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "giant.md").write_bytes(b" " * (LARGEST + 1))
    for path in ("link.md", "linked/a.md", "folder", "pipe.md", "giant.md"):
        text, note = read_text(tmp_path, path)
        assert (path, text) == (path, "")
        assert path.partition("/")[0] in note
