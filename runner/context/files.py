"""Choose the files that an implementer gets, the nearest first, within a token budget.

Files that a file imports, and that import it: found by words, held by `impact`'s reading.
"""

from __future__ import annotations

import re
from functools import cached_property
from heapq import nsmallest
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.context.tree import CHARACTERS_A_TOKEN
from runner.impact.change import is_own_document
from runner.languages.registry import language_of
from runner.plan.globs import is_glob, matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runner.context.outline_cache import Outlines
    from runner.context.tree import Tree
    from runner.model import Task
    from runner.plan.task_types import WorkType

# --- chosen ---------------------------------------------------------------------------


_FRAME = 24
"""Characters around a file: its heading and its fence."""
_LEAST = 400
"""Fewer characters of a file are not useful."""
_MOST_OF_A_KIND = 40
_NO_CODE = frozenset({"lock", "sum", "min.js", "svg", "map", "snap"})


class ContextFile(Struct, frozen=True):
    """A file with its text, and why it is shown."""

    path: str
    text: str
    because: str
    """`task`, `plan`, `neighbour`, `pattern` or `kind`."""
    is_cut: bool = False


class FileQuery(Struct, frozen=True):
    """The inputs for the choice of files."""

    task: Task
    work: WorkType
    planned: tuple[str, ...] = ()
    """Files that an approved plan writes or reads."""
    examples: tuple[str, ...] = ()
    """Files named by the matched patterns."""
    shown: frozenset[str] = frozenset()
    """Files that the brief shows in any case, such as tests."""


def context_files(
    tree: Tree, neighbours: Neighbours, wanted: FileQuery, tokens: int
) -> tuple[ContextFile, ...]:
    """Return the files that fit within a token limit, by priority.

    Files of the plan, their direct neighbours by import, examples of patterns; without a plan the
    task's own files, their neighbours, and the nearest files of the same kind.
    """
    left = tokens * CHARACTERS_A_TOKEN
    chosen: list[ContextFile] = []
    for path, because in candidates(tree, neighbours, wanted):
        text, _ = tree.text(path)
        if path in wanted.shown or not text.strip():
            continue
        room = left - len(path) - _FRAME
        if len(text) > room and (because not in ("task", "plan") or room < _LEAST):
            continue  # a smaller one may still fit
        shown = text if len(text) <= room else text[:room].rpartition("\n")[0]
        chosen.append(ContextFile(path, shown, because, len(shown) < len(text)))
        left -= len(shown) + len(path) + _FRAME
        if left < _LEAST:
            break
    return tuple(chosen)


def candidates(tree: Tree, neighbours: Neighbours, wanted: FileQuery) -> Iterator[tuple[str, str]]:
    """Yield every candidate file with the reason, without duplicates, nearest first."""
    seen: set[str] = set()
    for because, paths in _tiers(tree, neighbours, wanted):
        for path in paths:
            if path not in seen and tree.is_file(path):
                seen.add(path)
                yield path, because


def _tiers(
    tree: Tree, neighbours: Neighbours, wanted: FileQuery
) -> Iterator[tuple[str, Iterable[str]]]:
    task, work = wanted.task, wanted.work
    own = _own_files(tree, task)
    users_first = any(row.users_first for row in work.rows)
    yield "plan", wanted.planned
    yield "task", tree.match(task.inputs)
    if not wanted.planned:
        yield "task", own
    seeds = wanted.planned or (*own, *_find_missing(tree, task))
    near = around(neighbours, seeds, users_first=users_first)
    yield "neighbour", _order_by_preference(near, work)
    yield "pattern", wanted.examples
    if not wanted.planned:
        yield "kind", _order_by_preference(_of_the_same_kind(tree, seeds), work)


def _own_files(tree: Tree, task: Task) -> tuple[str, ...]:
    """Return the existing output files of a task; empty for `any`."""
    return () if task.writes_everything else tree.match(task.outputs)[:_MOST_OF_A_KIND]


def _find_missing(tree: Tree, task: Task) -> tuple[str, ...]:
    """Return the named output files that do not exist yet."""
    paths = (path.removeprefix("./") for path in task.outputs if not is_glob(path))
    return tuple(path for path in paths if not tree.is_file(path) and path != "any")


def _order_by_preference(paths: Sequence[str], work: WorkType) -> list[str]:
    """Return the paths sorted so that those preferred by the task's type come first."""
    globs = [glob for row in work.rows for glob in row.prefers]
    return sorted(paths, key=lambda path: not any(matches(glob, path) for glob in globs))


def _of_the_same_kind(tree: Tree, seeds: Sequence[str]) -> list[str]:
    """Return the files of equal suffixes, nearest first."""
    mine: dict[str, set[str]] = {}
    for seed in seeds[:_MOST_OF_A_KIND]:
        mine.setdefault(_suffix(seed), set()).add(seed.rpartition("/")[0])
    known: dict[tuple[str, str], int] = {}
    ranked: list[tuple[int, str]] = []
    for path in tree.files:
        suffix, folder = _suffix(path), path.rpartition("/")[0]
        if suffix not in mine or not suffix or suffix in _NO_CODE:
            continue
        if _is_document(path):
            continue
        if (suffix, folder) not in known:
            far = min(_distance(f"{folder}/", f"{one}/") for one in mine[suffix])
            known[suffix, folder] = far
        ranked.append((known[suffix, folder], path))
    return [path for _, path in nsmallest(_MOST_OF_A_KIND, ranked)]


