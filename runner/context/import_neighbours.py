"""Files that a file imports, and that import it: found by words, held by `impact`'s reading."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from runner.languages.registry import language_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.context.outline_cache import Outlines
    from runner.context.tree import Tree

_MOST_CANDIDATES = 60
"""Files that are looked at to see whether they really import another."""
_INDEXES = frozenset({"__init__", "index", "mod", "main", "lib"})
"""Names of files by which their folder is meant."""


class Neighbours:
    """Asked for a few files of one tree."""

    def __init__(self, tree: Tree, outlines: Outlines) -> None:
        self._tree = tree
        self._outlines = outlines
        self._importers: dict[str, tuple[str, ...]] = {}

    def files_imported_by(self, path: str) -> tuple[str, ...]:
        """The files that a file imports, by path; none for what is not read here."""
        keys = self._outlines.import_keys(path)
        words = {_last(key) for key in keys}
        candidates = (one for word in words for one in self._by_word.get(word, ()))
        found = {one for one in candidates if one != path and self._is_meant(one, keys)}
        return tuple(sorted(found))

    def importers(self, path: str) -> tuple[str, ...]:
        """The files that import a file, which need not be there yet, by path."""
        if language_of(path) is None:
            return ()
        if path not in self._importers:
            likely = self._find_mentioning(path)[:_MOST_CANDIDATES]
            found = (one for one in likely if self._is_meant(path, self._outlines.import_keys(one)))
            self._importers[path] = tuple(sorted(found))
        return self._importers[path]

    def _find_mentioning(self, path: str) -> list[str]:
        """Files whose imports have the words for a file in them, those before that name its folder.

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
        """Whether one of these keys leads to a file.

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
        # A folder with an `__init__.py` is a package, and no place that `sys.path` begins at.
        return not root or not self._tree.is_file(f"{root}/__init__.py")


def count_shared_folders(one: str, other: str) -> int:
    """How many folders two paths have in common, from the top."""
    count = 0
    for mine, theirs in zip(one.split("/")[:-1], other.split("/")[:-1], strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def _names_of(path: str) -> Iterator[str]:
    """The words that imports of a file end in: its name, and its folder's where that is meant."""
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    yield stem
    language = language_of(path)
    if folder and (stem in _INDEXES or (language and language.folder_is_unit)):
        yield folder.rpartition("/")[2]


def _last(key: str) -> str:
    """The last word of a key: `models` of `booking.models` and of `/src/booking/models`."""
    tail = key.removesuffix("#go").rpartition("/")[2].rpartition(":")[2]
    if key.startswith(("/", "js:", "go:", "rs:")):
        return tail.partition(".")[0]
    return tail.rpartition(".")[2].rpartition("::")[2]


def around(neighbours: Neighbours, seeds: Iterable[str], *, users_first: bool) -> tuple[str, ...]:
    """The direct neighbours of some files, each once, the seeds themselves left out."""
    given = tuple(seeds)
    imports = [one for seed in given for one in neighbours.files_imported_by(seed)]
    users = [one for seed in given for one in neighbours.importers(seed)]
    both = (*users, *imports) if users_first else (*imports, *users)
    return tuple(one for one in dict.fromkeys(both) if one not in given)
