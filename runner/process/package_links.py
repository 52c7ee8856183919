"""Find installed packages that link into the repository or copy its packages.

npm, pnpm and yarn link the packages of a workspace into `node_modules`. Where a sandbox shows the
scratch tree at the repository's own path, these links lead there by themselves. Elsewhere a folder
of links takes the place of such a `node_modules`: all but the links in question lead to the real
one. Node loads a package from its real path ("Loading from node_modules folders"), so a package
that depends on one of the repository is copied: it would find the real one otherwise.

Copies of the repository's packages become stale with each change. yarn and pnpm copy what a
manifest names as `file:` (npm makes a link); pip and uv copy a package that is not installed in
editable form, and record its origin (PEP 610, direct_url.json).
"""

# ruff: noqa: PTH102, PTH108, PTH110, PTH112, PTH114, PTH115, PTH116, PTH118, PTH120, PTH123, PTH207, PTH211 - a thousand paths before each attempt

from __future__ import annotations

import json
import os
import shutil
import stat
from contextlib import suppress
from functools import lru_cache
from glob import escape, glob
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import unquote

from runner import effects
from runner.process.environments import MODULES, is_in, list_entries

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.process.base import Place

_STORES = (".pnpm", ".store")
"""Folders in `node_modules` with a folder for each package, which has its own `node_modules`."""
_BIN = ".bin"
_CACHES = frozenset({".cache", ".vite", ".vite-temp"})
"""Folders that tools write there: the command gets its own."""
NEEDED = ("dependencies", "peerDependencies", "optionalDependencies")
_LARGEST = 1 << 20
_MOST_COPIED = 5000
"""Files of packages that are copied; further packages are linked."""
_BY_PATH = ("file", "link", "portal")
_PACKAGES = "lib/python*/site-packages"


class Copy(NamedTuple):
    """A file that is copied from there."""

    source: str


Layout: TypeAlias = "dict[str, Layout | Copy | str]"
"""A folder's content by name. A text is a link's target, relative to the scratch tree."""


class _Package(NamedTuple):
    name: str
    path: str
    """Path in the searched folder."""
    real: str
    is_link: bool


def lay_out_shares(place: Place, *, mounted: bool) -> None:
    """Create mount points or links for shared folders and submodules in the tree."""
    layouts = {} if mounted else find_layouts(place)
    folders = {share: place.shown / share for share in place.shares}
    for share, folder in (folders | place.submodules).items():
        at, target = _find_place(place, share), str(folder)
        if not at:
            continue
        if mounted:
            if not os.path.lexists(at):
                effects.step("mkdir", at)
                os.mkdir(at)
            continue
        if share in layouts:
            target = f"{place.links}/{share}"
            _lay_out(layouts[share] | _make_caches(place, share), target, str(place.tree))
        if not os.path.lexists(at) or os.path.islink(at):
            _link(at, target)


def _find_place(place: Place, path: str) -> str:
    """Return the path of a folder on disk; empty if the tree has no folder for it."""
    for above, folder in place.submodules.items():
        if path.startswith(f"{above}/"):  # made anew just now: no link is on the way
            return f"{folder}/{path[len(above) + 1 :]}"
    above = os.path.dirname(path)
    if path in place.submodules:  # git makes no folder that holds nothing else
        parts = above.split("/")
        for depth in range(len(parts)):
            if place.has_folder("/".join(parts[:depth])):
                effects.make_folder(place.tree.joinpath(*parts[: depth + 1]))
    return f"{place.tree}/{path}" if place.has_folder(above) else ""


def find_layouts(place: Place) -> dict[str, Layout]:
    """Return what takes the place of shared folders from which links lead into the repository."""
    packages = tuple(share for share in place.shares if share.endswith(MODULES))
    # With any change an installer renames files of its own in the folder.
    changed = tuple(read_change_time(f"{place.shown}/{share}") for share in packages)
    return _find_layouts(str(place.shown), packages, changed)


