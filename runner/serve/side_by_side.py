"""A diff as rows of two columns, in which nothing can hide: what the terminal's diff shows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from runner.model import Action
from runner.report.diff_view import side_of, words_changed
from runner.report.line_match import hunks, stretches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.model import Change
    from runner.report.diff_view import Pieces

_MOST_ROWS = 4_000
"""Rows of one file; what is longer is cut, and said to be."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One line of one side; `pieces` are its words, and whether each was changed."""

    number: int
    kind: str
    """`old`, `new` or `same`."""
    pieces: tuple[tuple[str, bool], ...]
    ran: str = ""
    """The proofs that were seen to run this line."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of both sides; a row with `gap` only says what is left out."""

    old: Cell | None = None
    new: Cell | None = None
    gap: str = ""


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file's change."""

    path: str
    action: str
    notes: tuple[str, ...]
    rows: tuple[Row, ...]
    added: int
    removed: int
    is_cut: bool = False

    @property
    def is_new(self) -> bool:
        """Whether there was nothing before, so that one column says it all."""
        return self.action == Action.CREATE

    @property
    def is_gone(self) -> bool:
        """The same of what is deleted."""
        return self.action == Action.DELETE

    @property
    def is_alone(self) -> bool:
        """Whether it is one column."""
        return self.is_new or self.is_gone


def diff_file(before: bytes | None, change: Change, ran: Mapping[int, str]) -> FileDiff:
    """The change of one file; `ran` says by line of the new text which proofs ran it."""
    old, new = side_of(before), side_of(change.content)
    notes = []
    if change.mode & 0o111:
        notes.append("executable")
    if old.binary or new.binary:
        sizes = [len(one) if one is not None else 0 for one in (before, change.content)]
        notes.append(f"binary: {sizes[0]} bytes before, {sizes[1]} now")
        return FileDiff(change.path, str(change.action), tuple(notes), (), 0, 0)
    if new.lines and new.ends_open:
        notes.append("no newline at its end")
    found = stretches(old.lines, new.lines)
    added = sum(one.j2 - one.j1 for one in found if one.kind == "replace")
    removed = sum(one.i2 - one.i1 for one in found if one.kind == "replace")
    rows: list[Row] = []
    last = 0
    for hunk in hunks(found):
        skipped = hunk[0].j1 - last
        if skipped > 0:
            rows.append(Row(gap=f"{skipped} line{'s' * (skipped != 1)} not changed"))
        last = hunk[-1].j2
        for one in hunk:
            olds, news = old.shown[one.i1 : one.i2], new.shown[one.j1 : one.j2]
            rows += _rows(olds, news, one.i1, one.j1, ran, same=one.kind == "equal")
        if len(rows) > _MOST_ROWS:
            break
    is_cut = len(rows) > _MOST_ROWS
    return FileDiff(
        *(change.path, str(change.action), tuple(notes), tuple(rows[:_MOST_ROWS])),
        *(added, removed, is_cut),
    )


def _rows(
    olds: tuple[str, ...],
    news: tuple[str, ...],
    i: int,
    j: int,
    ran: Mapping[int, str],
    *,
    same: bool,
) -> Iterator[Row]:
    if same:
        for at, (left, right) in enumerate(zip(olds, news, strict=True), start=1):
            yield Row(
                Cell(i + at, "same", ((left, False),)),
                Cell(j + at, "same", ((right, False),), ran.get(j + at, "")),
            )
        return
    for at, (before, after) in enumerate(zip_longest(olds, news), start=1):
        pieces: tuple[Pieces, Pieces] = ((), ())
        if before is not None and after is not None and len(olds) == len(news):
            pieces = words_changed(before, after) or pieces
        yield Row(
            None if before is None else Cell(i + at, "old", pieces[0] or ((before, False),)),
            None
            if after is None
            else Cell(j + at, "new", pieces[1] or ((after, False),), ran.get(j + at, "")),
        )
