"""Accepted changes reach the real tree: file by file, and never over somebody's work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner import effects
from runner.model import digest_of
from runner.writes.safe_io import (
    InTheWay,
    mode_beneath,
    read_beneath,
    unlink_beneath,
    write_beneath,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from runner.model import Change, Digest

_EXECUTE = 0o100


def in_the_way(root: Path, changes: Iterable[Change], *, converts: bool = False) -> tuple[str, ...]:
    """Paths whose real file is neither what the task began from nor what it proposes.

    That is a person's edit, or an untracked file where the task wants to put a new one. Where git
    `converts` line ends on checkout, CRLF in the real file is no edit.
    """
    return tuple(change.path for change in changes if _is_in_the_way(root, change, converts))


def _is_in_the_way(root: Path, change: Change, converts: bool) -> bool:  # noqa: FBT001 - passed on
    try:
        found = _digests(root, change.path, converts)
    except InTheWay:  # a link or a folder stands at the path or above it
        return True
    return found.isdisjoint((change.before, change.after))


def place(root: Path, changes: Iterable[Change], *, converts: bool = False) -> tuple[Change, ...]:
    """Write landed changes into the real tree; gives those that a person was faster with.

    May be repeated after a crash: a file that already is what it should be is left alone.
    Raises RunnerError when a file cannot be written; the files before it are whole.
    """
    given = tuple(changes)
    gone = [change for change in given if change.content is None]
    come = [change for change in given if change.content is not None]
    # What goes, goes first: where `a` becomes `a/b`, the file stands in the way of the folder.
    done = [_has_place(root, change, converts) for change in gone]
    done += effects.for_each(lambda change: _has_place(root, change, converts), come)
    late = {change.path for change, has in zip((*gone, *come), done, strict=True) if not has}
    return tuple(change for change in given if change.path in late)


def _has_place(root: Path, change: Change, converts: bool) -> bool:  # noqa: FBT001 - passed on
    """Write one change, unless somebody's file is in its way: then False."""
    if _is_in_the_way(root, change, converts):
        return False
    if not _is_there(root, change):
        _put(root, change)
    return True


def _is_there(root: Path, change: Change) -> bool:
    """Whether the file is what the change makes of it, its executable bit included."""
    if change.after not in _digests(root, change.path, converts=False):
        return False
    mode = mode_beneath(root, change.path)
    return mode is None or bool(mode & _EXECUTE) == bool(change.mode & _EXECUTE)


def _put(root: Path, change: Change) -> None:
    if change.content is None:
        unlink_beneath(root, change.path)
    else:
        write_beneath(root, change.path, change.content, change.mode & 0o777)


def _digests(root: Path, path: str, converts: bool) -> set[Digest | None]:  # noqa: FBT001 - passed on
    """The digest of the real file, and of what git would store of it."""
    content = read_beneath(root, path)
    if content is None:
        return {None}
    stored = content.replace(b"\r\n", b"\n") if converts else content
    return {digest_of(content), digest_of(stored)}
