"""Which files of the tree a command changed, told by their change times, without git."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import RunnerError
from runner.lazy_dataclass import dataclass
from runner.model import Finding, Severity
from runner.repo.change_times import TICK, tells_changes
from runner.repo.trees import Prefix
from runner.text.ignore_rules import ignore_rules
from runner.writes.safe_io import open_beneath

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
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
_LARGEST = 1024 * 1024
"""Bytes of ignore rules that are read."""


@dataclass(frozen=True, slots=True)
class Touched:
    """What a command did to the files of the tree, by their paths as the project knows them."""

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

    A file's change time cannot be set back by a program, so what was written since then shows;
    where the file system does not tell, each file is read.
    """
    known, began = before
    told = tells_changes(bench.place.tree.parent)
    there: set[str] = set()
    written: list[str] = []
    for path, entry in _walk(bench):
        there.add(path)
        if path in known and (not told or _is_changed_since(entry, began)):
            written.append(path)
    inside = Prefix(bench.place.start).inside
    # Of a file that is none of the proposal nobody knows what it held: a check before made it.
    proposed = {path: bench.after(inside(path)) for path in (*written, *(known - there))}
    changed = [
        path
        for path, content in proposed.items()
        if content is not None and not (path in there and _holds(bench.place.tree, path, content))
    ]
    made = there - known
    seen = _not_ignored(sorted(made), bench.place.tree) if made else ()
    return Touched(
        tuple(sorted(map(inside, changed))),
        tuple(sorted(map(inside, seen))),
        left=bool(made or changed),
    )


def _is_changed_since(entry: os.DirEntry[str], began: float) -> bool:
    try:
        return entry.stat(follow_symlinks=False).st_ctime >= began
    except OSError:
        return True


def _holds(tree: Path, path: str, content: bytes) -> bool:
    """Whether a plain file has these bytes, or a link leads there; no pipe is waited for."""
    try:
        if (tree / path).is_symlink():
            return os.fsencode((tree / path).readlink()) == content
        return _read(tree, path, len(content)) == content
    except (OSError, RunnerError):
        return False


def _read(tree: Path, path: str, size: int) -> bytes:
    """A plain file's bytes, at most one more than `size`. Raises OSError and RunnerError."""
    with os.fdopen(open_beneath(tree, path, os.O_RDONLY), "rb") as file:
        return file.read(size + 1)


def _not_ignored(paths: list[str], tree: Path) -> Iterator[str]:
    """The paths that the tree's own ignore rules let be seen: its top's and each folder's."""
    known: dict[str, Callable[[str], bool]] = {}
    for path in paths:
        parts = path.split("/")
        places = ("".join(f"{part}/" for part in parts[:depth]) for depth in range(len(parts)))
        for place in places:
            if place not in known:
                known[place] = _rules(tree, f"{place}.gitignore")
            if known[place](path.removeprefix(place)):
                break
        else:
            yield path


def _rules(tree: Path, path: str) -> Callable[[str], bool]:
    try:
        return ignore_rules(_read(tree, path, _LARGEST).decode("utf-8", "replace").splitlines())
    except (OSError, RunnerError):
        return ignore_rules(())
