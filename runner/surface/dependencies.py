"""Find added and removed dependencies, and whether the lock file knows them."""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING, Any

from runner.lazy_pattern import regex
from runner.surface.change_facts import Fact, Trees, folders_above, read_text, skip_file
from runner.text.foreign_documents import parse_json, parse_toml
from runner.text.python_syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_REQUIREMENT = regex(r"\s*(?!-)(?:.*#egg=)?([A-Za-z0-9][\w.-]*)")
_REQUIREMENTS = regex(r"(?:^|/)(?:[^/]*requirements[^/]*|requirements/[^/]+)\.(?:txt|in)\Z")
_GO = regex(r"^[ \t]*(?:require[ \t]+)?([\w.-]+\.[\w.-]+/\S+)[ \t]+v\S+(.*)$", re.MULTILINE)
_GO_OTHERS = regex(r"\b(?:exclude|retract|replace)\s*\(.*?\)", re.DOTALL)
_DEVELOPMENT = regex(r"dev|test|lint|docs?\b|typing|style|ci\b", re.IGNORECASE)
_LOCKS: Mapping[str, str] = {
    "pyproject.toml": "uv.lock poetry.lock pdm.lock pylock.toml",
    "package.json": "package-lock.json yarn.lock pnpm-lock.yaml bun.lock npm-shrinkwrap.json",
    "go.mod": "go.sum",
    "Cargo.toml": "Cargo.lock",
}
_IN_TESTS = regex(r"(?:^|/)(?:bench(?:es|marks?)?|examples?|fuzz|docs?|site|website)/")
_LARGEST_LOCK = 16 * 1024 * 1024
_CATCHES = regex(r"\b(?:ImportError|ModuleNotFoundError|Exception|BaseException)\b")
_IMPORT = r"\b(?:import|from)\s+"
_NEWER = frozenset(("annotationlib", "compression"))
"""Modules added by later versions of Python."""
_OTHER_NAMES = {"bs4": "beautifulsoup4", "pil": "pillow", "cv2": "opencv"}
"""Import names that differ from the package's name, for the most used packages."""
_MANIFESTS = ("setup.py", "pyproject.toml", "setup.cfg", "Pipfile", "requirements.txt")


def find_changes(trees: Trees) -> Iterator[Fact]:
    """Yield a fact for each dependency that was added or removed."""
    for change in trees.changes:
        if not manifest_kind(change.path):
            continue
        versions = trees.before(change.path), change.content
        old, new = (read_manifest(change.path, one) for one in versions)
        if old is None or new is None:
            yield skip_file(change.path, "the file cannot be read")
        else:
            yield from _compare(change.path, old, new, trees)


def _compare(path: str, old: dict[str, bool], new: dict[str, bool], trees: Trees) -> Iterator[Fact]:
    is_new_file = trees.before(path) is None
    in_tests = trees.is_test(path) or _IN_TESTS.search(path) is not None
    lock = find_lock(path, trees.after)
    for name, own in new.items():
        dev = own or in_tests
        if name in old:
            continue
        missing = lock is not None and not is_locked(lock, name, trees.after)
        what = f"{name} (not in {lock})" if missing else name
        breaks = not (dev or is_new_file)
        title = "adds development dependencies" if dev else "adds dependencies"
        yield Fact("dependency", what, path, 0, _names(name), is_breaking=breaks, title=title)
    for name in old.keys() - new.keys():
        yield Fact("dependency", name, path, 0, _names(name), title="removes dependencies")


def _names(name: str) -> tuple[str, ...]:
    """Return how a text may call a package: with its scope or host, and without."""
    spelled = {name, name.rpartition("/")[2], name.replace("-", "_"), name.capitalize()}
    return tuple(sorted(spelled))


def manifest_kind(path: str) -> str:
    """Return which kind of manifest a file is, empty for none."""
    name = path.rpartition("/")[2]
    kinds = {"requirements": _REQUIREMENTS.search(path), name: name in _LOCKS}
    return next((kind for kind, found in kinds.items() if found), "")


def read_manifest(path: str, content: bytes | None) -> dict[str, bool] | None:
    """Return what a manifest declares by name; None for a file that is no readable one."""
    text, kind = read_text(content or b""), manifest_kind(path)
    if text is None or not kind:
        return None
    try:
        return dict(_READERS[kind](text, path)) if text.strip() else {}
    except (ValueError, AttributeError, TypeError):
        return None


def _requirements(lines: object, *, dev: bool) -> Iterator[tuple[str, bool]]:
    for line in lines if isinstance(lines, list) else ():
        if isinstance(line, str) and (match := _REQUIREMENT.match(line)):
            yield normalise(match[1]), dev