def _make_caches(place: Place, share: str) -> Layout:
    """Create the folders that tools write to, in a place that every command may write."""
    caches: Layout = {}
    for name in _CACHES:
        at = str(place.box)
        for part in ("caches", *share.split("/"), name):
            at = f"{at}/{part}"
            _make_folder(at)
        caches[name] = at
    return caches


def read_change_time(path: str) -> int:
    """Return the modification time of a folder in nanoseconds; 0 if it is missing."""
    with suppress(OSError):
        return os.stat(path).st_mtime_ns
    return 0


@lru_cache(maxsize=8)
def _find_layouts(
    shown: str, shares: tuple[str, ...], _changed: tuple[int, ...]
) -> dict[str, Layout]:
    root = os.path.realpath(shown)
    folders = {share: os.path.realpath(f"{shown}/{share}") for share in shares}
    found = {share: list(_find_packages(folder)) for share, folder in folders.items()}
    everything = [package for packages in found.values() for package in packages]
    installed = tuple(f"{folder}/" for folder in folders.values())
    leading = {
        one.real
        for one in everything
        if one.is_link and is_in(one.real, root) and not f"{one.real}/".startswith(installed)
    }
    if not leading:
        return {}
    names = {one.name for one in everything if one.real in leading}
    moved = leading | _find_dependents(everything, names)
    layouts: dict[str, Layout] = {}
    copied = _Counter()
    for share, packages in found.items():
        own = [one for one in packages if one.real in moved]
        if own:
            layouts[share] = _plan(folders[share], own, root, copied)
    return layouts


# --- what is installed ----------------------------------------------------------------


def _find_packages(folder: str, above: str = "") -> Iterator[_Package]:
    """Yield the packages in a `node_modules` folder, including nested ones."""
    for entry in list_entries(folder):
        path = f"{above}{entry.name}"
        if entry.name in _STORES:
            yield from _find_packages(f"{entry.path}/{MODULES}", f"{path}/{MODULES}/")
            for each in list_entries(entry.path):
                inner = f"{path}/{each.name}/{MODULES}/"
                yield from _find_packages(f"{each.path}/{MODULES}", inner)
        elif entry.name.startswith("@") and entry.is_dir(follow_symlinks=False):
            for each in list_entries(entry.path):
                yield from _find_one(each, f"{entry.name}/{each.name}", f"{path}/{each.name}")
        elif not entry.name.startswith("."):
            yield from _find_one(entry, entry.name, path)


def _find_one(entry: os.DirEntry[str], name: str, path: str) -> Iterator[_Package]:
    if entry.is_symlink():
        yield _Package(name, path, os.path.realpath(entry.path), is_link=True)
    elif entry.is_dir():
        yield _Package(name, path, entry.path, is_link=False)
        yield from _find_packages(f"{entry.path}/{MODULES}", f"{path}/{MODULES}/")


def _find_dependents(packages: list[_Package], names: set[str]) -> set[str]:
    """Return the real folders of the packages that depend on one of these, even indirectly."""
    needs = {one: load_needs(one.real) for one in packages if not one.is_link}
    found: set[str] = set()
    known = set(names)
    while True:
        more = [one for one, needed in needs.items() if needed.keys() & known]
        if not more:
            return found
        for one in more:
            del needs[one]
            found.add(one.real)
            known.add(one.name)


def load_needs(folder: str, kinds: tuple[str, ...] = NEEDED) -> dict[str, str]:
    """Return the dependencies of a package.json with their version ranges."""
    try:
        with open(f"{folder}/package.json", "rb") as file:
            manifest = json.loads(file.read(_LARGEST))
        found = (manifest.get(kind) or {} for kind in kinds)
        return {str(name): str(need) for each in found for name, need in each.items()}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}


# --- what takes its place -------------------------------------------------------------


class _Counter:
    def __init__(self) -> None:
        self.files = 0


def _plan(folder: str, moved: list[_Package], root: str, copied: _Counter) -> Layout:
    layout: Layout = {}
    for one in moved:
        at = layout
        *above, name = one.path.split("/")
        for part in above:
            inner = at.setdefault(part, {})
            if not isinstance(inner, dict):  # its package was too large to be copied
                break
            at = inner
        else:
            if one.is_link:
                at[name] = _from_tree(one.real, root)
            else:
                copy = _plan_copy(one.real, copied)
                at[name] = one.real if copy is None else copy
    _fill(layout, folder, root)
    return layout


