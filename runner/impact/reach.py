"""Find which files reach a file through imports and mentions.

The references are kept in a store under the git tree they were read from, so a query reads only
what has changed since. A file is kept by what it refers to (keys of `runner.languages`), not by
what that was resolved to. So a file that appears, goes or moves changes no other file's entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from runner.impact.change import Changed, with_moves
from runner.languages.registry import folder_keys, is_manifest, is_source, language_of, literal_keys
from runner.plan.globs import folders_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from runner.impact.store import ImpactStore

# --- imports read backwards -----------------------------------------------------------


_TREE = "references.tree"
_LARGEST = 2_000_000
"""Maximum bytes of a file searched for references; larger ones are generated."""


class Entry(NamedTuple):
    """A file of the tree that is to be known: `blob` None for one that is gone."""

    path: str
    blob: str | None


class References:
    """The kept references."""

    def __init__(self, store: ImpactStore) -> None:
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
        """Return files and folders added or removed since the last call, and reset the list.

        A command that holds none of them names what it named before.
        """
        found = frozenset(self._news)
        self._news.clear()
        return found

    def blob(self, path: str) -> str:
        """Return the blob name of a file in the indexed tree; empty if it has none."""
        found = self._store.ask("select blob from files where path = ?", path)
        return found[0][0] if found else ""

    def blobs(self) -> dict[str, str]:
        """Return every known path with its blob."""
        return dict(self._store.ask("select path, blob from files"))  # type: ignore[arg-type]  # two columns

    def is_folder(self, path: str) -> bool:
        """Return whether a folder has files; the project's root always counts."""
        # A range of the primary key, since `0` follows `/` in ASCII: LIKE would fold case and treat
        # `_` as a wildcard (SQLite, Expressions, 5).
        question = "select 1 from files where path > ? and path < ? limit 1"
        return not path or bool(self._store.ask(question, f"{path}/", f"{path}0"))

    def is_file(self, path: str) -> bool:
        """Return whether the indexed tree contains a file."""
        if path not in self._there:
            found = self._store.ask("select 1 from files where path = ?", path)
            self._there[path] = bool(found)
        return self._there[path]

    def _notice(self, entry: Entry) -> None:
        """Record the names of added and removed files, and of folders that come or go."""
        if (entry.blob is not None) == bool(self.blob(entry.path)):
            return
        name = entry.path.rpartition("/")[2]
        self._news |= {name, name.partition(".")[0]}
        for folder in folders_of(entry.path):
            if not folder or (entry.blob is not None and self.is_folder(folder)):
                return
            self._news.add(folder.rpartition("/")[2])

    def keys(self, path: str) -> tuple[str, ...]:
        """Return the keys by which other files refer to a file, from its name and content."""
        language = language_of(path)
        if language is None:
            return ()
        if not is_manifest(path):
            return language.keys_of(path)
        rows = self._store.ask("select key from names where path = ?", path)
        return (*language.keys_of(path), *(key for (key,) in rows))

    def find_by_keys(self, keys: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield the files that refer to these keys, each with its key."""
        for some in _in_batches(tuple(keys)):
            marks = ",".join("?" * len(some))
            question = f"select path, key from refers where key in ({marks})"  # noqa: S608 - question marks only
            yield from self._store.ask(question, *some)  # type: ignore[misc]  # two columns

    def importers(self, path: str) -> Iterator[str]:
        """Yield the files that import a file."""
        for importer, key in self.find_by_keys(self.keys(path)):
            if self.leads(importer, key, path):
                yield importer

    def leads(self, importer: str, key: str, path: str) -> bool:
        """Return whether a key resolves to a file from this importer.

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


# SQLite before 3.32 takes at most 999 parameters (Limits, SQLITE_MAX_VARIABLE_NUMBER).
def _in_batches(keys: tuple[str, ...], size: int = 500) -> Iterator[tuple[str, ...]]:
    return (keys[at : at + size] for at in range(0, len(keys), size))


# --- reach ----------------------------------------------------------------------------


_SHOWN = 4


class Reached(Struct, frozen=True):
    """A file that reaches the changed one, and how."""

    path: str
    by: Reached | None = None
    """File that it refers to; None for the changed file itself."""
    named: bool = False
    """Whether a text on the path names a file: such a path may cross processes."""

    @property
    def depth(self) -> int:
        """Number of steps from the changed file."""
        return self.by.depth + 1 if self.by else 0

    def describe(self) -> str:
        """Describe a path of imports: `tests/test_api.py imports src/db.py through src/api.py`."""
        way = [self.path]
        at = self.by
        while at:
            way.append(at.path)
            at = at.by
        if len(way) == 1:
            return way[0]
        verb = "names" if self.named else "imports"
        inner = way[1:-1]
        more = f" and {len(inner) - _SHOWN} more" if len(inner) > _SHOWN else ""
        through = f" through {', '.join(inner[:_SHOWN])}{more}" if inner else ""
        return f"{way[0]} {verb} {way[-1]}{through}"


def find_reaching(
    references: References, path: str, deepest: int | None, *, quiet: bool = False
) -> Iterator[Reached]:
    """Yield a file and all files that depend on it, nearest first.

    `deepest` bounds the steps. With `quiet` the change does nothing when it is run, so only who
    reads the file itself is reached. A file that is reached by imports and by naming comes twice.
    """
    start = Reached(path)
    level, done = [start], {(path, False)}
    yield start
    while level and (deepest is None or level[0].depth < deepest):
        following: list[Reached] = []
        for found in _find_referring(references, level, quiet=quiet):
            # A file reached by a text needs no search by imports: the text covers more.
            mark = (found.path, found.named)
            if mark not in done and (found.path, True) not in done:
                done.add(mark)
                following.append(found)
        yield from following
        level = [] if quiet else following


def _find_referring(
    references: References, level: list[Reached], *, quiet: bool
) -> Iterator[Reached]:
    """Yield the files that refer to any of these files, found in one query."""
    texts: dict[str, list[Reached]] = {}
    codes: dict[str, list[Reached]] = {}
    for at in level:
        # a reference to its folder reads the changed file, but no file that stands in for it
        for key in literal_keys(at.path) + (folder_keys(at.path) if at.by is None else ()):
            texts.setdefault(key, []).append(at)
        for key in () if quiet else references.keys(at.path):
            codes.setdefault(key, []).append(at)
    for importer, key in references.find_by_keys(texts):
        yield from (Reached(importer, at, named=True) for at in texts[key] if importer != at.path)
    for importer, key in references.find_by_keys(codes):
        for at in codes[key]:
            if references.leads(importer, key, at.path):
                yield Reached(importer, at, at.named)


COMPUTED, UNPARSED = "*", "?"
"""Starts of keys of a file: it imports by names built at run time; its imports are unknown."""


def find_wide(references: References, path: str, mark: str) -> Iterator[str]:
    """Yield the files of a language that may import any of its files, for the reason of a mark."""
    language = language_of(path)
    keys = [key for key in language.wide if key.startswith(mark)] if language else []
    yield from (one for one, _ in references.find_by_keys(keys) if one != path)


_NAMED = 3
UNTOUCHED = "none of its files changed"
"""Note of a task that was only re-tested, or rebuilt to identical bytes."""


class CutOff(Struct, frozen=True):
    """The difference between a task's new exports and its old ones."""

    same: bool
    """Whether nothing that others use has changed: dependents are only re-tested."""
    text: str
    """Reason, as text for the journal."""


def cut_off(change: Iterable[Changed], contracts: Collection[str] = ()) -> CutOff:
    """Compare a task's files, old to new. `contracts` are its contract files: any change counts.

    A file that came or went, and one of which the exports cannot be read, counts as changed.
    """
    differing = [one for one in with_moves(change) if not _is_test(one.path)]
    for one in differing:
        text = _difference(one, contracts)
        if text:
            return CutOff(same=False, text=text)
    if not differing:
        return CutOff(same=True, text=UNTOUCHED)
    names = ", ".join(one.path for one in differing[:_NAMED])
    more = f" and {len(differing) - _NAMED} more" if len(differing) > _NAMED else ""
    return CutOff(same=True, text=f"the interface of {names}{more} did not change")


def _difference(change: Changed, contracts: Collection[str]) -> str:
    """Describe what a change means for dependents; empty if nothing."""
    path = change.path
    if path in contracts:
        return f"the contract {path} changed"
    if change.before is None or change.after is None:
        return f"{path} {'was deleted' if change.is_deleted else 'is new'}"
    old, new = find_exports(path, change.before), find_exports(path, change.after)
    if old is None or new is None:
        return f"{path} changed, and its interface cannot be read"
    if old == new:
        return ""
    lost, come = _first(old, new), _first(new, old)
    return f"{path} {'changes' if lost else 'adds'} `{_short(come or lost)}`"


def find_exports(path: str, content: bytes) -> tuple[str, ...] | None:
    """Return a file's exported declarations in a fixed order; None if not parsed.

    None where they cannot be read: then the file counts as changed.
    """
    language = language_of(path) if is_source(path) else None
    if language is None or language.exports_of is None:
        return None
    try:
        found = language.exports_of(path, content)
    except RecursionError:
        return None
    return None if found is None else tuple(sorted(found))


def _first(one: tuple[str, ...], other: tuple[str, ...]) -> str:
    return next((line for line in one if line not in other), "")


def _short(line: str) -> str:
    first = line.strip().splitlines()[0] if line.strip() else ""
    return first if len(first) <= 80 else first[:79] + "…"  # noqa: PLR2004 - a line on a terminal


def _is_test(path: str) -> bool:
    """Return whether a file is a test, which no other file imports."""
    name = path.rpartition("/")[2]
    return name.startswith("test_") or name.endswith(("_test.py", "_test.go"))
