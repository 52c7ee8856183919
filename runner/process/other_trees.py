"""Find other repositories' work trees and other users' homes, so that a sandbox hides them.

The trees alone, never the folders that hold them, and none that what runs here may need
(`link_targets`). The search takes a tenth of a second at most; what it did not get to is kept for
the next one, as is what was found, in the user's cache folder.

A sandbox never hides what commands read elsewhere: tools, environments, linked packages, libraries.
The runner lists these from the person's own files before it runs anything.
"""

from __future__ import annotations

import json
import os
import re
from collections import deque
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from runner import effects
from runner.config.paths import Places
from runner.process.environments import IN_REPOSITORY, is_in, list_entries
from runner.process.tools import tool_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


PLACES = ("/srv", "/opt", "/mnt", "/media", "/data")
DEEPEST = 3
SECONDS = 0.1
MOST = 256
"""Maximum hidden trees: each is a mount at every start of a command."""
_KEPT = "other-trees.json"
# As in login.defs(5) (UID_MIN), up to the one for users without a number in a namespace
# (user_namespaces(7)).
_FIRST_PERSON, _NOBODY = 1000, 65534
"""Range of user numbers that belong to people."""
_LONGEST_CHAIN = 40
"""Maximum links that the kernel follows (path_resolution(7))."""
_NEVER_IN = frozenset({".git", "node_modules", "proc", "sys", "dev", "lost+found"})


@lru_cache(maxsize=16)
def other_trees(
    shown: str, where: frozenset[tuple[str, str]], read: tuple[Path, ...] = ()
) -> tuple[str, ...]:
    """Return the real paths hidden from commands of the repository at `shown`, none within another.

    `where` are the variables that say where tools lie; `read` is what a person wants to be read.
    """
    environ, shown = dict(where), str(os.path.realpath(shown))
    found = {*_trees(shown), *_homes(environ.get("HOME", ""))}
    apart = {path for path in found if not is_in(shown, path) and not is_in(path, shown)}
    if not apart:
        return ()
    named = (*find_needed_paths(shown, environ), *map(str, read))
    folders: dict[str, str] = {}
    wanted = {follow(path, folders) for path in named if "\0" not in path}  # which none can hold
    closed = sorted(path for path in apart if not any(is_in(one, path) for one in wanted))
    outermost = [path for path in closed if not any(is_in(path, o) for o in closed if o != path)]
    return tuple(outermost[:MOST])


# --- the search -----------------------------------------------------------------------


def _trees(shown: str) -> set[str]:
    """Return all known work trees, including those found by a new search."""
    roots = tuple(dict.fromkeys((*PLACES, os.path.dirname(shown))))  # noqa: PTH120 - text
    file = Places.of(os.environ).cache / _KEPT
    known, left = _load_cache(file, roots)
    known = {path for path in known if _is_tree(path)}
    found, left = search(roots, left, effects.monotonic, SECONDS)
    _keep(file, roots, known | found, left)
    return {path for path in known | found if any(is_in(path, root) for root in roots)}


def search(
    roots: Iterable[str],
    left: Iterable[tuple[str, int]],
    clock: Callable[[], float],
    seconds: float,
) -> tuple[set[str], list[tuple[str, int]]]:
    """Return work trees below folders, and the folders and depths left when the time was up."""
    until = clock() + seconds
    waiting = deque([*left] or [(os.path.realpath(root), 0) for root in roots])
    found: set[str] = set()
    while waiting and clock() < until:
        folder, depth = waiting.popleft()
        for path in _folders_in(folder):
            if _is_tree(path):
                found.add(path)
            elif depth + 1 < DEEPEST and folder != "/":
                waiting.append((path, depth + 1))
    return found, list(waiting)


