"""Installed packages that are copies of packages of the repository, and grow old with each change.

yarn and pnpm copy what a manifest names as `file:` (npm makes a link); pip and uv copy a package
that is not installed in editable form, and say from where (PEP 610, direct_url.json).
"""
# ruff: noqa: PTH110, PTH112, PTH118, PTH120, PTH123, PTH207 - as in package_links

from __future__ import annotations

import json
import os
from functools import lru_cache
from glob import escape, glob
from typing import TYPE_CHECKING
from urllib.parse import unquote

from runner.process.environments import MODULES, is_in
from runner.process.package_links import NEEDED, load_needs, read_change_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.process.base import Place

_BY_PATH = ("file", "link", "portal")
_PACKAGES = "lib/python*/site-packages"
_LARGEST = 1 << 20


def find_copies(place: Place) -> dict[str, str]:
    """Return files and folders of installed packages, and what of the repository each copies.

    The latter are relative to the repository's top.
    """
    found: dict[str, str] = {}
    for share in place.shares:
        folder = f"{place.shown}/{share}"
        find = _find_in_node if share.endswith(MODULES) else _find_in_python
        installed = (folder, *glob(f"{escape(folder)}/{_PACKAGES}"))
        changed = tuple(map(read_change_time, installed))
        found |= find(folder, os.path.realpath(place.shown), changed)
    return found


@lru_cache(maxsize=512)
def _find_in_node(folder: str, root: str, _installed: tuple[int, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    manifest = os.path.realpath(os.path.dirname(folder))
    for name, wanted in load_needs(manifest, (*NEEDED, "devDependencies")).items():
        kind, _, path = wanted.partition(":")
        source = os.path.realpath(os.path.join(manifest, path))
        copy = os.path.realpath(_resolve(manifest, name, root))
        if kind in _BY_PATH and copy != source and is_in(source, root) and os.path.isdir(copy):
            found[copy] = source[len(root) + 1 :]
    return found


def _resolve(manifest: str, name: str, root: str) -> str:
    """Where Node finds a package that is needed in a folder."""
    at = manifest
    while at != root and not os.path.isdir(f"{at}/{MODULES}/{name}"):
        at = os.path.dirname(at)
    return f"{at}/{MODULES}/{name}"


@lru_cache(maxsize=512)
def _find_in_python(folder: str, root: str, _installed: tuple[int, ...]) -> dict[str, str]:
    pattern = f"{escape(folder)}/{_PACKAGES}/*.dist-info/direct_url.json"
    return {copy: path for file in glob(pattern) for copy, path in _read_copied(file, root)}


def _read_copied(file: str, root: str) -> Iterator[tuple[str, str]]:
    """What a package that is no editable install copied from the repository."""
    about = os.path.dirname(file)
    packages = os.path.dirname(about)
    try:
        with open(file, "rb") as opened:
            origin = json.loads(opened.read(_LARGEST))
        with open(f"{about}/RECORD", encoding="utf-8") as opened:
            tops = {line.partition(",")[0].partition("/")[0] for line in opened}
        url, how = str(origin["url"]), origin.get("dir_info") or {}
        is_editable = bool(how.get("editable"))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return
    source = os.path.realpath(unquote(url.removeprefix("file://")))
    if is_editable or not url.startswith("file:///") or not is_in(source, root):
        return
    for top in tops:
        for path in (f"{source}/src/{top}", f"{source}/{top}"):
            if os.path.exists(path) and os.path.exists(f"{packages}/{top}"):
                yield os.path.realpath(f"{packages}/{top}"), path[len(root) + 1 :]
                break
