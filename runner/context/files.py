"""Choose the files that an implementer gets, the nearest first, within a token budget.

Which files import each other is read by pattern, from the outline of each source file: names, line
count and words of its imports. `impact`'s syntax trees are too slow for a repository of 5,000
files before every attempt; they are asked only about the few files in question. A cache by blob
keeps the outlines, so that only changed files are read.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import cached_property
from heapq import nsmallest
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from runner.context.tree import CHARACTERS_A_TOKEN
from runner.impact.change import is_own_document
from runner.languages.registry import is_source, language_of
from runner.plan.globs import is_glob, matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.context.tree import Tree
    from runner.impact.store import ImpactStore
    from runner.languages.base import OutlinePatterns
    from runner.model import Task
    from runner.plan.task_types import WorkType


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


FOLDER = "context"
_TABLES = """
create table if not exists outlines(path text primary key, blob text, names text, lines integer,
                                    mentions text) without rowid;
create table if not exists imported(path text primary key, blob text, keys text) without rowid;
"""
_FEW = 60
"""Reading this many files is faster than opening a database."""


class Outlines:
    """The outlines of one tree, and the keys that its files import, read when asked for."""

    def __init__(self, tree: Tree, store: ImpactStore | None) -> None:
        self._tree = tree
        self._store = store
        self._keys: dict[str, frozenset[str]] = {}
        self._read_now: set[str] = set()
        wanted = {path: blob for path, blob in tree.files.items() if is_source(path)}
        known = _load_outlines(store, wanted) if store else {}
        missing = [path for path in wanted if path not in known]
        fresh = _read(tree, missing)
        if store and fresh:
            _keep(store, wanted, fresh)
        self.by_path: Mapping[str, FileOutline] = (
            {path: known.get(path) or fresh[path] for path in wanted} if fresh else known
        )

    def import_keys(self, path: str) -> frozenset[str]:
        """Return the keys by which a file imports other code (`runner.languages`)."""
        if path not in self._keys:
            self._keys[path] = self._load_keys(path)
        return self._keys[path]

    def _load_keys(self, path: str) -> frozenset[str]:
        blob = self._tree.files.get(path, "")
        if self._store and blob:
            # By path and blob: from another folder the same bytes import other files.
            question = "select keys from imported where path = ? and blob = ?"
            for (keys,) in self._store.ask(question, path, blob):
                return frozenset(filter(None, keys.split("\n")))
        self._read_now.add(path)
        return _find_import_keys(self._tree, path)

    def keep(self) -> None:
        """Save the imports that were read for the first time."""
        files = self._tree.files
        fresh = [path for path in self._read_now if path in files]
        if self._store and fresh:
            with self._store.change() as database:
                database.executemany(
                    "insert or replace into imported values(?, ?, ?)",
                    [(path, files[path], "\n".join(sorted(self._keys[path]))) for path in fresh],
                )


@contextmanager
def outlines_of(tree: Tree, cache: Path | None) -> Iterator[Outlines]:
    """Open the outlines of a tree; `cache` is the user's folder for this repository."""
    if cache is None or sum(map(is_source, tree.files)) <= _FEW:
        yield Outlines(tree, None)
        return
    from runner.impact.store import ImpactStore

    with ImpactStore(cache / FOLDER) as store:
        if not store.ask("select 1 from sqlite_master where name = 'imported'"):
            with store.change() as database:
                for table in filter(str.strip, _TABLES.split(";")):
                    database.execute(table)
        outlines = Outlines(tree, store)
        yield outlines
        outlines.keep()


def _find_import_keys(tree: Tree, path: str) -> frozenset[str]:
    """Return the import keys of a file, without those from file names in text."""
    language = language_of(path)
    content = tree.read(path) if language and tree.is_file(path) else None
    if language is None or content is None:
        return frozenset()
    not_code = ("lit:", "dir:", "run:", "?", "*")
    return frozenset(
        key for key in language.imports_of(path, content) if not key.startswith(not_code)
    )


def _read(tree: Tree, paths: Iterable[str]) -> dict[str, FileOutline]:
    return {path: outline_of(path, tree.read(path) or b"") for path in paths}


def _load_outlines(store: ImpactStore, wanted: Mapping[str, str]) -> dict[str, FileOutline]:
    """Load the saved outlines of unchanged files."""
    return {
        path: FileOutline(names, int(lines), mentions)
        for path, blob, names, lines, mentions in store.ask(
            "select path, blob, names, lines, mentions from outlines"
        )
        if wanted.get(path) == blob
    }


def _keep(store: ImpactStore, wanted: Mapping[str, str], fresh: Mapping[str, FileOutline]) -> None:
    """Save new outlines and delete those of removed files."""
    rows = [(path, wanted[path], one.names, one.lines, one.mentions) for path, one in fresh.items()]
    gone = [row for row in store.ask("select path from outlines") if row[0] not in wanted]
    with store.change() as database:
        database.executemany("insert or replace into outlines values(?, ?, ?, ?, ?)", rows)
        database.executemany("delete from outlines where path = ?", gone)
        database.executemany("delete from imported where path = ?", gone)


_MOST_NAMES = 40
_WORD = re.compile(r"[A-Za-z_$][\w$-]*")
_LARGEST = 1_000_000
"""Largest file whose outline is read, in bytes; larger ones are generated."""


class FileOutline(NamedTuple):
    """One source file."""

    names: str
    """Exported names in source order, separated by blanks."""
    lines: int
    mentions: str
    """All words of its imports, separated by blanks."""


EMPTY = FileOutline("", 0, "")


def outline_of(path: str, content: bytes) -> FileOutline:
    """Return the outline of one file; empty for an unknown language or a huge file."""
    language = language_of(path) if is_source(path) else None
    patterns = language.outline if language else None
    if patterns is None or len(content) > _LARGEST:
        return EMPTY
    text = content.decode("utf-8", "replace")
    names = " ".join([*dict.fromkeys(_find_offered(patterns, text))][:_MOST_NAMES])
    imports = re.finditer(patterns.imports, text, re.MULTILINE)
    imported = " ".join(part for found in imports for part in found.groups(""))
    words = " ".join(sorted({*_WORD.findall(imported)}))
    lines = text.count("\n") + (not text.endswith("\n") and bool(text))
    return FileOutline(names, lines, f" {words} ")


def _find_offered(patterns: OutlinePatterns, text: str) -> Iterator[str]:
    for match in re.finditer(patterns.offers, text, re.MULTILINE):
        for part in match.groups(""):
            for one in part.split(",") if part else ():
                words = _WORD.findall(one.rpartition(" as ")[2].partition(":")[0])
                yield from words[:1]
