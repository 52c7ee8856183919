"""What constants come to is computed where it is small, and nothing large on the way to it."""

from __future__ import annotations

import pytest

from runner.text.literals import LONGEST, TooLarge, join, replace, write


def test_joins_and_replacements_are_counted_first():
    assert join("-", ["a", "b"]) == "a-b"
    assert replace("abca", "a", "xx") == "xxbcxx"
    assert replace("abca", "a", "xx", 1) == "xxbca"
    for large in (
        lambda: join("-" * 5000, ["a"] * 5000),
        lambda: replace("a" * 5000, "a", "b" * 5000),
        lambda: replace("a" * 5000, "", "b" * 5000),
        lambda: write(int("f" * 9000, 16)),
        lambda: write(b"\\" * LONGEST),
    ):
        with pytest.raises(TooLarge):
            large()
