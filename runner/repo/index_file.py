"""Read and edit single paths of git's index file (gitformat-index(5)).

Only what plain repositories have: version 2 or 3, SHA-1, and no extension but the cached tree.
Whatever else is met is git's to change.
"""

from __future__ import annotations

import hashlib
import os
import struct
from array import array
from bisect import bisect_left
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.repo.git import UnusualError
from runner.repo.trees import GITLINK, TreeEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

_HEAD, _SUM, _FIXED = 12, 20, 62
_MTIME, _MODE, _SIZE = 8, 24, 36
"""Their offsets in an entry, four bytes each."""
# A submodule has no file whose time could hide a change: git asks its repository.
_LINK = GITLINK.to_bytes(4)
_VERSIONS = (2, 3)
# The two flags record the user's or sparse checkout's choice for a file (assume-valid;
# skip-worktree, intent-to-add), which a rewritten entry would lose.
_EXTENDED, _ASSUMED, _STAGE, _LENGTH = 0x4000, 0x8000, 0x3000, 0x0FFF
_CACHED_TREE = b"TREE"
_NO_ENTRIES = struct.pack(">4sII", b"DIRC", 2, 0)
EMPTY_INDEX = _NO_ENTRIES + hashlib.sha1(_NO_ENTRIES, usedforsecurity=False).digest()
"""Index of a tree without files."""


class IndexFile(Struct, frozen=True):
    """One state of the file, and where its entries begin; the last place is behind them."""

    data: bytes
    begins: Sequence[int]
    racy: tuple[int, ...]
    """Offsets of entries whose file may have changed undetected in the second of the index."""
    written: int
    """That second, since the epoch."""

    def at(self, path: bytes) -> tuple[TreeEntry, ...]:
        """Return the entries at this path, several if unmerged. Raises UnusualError."""
        found = []
        for number in range(self._place(path), len(self.begins) - 1):
            if self._name(number) != path:
                break
            begin = self.begins[number]
            flags = self._flags(begin)
            if flags & (_EXTENDED | _ASSUMED):
                raise UnusualError
            mode = int.from_bytes(self.data[begin + _MODE : begin + _MODE + 4])
            sha = self.data[begin + 40 : begin + 60].hex()
            stage = (flags & _STAGE) >> 12
            found.append(TreeEntry(mode, f"stage {stage}" if stage else sha))
        return tuple(found)

    def with_entries(self, entries: Mapping[bytes, TreeEntry | None]) -> bytes:
        """Return the index with these entries; None removes one. Raises UnusualError.

        As with `git update-index --index-info` they say nothing of the file's times, so that git
        looks at its content. So it does at those entries that were racily clean: the time of the
        new index would hide a change, so their size is taken away (racy-git in git's technical
        documentation; git itself compares each of them at once).
        """
        data = memoryview(self._without_racy_sizes())  # of what stays nothing is copied but once
        pieces: list[bytes | memoryview] = []
        copied, count = self.begins[0], len(self.begins) - 1
        begins, numbered, moved = array("Q"), 0, 0
        # Entries are sorted by name as unsigned bytes (gitformat-index(5)), so one pass copies what
        # is between them.
        for path, entry in sorted(entries.items()):
            self._require_no_clash(path, entry)
            there = len(self.at(path))
            number = self._place(path)
            pieces.append(data[copied : self.begins[number]])
            begins.extend(_moved(self.begins[numbered:number], moved))
            numbered, copied = number + there, self.begins[number + there]
            if entry:
                pieces.append(_format_entry(path, entry))
                begins.append(self.begins[number] + moved)
                moved += len(pieces[-1])
            moved -= copied - self.begins[number]
            count += bool(entry) - there
        pieces.append(data[copied : self.begins[-1]])
        begins.extend(_moved(self.begins[numbered:], moved))
        pieces.append(_invalidate(self.data[self.begins[-1] : -_SUM], entries))
        pieces = [data[:8], count.to_bytes(4), *pieces]
        # The last twenty bytes are the digest of the rest; `git fsck` checks it (read-cache.c,
        # verify_hdr), and so does our reader.
        hasher = hashlib.sha1(usedforsecurity=False)
        for piece in pieces:
            hasher.update(piece)
        digest = hasher.digest()
        if not self.racy:
            _remember(digest, begins, self.written)
        return b"".join((*pieces, digest))

    def _without_racy_sizes(self) -> bytes:
        if not self.racy:
            return self.data
        data = bytearray(self.data)
        for begin in self.racy:
            data[begin + _SIZE : begin + _SIZE + 4] = bytes(4)
        return bytes(data)

    def _require_no_clash(self, path: bytes, entry: TreeEntry | None) -> None:
        """Raise UnusualError if the path is a folder in the index, or a file is a parent of it."""
        # `a` and `a/b` cannot both exist: git removes one for the other, with everything below it,
        # without asking.
        inside = self._place(path + b"/")
        last = inside == len(self.begins) - 1
        if entry and not last and self._name(inside).startswith(path + b"/"):
            raise UnusualError
        above = path.rpartition(b"/")[0]
        while entry and above:
            if self.at(above):
                raise UnusualError
            above = above.rpartition(b"/")[0]

    def _place(self, path: bytes) -> int:
        return bisect_left(range(len(self.begins) - 1), path, key=self._name)

    def _flags(self, begin: int) -> int:
        return int.from_bytes(self.data[begin + 60 : begin + 62])

    def _name(self, number: int) -> bytes:
        begin = self.begins[number]
        start = begin + _FIXED + (2 if self._flags(begin) & _EXTENDED else 0)
        return self.data[start : self.data.index(b"\0", start)]


