"""A login that a program wrote into the tree: struck out there, and told."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from runner import effects
from runner.model import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

CHECK = "secret-scan"
_STRUCK = b"[REDACTED:login]"
_MOST = 16 << 20
"""Bytes of a file of which the rest is kept; a larger one with a login is struck out whole."""
_SHORTEST_IN_A_NAME = 16
"""Characters of a value that no path of the repository holds by chance."""
_SLACK = 2_000_000_000
"""Nanoseconds by which a file system's clock may lag."""


def scrub_files(tree: Path, secrets: tuple[str, ...], since: int) -> tuple[Finding, ...]:
    """Strike secrets out of every file that changed `since` (nanoseconds of the epoch).

    Patterns know keys by their shape; this knows these very values. By the time of the change,
    which nobody can set. Struck out, so that no draft of the work holds them.
    """
    values = [secret.encode() for secret in secrets]
    if not values:
        return ()
    named = [_finding(path, "name of a") for path in _remove_named(tree, values)]
    struck = [path for path in _find_changed_files(tree, since - _SLACK) if _strike(path, values)]
    return (*named, *(_finding(path.relative_to(tree).as_posix(), "this") for path in struck))


def _finding(path: str, what: str) -> Finding:
    return Finding(
        CHECK,
        f"the login of the agent program stands in {'the ' * (what != 'this')}{what} file",
        path=path,
        hint="leave the variables and files of the login alone; nothing of them belongs here",
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
    """All files, links and the like; a link to a folder is none."""
    for folder, folders, names in os.walk(tree):
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
    """The same of a file that is too large to be held twice in memory."""
    import mmap

    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        leaks = any(content.find(value) >= 0 for value in values)
    if leaks:
        effects.write_file(path, _STRUCK, mode=stat.S_IMODE(path.stat().st_mode))
    return leaks
