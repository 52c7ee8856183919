import os

import pytest

from runner.context.tree import LARGEST, is_private, read_text


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
