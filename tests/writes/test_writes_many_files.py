"""Many files are written several at once, and hold what they would if they came one by one."""

import os
import threading
import time

import pytest

from runner import effects
from runner.model import Action, Change, digest_of
from runner.writes.safe_io import place

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
