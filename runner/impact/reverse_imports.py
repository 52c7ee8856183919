"""Which file refers to which, the other way round: who imports this, asked for one path.

Kept in a store under the git tree it was read from, so that a question reads what has changed
since and nothing else. A file is kept by what it refers to (keys of `runner.languages`), not by
what that was resolved to: so a file that appears, goes or moves changes nobody else's entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runner.languages.registry import is_manifest, language_of
from runner.plan.globs import folders_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from runner.impact.store import Store

_TREE = "references.tree"
_LARGEST = 2_000_000
"""Bytes of a file that is read for what it refers to; larger ones were generated."""


class Entry(NamedTuple):
    """A file of the tree that is to be known: `blob` None for one that is gone."""

    path: str
    blob: str | None


class References:
    """The kept references."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._there: dict[str, bool] = {}
        self._news: set[str] = set()

    @property
    def lost(self) -> bool:
        """Whether some of what was read is not there any more: nobody may be left out by it."""
        return self._store.lost

    @property
    def tree(self) -> str:
        """The git tree that was read last; empty when none was."""
        return self._store.note(_TREE)

    def learn(
        self, entries: Iterable[Entry], read: Callable[[str], bytes | None], tree: str = ""
    ) -> int:
        """Read what has changed since; gives how many files were read.

        `read` gives the bytes of a blob. A file of which there are none is known to exist, and to
        refer to nothing.
        """
        count = 0
        self._there.clear()
        with self._store.change() as database:
            for entry in entries:
                self._notice(entry)
                for table in ("files", "refers", "names"):
                    database.execute(f"delete from {table} where path = ?", (entry.path,))  # noqa: S608 - our own three names
                if entry.blob is None:
                    continue
                database.execute("insert into files values(?, ?)", (entry.path, entry.blob))
                language = language_of(entry.path)
                content = read(entry.blob) if language else None
                if language is None or content is None or len(content) > _LARGEST:
                    continue
                count += 1
                keys = language.imports_of(entry.path, content)
                rows = ((key, entry.path) for key in keys)
                database.executemany("insert or ignore into refers values(?, ?)", rows)
                names_of = language.names_of
                names = names_of(entry.path, content) if names_of else ()
                named = ((entry.path, key) for key in names)
                database.executemany("insert or ignore into names values(?, ?)", named)
            if tree:
                database.execute("insert or replace into notes values(?, ?)", (_TREE, tree))
        return count

    def news(self) -> frozenset[str]:
        """Names of files and folders that came or went since this was asked last.

        A command that holds none of them names what it named before.
        """
        found = frozenset(self._news)
        self._news.clear()
        return found

    def blob(self, path: str) -> str:
        """The blob of a file in the tree that was read; empty for none."""
        found = self._store.ask("select blob from files where path = ?", path)
        return found[0][0] if found else ""

    def blobs(self) -> dict[str, str]:
        """Every known path with its blob."""
        return dict(self._store.ask("select path, blob from files"))  # type: ignore[arg-type]  # two columns

    def is_folder(self, path: str) -> bool:
        """Whether there are files below a folder; the project's own is one."""
        # A range of the primary key, as `0` follows `/` in ASCII: LIKE would fold case, and take
        # `_` for any letter (SQLite, Expressions, 5).
        question = "select 1 from files where path > ? and path < ? limit 1"
        return not path or bool(self._store.ask(question, f"{path}/", f"{path}0"))

    def is_file(self, path: str) -> bool:
        """Whether there is such a file in the tree that was read."""
        if path not in self._there:
            found = self._store.ask("select 1 from files where path = ?", path)
            self._there[path] = bool(found)
        return self._there[path]

    def _notice(self, entry: Entry) -> None:
        """Note what comes or goes: the file, and a folder that was or will be without files."""
        if (entry.blob is not None) == bool(self.blob(entry.path)):
            return
        name = entry.path.rpartition("/")[2]
        self._news |= {name, name.partition(".")[0]}
        for folder in folders_of(entry.path):
            if not folder or (entry.blob is not None and self.is_folder(folder)):
                return
            self._news.add(folder.rpartition("/")[2])

    def keys(self, path: str) -> tuple[str, ...]:
        """The keys by which others refer to a file: by its name, and by its content."""
        language = language_of(path)
        if language is None:
            return ()
        if not is_manifest(path):
            return language.keys_of(path)
        said = self._store.ask("select key from names where path = ?", path)
        return (*language.keys_of(path), *(key for (key,) in said))

    def find_by_keys(self, keys: Iterable[str]) -> Iterator[tuple[str, str]]:
        """The files that refer to these keys, each with the key."""
        for some in _in_batches(tuple(keys)):
            marks = ",".join("?" * len(some))
            question = f"select path, key from refers where key in ({marks})"  # noqa: S608 - question marks only
            yield from self._store.ask(question, *some)  # type: ignore[misc]  # two columns

    def importers(self, path: str) -> Iterator[str]:
        """The files that refer to a file as code."""
        for importer, key in self.find_by_keys(self.keys(path)):
            if self.leads(importer, key, path):
                yield importer

    def leads(self, importer: str, key: str, path: str) -> bool:
        """Whether a key by which a file is known leads an importer to it.

        A Python module's name does by a root that can be on the importer's path. A folder that is
        itself a package is on it only for what lies in the folder, as for scripts and for tests
        beside each other (pytest's `prepend`).
        """
        if importer == path:
            return False
        language = language_of(path)
        if key.startswith("/") or language is None or language.root_of is None:
            return True
        root = language.root_of(path, key)
        if not root or importer.startswith(root + "/"):
            return True
        return not self.is_file(f"{root}/__init__.py")


# SQLite before 3.32 takes no more than 999 parameters (Limits, SQLITE_MAX_VARIABLE_NUMBER).
def _in_batches(keys: tuple[str, ...], size: int = 500) -> Iterator[tuple[str, ...]]:
    return (keys[at : at + size] for at in range(0, len(keys), size))