def _folders_in(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name not in _NEVER_IN and entry.is_dir(follow_symlinks=False):
                    yield entry.path
    except OSError:
        return


def _is_tree(path: str) -> bool:
    # A folder or a file: worktrees and submodules have a `gitdir:` line there
    # (gitrepository-layout(5)).
    return os.path.lexists(f"{path}/.git")


# --- what is kept ---------------------------------------------------------------------


def _load_cache(file: Path, roots: tuple[str, ...]) -> tuple[set[str], list[tuple[str, int]]]:
    """Load the cached trees of all folders, and where the search of `roots` stopped."""
    try:
        row = json.loads(file.read_bytes())
        left = [(str(path), int(depth)) for path, depth in row["left"].get(json.dumps(roots), [])]
        return {str(path) for path in row["trees"]}, left
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return set(), []


def _keep(file: Path, roots: tuple[str, ...], trees: set[str], left: list[tuple[str, int]]) -> None:
    """Save the trees atomically; errors are ignored, since the next search finds them again."""
    known, before = _load_cache(file, roots)
    if trees <= known and left == before:
        return
    cached = {"trees": sorted({*known, *trees} if left else trees | _elsewhere(known, roots))}
    text = json.dumps({**cached, "left": {json.dumps(roots): left}})
    beside = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        effects.step("write", file)
        beside.write_text(text, "utf-8")
        beside.replace(file)
    except OSError:
        return


def _elsewhere(known: set[str], roots: tuple[str, ...]) -> set[str]:
    return {path for path in known if not any(is_in(path, root) for root in roots)}


# --- people ---------------------------------------------------------------------------


def _homes(mine: str) -> Iterator[str]:
    """Yield the homes of other people in /etc/passwd."""
    try:
        lines = Path("/etc/passwd").read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    for line in lines:
        words = line.split(":")
        if len(words) < 7 or not words[2].isdecimal():  # noqa: PLR2004 - passwd(5)
            continue
        home = os.path.realpath(words[5]) if words[5].startswith("/") else "/"
        person = _FIRST_PERSON <= int(words[2]) < _NOBODY and home.count("/") > 1
        own = bool(mine) and is_in(os.path.realpath(mine), home)
        if person and not own and os.path.isdir(home):  # noqa: PTH112 - text
            yield home


# --- link targets ---------------------------------------------------------------------


_LARGEST = 1 << 20
"""Maximum bytes of a parsed file."""
_SEARCHED = ("LD_LIBRARY_PATH", "PYTHONPATH", "NODE_PATH")
_LINKING = (
    # File name and pattern of other folders in it. After `^` only blanks of one line: `\s` would
    # cross all following empty lines, again from each of them.
    ("go.work", r"(?m)^[^\S\n]*(?:use\s+)?(\.{1,2}/[^\s()]+|/[^\s()]+)"),
    ("go.mod", r"=>\s*(\.{1,2}/\S+|/\S+)"),
    ("package.json", r"\"(?:file|link|portal):([^\"]+)\""),
    ("pnpm-workspace.yaml", r"(\.\./[^\s'\"]+)"),
    ("Cargo.toml", r"\bpath\s*=\s*\"([^\"]+)\""),
    ("pyproject.toml", r"(?:\b(?:path|file)\s*=\s*\"|@ file://)([^\"\s]+)\""),
    ("requirements.txt", r"(?m)^[^\S\n]*(?:-e\s+|--editable[ =])?(?:file://)?(\.{0,2}/\S+)"),
    (".cargo/config.toml", r"\"((?:\.{1,2})?/[^\"]+)\""),
)


def find_needed_paths(shown: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the paths outside the repository that its commands may need to read."""
    tools = [str(path) for path in tool_paths(environ)]
    yield from tools
    yield from _find_linked_programs(environ.get("PATH", ""))
    for name in _SEARCHED:
        yield from (part for part in environ.get(name, "").split(os.pathsep) if part[:1] == "/")
    yield from _library_folders(Path("/etc/ld.so.conf"))
    for root in {*tools, *(f"{shown}/{name}" for name in IN_REPOSITORY)}:
        yield from _find_linked_packages(Path(root))
    for folder in _projects(Path(shown)):
        yield from _find_linked_folders(folder)


def _find_linked_programs(path: str) -> Iterator[str]:
    """Yield the targets of all links in the folders of PATH."""
    folders: dict[str, str] = {}
    """Real paths of folders that are the target of many links."""
    for folder in dict.fromkeys(filter(None, path.split(os.pathsep))):
        for entry in list_entries(folder):
            if entry.is_symlink():
                yield follow(entry.path, folders)


def follow(path: str, folders: dict[str, str]) -> str:
    """Return the real path as `os.path.realpath` does, with folders cached."""
    at = path
    for _ in range(_LONGEST_CHAIN):
        folder, name = os.path.split(at)
        if folder not in folders:
            folders[folder] = os.path.realpath(folder)
        at = f"{folders[folder]}/{name}"
        if name in {"", ".", ".."}:
            break
        try:
            at = os.path.join(folders[folder], os.readlink(at))  # noqa: PTH115, PTH118 - text
        except OSError:  # no link: it ends here
            return at.replace("//", "/", 1) if at.startswith("//") else at
    return os.path.realpath(path)


def _library_folders(file: Path, depth: int = 0) -> Iterator[str]:
    """Yield the folders of the dynamic linker (ld.so.conf(5))."""
    for line in _text(file).splitlines():
        words = line.partition("#")[0].split()
        if words[:1] == ["include"] and not depth:
            for pattern in words[1:]:
                for each in sorted(file.parent.glob(pattern.removeprefix(f"{file.parent}/"))):
                    yield from _library_folders(each, depth + 1)
        elif words and words[0].startswith("/"):
            yield words[0]


def _find_linked_packages(root: Path) -> Iterator[str]:
    """Yield the linked packages of a Python environment: `.pth` files, editable installs."""
    for packages in _find_package_folders(str(root)):
        # A path in a `.pth` file is added to sys.path (the site module); pip records an editable
        # install in direct_url.json (PEP 610), setuptools maps one in a finder `__editable__` (PEP
        # 660).
        for name in (entry.name for entry in list_entries(str(packages))):
            if name.endswith(".pth"):
                yield from (one for one in _text(packages / name).splitlines() if one[:1] == "/")
            elif name.endswith(".dist-info"):
                if '"editable"' in (content := _text(packages / name / "direct_url.json")):
                    yield from _file_url(content)
            elif name.startswith("__editable__") and name.endswith(".py"):
                yield from re.findall(r"['\"](/[^'\"\n]+)['\"]", _text(packages / name))
    # The interpreter of such an environment is a link, and its standard library is below `home`
    # (PEP 405): if hidden, Python does not start.
    if (root / "pyvenv.cfg").is_file():
        yield from re.findall(r"(?m)^(?:home|executable)\s*=\s*(/.+)$", _text(root / "pyvenv.cfg"))


def _find_package_folders(root: str) -> Iterator[Path]:
    """Yield each `lib*/python*/site-packages` below a folder once."""
    seen: set[str] = set()
    for library in list_entries(root):
        real = os.path.realpath(library.path) if library.name.startswith("lib") else ""
        if not real or real in seen:  # `lib64` is a link to `lib`
            continue
        seen.add(real)
        for python in list_entries(real):
            if python.name.startswith("python"):
                yield Path(python.path, "site-packages")


def _file_url(content: str) -> Iterator[str]:
    try:
        url = str(json.loads(content).get("url", ""))
    except (ValueError, AttributeError, RecursionError):
        return
    if url.startswith("file:///"):
        yield unquote(url.removeprefix("file://"))


def _projects(shown: Path) -> Iterator[Path]:
    """Yield the repository's folder and folders up to two levels below it."""
    yield shown
    for depth in ("*", "*/*"):
        for number, path in enumerate(shown.glob(depth)):
            if number > 1000:  # noqa: PLR2004 - folders; a plain bound
                break
            if path.name not in {".git", "node_modules", *IN_REPOSITORY} and path.is_dir():
                yield path


def _find_linked_folders(folder: Path) -> Iterator[str]:
    for name, expression in _LINKING:
        for found in re.findall(expression, _text(folder / name)):
            yield str(folder / found.removeprefix("file://"))
    for name in ("node_modules", "vendor"):
        for entry in _links_in(f"{folder}/{name}"):
            yield os.path.realpath(entry)


def _links_in(folder: str) -> Iterator[str]:
    """Yield the links in a folder of packages and in its scopes."""
    for entry in list_entries(folder):
        if entry.is_symlink():
            yield entry.path
        elif entry.name.startswith("@"):
            yield from (one.path for one in list_entries(entry.path) if one.is_symlink())


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(_LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""