def read_index(path: Path) -> IndexFile:
    """Read the current index. Raises UnusualError if it is missing or not plain."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            data, written = file.read(), int(os.fstat(descriptor).st_mtime)
        return _parse(data, written)
    except (OSError, ValueError, IndexError, struct.error) as error:
        raise UnusualError from error


def _parse(data: bytes, written: int) -> IndexFile:
    # An index written with index.skipHash ends in zeros, git-config(1), and is also left to git.
    signature, version, count = struct.unpack_from(">4sII", data)
    digest = hashlib.sha1(memoryview(data)[:-_SUM], usedforsecurity=False).digest()
    if signature != b"DIRC" or version not in _VERSIONS or digest != data[-_SUM:]:
        raise UnusualError
    known, since = _places.get(digest, (None, 0))
    if known is not None and written >= since:
        return IndexFile(data, known, (), written)
    at, begins, racy = _HEAD, [_HEAD], []
    second = struct.pack(">I", written)
    for _ in range(count):
        flags = data[at + 60] << 8 | data[at + 61]
        length = flags & _LENGTH
        if (
            # Whole seconds, though git may compare nanoseconds (USE_NSEC): this treats more entries
            # as racy than needed, never fewer.
            data[at + _MTIME : at + _MTIME + 4] >= second
            and data[at + _MODE : at + _MODE + 4] != _LINK
        ):
            racy.append(at)
        fixed = _FIXED + 2 if flags & _EXTENDED else _FIXED
        # Twelve bits hold a length up to 4094; for longer names NUL marks the end
        # (gitformat-index).
        if length == _LENGTH:
            length = data.index(b"\0", at + fixed) - at - fixed
        # One to eight NULs pad an entry to a multiple of eight bytes, from its own start.
        at += (fixed + length + 8) & ~7
        begins.append(at)
    end = len(data) - _SUM
    for name in _names_of_extensions(data, at, end):
        # Most others repeat the entries (untracked cache, fsmonitor, end of entries, split index):
        # unchanged they would be wrong.
        if name != _CACHED_TREE:
            raise UnusualError
    places = array("Q", begins)
    if not racy:
        _remember(digest, places, written)
    return IndexFile(data, places, tuple(racy), written)


# Entry offsets of a few files, by digest, each with the second after which none is racy: files we
# wrote need not be parsed again.
_places: dict[bytes, tuple[Sequence[int], int]] = {}
_remembering = Lock()
_MOST_PLACES = 400_000
"""Maximum entries in all of them; each offset takes eight bytes."""


def _remember(digest: bytes, begins: Sequence[int], written: int) -> None:
    with _remembering:
        _places.pop(digest, None)
        while _places and sum(len(each) for each, _ in _places.values()) > _MOST_PLACES:
            del _places[next(iter(_places))]
        _places[digest] = begins, written


def _moved(begins: Sequence[int], by: int) -> Iterable[int]:
    return [begin + by for begin in begins] if by else begins


def _names_of_extensions(data: bytes, at: int, end: int) -> Iterable[bytes]:
    while at < end:
        name, size = struct.unpack_from(">4sI", data, at)
        yield name
        at += 8 + size
    if at != end:
        raise UnusualError


def _format_entry(path: bytes, entry: TreeEntry) -> bytes:
    # Times, device, inode, owner and size stay zero: stat(2) never reports that, so git compares
    # the content itself.
    fixed = struct.pack(
        ">24xI12x20sH", entry.mode, bytes.fromhex(entry.sha), min(len(path), _LENGTH)
    )
    return fixed + path + b"\0" * (8 - (_FIXED + len(path)) % 8)


def _invalidate(extension: bytes, paths: Iterable[bytes]) -> bytes:
    """Return the cached tree with every folder above these paths marked as unknown."""
    if not extension:
        return b""
    stale = {b""}
    for path in paths:
        above = path
        while above := above.rpartition(b"/")[0]:
            stale.add(above)
    # Folders are in depth-first order, each with the number of its subfolders; an invalid one has
    # -1 and no object name (gitformat-index, "Cache tree").
    files, out, at, open_folders = set(paths), [], 8, [(b"", 1)]
    while at < len(extension):
        while open_folders[-1][1] == 0:
            open_folders.pop()
        above, left = open_folders[-1]
        open_folders[-1] = above, left - 1
        end = extension.index(b"\0", at)
        line = extension.index(b"\n", end)
        name = extension[at:end]
        folder = b"%b/%b" % (above, name) if above else name
        entries, folders = map(int, extension[end + 1 : line].split(b" "))
        at = line + 1 + (_SUM if entries >= 0 else 0)
        if folder in files:
            raise UnusualError
        if folder in stale:
            out.append(b"%b\0-1 %d\n" % (name, folders))
        else:
            out.append(extension[end - len(name) : at])
        open_folders.append((folder, folders))
    content = b"".join(out)
    return _CACHED_TREE + len(content).to_bytes(4) + content
