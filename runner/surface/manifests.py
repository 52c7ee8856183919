"""The dependencies that manifests declare, and the packages that lock files know."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from runner.lazy_pattern import regex
from runner.surface.facts import read_text
from runner.text.foreign_documents import parse_json, parse_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

Wanted: TypeAlias = "tuple[str, bool]"
"""What is wanted of a package, such as its versions, and whether only developers need it."""
_REQUIREMENT = regex(r"\s*(?!-)(?:.*#egg=)?([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*([^;#]*)")
_REQUIREMENTS = regex(r"(?:^|/)(?:[^/]*requirements[^/]*|requirements/[^/]+)\.(?:txt|in)\Z")
_GO = regex(r"^[ \t]*(?:require[ \t]+)?([\w.-]+\.[\w.-]+/\S+)[ \t]+(v\S+)(.*)$", re.MULTILINE)
_GO_OTHERS = regex(r"\b(?:exclude|retract|replace)\s*\(.*?\)", re.DOTALL)
_DEVELOPMENT = regex(r"dev|test|lint|docs?\b|typing|style|ci\b", re.IGNORECASE)
_LOCKS: Mapping[str, str] = {
    "pyproject.toml": "uv.lock poetry.lock pdm.lock pylock.toml",
    "package.json": "package-lock.json yarn.lock pnpm-lock.yaml bun.lock npm-shrinkwrap.json",
    "go.mod": "go.sum",
    "Cargo.toml": "Cargo.lock",
}
_LARGEST_LOCK = 16 * 1024 * 1024


def manifest_kind(path: str) -> str:
    """Return which kind of manifest a file is, empty for none."""
    name = path.rpartition("/")[2]
    kinds = {"requirements": _REQUIREMENTS.search(path), name: name in _LOCKS}
    return next((kind for kind, found in kinds.items() if found), "")


def read_manifest(path: str, content: bytes | None) -> dict[str, Wanted] | None:
    """Return what a manifest declares by name; None for a file that is no readable one."""
    text, kind = read_text(content or b""), manifest_kind(path)
    if text is None or not kind:
        return None
    try:
        return dict(_READERS[kind](text, path)) if text.strip() else {}
    except (ValueError, AttributeError, TypeError):
        return None


def _requirements(lines: object, *, dev: bool) -> Iterator[tuple[str, Wanted]]:
    for line in lines if isinstance(lines, list) else ():
        if isinstance(line, str) and (match := _REQUIREMENT.match(line)):
            yield normalise(match[1]), (match[2].strip(), dev)


def normalise(name: str) -> str:
    """Return the name of a Python package as registries compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _read_requirements(text: str, path: str) -> Iterator[tuple[str, Wanted]]:
    return _requirements(text.splitlines(), dev=_DEVELOPMENT.search(path) is not None)


def _read_pyproject(text: str, _path: str) -> Iterator[tuple[str, Wanted]]:
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
        yield from ((normalise(k), (str(v), dev)) for k, v in found.items() if k != "python")


def _read_package(text: str, _path: str) -> Iterator[tuple[str, Wanted]]:
    tables = parse_json(text)
    for key in ("devDependencies", "optionalDependencies", "peerDependencies", "dependencies"):
        dev = key == "devDependencies"
        yield from ((name, (str(want), dev)) for name, want in _table(tables, key).items())


def _read_go(text: str, _path: str) -> Iterator[tuple[str, Wanted]]:
    for match in _GO.finditer(_GO_OTHERS.sub("", text)):
        yield match[1], (match[2], "indirect" in match[3])


def _read_cargo(text: str, _path: str) -> Iterator[tuple[str, Wanted]]:
    tables = parse_toml(text)
    scopes = (tables, *_table(tables, "target").values(), _table(tables, "workspace"))
    for key in ("dev-dependencies", "build-dependencies", "dependencies"):
        for scope in scopes:
            dev = key == "dev-dependencies"
            yield from ((name, (str(want), dev)) for name, want in _table(scope, key).items())


def _table(tables: object, *keys: str) -> dict[str, Any]:
    for key in keys:
        tables = tables.get(key) if isinstance(tables, dict) else None
    return tables if isinstance(tables, dict) else {}


_READERS: Mapping[str, Callable[[str, str], Iterator[tuple[str, Wanted]]]] = {
    "requirements": _read_requirements,
    "pyproject.toml": _read_pyproject,
    "package.json": _read_package,
    "go.mod": _read_go,
    "Cargo.toml": _read_cargo,
}


def find_lock(path: str, read: Callable[[str], bytes | None]) -> str | None:
    """Return the lock file of a manifest: in its folder, or in one above it."""
    folder, names = path, _LOCKS.get(manifest_kind(path), "").split()
    while folder:
        folder = folder.rpartition("/")[0]
        places = (f"{folder}/{name}".lstrip("/") for name in names)
        if (found := next((one for one in places if read(one) is not None), None)) is not None:
            return found
    return None


def is_locked(lock: str, name: str, read: Callable[[str], bytes | None]) -> bool:
    """Return whether a lock file has a package as a word."""
    content = read(lock) or b""
    word = re.escape(name.encode()).replace(rb"\-", rb"[-_.]")
    found = re.search(rb"(?<![\w-])" + word + rb"(?![\w-])", content, re.IGNORECASE)
    return len(content) > _LARGEST_LOCK or found is not None
