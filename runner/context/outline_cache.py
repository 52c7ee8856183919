"""Cache the outlines of a tree's files by blob, so that only changed files are read.

The store is impact's, in a folder of its own: what is looked up there follows a run's landings,
while this follows the commit that an attempt starts on.

What each source file offers and names, read by pattern: names, lines, words of its imports.

Lighter than the syntax trees of `impact`, which a repository of 5,000 files has no time for before
every attempt; whether an import really leads somewhere is asked there, of the few in question.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from runner.languages.registry import is_source, language_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from runner.context.tree import Tree
    from runner.impact.store import ImpactStore
    from runner.languages.base import OutlinePatterns


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


# --- outline --------------------------------------------------------------------------


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
