"""A separate HOME for one agent session, with copies of the files that its login needs.

Removes and reports a login that the program wrote into the tree. Lists what the program must not
see of the tree, and what it must see of the machine.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from runner import effects
from runner.implementers.command import read_regular
from runner.lazy_module import lazy_module
from runner.model import Finding
from runner.process.tools import which

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from runner.implementers.agents.preset import Preset
    from runner.implementers.base import ImplementerContext
    from runner.repo import tree_files
else:
    tree_files = lazy_module("runner.repo.tree_files")


_PRIVATE = 0o600
_PRIVATE_FOLDER = 0o700
_PREFIX = "agent-"
_SHORTEST_SECRET = 16
"""Minimum length of a value in a login file that may be a token; shorter ones are words."""
_SHORTEST_VALUE = 8
"""Minimum length of a variable's value that is redacted."""
_ASSIGNED = re.compile(
    rb"(?:key|token|secret|password)[\w-]{0,40}[\"']?[ \t]*[:=][ \t]*[\"']?([!-~]{16,}?)[\"'\s,]",
    re.IGNORECASE,
)


class AgentHome(Struct, frozen=True):
    """The folder of one session, in the box, and what in it must be seen nowhere."""

    folder: Path
    variables: Mapping[str, str]
    """Login variables that are set."""
    secrets: tuple[str, ...]

    @property
    def home(self) -> Path:
        """Home folder of the program."""
        return self.folder / "home"

    def put(self, name: str, content: bytes) -> Path:
        """Write a file next to the home for the program or its hook, and return its path."""
        path = self.folder / name
        effects.write_file(path, content, mode=_PRIVATE)
        return path

    def furnish(self, path: str, content: bytes) -> None:
        """Write a file below the home."""
        target = self.home / path
        effects.make_folder(target.parent, mode=_PRIVATE_FOLDER)
        effects.write_file(target, content, mode=_PRIVATE)


@contextlib.contextmanager
def household(
    preset: Preset, box: Path, environ: Mapping[str, str], more: Iterable[str] = ()
) -> Iterator[AgentHome]:
    """Create a fresh home for one session and remove it afterwards; `more` are files to copy.

    What a session leaves there is lost with it, a renewed login too: keys and long-lived tokens
    are the better login for programs that nobody watches.
    """
    _clear(box)
    _lay_out_tmp(box)
    before = _list_box(box)
    folder = box / f"{_PREFIX}{effects.new_id()}"
    effects.make_folder(folder, mode=_PRIVATE_FOLDER)
    effects.make_folder(folder / "home", mode=_PRIVATE_FOLDER)
    try:
        yield _move_in(preset, folder, environ, more)
    finally:
        _lay_out_tmp(box)
        for left in _list_box(box) - before:  # whatever it is called by now, and each copy
            _remove(left)


def _lay_out_tmp(box: Path) -> None:
    """Make sure that TMPDIR of the slot is a folder, whatever a session made of it."""
    if (passing := box / "tmp").is_symlink() or passing.is_file():
        effects.unlink(passing)
    effects.make_folder(passing)


def _clear(box: Path) -> None:
    """Remove what a session left whose runner was killed."""
    for left in box.glob(f"{_PREFIX}*"):
        _remove(left)


def _list_box(box: Path) -> set[Path]:
    """Return the entries of the box and its TMPDIR, which later commands of the slot can read."""
    passing = box / "tmp"
    is_folder = passing.is_dir() and not passing.is_symlink()
    return {*box.iterdir(), *(passing.iterdir() if is_folder else ())}


def _remove(left: Path) -> None:
    """Remove a file or folder, even one without write permission."""
    if left.is_symlink() or not left.is_dir():
        effects.unlink(left)
        return
    effects.step("rmtree", left)
    with contextlib.suppress(OSError):  # what resists is tried again by the next session
        effects.remove_tree(left)


