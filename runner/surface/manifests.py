"""The dependencies that manifests declare, and the packages that lock files know."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from runner.surface.facts import read_text
from runner.text.foreign_documents import parse_json, parse_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*([^;#]*)")
_REQUIREMENTS = re.compile(
    r"(?:^|/)(?:[\w.-]*requirements[\w.-]*\.(?:txt|in)|requirements/[\w.-]+\.(?:txt|in))\Z"
)
_EGG = re.compile(r"#egg=([\w.-]+)")
_LOCKS: Mapping[str, tuple[str, ...]] = {
    "pyproject.toml": ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml"),
    "package.json": (
        "package-lock.json",
        "yarn.lock",
        "pnpm-lock.yaml",
        "bun.lock",
        "npm-shrinkwrap.json",
    ),
    "go.mod": ("go.sum",),
    "Cargo.toml": ("Cargo.lock",),
}
_DEVELOPMENT = re.compile(r"dev|test|lint|docs?\b|typing|style|ci\b", re.IGNORECASE)
_LARGEST_LOCK = 16 * 1024 * 1024


def manifest_kind(path: str) -> str:
    """Return which kind of manifest a file is, empty for none."""
    name = path.rpartition("/")[2]
    if name in (*_LOCKS, "Pipfile", "setup.cfg"):
        return name
    return "requirements" if _REQUIREMENTS.search(path) else ""


def read_manifest(path: str, content: bytes | None) -> dict[str, tuple[str, bool]] | None:
    """Return name → (what is wanted of it, whether only developers need it).

    None for a file that is no readable manifest.
    """
    text = read_text(content if content is not None else b"")
    kind = manifest_kind(path)
    if text is None or not kind:
        return None
    try:
        return dict(_READERS[kind](text, path)) if text.strip() else {}
    except (ValueError, AttributeError, TypeError):
        return None


def _requirement(line: str, *, dev: bool) -> Iterator[tuple[str, tuple[str, bool]]]:
    egg = _EGG.search(line)
    if egg:
        yield normalise(egg[1]), (line.strip(), dev)
    elif not line.lstrip().startswith(("#", "-")) and (match := _REQUIREMENT.match(line)):
        yield normalise(match[1]), (match[2].strip(), dev)


def normalise(name: str) -> str:
    """Return the name of a Python package as registries compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _read_requirements(text: str, path: str) -> Iterator[tuple[str, tuple[str, bool]]]:
    dev = _DEVELOPMENT.search(path.rpartition("/")[2]) is not None
    for line in text.splitlines():
        yield from _requirement(line, dev=dev)


def _read_pyproject(text: str, _path: str) -> Iterator[tuple[str, tuple[str, bool]]]:
    tables = parse_toml(text)
    project = _table(tables, "project")
    for line in project.get("dependencies") or ():
        yield from _requirement(str(line), dev=False)
    optional = _table(project, "optional-dependencies")
    for name, lines in (*optional.items(), *_table(tables, "dependency-groups").items()):
        for line in lines:
            if isinstance(line, str):
                yield from _requirement(
                    line, dev=name not in optional or bool(_DEVELOPMENT.search(name))
                )
    poetry = _table(_table(tables, "tool"), "poetry")
    groups = [(poetry.get("dependencies"), False), (poetry.get("dev-dependencies"), True)]
    groups += [(_table(one, "dependencies"), True) for one in _table(poetry, "group").values()]
    for found, dev in groups:
        yield from (
            (normalise(k), (str(v), dev)) for k, v in (found or {}).items() if k != "python"
        )


def _read_setup(text: str, _path: str) -> Iterator[tuple[str, tuple[str, bool]]]:
    inside = False
    for line in text.splitlines():
        if re.match(r"\S", line):
            inside = re.match(r"(install_requires)\s*=", line) is not None
            line = line.partition("=")[2] if inside else ""  # noqa: PLW2901 - what is behind the key
        if inside:
            yield from _requirement(line, dev=False)


def _read_pipfile(text: str, _path: str) -> Iterator[tuple[str, tuple[str, bool]]]:
    tables = parse_toml(text)
    for key, dev in (("packages", False), ("dev-packages", True)):
        yield from ((normalise(k), (str(v), dev)) for k, v in _table(tables, key).items())


def _read_package(text: str, _path: str) -> Iterator[tuple[str, tuple[str, bool]]]:
    tables = parse_json(text)
    if not isinstance(tables, dict):
        raise ValueError("no object")  # noqa: TRY004 - a document, not an argument
    for key in ("devDependencies", "optionalDependencies", "peerDependencies", "dependencies"):
        dev = key == "devDependencies"
        yield from ((name, (str(want), dev)) for name, want in _table(tables, key).items())


def _read_go(text: str, _path: str) -> Iterator[tuple[str, tuple[str, bool]]]:
    body = re.sub(r"\b(?:exclude|retract|replace)\s*\(.*?\)", "", text, flags=re.DOTALL)
    for match in re.finditer(
        r"^[ \t]*(?:require\s+)?([\w.-]+\.[\w.-]+/\S+)\s+(v\S+)(.*)$", body, re.MULTILINE
    ):
        yield match[1], (match[2], "indirect" in match[3])


def _read_cargo(text: str, _path: str) -> Iterator[tuple[str, tuple[str, bool]]]:
    tables = parse_toml(text)
    scopes = [tables, *_table(tables, "target").values(), _table(tables, "workspace")]
    for key, dev in (
        ("dev-dependencies", True),
        ("build-dependencies", False),
        ("dependencies", False),
    ):
        for scope in scopes:
            yield from ((name, (str(want), dev)) for name, want in _table(scope, key).items())


def _table(tables: object, key: str) -> dict[str, Any]:
    found = tables.get(key) if isinstance(tables, dict) else None
    return found if isinstance(found, dict) else {}


_READERS = {
    "requirements": _read_requirements,
    "pyproject.toml": _read_pyproject,
    "setup.cfg": _read_setup,
    "Pipfile": _read_pipfile,
    "package.json": _read_package,
    "go.mod": _read_go,
    "Cargo.toml": _read_cargo,
}


def find_lock(path: str, read: Callable[[str], bytes | None]) -> str | None:
    """Return the lock file of a manifest: in its folder, or in one above it."""
    folder, names = path, _LOCKS.get(manifest_kind(path), ())
    while folder:
        folder = folder.rpartition("/")[0]
        places = (f"{folder}/{name}".lstrip("/") for name in names)
        if (found := next((one for one in places if read(one) is not None), None)) is not None:
            return found
    return None


def is_locked(lock: str, name: str, read: Callable[[str], bytes | None]) -> bool:
    """Return whether a lock file has a package as a word."""
    content = read(lock) or b""
    if len(content) > _LARGEST_LOCK:
        return True
    word = re.escape(name.encode()).replace(rb"\-", rb"[-_.]")
    return re.search(rb"(?<![\w-])" + word + rb"(?![\w-])", content, re.IGNORECASE) is not None
