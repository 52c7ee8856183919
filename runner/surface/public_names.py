"""Find public names that a change removes or alters, in every supported language."""

from __future__ import annotations

import posixpath
import re
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.surface.facts import LARGEST, SCRIPTS, Fact, Trees, folders_above, read_text, skip_file
from runner.surface.symbols import REMOVED, compare_surfaces
from runner.text.foreign_documents import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from runner.surface import declarations, python_surface
    from runner.surface.symbols import Symbol
else:
    declarations = lazy_module("runner.surface.declarations")
    python_surface = lazy_module("runner.surface.python_surface")


_INSIDE_GO = regex(r"(?:^|/)(?:internal|vendor|testdata|examples?|_[^/]*)/")
_LIBRARY_GO = regex(r"^package\s+(?!main\b)\w", re.MULTILINE)
_NO_SCRIPT = regex(r"\.min\.js\Z|\.config\.\w+\Z")
_BUILT = regex(r"\A(?:\./)?(?:(?:dist|build|out|lib|src|source|cjs|esm)/)*")
_EXPORTS_ALL = r"(?:\*\s*from\s*|exports\s*=\s*require\()['\"][^'\"]*\b%s(?:\.\w+)?['\"]"
_ENTRY_KEYS = ("main", "module", "types", "typings", "exports", "source", "browser")


def find_changes(trees: Trees) -> Iterator[Fact]:
    """Yield what the product files of a change take from those who use them."""
    python, packages = list[str](), dict[str, list[str]]()
    for one in trees.changes:
        path, versions = one.path, (trees.before(one.path), one.content)
        if trees.is_test(path) or not path.endswith((".py", ".go", ".rs", *SCRIPTS)):
            continue
        if any(len(version or b"") > LARGEST for version in versions):
            yield skip_file(path, f"the file is larger than {LARGEST // 1024} kB")
        elif path.endswith(".py"):
            python.append(path)
        elif (package := _find_package(path, trees)) is not None:
            packages.setdefault(package, []).append(path)
    for path, found in python_surface.find_python_changes(python, trees) if python else ():
        yield from _collect(path, found, trees)
    for package, paths in packages.items():
        yield from _collect(paths[0], _compare_package(package, paths, trees), trees)


def _compare_package(package: str, paths: list[str], trees: Trees) -> Iterator[Fact]:
    """Yield what the changed files of a package take from those who import it.

    A name that moved to another changed file is still there. Raises UnreadableError.
    """
    before = {path: _read(path, trees.before) for path in paths}
    after = {path: _read(path, trees.after) for path in paths}
    everywhere = {name: one for names in after.values() for name, one in names.items()}
    for path, names in before.items():
        is_offered = _make_test(package, path, trees)
        shown = {name: one for name, one in names.items() if is_offered(name.partition(".")[0])}
        gives_all = any(name.startswith("* ") for name in after[path].keys() - names.keys())
        for fact in compare_surfaces(path, shown, everywhere | after[path]):
            if not (gives_all and fact.title == REMOVED):
                yield fact


def _read(path: str, read: Callable[[str], bytes | None]) -> dict[str, Symbol]:
    text = read_text(read(path))
    return declarations.read_names(path, text) if text else {}


def _collect(path: str, found: Iterable[Fact], trees: Trees) -> Iterator[Fact]:
    """Yield the facts of one file or package, or why there are none."""
    if trees.is_late:
        yield skip_file(path, "the time limit was reached")
        return
    try:
        yield from [*found]
    except declarations.UnreadableError as error:
        yield skip_file(path, str(error))
    except RecursionError:
        yield skip_file(path, "the code is nested too deeply")


def _find_package(path: str, trees: Trees) -> str | None:
    """Return the folder of a file's package with a slash; None for what nobody imports."""
    if path.endswith(".go"):
        text = read_text(trees.before(path)) or read_text(trees.after(path)) or ""
        is_library = _LIBRARY_GO.search(text) and not _INSIDE_GO.search(path)
        return posixpath.dirname(path) + "/" if is_library else None
    if path.endswith(".rs"):
        above, found, below = f"/{path}".rpartition("/src/")
        crate = f"{above}/".lstrip("/")
        is_program = not found or re.match(r"(?:main|bin)\b", below) or "/examples/" in f"/{crate}"
        is_library = not is_program and trees.before(f"{crate}src/lib.rs") is not None
        return crate if is_library else None
    if _NO_SCRIPT.search(path):
        return None
    packages = (one for one in folders_above(path) if trees.before(f"{one}package.json"))
    return next(packages, "")


def _make_test(package: str, path: str, trees: Trees) -> Callable[[str], bool]:
    """Return what tells whether others may rely on a name of a file.

    All names of Go, of an entry, of a public module, and of a file that is exported as a whole
    are. Else those that an entry, or a file of an application, uses.
    """
    if path.endswith(".go"):
        return lambda _name: True
    stem, word = _stem(path[len(package) :]), r"\b"
    endings: tuple[str, ...] = (".rs",)
    if path.endswith(".rs"):
        parts = stem.removesuffix("/mod").split("/")
        is_entry, word = parts == ["lib"], r"\bpub\s+use\b[^;]*\b"
        patterns = [rf"\bpub\s+mod\s+{re.escape(one)}\s*[;{{]" for one in parts]
    else:
        entries = _find_entries(package, trees)
        is_entry = any(fnmatch(stem, one) for one in entries)
        patterns = [_EXPORTS_ALL % re.escape(stem.removesuffix("/index").rpartition("/")[2])]
        files = {"index", *(one.rpartition("/")[2] for one in entries)}
        endings = tuple(f"/{one}{end}" for one in files for end in SCRIPTS)
        if not entries:
            return lambda name: trees.is_used(name, SCRIPTS)
    if is_entry or all(trees.has_before(one, endings) for one in patterns):
        return lambda _name: True
    return lambda name: trees.has_before(rf"{word}{re.escape(name)}\b", endings)


def _find_entries(folder: str, trees: Trees) -> list[str]:
    """Return the stems of the files that a package offers; none where it is not published."""
    try:
        package = parse_json(read_text(trees.before(f"{folder}package.json")) or "{}")
    except ValueError:
        return []
    if not isinstance(package, dict) or package.get("private") or not package.get("name"):
        return []
    targets = [_stem(one) for key in _ENTRY_KEYS for one in _strings(package.get(key))]
    return targets or ["index"]


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _strings(one)


def _stem(path: str) -> str:
    """Return a path without endings and the folders that sources are built from and to."""
    folder, _, name = _BUILT.sub("", path).rpartition("/")
    return f"{folder}/{name.partition('.')[0]}".lstrip("/")
