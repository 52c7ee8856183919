"""Writing in a tree never follows a link out of it, and leaves old or new, nothing between."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time

import pytest
from writes_builders import everything_in, put

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.model import Action, Change, digest_of
from runner.writes.safe_io import (
    InTheWay,
    mode_below,
    place,
    read_below,
    sweep_below,
    unlink_below,
    write_below,
)

PLAIN, EXECUTABLE = 0o100644, 0o100755


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def test_a_file_is_written_with_its_folders_and_read_back(root):
    write_below(root, "a/b/c.py", b"one", PLAIN)
    assert read_below(root, "a/b/c.py") == b"one"
    write_below(root, "a/b/c.py", b"", EXECUTABLE)
    assert read_below(root, "a/b/c.py") == b""
    assert mode_below(root, "a/b/c.py") == EXECUTABLE
    assert [path.name for path in (root / "a/b").iterdir()] == ["c.py"]


def test_what_is_not_there_is_none(root):
    assert read_below(root, "a/b") is None
    assert mode_below(root, "a/b") is None
    assert unlink_below(root, "a/b") is False


def test_a_large_file_and_a_long_name_go_through(root):
    content = os.urandom(1 << 20) * 20
    write_below(root, "n" * 255, content, PLAIN)
    assert read_below(root, "n" * 255) == content


def test_a_replaced_file_keeps_who_may_read_it(root):
    private = put(root, {"key.txt": b"old"}) / "key.txt"
    private.chmod(0o600)
    write_below(root, "key.txt", b"new", EXECUTABLE)
    assert private.stat().st_mode & 0o7777 == 0o700
    private.chmod(0o4664)
    write_below(root, "key.txt", b"newer", PLAIN)
    assert private.stat().st_mode & 0o7777 == 0o664


def test_a_removed_file_takes_its_empty_folders_along(root):
    put(root, {"a/b/c.py": b"", "a/keep.py": b""})
    assert unlink_below(root, "a/b/c.py")
    assert everything_in(root) == {"a/keep.py": b""}
    assert not (root / "a/b").exists()


@pytest.mark.parametrize("path", ["../a", "/etc/x", "a//b", "a/./b", "", "a/.."])
def test_a_path_that_is_not_normalised_is_a_bug_told_plainly(root, path):
    with pytest.raises(RunnerError, match="not relative and normalised"):
        read_below(root, path)


def test_a_link_among_the_folders_is_in_the_way(root, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    put(outside, {"file": b"secret"})
    (root / "link").symlink_to(outside)
    for act in (
        lambda: write_below(root, "link/file", b"x", PLAIN),
        lambda: read_below(root, "link/file"),
        lambda: unlink_below(root, "link/file"),
    ):
        with pytest.raises(InTheWay) as told:
            act()
        assert told.value.message == "a symbolic link is in the way"
        assert told.value.where == "link"
        assert told.value.code is ExitCode.CONFLICT
    assert everything_in(outside) == {"file": b"secret"}


def test_a_link_at_the_end_is_neither_read_nor_replaced_but_may_be_removed(root, tmp_path):
    put(tmp_path, {"target": b"theirs"})
    (root / "link").symlink_to(tmp_path / "target")
    with pytest.raises(InTheWay):
        read_below(root, "link")
    with pytest.raises(InTheWay):
        write_below(root, "link", b"x", PLAIN)
    assert mode_below(root, "link") == 0o120000
    assert unlink_below(root, "link")
    assert (tmp_path / "target").read_bytes() == b"theirs"


def test_a_pipe_does_not_hold_the_reader_up(root):
    os.mkfifo(root / "pipe")
    with pytest.raises(InTheWay, match="a special file"):
        read_below(root, "pipe")


def test_a_file_or_a_folder_where_the_other_is_wanted_is_in_the_way(root):
    put(root, {"file": b"", "folder/x": b""})
    with pytest.raises(InTheWay, match="a file is in the way"):
        write_below(root, "file/below", b"", PLAIN)
    with pytest.raises(InTheWay, match="a folder is in the way"):
        write_below(root, "folder", b"", PLAIN)
    with pytest.raises(InTheWay, match="a folder is in the way"):
        unlink_below(root, "folder")


def test_a_link_flipped_under_the_writer_never_leads_outside(root, tmp_path):
    """A folder becomes a link to the outside and back, as fast as a thread can do it."""
    outside, inside = tmp_path / "outside", root / "folder"
    outside.mkdir()
    inside.mkdir()
    (root / "evil").symlink_to(outside)
    over = threading.Event()

    def flip():
        while not over.is_set():
            inside.rename(root / "aside")
            try:
                (root / "evil").rename(inside)
                inside.rename(root / "evil")
            except IsADirectoryError:  # the writer was there first and made a folder of its own
                shutil.rmtree(inside, ignore_errors=True)
            while True:
                try:
                    (root / "aside").rename(inside)
                    break
                except OSError:
                    shutil.rmtree(inside, ignore_errors=True)

    thread = threading.Thread(target=flip)
    thread.start()
    refused = 0
    try:
        began = time.monotonic()
        number = 0
        while (took := time.monotonic() - began) < 60 and (took < 0.7 or not number > refused > 0):
            number += 1
            try:
                write_below(root, f"folder/{number}", b"x", PLAIN)
            except RunnerError:
                refused += 1
    finally:
        over.set()
        thread.join()
    assert number > refused > 0  # both happened, or the race proves nothing
    assert list(outside.iterdir()) == []


def test_stopped_at_any_effect_the_file_is_old_or_new(tmp_path):
    class Stop(BaseException):
        pass

    def stopping_at(wanted, seen):
        def watch(kind, target):
            seen.append(kind)
            if len(seen) == wanted:
                raise Stop

        return watch

    for k in range(1, 50):
        root = put(tmp_path / str(k), {"a/file": b"old"})
        seen: list[str] = []
        callback = stopping_at(k, seen)
        effects.watch(callback)
        try:
            write_below(root, "a/file", b"new", PLAIN)
            finished = True
        except Stop:
            finished = False
        finally:
            effects.unwatch(callback)
        assert everything_in(root) in ({"a/file": b"old"}, {"a/file": b"new"})
        if finished:
            assert seen == ["open", "write", "fsync", "replace", "fsync"]
            return
    pytest.fail("it never came to its end")


def test_what_a_killed_writer_left_is_swept(root):
    put(root, {"a/file": b"", "a/.runner-12-34.tmp": b"half", "a/.runnerish": b""})
    assert sweep_below(root, "a/file") == 1
    assert everything_in(root) == {"a/.runnerish": b"", "a/file": b""}
    assert sweep_below(root, "nowhere/file") == 0


def mounted(folder, *options):
    folder.mkdir(exist_ok=True)
    done = subprocess.run(["mount", *options, str(folder)], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"cannot mount here: {done.stderr.decode(errors='replace').strip()}")


def test_a_full_disk_is_told_and_leaves_nothing_half_written(tmp_path):
    disk = tmp_path / "disk"
    mounted(disk, "-t", "tmpfs", "-o", "size=64k", "tmpfs")
    try:
        write_below(disk, "a/file", b"old", PLAIN)
        with pytest.raises(RunnerError) as told:
            write_below(disk, "a/file", b"x" * 200_000, PLAIN)
        assert told.value.message == "the disk is full"
        assert told.value.where == "a/file"
        assert told.value.hint == "free some space and run again"
        assert everything_in(disk) == {"a/file": b"old"}
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_folder_that_may_not_be_written_is_told(tmp_path):
    folder = put(tmp_path / "frozen", {"a/file": b"old"})
    mounted(folder, "--bind", str(folder))
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", str(folder)], check=True)
        with pytest.raises(RunnerError) as told:
            write_below(folder, "a/file", b"new", PLAIN)
        assert told.value.message == "cannot be used: Read-only file system"
        with pytest.raises(RunnerError):
            unlink_below(folder, "a/file")
        assert everything_in(folder) == {"a/file": b"old"}
    finally:
        subprocess.run(["umount", str(folder)], check=True)


# --- many files are written several at once -------------------------------------------


MANY = 300


def a_change(path, content, before=None):
    action = Action.DELETE if content is None else Action.CREATE
    after = None if content is None else digest_of(content)
    was = None if before is None else digest_of(before)
    return Change(path, action, 0o100644, was, after, content)


def test_each_of_many_files_has_its_own_bytes_and_nothing_is_left_beside(tmp_path):
    changes = [a_change(f"d{n % 7}/e/f{n}", b"%d" % n) for n in range(MANY)]
    assert place(tmp_path, changes) == ()
    found = {
        str(p.relative_to(tmp_path)): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()
    }
    assert found == {change.path: change.content for change in changes}


def test_files_of_a_person_among_many_are_kept_and_named_in_the_order_of_the_changes(tmp_path):
    changes = [a_change(f"f{n:03}", b"new") for n in range(MANY)]
    for name in ("f200", "f007"):
        (tmp_path / name).write_bytes(b"mine")
    late = place(tmp_path, changes)
    assert [change.path for change in late] == ["f007", "f200"]
    assert (tmp_path / "f007").read_bytes() == (tmp_path / "f200").read_bytes() == b"mine"


def test_a_file_makes_room_for_a_folder_of_many(tmp_path):
    (tmp_path / "d").write_bytes(b"old")
    gone = a_change("d", None, b"old")
    assert place(tmp_path, [*(a_change(f"d/{n}", b"x") for n in range(MANY)), gone]) == ()
    assert len(os.listdir(tmp_path / "d")) == MANY  # noqa: PTH208 - names alone


def test_many_are_worked_on_at_once_and_answered_in_their_order():
    together = threading.Barrier(4, timeout=20)

    def work(number):
        if number < 4:
            together.wait()
        return -number

    assert effects.for_each(work, range(MANY)) == [-number for number in range(MANY)]


def test_an_error_with_one_of_many_is_raised_and_the_rest_is_not_begun():
    begun = []

    def work(number):
        begun.append(number)
        if number == 3:
            raise OSError("full")
        if number > 100:
            time.sleep(0.01)  # on a busy machine all of them are begun before anybody hears of it

    with pytest.raises(OSError, match="full"):
        effects.for_each(work, range(20_000))
    assert 3 in begun
    assert len(begun) < 20_000
