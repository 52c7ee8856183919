"""What commands for a repository read elsewhere: tools, environments, linked packages, libraries.

Read before anything runs, from the person's own files: a sandbox never hides it.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from runner.process.toolchain import tool_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_LARGEST = 1 << 20
"""Bytes of a file that is looked into."""
_SEARCHED = ("LD_LIBRARY_PATH", "PYTHONPATH", "NODE_PATH")
_LINKING = (
    # a file, and what in it names a folder elsewhere
    ("go.work", r"(?m)^\s*(?:use\s+)?(\.{1,2}/[^\s()]+|/[^\s()]+)"),
    ("go.mod", r"=>\s*(\.{1,2}/\S+|/\S+)"),
    ("package.json", r"\"(?:file|link|portal):([^\"]+)\""),
    ("pnpm-workspace.yaml", r"(\.\./[^\s'\"]+)"),
    ("Cargo.toml", r"\bpath\s*=\s*\"([^\"]+)\""),
    ("pyproject.toml", r"(?:\b(?:path|file)\s*=\s*\"|@ file://)([^\"\s]+)\""),
    ("requirements.txt", r"(?m)^\s*(?:-e\s+|--editable[ =])?(?:file://)?((?:\.{1,2})?/\S+)"),
    (".cargo/config.toml", r"\"((?:\.{1,2})?/[^\"]+)\""),
)
_ENVIRONMENTS = (".venv", "venv", "env")


def find_needed_paths(shown: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Paths outside of the repository at `shown` that its commands may have to read."""
    tools = [str(path) for path in tool_paths(environ)]
    yield from tools
    yield from _find_linked_programs(environ.get("PATH", ""))
    for name in _SEARCHED:
        yield from (part for part in environ.get(name, "").split(os.pathsep) if part[:1] == "/")
    yield from _library_folders(Path("/etc/ld.so.conf"))
    for root in {*tools, *(f"{shown}/{name}" for name in _ENVIRONMENTS)}:
        yield from _find_linked_packages(Path(root))
    for folder in _projects(Path(shown)):
        yield from _find_linked_folders(folder)


def _find_linked_programs(path: str) -> Iterator[str]:
    """Where the links in the folders of PATH lead."""
    for folder in dict.fromkeys(filter(None, path.split(os.pathsep))):
        for entry in _entries(folder):
            if entry.is_symlink():
                yield os.path.realpath(entry.path)


def _library_folders(file: Path, depth: int = 0) -> Iterator[str]:
    """Folders of the dynamic linker (ld.so.conf(5))."""
    for line in _text(file).splitlines():
        words = line.partition("#")[0].split()
        if words[:1] == ["include"] and not depth:
            for pattern in words[1:]:
                for each in sorted(file.parent.glob(pattern.removeprefix(f"{file.parent}/"))):
                    yield from _library_folders(each, depth + 1)
        elif words and words[0].startswith("/"):
            yield words[0]


def _find_linked_packages(root: Path) -> Iterator[str]:
    """What packages of a Python environment are only links to: `.pth`, editable installs."""
    for packages in root.glob("lib*/python*/site-packages"):
        for file in packages.glob("*.pth"):
            yield from (line for line in _text(file).splitlines() if line[:1] == "/")
        for file in packages.glob("*.dist-info/direct_url.json"):
            if '"editable"' in (told := _text(file)):
                yield from _file_url(told)
        for file in packages.glob("__editable__*.py"):
            yield from re.findall(r"['\"](/[^'\"\n]+)['\"]", _text(file))
    if (root / "pyvenv.cfg").is_file():
        yield from re.findall(r"(?m)^(?:home|executable)\s*=\s*(/.+)$", _text(root / "pyvenv.cfg"))


def _file_url(told: str) -> Iterator[str]:
    try:
        url = str(json.loads(told).get("url", ""))
    except (ValueError, AttributeError, RecursionError):
        return
    if url.startswith("file:///"):
        yield unquote(url.removeprefix("file://"))


def _projects(shown: Path) -> Iterator[Path]:
    """The repository's own folder and those two levels below, where packages of it lie."""
    yield shown
    for depth in ("*", "*/*"):
        for number, path in enumerate(shown.glob(depth)):
            if number > 1000:  # noqa: PLR2004 - folders; a plain bound
                break
            if path.name not in {".git", "node_modules", *_ENVIRONMENTS} and path.is_dir():
                yield path


def _find_linked_folders(folder: Path) -> Iterator[str]:
    for name, expression in _LINKING:
        for found in re.findall(expression, _text(folder / name)):
            yield str(folder / found.removeprefix("file://"))
    for name in ("node_modules", "vendor"):
        for entry in _links_in(f"{folder}/{name}"):
            yield os.path.realpath(entry)


def _links_in(folder: str) -> Iterator[str]:
    """Links in a folder of packages, and in those of its scopes."""
    for entry in _entries(folder):
        if entry.is_symlink():
            yield entry.path
        elif entry.name.startswith("@"):
            yield from (one.path for one in _entries(entry.path) if one.is_symlink())


def _entries(folder: str) -> Iterable[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return ()


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(_LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""
