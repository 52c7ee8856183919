"""The names that a package of JavaScript or TypeScript exports from its entry files.

An export of an inner file counts where an entry exports it again. In a project that publishes no
package it counts where a file uses it that the change leaves alone.
"""

from __future__ import annotations

import posixpath
from dataclasses import replace
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex
from runner.surface.exports import Module, read_module
from runner.surface.facts import SCRIPTS, Fact, Trees, read_text
from runner.surface.nodes import UnreadableError, read_root
from runner.surface.symbols import REMOVED, Symbol, compare_surfaces
from runner.text.foreign_documents import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Parsed = dict[str, tuple[Module, bool]]

_SOURCES = ("src/", "source/", "lib/", "")
_ENTRY_KEYS = ("main", "module", "types", "typings", "exports", "source", "browser")
_NO_SURFACE = regex(r"\.min\.js\Z|\.config\.\w+\Z")
_MOST_FILES = 200
"""Files that are followed from the entries of a package."""


def find_script_changes(paths: Iterable[str], trees: Trees) -> Iterator[tuple[str, Iterable[Fact]]]:
    """Yield what the changed files take from those who import their package, by package."""
    folders = dict[str, list[str]]()
    for path in paths:
        folder = posixpath.dirname(path)
        while folder and trees.before(f"{folder}/package.json") is None:
            folder = posixpath.dirname(folder)
        if not _NO_SURFACE.search(path):
            folders.setdefault(f"{folder}/" if folder else "", []).append(path)
    for folder, found in folders.items():
        yield found[0], _compare_package(folder, found, trees)


def _compare_package(folder: str, paths: list[str], trees: Trees) -> Iterator[Fact]:
    """Raises UnreadableError."""
    parsed: Parsed = {}  # most files are equal in both trees
    old, new = (_Surfaces(trees, one, parsed) for one in (trees.before, trees.after))
    entries = _find_entries(folder, paths, trees)
    seen = set[tuple[str, str]]()
    for entry in entries or paths:
        before, after = old.read(entry), new.read(entry)
        if broken := next(iter(new.unread.keys() - old.unread.keys()), ""):
            raise UnreadableError(f"syntax error in {broken}")
        for fact in compare_surfaces(entry, before, after):
            name = fact.names[-1].partition(".")[0]
            is_public = bool(entries) or trees.is_used(name, SCRIPTS)
            if is_public and not (fact.title == REMOVED and new.has_unread(name)):
                if (fact.title, fact.message) not in seen:  # two entries may offer one name
                    yield fact
                seen.add((fact.title, fact.message))


def _find_entries(folder: str, paths: list[str], trees: Trees) -> list[str]:
    """Return the source files that a package offers; none where it is not published."""
    try:
        package = parse_json(read_text(trees.before(f"{folder}package.json")) or "{}")
    except ValueError:
        return []
    if not isinstance(package, dict) or package.get("private") or not package.get("name"):
        return []
    targets = [one for key in _ENTRY_KEYS for one in _strings(package.get(key))]
    found = [one for each in targets for one in _sources_of(folder, each, paths, trees)]
    return list(dict.fromkeys(found or _sources_of(folder, "index.js", paths, trees)))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _strings(one)


def _sources_of(folder: str, target: str, paths: list[str], trees: Trees) -> Iterator[str]:
    """Yield the file that an entry names, or the source that it is built from."""
    name = posixpath.normpath(target)
    if "*" in name:
        head, _, tail = name.partition("*")
        yield from (one for one in paths if one.startswith(folder + head) and one.endswith(tail))
        return
    above, _, file = name.rpartition("/")
    inner = f"{above.partition('/')[2]}/".lstrip("/")
    places = (f"{source}{middle}" for source in _SOURCES for middle in {inner: 0, "": 0})
    stems = (f"{folder}{place}{file.partition('.')[0]}" for place in places)
    tries = [folder + name] * name.endswith(SCRIPTS) + [f"{a}{b}" for a in stems for b in SCRIPTS]
    yield from [one for one in tries if trees.before(one) is not None][:1]


class _Surfaces:
    """What the files of one tree export, read when they are first met."""

    def __init__(
        self, trees: Trees, content: Callable[[str], bytes | None], parsed: Parsed
    ) -> None:
        self._trees, self._content, self._parsed = trees, content, parsed
        self._known = dict[str, dict[str, Symbol]]()
        self.unread = dict[str, str]()
        """The texts of files that the grammar does not allow."""

    def read(self, path: str) -> Mapping[str, Symbol]:
        """Return what a file exports, what it exports again included. Raises UnreadableError."""
        if path in self._known:
            return self._known[path]
        found = self._known[path] = dict[str, Symbol]()  # files may import each other
        module = self._module(path) or Module()
        for source in module.stars:
            inner = self.read(self._resolve(path, source))
            found |= {name: one for name, one in inner.items() if name.split(".")[0] != "default"}
        for name, local in module.exports.items():
            source, own = module.imports.get(local, ("", local))
            symbols: Mapping[str, Symbol] = module.declared
            if source:
                symbols = self.read(self._resolve(path, source)) if own != "*" else {}
            start, length = f"{own}.", len(own)
            known = {name + k[length:]: v for k, v in symbols.items() if f"{k}.".startswith(start)}
            if name == "default":
                known = {key: replace(one, local=own) for key, one in known.items()}
            found |= {name: Symbol(0, result="of another file"), **known}
        return found

    def has_unread(self, name: str) -> bool:
        """Return whether a file that the grammar could not read has this name."""
        return any(name in text for text in self.unread.values())

    def _module(self, path: str) -> Module | None:
        text = read_text(self._content(path))
        if text is None:
            return None
        if len(self._known) > _MOST_FILES:
            raise UnreadableError(f"its package has more than {_MOST_FILES} files")
        if text not in self._parsed:
            if self._trees.is_late:
                raise UnreadableError("the time is used up")
            root = read_root(path, text, strict=False)
            self._parsed[text] = read_module(root), root.has_error
        module, is_unread = self._parsed[text]
        self.unread |= {path: text} if is_unread else {}
        return module

    def _resolve(self, path: str, source: str) -> str:
        """Return the file that a relative import names; empty for a package."""
        if not source.startswith("."):
            return ""
        place = posixpath.normpath(posixpath.join(posixpath.dirname(path), source))
        stem = place.rpartition(".")[0] if place.endswith(SCRIPTS) else place
        tries = [place] if place.endswith(SCRIPTS) else []
        tries += [f"{one}{end}" for one in (stem, place, f"{place}/index") for end in SCRIPTS]
        return next((one for one in tries if self._content(one) is not None), "")
