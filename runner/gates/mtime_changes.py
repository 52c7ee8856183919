"""Which files of the tree a command changed, told by their change times, without git."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from runner import effects
from runner.lazy_dataclass import dataclass
from runner.model import Finding, Severity
from runner.repo.tree_files import TICK
from runner.text.ignore_rules import ignore_rules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import TypeAlias

    from runner.gates.base import GateContext

    Seen: TypeAlias = tuple[frozenset[str], float]
    """Paths, and seconds since the epoch."""

_BY_PRODUCTS_WORDS = """
__pycache__ .git .hypothesis .mypy_cache .nox .pytest_cache .ruff_cache .tox .venv node_modules
target .gradle .terraform .DS_Store
"""
_BY_PRODUCTS = frozenset(_BY_PRODUCTS_WORDS.split())
_ENDS = (".pyc", ".egg-info")
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Touched:
    """What a command did to the files of the tree."""

    changed: tuple[str, ...] = ()
    """Files whose bytes are no longer those of the proposal, deleted ones among them."""
    made: tuple[str, ...] = ()
    left: bool = False
    """Whether the tree is not as it was: ignored files count, by-products do not."""

    def findings(self, check: str) -> tuple[Finding, ...]:
        """A note where there is something to say: what a check writes is not part of the task."""
        paths = (*self.changed, *self.made)
        if not paths:
            return ()
        shown = ", ".join(paths[:_SHOWN]) + (" …" if len(paths) > _SHOWN else "")
        return (
            Finding(
                check=check,
                message=f"it changed files of the tree: {shown}",
                severity=Severity.NOTE,
                hint="what a check writes is not part of the task: have it write elsewhere",
            ),
        )


def files(bench: GateContext) -> Seen:
    """The files of the scratch tree now, by-products left out, and when they were listed."""
    return since(frozenset(path for path, _ in _walk(bench)))


def since(names: frozenset[str]) -> Seen:
    """The same of files that are known to be there."""
    # The kernel stamps files with the time of its last tick, which may lie before a clock that
    # was read earlier.
    return names, effects.now().timestamp() - TICK


def _walk(bench: GateContext) -> Iterator[tuple[str, os.DirEntry[str]]]:
    shares = frozenset(bench.place.shares)
    pending = [(os.fspath(bench.place.tree), "")]
    while pending:
        folder, below = pending.pop()
        try:
            with os.scandir(folder) as listed:
                entries = list(listed)
        except OSError:
            continue
        for entry in entries:
            name = entry.name
            path = below + name
            if name in _BY_PRODUCTS or name.endswith(_ENDS) or name.startswith(".coverage"):
                continue
            if path in shares:
                continue
            if entry.is_dir(follow_symlinks=False):
                pending.append((entry.path, f"{path}/"))
            else:
                yield path, entry


def find_touched(before: Seen, bench: GateContext) -> Touched:
    """What changed since `before`; a file written anew with the same bytes did not.

    A file's change time cannot be set back by a program, so what was written since then shows.
    """
    known, began = before
    there: set[str] = set()
    written: list[str] = []
    for path, entry in _walk(bench):
        there.add(path)
        if path in known and _is_changed_since(entry, began):
            written.append(path)
    changed = [path for path in (*written, *(known - there)) if not _same(path, bench)]
    made = sorted(there - known)
    return Touched(
        tuple(sorted(changed)),
        tuple(_not_ignored(made, bench.place.tree / ".gitignore")) if made else (),
        left=bool(made or changed),
    )


def _is_changed_since(entry: os.DirEntry[str], began: float) -> bool:
    try:
        return entry.stat(follow_symlinks=False).st_ctime >= began
    except OSError:
        return True


def _same(path: str, bench: GateContext) -> bool:
    """Whether a file holds the proposal's bytes; one that was none of it is left alone."""
    inside = path.removeprefix(f"{bench.place.start}/") if bench.place.start else path
    proposed = bench.after(inside)
    if proposed is None:  # a check before this one made it
        return True
    try:
        at = bench.place.tree / path
        if at.is_symlink():
            return os.fsencode(at.readlink()) == proposed
        return at.read_bytes() == proposed
    except OSError:
        return False


def _not_ignored(paths: list[str], rules: Path) -> Iterator[str]:
    """The paths that the tree's own ignore rules let be seen."""
    try:
        lines = rules.read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    is_ignored = ignore_rules(lines)
    return (path for path in paths if not is_ignored(path))