def normalise(name: str) -> str:
    """Return the name of a Python package as registries compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _read_requirements(text: str, path: str) -> Iterator[tuple[str, bool]]:
    return _requirements(text.splitlines(), dev=_DEVELOPMENT.search(path) is not None)


def _read_pyproject(text: str, _path: str) -> Iterator[tuple[str, bool]]:
    tables = parse_toml(text)
    for lines in _table(tables, "dependency-groups").values():
        yield from _requirements(lines, dev=True)
    for name, lines in _table(tables, "project", "optional-dependencies").items():
        yield from _requirements(lines, dev=_DEVELOPMENT.search(name) is not None)
    yield from _requirements(_table(tables, "project").get("dependencies"), dev=False)
    poetry = _table(tables, "tool", "poetry")
    groups = [_table(one, "dependencies") for one in _table(poetry, "group").values()]
    groups.append(_table(poetry, "dev-dependencies"))
    for found in (*groups, _table(poetry, "dependencies")):
        dev = found in groups
        yield from ((normalise(name), dev) for name in found if name != "python")


def _read_package(text: str, _path: str) -> Iterator[tuple[str, bool]]:
    tables = parse_json(text)
    for key in ("devDependencies", "optionalDependencies", "peerDependencies", "dependencies"):
        yield from ((name, key == "devDependencies") for name in _table(tables, key))


def _read_go(text: str, _path: str) -> Iterator[tuple[str, bool]]:
    for match in _GO.finditer(_GO_OTHERS.sub("", text)):
        yield match[1], "indirect" in match[2]


def _read_cargo(text: str, _path: str) -> Iterator[tuple[str, bool]]:
    tables = parse_toml(text)
    scopes = (tables, *_table(tables, "target").values(), _table(tables, "workspace"))
    for key in ("dev-dependencies", "build-dependencies", "dependencies"):
        for scope in scopes:
            yield from ((name, key == "dev-dependencies") for name in _table(scope, key))


def _table(tables: object, *keys: str) -> dict[str, Any]:
    for key in keys:
        tables = tables.get(key) if isinstance(tables, dict) else None
    return tables if isinstance(tables, dict) else {}


_READERS: Mapping[str, Callable[[str, str], Iterator[tuple[str, bool]]]] = {
    "requirements": _read_requirements,
    "pyproject.toml": _read_pyproject,
    "package.json": _read_package,
    "go.mod": _read_go,
    "Cargo.toml": _read_cargo,
}


def find_lock(path: str, read: Callable[[str], bytes | None]) -> str | None:
    """Return the lock file of a manifest: in its folder, or in one above it."""
    names = _LOCKS.get(manifest_kind(path), "").split()
    places = (f"{folder}{name}" for folder in folders_above(path) for name in names)
    return next((one for one in places if read(one) is not None), None)


def is_locked(lock: str, name: str, read: Callable[[str], bytes | None]) -> bool:
    """Return whether a lock file has a package as a word."""
    content = read(lock) or b""
    word = re.escape(name.encode()).replace(rb"\-", rb"[-_.]")
    found = re.search(rb"(?<![\w-])" + word + rb"(?![\w-])", content, re.IGNORECASE)
    return len(content) > _LARGEST_LOCK or found is not None


def find_undeclared(trees: Trees) -> Iterator[Fact]:
    """Yield the packages that changed product files import for the first time, undeclared."""
    for change in trees.changes:
        path = change.path
        if trees.is_test(path) or not path.endswith(".py"):
            continue
        known = {name for name, *_ in _find_imports(read_text(trees.before(path)) or "")}
        known |= sys.stdlib_module_names | _NEWER
        for name, line, falls_back in _find_imports(read_text(change.content) or ""):
            if name in known or trees.is_late:
                continue
            known.add(name)
            manifests = [*_find_manifests(path, trees)]
            if not _is_known(name, manifests, trees):
                ways = ", and ignores the failed import" if falls_back else ""
                message = f"imports {name}, which no manifest declares{ways}"
                asks = bool(manifests) or falls_back
                yield Fact("dependency", message, path, line, (name,), is_breaking=asks)


def _find_imports(text: str) -> Iterator[tuple[str, int, bool]]:
    """Yield the first part of each import, its line, and whether its failure is caught."""
    tree = python_tree(text)
    left: list[tuple[ast.AST, bool]] = [(tree, False)] if tree else []
    while left:
        node, caught = left.pop()
        inner: list[ast.AST] = [*ast.iter_child_nodes(node)]
        if isinstance(node, ast.Try):
            handlers = (one.type for one in node.handlers)
            catches = any(one is None or _CATCHES.search(ast.unparse(one)) for one in handlers)
            left += [(one, caught or catches) for one in node.body]
            inner = [*node.handlers, *node.orelse, *node.finalbody]
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            inner = [*node.orelse]
        elif isinstance(node, ast.Import):
            yield from ((one.name.partition(".")[0], node.lineno, caught) for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0], node.lineno, caught
        left += [(one, caught) for one in inner]


def _is_known(name: str, manifests: list[str], trees: Trees) -> bool:
    """Return whether a package is part of the project, or declared."""
    wanted = normalise(name)
    words = (wanted, _OTHER_NAMES.get(wanted, wanted))
    for manifest in manifests:
        text = read_text(trees.after(manifest)) or ""
        declared = read_manifest(manifest, text.encode())
        if declared is None:  # it is code, as setup.py, or cannot be read
            if re.search(rf"['\"\n]\s*{re.escape(name)}\b", text, re.IGNORECASE):
                return True
        elif any(word in one or one in wanted for one in declared for word in words):
            return True
    return trees.has_module(name) or trees.is_used(name, (".py",), _IMPORT)


def _find_manifests(path: str, trees: Trees) -> Iterator[str]:
    """Yield changed requirements, and the manifests in the folders above a file."""
    yield from (one.path for one in trees.changes if manifest_kind(one.path) == "requirements")
    places = (f"{folder}{name}" for folder in folders_above(path) for name in _MANIFESTS)
    yield from (one for one in places if trees.after(one) is not None)
