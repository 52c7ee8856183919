"""What is laid out where commands may write is as we left it before each of them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from runner.gates import own_files

TEXT, OTHER = b"print('ours')\n", b"print('evil')\n"


def overwrite(file):
    before = file.stat()
    file.write_bytes(OTHER)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(file):
    beside = file.with_suffix(".new")
    beside.write_bytes(OTHER)
    os.utime(beside, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
    beside.replace(file)


def link(file):
    beside = file.with_suffix(".new")
    beside.write_bytes(TEXT)
    file.unlink()
    file.symlink_to(beside)


@pytest.mark.parametrize("change", [overwrite, replace, link, Path.unlink])
def test_what_a_command_did_to_a_file_is_put_right(tmp_path, change):
    file = tmp_path / "hook.py"
    own_files.put(file, TEXT)
    own_files.put(file, TEXT)
    change(file)
    own_files.put(file, TEXT)
    assert file.read_bytes() == TEXT
    assert not file.is_symlink()


def test_a_program_that_can_no_longer_be_started_is_put_right(tmp_path):
    file = tmp_path / "go"
    own_files.put(file, TEXT, mode=0o755)
    time.sleep(0.05)
    own_files.put(file, TEXT, mode=0o755)
    file.chmod(0o644)
    own_files.put(file, TEXT, mode=0o755)
    assert os.access(file, os.X_OK)


def test_an_empty_folder_is_kept_and_one_in_which_nothing_can_be_written_is_not(tmp_path):
    folder = own_files.make_empty(tmp_path / "reports")
    number = folder.stat().st_ino
    assert own_files.make_empty(folder).stat().st_ino == number
    (folder / "below").mkdir()
    (folder / "below" / "a.xml").write_bytes(b"")
    assert list(own_files.make_empty(folder).iterdir()) == []
    folder.chmod(0o555)
    assert own_files.make_empty(folder).stat().st_mode & 0o700 == 0o700


def test_a_folder_is_made_through_no_link(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "reports").symlink_to(elsewhere)
    folder = own_files.own_folder(tmp_path, "reports", "TC-1")
    assert folder.is_dir()
    assert list(elsewhere.iterdir()) == []
    (folder / "bin").write_bytes(b"")
    assert own_files.own_folder(folder, "bin").is_dir()
    (tmp_path / "link").symlink_to(elsewhere)
    own_files.make_empty(tmp_path / "link")
    assert not (tmp_path / "link").is_symlink()
    own_files.remove(tmp_path / "missing")