def _move_in(
    preset: Preset, folder: Path, environ: Mapping[str, str], more: Iterable[str]
) -> AgentHome:
    variables = {name: environ[name] for name in preset.variables if environ.get(name)}
    copies = dict(_copies((*preset.files, *more), Path(environ.get("HOME", "/nonexistent"))))
    for variable, path, seed in preset.seeds:
        if variable in variables:
            copies.setdefault(path, seed.encode())
    values = (value for name, value in variables.items() if is_secret(name, value))
    found = {*values, *(text for content in copies.values() for text in _tokens(content))}
    made = AgentHome(folder, variables, tuple(sorted(found)))
    for path, content in copies.items():
        made.furnish(path, content)
    return made


def is_secret(name: str, value: str) -> bool:
    """Return whether a variable of this name and value is a secret."""
    named = any(word in name.upper() for word in ("KEY", "TOKEN", "SECRET", "PASS"))
    return named and len(value) >= _SHORTEST_VALUE


def _copies(paths: Iterable[str], home: Path) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of the existing login files, at most 1 MiB each.

    No folder is copied: history and caches lie beside a login.
    """
    for path in paths:
        content = read_regular(Path(os.path.realpath(home / path)))
        if content is not None:
            yield path, content


def _tokens(content: bytes) -> Iterator[str]:
    """Yield the possible tokens in a login file: JSON values, or assignments to key names."""
    try:
        loaded = json.loads(content)
    except (ValueError, RecursionError):
        yield from (found[1].decode("utf-8", "replace") for found in _ASSIGNED.finditer(content))
        return
    waiting: list[object] = [loaded]
    while waiting:
        match waiting.pop():
            case dict() as table:
                waiting += table.values()
            case list() as rows:
                waiting += rows
            case str() as text if _looks_secret(text):
                yield text


def _looks_secret(text: str) -> bool:
    """Return whether a value looks like a token: long, mixed, no path, address, date or ID."""
    plain = text.isascii() and not any(blank in text for blank in " /@\t\n")
    mixed = any(one.isdigit() for one in text) and any(one.isalpha() for one in text)
    is_id = text.count("-") == 4 or text[4:5] == "-"  # noqa: PLR2004  a UUID, or a date
    return len(text) >= _SHORTEST_SECRET and plain and mixed and not is_id


# --- credential scrub -----------------------------------------------------------------


CHECK = "secret-scan"
_STRUCK = b"[REDACTED:login]"
_MOST = 16 << 20
"""Bytes of a file whose other content is kept; a larger one with a login is redacted whole."""
_SHORTEST_IN_A_NAME = 16
"""Minimum length of a value that no path contains by chance."""
_SLACK = 2_000_000_000
"""Nanoseconds by which a file system's clock may lag."""


def scrub_files(tree: Path, secrets: tuple[str, ...], since: int) -> tuple[Finding, ...]:
    """Remove secrets from every file that changed since `since` (nanoseconds of the epoch).

    Patterns know keys by their shape; this knows these very values. By the time of the change,
    which nobody can set. Struck out, so that no draft of the work holds them.
    """
    values = [secret.encode() for secret in secrets]
    if not values:
        return ()
    # As in the diff of the tree: unreadable files are proposed like all others.
    tree_files.make_readable(tree)
    named = [_finding(path, "name of a") for path in _remove_named(tree, values)]
    struck = [path for path in _find_changed_files(tree, since - _SLACK) if _strike(path, values)]
    return (*named, *(_finding(path.relative_to(tree).as_posix(), "this") for path in struck))


def _finding(path: str, what: str) -> Finding:
    return Finding(
        CHECK,
        f"the login of the agent program is in {'the ' * (what != 'this')}{what} file",
        path=path,
        hint="do not copy the variables or files of the login into the project",
    )


def _remove_named(tree: Path, values: list[bytes]) -> Iterator[str]:
    """Remove what is called by a secret, whenever it was made; its path, without that."""
    long = [value for value in values if len(value) >= _SHORTEST_IN_A_NAME]
    for path in list(_everything(tree)):
        name = clean = os.fsencode(path.relative_to(tree))
        for value in long:
            clean = clean.replace(value, _STRUCK)
        if clean != name:
            effects.unlink(path)
            yield os.fsdecode(clean)


