"""Check a proposal's size limits by `stat` before reading any content."""

from __future__ import annotations

import os
import stat
import unicodedata
from typing import TYPE_CHECKING, Self

from msgspec import Struct

from runner.config.sizes import bytes_of, format_size
from runner.errors import RunnerError
from runner.lazy_pattern import regex
from runner.model import Action, Change, digest_of
from runner.repo.git import SECONDS, text
from runner.repo.tree_files import make_readable
from runner.repo.trees import GITLINK

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.repo.git import Git
    from runner.repo.trees import Prefix

_MEGABYTE = 1 << 20
_SHOWN = 200
"""Shown characters of a path too long to be opened."""
_DEEPEST = 500
"""Maximum folders around a proposed file; the path rules allow far fewer."""
# dir.c, `warning_errno(_("could not open directory '%s'"), ...)`; git still exits with 0, and
# truncates lines longer than 4 kB
_UNOPENED = regex(r"could not open directory '([^'\n]*)")
_CHANGED = ("ls-files", "-z", "--others", "--modified", "--exclude-standard")


class ProposalError(RunnerError):
    """A task left what is not even read: too large, too much, or out of reach; `path` names it."""

    def __init__(self, path: str, message: str, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.path = path


class TooMuchError(ProposalError):
    """A task proposes more than the bounds allow: another attempt would only cost as much."""


class ProposalBounds(Struct, frozen=True):
    """The settings `[limits] proposal_file_size`, `proposal_size`, `proposal_files`, in bytes."""

    file_size: int = 50 * _MEGABYTE
    size: int = 500 * _MEGABYTE
    files: int = 10_000

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Create the bounds from the settings."""
        own, usual = settings.limits, cls()
        file_size, size = map(bytes_of, (own.proposal_file_size, own.proposal_size))
        return cls(file_size or usual.file_size, size or usual.size, own.proposal_files)

    def hold(
        self,
        git: Git,
        tree: Path,
        inside: Callable[[str], str],
        left_out: Collection[bytes] = (),
        seconds: float = SECONDS,
    ) -> list[bytes]:
        """Return the files that differ from the index. Raises ProposalError above the limits.

        `inside` gives a path of the tree as the project has it; raises GitTimeoutError.
        """
        found = _find_differing(git, tree, inside, seconds)
        return self.hold_paths([path for path in found if path not in left_out], tree, inside)

    def hold_paths(
        self, paths: list[bytes], tree: Path, inside: Callable[[str], str]
    ) -> list[bytes]:
        """Return the files within the limits; raises ProposalError if they exceed them."""
        if len(paths) > self.files:
            raise TooMuchError(
                "",
                f"the task added or changed {len(paths):,} files; the limit is {self.files:,}",
                "add generated files to .gitignore, write fewer files, or raise "
                "limits.proposal_files in your settings",
            )
        total, top = 0, os.fsencode(tree)
        for path in paths:
            if path.count(b"/") > _DEEPEST:
                short = _shorten(inside(text(path)))
                why = f"{short} is more than {_DEEPEST} folders deep"
                raise ProposalError(short, why, "move or remove this file")
            size = _size(os.path.join(top, path))  # noqa: PTH118 - names are bytes, as git has them
            total += size
            if size > self.file_size:
                shown = inside(text(path))
                raise TooMuchError(
                    shown,
                    f"{shown} has {size:,} bytes; the limit for one file is {self.file_size:,}",
                    "write a smaller file, add it to .gitignore, or raise limits.proposal_file_size"
                    f" ({format_size(self.file_size)}) in your settings",
                )
        if total > self.size:
            raise TooMuchError(
                "",
                f"the task's files have {total:,} bytes together; the limit is {self.size:,}",
                "write less, add generated files to .gitignore, or raise limits.proposal_size "
                f"({format_size(self.size)}) in your settings",
            )
        return paths


def _find_differing(
    git: Git, tree: Path, inside: Callable[[str], str], seconds: float
) -> list[bytes]:
    """Return the new and changed paths, after making unreadable folders readable."""
    # In English: git's messages are parsed.
    plain = git.with_settings(LC_ALL="C")
    answer = plain.ask(*_CHANGED, seconds=seconds)
    if _UNOPENED.search(answer.stderr):
        make_readable(tree)
        answer = plain.ask(*_CHANGED, seconds=seconds)
    if closed := _UNOPENED.search(answer.stderr):
        shown = inside(closed[1].rstrip("/"))
        short = _shorten(shown)
        raise ProposalError(
            short,
            f"{short} cannot be opened: it is nested too deeply or not readable",
            "remove or move this folder",
        )
    return list(dict.fromkeys(path for path in answer.out.split(b"\0") if path))


def _shorten(shown: str) -> str:
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


def _size(path: bytes) -> int:
    """Return the size of a regular file in bytes; 0 for anything else."""
    try:
        found = os.lstat(path)
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def find_left_over(git: Git, tree: Path, prefix: Prefix, refused: str) -> tuple[Change, ...]:
    """Return the files that git refused to add, as changes that no rule allows."""
    others = git.run("ls-files", "-z", "--others", "--exclude-standard")
    differing = git.run("diff-files", "-z", "--name-only", "--ignore-submodules=all")
    paths = {text(path) for path in (others + differing).split(b"\0") if path}
    return tuple(_odd(tree, prefix, path, refused) for path in sorted(paths))


def _odd(tree: Path, prefix: Prefix, path: str, refused: str) -> Change:
    at = tree / path
    if not os.path.lexists(at):
        return Change(prefix.inside(path), Action.DELETE, 0, None, None)
    mode = GITLINK if path.endswith("/") or at.is_dir() else at.lstat().st_mode
    if stat.S_ISREG(mode):
        if f"invalid path '{path}'" not in refused:  # no rule would stop it
            raise ProposalError(path, f"git could not add {path!a}", "run again")
        mode = 0o100644
    inside = prefix.inside(path.rstrip("/"))
    return Change(inside, Action.CREATE, mode, None, digest_of(b""), b"")


def same_but_case(new: Iterable[str], there: Iterable[str]) -> dict[str, str]:
    """Return new paths that differ from another path only in case, with that path.

    `there` are all paths after the change. Folders count: `Src/a` and `src/b` are one folder there.
    """
    wanted = set(new)
    spelled_as: dict[str, str] = {}
    _spell(spelled_as, sorted(path for path in there if path not in wanted))
    return _find_clashes(wanted.intersection(there), spelled_as)


class Spelling:
    """The spelling of the paths of a slot's base, reused from one base to the next."""

    def __init__(self) -> None:
        self._come: set[bytes] = set()
        self._spelled: dict[str, str] = {}
        self._is_whole = True

    def follow(self, come: Mapping[bytes, object | None]) -> None:
        """Apply the paths in which the next base differs; None is a removed one."""
        # Entries can't be removed from the table, since other paths may share a folder: after a
        # deletion it is rebuilt.
        self._is_whole = self._is_whole and None not in come.values()
        self._come.update(come)

    def find_clashes(
        self, changes: Sequence[Change], paths: AbstractSet[bytes], prefix: Prefix
    ) -> dict[str, str]:
        """Return the case conflicts of changes on a base, as `same_but_case` does."""
        new = {change.path for change in changes if change.action is Action.CREATE}
        if not new:
            return {}
        gone = {change.path for change in changes if change.content is None}
        if gone:
            there = {prefix.inside(text(path)) for path in paths}
            return same_but_case(new, (there - gone) | new)
        come = self._come if self._is_whole else paths
        if not self._is_whole:
            self._spelled, self._is_whole = {}, True
        _spell(self._spelled, sorted(prefix.inside(text(path)) for path in come))
        self._come = set()
        return _find_clashes(new, self._spelled)


def _spell(spelled_as: dict[str, str], paths: Iterable[str]) -> None:
    """Add to a table how these paths and their folders are spelled, by what case leaves of them."""
    for path in paths:
        at = path
        while at:
            other = spelled_as.setdefault(_fold_case(at), at)
            if other == at and at != path:
                break  # its folders were looked at with another file
            at = at.rpartition("/")[0]


def _find_clashes(new: Iterable[str], known: Mapping[str, str]) -> dict[str, str]:
    """Return new paths that differ only in case from `known` or new ones; see `_spell`."""
    own: dict[str, str] = {}
    clashes: dict[str, str] = {}
    for path in sorted(new):
        at = path
        while at:
            folded = _fold_case(at)
            other = known.get(folded) or own.setdefault(folded, at)
            if other != at:
                clashes[path] = other
            if other == at and at != path:
                break
            at = at.rpartition("/")[0]
    return clashes


def _fold_case(path: str) -> str:
    # HFS+ and APFS also equate `é` as one and as two characters.
    return unicodedata.normalize("NFC", path).casefold()