def _plan_copy(folder: str, copied: _Counter) -> Layout | None:
    """Plan a copy of a package without nested packages; return None if it is too large."""
    layout: Layout = {}
    for entry in list_entries(folder):
        if entry.name == MODULES:
            continue
        if entry.is_dir(follow_symlinks=False):
            inner = _plan_copy(entry.path, copied)
            if inner is None:
                return None
            layout[entry.name] = inner
        elif entry.is_file(follow_symlinks=False):
            copied.files += 1
            layout[entry.name] = Copy(entry.path)
    return None if copied.files > _MOST_COPIED else layout


def _fill(layout: Layout, folder: str, root: str) -> None:
    """Add links to all else that is in a folder."""
    for entry in list_entries(folder):
        known = layout.get(entry.name)
        if isinstance(known, dict):
            _fill(known, entry.path, root)
        elif known is None and entry.name not in _CACHES:
            if entry.is_symlink():
                layout[entry.name] = _from_tree(os.path.realpath(entry.path), root)
            elif entry.name == _BIN:
                programs: Layout = {}
                _fill(programs, entry.path, root)
                layout[entry.name] = programs
            else:
                layout[entry.name] = entry.path


def _from_tree(path: str, root: str) -> str:
    """Return a path relative to the repository's top, or unchanged if it is outside."""
    return path[len(root) + 1 :] if is_in(path, root) else path


def _lay_out(layout: Layout, at: str, tree: str) -> None:
    """Bring a folder to this layout, whatever an unsandboxed command did to it."""
    effects.make_folder(Path(at).parent)
    _make_folder(at)
    for entry in list_entries(at):
        if entry.name not in layout:
            _remove(entry.path)
    for name, what in layout.items():
        path = f"{at}/{name}"
        if isinstance(what, dict):
            _lay_out(what, path, tree)
        elif isinstance(what, Copy):
            _copy(path, what.source)
        else:
            _link(path, os.path.join(tree, what))


def _make_folder(at: str) -> None:
    """Create a real folder, replacing whatever a command put in its place."""
    if os.path.islink(at) or not os.path.isdir(at):
        _remove(at)
        effects.step("mkdir", at)
        os.mkdir(at)


def _link(path: str, target: str) -> None:
    try:
        if os.readlink(path) == target:
            return
    except OSError:
        pass
    _remove(path)
    effects.step("link", path)
    os.symlink(target, path)


def _copy(path: str, source: str) -> None:
    with suppress(OSError):
        there, wanted = os.lstat(path), os.lstat(source)
        same = (there.st_size, there.st_mtime_ns) == (wanted.st_size, wanted.st_mtime_ns)
        if stat.S_ISREG(there.st_mode) and same:
            return
    _remove(path)
    effects.step("write", path)
    with suppress(FileNotFoundError):  # uninstalled since
        shutil.copy2(source, path)


def _remove(path: str) -> None:
    if not os.path.lexists(path):
        return
    effects.step("remove", path)
    if os.path.isdir(path) and not os.path.islink(path):
        effects.remove_tree(os.fsencode(path))
    else:
        os.unlink(path)


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
    """Return the path at which Node finds a package required in a folder."""
    at = manifest
    while at != root and not os.path.isdir(f"{at}/{MODULES}/{name}"):
        at = os.path.dirname(at)
    return f"{at}/{MODULES}/{name}"


@lru_cache(maxsize=512)
def _find_in_python(folder: str, root: str, _installed: tuple[int, ...]) -> dict[str, str]:
    pattern = f"{escape(folder)}/{_PACKAGES}/*.dist-info/direct_url.json"
    return {copy: path for file in glob(pattern) for copy, path in _read_copied(file, root)}


def _read_copied(file: str, root: str) -> Iterator[tuple[str, str]]:
    """Yield what a non-editable package install copied from the repository."""
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
