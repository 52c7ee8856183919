"""The names that a package of JavaScript or TypeScript exports from its entry files.

An export of an inner file counts where an entry exports it again. In a project that publishes no
package it counts where a file uses it that the change leaves alone.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from runner.surface.exports import Module, read_module
from runner.surface.facts import Fact, Trees, read_text
from runner.surface.symbols import Symbol, compare_surfaces
from runner.text.foreign_documents import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_ENDINGS = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs")
_SOURCES = ("src/", "source/", "lib/", "")
_ENTRY_KEYS = ("main", "module", "types", "typings", "exports", "source", "browser")
_MOST_FILES = 200
"""Files that are followed from the entries of a package."""


def find_script_changes(paths: Iterable[str], trees: Trees) -> Iterator[tuple[str, Iterable[Fact]]]:
    """Yield what the changed files take from those who import their package, by package."""
    folders = dict[str, list[str]]()
    for path in paths:
        if not path.endswith((".min.js", ".config.js", ".config.ts", ".config.mjs", ".config.cjs")):
            folders.setdefault(_package_folder(path, trees), []).append(path)
    for folder, found in folders.items():
        yield found[0], _compare_package(folder, found, trees)


def _package_folder(path: str, trees: Trees) -> str:
    """Return the folder of the nearest package.json, empty or with a slash."""
    folder = path
    while "/" in folder:
        folder = folder.rpartition("/")[0]
        if trees.before(f"{folder}/package.json") is not None:
            return f"{folder}/"
    return ""


def _compare_package(folder: str, paths: list[str], trees: Trees) -> Iterator[Fact]:
    """Raises UnreadableError."""
    readers = _Reader(trees.before), _Reader(trees.after)
    entries = _entries(folder, paths, trees)
    seen = set[tuple[str, str, str]]()
    for entry in entries:
        old, new = (one.surface(entry, set()) for one in readers)
        # An entry that only builds or moves elsewhere, such as a deleted one, is no surface.
        for fact in compare_surfaces(entry, old, new):
            if (fact.title, fact.message, "") not in seen:
                seen.add((fact.title, fact.message, ""))
                yield fact
    if entries:
        return
    for path in paths:
        old, new = (one.surface(path, set()) for one in readers)
        for fact in compare_surfaces(path, old, new):
            if trees.is_used(fact.names[-1].partition(".")[0], _ENDINGS):
                yield fact


def _entries(folder: str, paths: list[str], trees: Trees) -> list[str]:
    """Return the source files that a package offers; none where it is not published."""
    try:
        package = parse_json(read_text(trees.before(f"{folder}package.json")) or "{}")
    except ValueError:
        return []
    if not isinstance(package, dict) or package.get("private") or not package.get("name"):
        return []
    found = list[str]()
    for key in _ENTRY_KEYS:
        for target in _strings(package.get(key)):
            found += _sources_of(folder, target, paths, trees)
    if not found:
        found += _sources_of(folder, "index.js", paths, trees)
    return list(dict.fromkeys(found))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for one in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from _strings(one)


def _sources_of(folder: str, target: str, paths: list[str], trees: Trees) -> Iterator[str]:
    """Yield the file that an entry names, or the source that it is built from."""
    name = posixpath.normpath(target.removeprefix("./"))
    if "*" in name:
        head, _, tail = name.partition("*")
        start = folder + head
        yield from (one for one in paths if one.startswith(start) and one.endswith(tail))
        return
    if name.endswith(_ENDINGS) and trees.before(folder + name) is not None:
        yield folder + name
        return
    above, _, file = name.rpartition("/")
    stem, inner = file.partition(".")[0], above.partition("/")[2]
    for source in _SOURCES:
        for middle in dict.fromkeys((f"{inner}/" if inner else "", "")):
            for ending in _ENDINGS:
                one = f"{folder}{source}{middle}{stem}{ending}"
                if trees.before(one) is not None:
                    yield one
                    return


class _Reader:
    """The modules of one tree, read when they are first met."""

    def __init__(self, read: Callable[[str], bytes | None]) -> None:
        self._read = read
        self._modules = dict[str, Module | None]()

    def surface(self, path: str, above: set[str]) -> Mapping[str, Symbol]:
        """Return what a file exports, what it exports again included. Raises UnreadableError."""
        module = self._module(path)
        if module is None or path in above:
            return {}
        above = above | {path}
        found = dict[str, Symbol]()
        for source in module.stars:
            target = self._resolve(path, source)
            inner = self.surface(target, above) if target else {}
            found |= {name: one for name, one in inner.items() if name.split(".")[0] != "default"}
        for name, local in module.exports.items():
            found |= self._exported(path, module, name, local, above)
        return found

    def _exported(
        self, path: str, module: Module, name: str, local: str, above: set[str]
    ) -> Mapping[str, Symbol]:
        """Return one export with its members, under the name that it is exported by."""
        source, own = module.imports.get(local, ("", local))
        if not source:
            return _under(name, own, module.declared) or {name: Symbol(0)}
        target = self._resolve(path, source)
        inner = self.surface(target, above) if target and own != "*" else {}
        return _under(name, own, inner) or {name: Symbol(0)}

    def _module(self, path: str) -> Module | None:
        if path not in self._modules:
            text = read_text(self._read(path)) if len(self._modules) < _MOST_FILES else None
            self._modules[path] = None if text is None else read_module(path, text)
        return self._modules[path]

    def _resolve(self, path: str, source: str) -> str:
        """Return the file that a relative import names; empty for a package."""
        if not source.startswith("."):
            return ""
        place = posixpath.normpath(posixpath.join(posixpath.dirname(path), source))
        stem = place.rpartition(".")[0] if place.endswith(_ENDINGS) else place
        tries = [f"{one}{end}" for one in (stem, place, f"{place}/index") for end in _ENDINGS]
        return next(
            (
                one
                for one in (place, *tries)
                if one.endswith(_ENDINGS) and self._read(one) is not None
            ),
            "",
        )


def _under(name: str, own: str, symbols: Mapping[str, Symbol]) -> dict[str, Symbol]:
    """Return a symbol and its members under another name."""
    found = {name: symbols[own]} if own in symbols else {}
    start = f"{own}."
    return found | {
        f"{name}.{k[len(start) :]}": v for k, v in symbols.items() if k.startswith(start)
    }
