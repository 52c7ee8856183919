"""Rows of a cache file are read as they are asked for, and kept in that order."""

from __future__ import annotations

import tracemalloc

import pytest

from runner.plan.cache_file import CacheFile

STAMP: list[object] = [1, "TASK-GRAPH.md"]


def opened(folder):
    return CacheFile(folder, "rows.json", STAMP)


def keep(folder, keys):
    """Ask for rows by these keys and keep them; what was found, and what was made anew."""
    found, made = [], []
    with opened(folder) as rows:
        for key in keys:
            row = rows.take(key, lambda value: value)
            (made if row is None else found).append(key)
            if row is None:
                rows.put(key, b'{"of":"%b"}' % key.encode())
        rows.keep()
    return "".join(found), "".join(made)


def test_rows_are_found_again_in_their_order(tmp_path):
    assert keep(tmp_path, "abc") == ("", "abc")
    before = (tmp_path / "rows.json").stat().st_mtime_ns
    assert keep(tmp_path, "abc") == ("abc", "")
    assert (tmp_path / "rows.json").stat().st_mtime_ns == before


@pytest.mark.parametrize("keys", ["cab", "bc", "axbc", "abcx", "c", ""])
def test_rows_that_moved_are_found_and_stand_in_the_new_order_next_time(tmp_path, keys):
    keep(tmp_path, "abc")
    found, made = keep(tmp_path, keys)
    assert (found, made) == (keys.replace("x", ""), "x" if "x" in keys else "")
    with opened(tmp_path) as rows:
        assert [key for key, _ in rows.texts()] == list(keys)


def test_an_odd_row_is_made_anew_and_the_others_stay(tmp_path):
    keep(tmp_path, "abc")
    with opened(tmp_path) as rows:
        assert rows.take("a", bool) is True
        assert rows.take("b", lambda _: None) is None
        rows.put("b", b"new")
        assert rows.take("c", bool) is True
        rows.keep()
    with opened(tmp_path) as rows:
        assert [row for _, row in rows.texts()] == [b'{"of":"a"}', b"new", b'{"of":"c"}']


def test_a_row_with_a_flipped_byte_is_made_anew(tmp_path):
    keep(tmp_path, "abc")
    file = tmp_path / "rows.json"
    file.write_bytes(file.read_bytes().replace(b'{"of":"b"}', b'{"of":"x"}'))
    assert keep(tmp_path, "abc") == ("ac", "b")
    assert keep(tmp_path, "abc") == ("abc", "")


def test_a_file_that_was_cut_has_the_rows_that_are_whole(tmp_path):
    keep(tmp_path, "abc")
    file = tmp_path / "rows.json"
    file.write_bytes(file.read_bytes()[:-3])
    assert keep(tmp_path, "abc") == ("ab", "c")
    assert keep(tmp_path, "abc") == ("abc", "")


def test_another_stamp_has_no_rows(tmp_path):
    keep(tmp_path, "abc")
    with CacheFile(tmp_path, "rows.json", [2]) as rows:
        assert rows.take("a", bool) is None


def test_reading_many_rows_holds_one_at_a_time(tmp_path):
    keys = [f"{one:05}" for one in range(20_000)]
    with opened(tmp_path) as rows:
        for key in keys:
            rows.put(key, b"x" * 200)
        rows.keep()
    tracemalloc.start()
    try:
        with opened(tmp_path) as rows:
            assert all(rows.take(key, bool) for key in keys)
            rows.keep()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < (tmp_path / "rows.json").stat().st_size / 4