def _find_changed_files(tree: Path, since: int) -> Iterator[Path]:
    for path in _everything(tree):
        found = path.lstat()
        if stat.S_ISREG(found.st_mode) and found.st_ctime_ns >= since:
            yield path


def _everything(tree: Path) -> Iterator[Path]:
    """Yield all files and links below a folder except `.git`."""
    # The walk follows no link, but lists a link to a folder among the folders: it would otherwise
    # not be checked.
    for folder, folders, names in tree_files.walk(str(tree)):
        if ".git" in folders and Path(folder) == tree:
            folders.remove(".git")
        links = (name for name in folders if Path(folder, name).is_symlink())
        yield from (Path(folder, name) for name in (*names, *links))


def _strike(path: Path, values: list[bytes]) -> bool:
    try:
        if path.stat().st_size > _MOST:
            return _strike_whole(path, values)
        content = path.read_bytes()
    except OSError:
        return False
    clean = content
    for value in values:
        clean = clean.replace(value, _STRUCK)
    if clean == content:
        return False
    effects.write_file(path, clean, mode=stat.S_IMODE(path.stat().st_mode))
    return True


def _strike_whole(path: Path, values: list[bytes]) -> bool:
    """Overwrite a large file if it contains a secret; return whether it did."""
    import mmap

    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        leaks = any(content.find(value) >= 0 for value in values)
    if leaks:
        effects.write_file(path, _STRUCK, mode=stat.S_IMODE(path.stat().st_mode))
    return leaks


# --- mounts ---------------------------------------------------------------------------


def program_outside(name: str, context: ImplementerContext) -> Path | None:
    """Return the program on PATH outside the repository, or None."""
    path = context.environment.get("PATH", os.defpath)
    return find_program_outside(name, path, (context.place.shown, context.place.tree))


def find_program_outside(name: str, path: str, folders_of_it: tuple[Path, ...]) -> Path | None:
    """Return a program on PATH that is outside of these folders, or None."""
    here = tuple(map(os.path.realpath, folders_of_it))
    folders = path.split(os.pathsep)
    outside = [
        folder
        for folder in folders
        if not any((os.path.realpath(folder) + "/").startswith(f"{one}/") for one in here)
    ]
    environ: Mapping[str, str] = {"PATH": os.pathsep.join(outside)}
    return which(name, environ)


def path_with(path: str, program: Path) -> str:
    """Return PATH with the real folder of the program, which the sandbox must show.

    A program of npm needs the packages beside its own, up to the outermost `node_modules`.
    """
    # npm puts a link on PATH, and Node searches packages from the real file upwards (Node.js,
    # "Loading from node_modules folders").
    real = program.resolve()
    packages = [folder for folder in real.parents if folder.name == "node_modules"]
    return ":".join(dict.fromkeys([*path.split(":"), str(real.parent), *map(str, packages[-1:])]))


@contextlib.contextmanager
def hide_configuration(
    aside: tuple[str, ...], litter: tuple[str, ...], context: ImplementerContext
) -> Iterator[None]:
    """Move files that would configure the program out of the tree, restore them and clean up."""
    place = context.place
    folders = place.folders  # a program may look in each, from its own up to the first
    kept = place.box / f"aside-{effects.new_id()}"
    moved: list[tuple[Path, Path]] = []
    try:
        for number, path in enumerate(f / name for f in folders for name in aside):
            if path.is_symlink() or path.exists():
                effects.make_folder(kept)
                effects.step("replace", path)
                moved.append((path, path.rename(kept / f"{number}")))
        before = {f / name for f in folders for name in litter if (f / name).exists()}
        yield
        for path in {f / name for f in place.folders for name in litter} - before:
            if path.is_dir() and not path.is_symlink():
                effects.step("rmtree", path)
                with contextlib.suppress(OSError):
                    effects.remove_tree(path)
            else:
                effects.unlink(path)
    finally:
        still = place.folders  # without those that are links now: they lead out of the tree
        for path, where in moved:
            if path.parent in still and not (path.is_symlink() or path.exists()):
                effects.step("replace", path)
                where.rename(path)
        if moved:
            effects.step("rmtree", kept)
            with contextlib.suppress(OSError):
                effects.remove_tree(kept)