def _is_document(path: str) -> bool:
    """Return whether a file is the plan, an index, a pattern or a skill."""
    return is_own_document(path) or path.startswith("patterns/") or path.endswith("/SKILL.md")


def _distance(one: str, other: str) -> int:
    """Return the number of folders to go up and down between two files."""
    return one.count("/") + other.count("/") - 2 * count_shared_folders(one, other)


def _suffix(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[2]


# --- neighbours -----------------------------------------------------------------------


_MOST_CANDIDATES = 60
"""Files that are read to verify that they import another."""
_INDEXES = frozenset({"__init__", "index", "mod", "main", "lib"})
"""File names that stand for their folder in imports."""


class Neighbours:
    """Asked for a few files of one tree."""

    def __init__(self, tree: Tree, outlines: Outlines) -> None:
        self._tree = tree
        self._outlines = outlines
        self._importers: dict[str, tuple[str, ...]] = {}

    def files_imported_by(self, path: str) -> tuple[str, ...]:
        """Return the files that a file imports, sorted by path."""
        keys = self._outlines.import_keys(path)
        words = {_last(key) for key in keys}
        candidates = (one for word in words for one in self._by_word.get(word, ()))
        found = {one for one in candidates if one != path and self._is_meant(one, keys)}
        return tuple(sorted(found))

    def importers(self, path: str) -> tuple[str, ...]:
        """Return the files that import a file, sorted; the file need not exist."""
        if language_of(path) is None:
            return ()
        if path not in self._importers:
            likely = self._find_mentioning(path)[:_MOST_CANDIDATES]
            found = (one for one in likely if self._is_meant(path, self._outlines.import_keys(one)))
            self._importers[path] = tuple(sorted(found))
        return self._importers[path]

    def _find_mentioning(self, path: str) -> list[str]:
        """Return files whose imports mention a file, those that name its folder first.

        What lies in its own folder may leave that out.
        """
        folder = path.rpartition("/")[0]
        named = re.compile(rf" (?:{'|'.join(map(re.escape, _names_of(path)))}) ")
        placed = f" {folder.rpartition('/')[2]} "
        found: list[tuple[bool, int, str]] = []
        for one, outline in self._outlines.by_path.items():
            mentions = outline.mentions
            if named.search(mentions) and one != path:
                near = placed in mentions or one.startswith(f"{folder}/")
                found.append((not near, -count_shared_folders(one, path), one))
        return [one for *_, one in sorted(found)]

    @cached_property
    def _by_word(self) -> dict[str, list[str]]:
        """Source files by the words that an import of them ends in."""
        found: dict[str, list[str]] = {}
        for path in self._outlines.by_path:
            for word in _names_of(path):
                found.setdefault(word, []).append(path)
        return found

    def _is_meant(self, path: str, keys: frozenset[str]) -> bool:
        """Return whether one of these import keys resolves to the file.

        A place does. A name does where the file lies under a root: `models` alone is no file in
        the middle of a package, which only its place or its whole dotted name lead to.
        """
        language = language_of(path)
        if language is None:
            return False
        return any(key in keys and self._leads(path, key) for key in language.keys_of(path))

    def _leads(self, path: str, key: str) -> bool:
        language = language_of(path)
        if key.startswith("/") or language is None or language.root_of is None:
            return True
        root = language.root_of(path, key)
        # A folder with an `__init__.py` is a package, not an entry of `sys.path`.
        return not root or not self._tree.is_file(f"{root}/__init__.py")


def count_shared_folders(one: str, other: str) -> int:
    """Return how many leading folders two paths have in common."""
    count = 0
    for mine, theirs in zip(one.split("/")[:-1], other.split("/")[:-1], strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def _names_of(path: str) -> Iterator[str]:
    """Yield the names under which a file can be imported: its own, and its folder's."""
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    yield stem
    language = language_of(path)
    if folder and (stem in _INDEXES or (language and language.folder_is_unit)):
        yield folder.rpartition("/")[2]


def _last(key: str) -> str:
    """Return the last word of a key: `models` of `booking.models` and `/src/booking/models`."""
    tail = key.removesuffix("#go").rpartition("/")[2].rpartition(":")[2]
    if key.startswith(("/", "js:", "go:", "rs:")):
        return tail.partition(".")[0]
    return tail.rpartition(".")[2].rpartition("::")[2]


def around(neighbours: Neighbours, seeds: Iterable[str], *, users_first: bool) -> tuple[str, ...]:
    """Return the direct import neighbours of these files, without the files themselves."""
    given = tuple(seeds)
    imports = [one for seed in given for one in neighbours.files_imported_by(seed)]
    users = [one for seed in given for one in neighbours.importers(seed)]
    both = (*users, *imports) if users_first else (*imports, *users)
    return tuple(one for one in dict.fromkeys(both) if one not in given)
