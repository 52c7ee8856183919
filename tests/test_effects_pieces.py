"""A file that is replaced piece by piece, and the digest of pieces."""

from __future__ import annotations

import os

import pytest

from runner import effects
from runner.model import digest_of

MEGABYTE = 1 << 20


@pytest.mark.parametrize(
    "pieces",
    [
        (),
        (b"",),
        (b"a", b"", memoryview(b"bc")),
        (memoryview(os.urandom(3 * MEGABYTE + 7)), b"x", memoryview(os.urandom(MEGABYTE))),
        (os.urandom(MEGABYTE - 1), b"yz", b"end"),
    ],
    ids=["none", "an empty one", "small ones", "large ones", "across a megabyte"],
)
def test_pieces_are_written_and_named_as_if_they_were_joined(tmp_path, pieces):
    path = tmp_path / "plan.md"
    path.write_bytes(b"old")
    assert effects.write_file(path, pieces, expected=b"old")
    assert path.read_bytes() == b"".join(pieces)
    assert digest_of(*pieces) == digest_of(b"".join(pieces))
    assert list(tmp_path.iterdir()) == [path]


def test_of_many_small_pieces_there_is_a_write_for_each_megabyte(tmp_path):
    seen = []

    def watch(kind, target):
        seen.append((kind, target))

    effects.watch(watch)
    try:
        effects.write_file(tmp_path / "plan.md", [b"x" * 100] * 30_000)
    finally:
        effects.unwatch(watch)
    assert [kind for kind, _ in seen].count("write") == 3
    assert (tmp_path / "plan.md").stat().st_size == 3_000_000
