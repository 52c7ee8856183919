"""A HOME of an agent program's own, with copies of what its login needs, for one session."""

from __future__ import annotations

import contextlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runner import effects
from runner.implementers.work import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from runner.implementers.agents.preset import Preset

_PRIVATE = 0o600
_PRIVATE_FOLDER = 0o700
_PREFIX = "agent-"
_SHORTEST_SECRET = 16
"""Characters of a value in a login file that may be a token; shorter ones are words."""
_SHORTEST_VALUE = 8
"""Characters of a variable's value that is struck out where it is seen."""
_ASSIGNED = re.compile(
    rb"(?:key|token|secret|password)[\w-]{0,40}[\"']?[ \t]*[:=][ \t]*[\"']?([!-~]{16,}?)[\"'\s,]",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class AgentHome:
    """The folder of one session, in the box, and what in it must be seen nowhere."""

    folder: Path
    variables: Mapping[str, str]
    """The variables of the login that are set."""
    secrets: tuple[str, ...]

    @property
    def home(self) -> Path:
        """What the program takes for the person's home."""
        return self.folder / "home"

    def put(self, name: str, content: bytes) -> Path:
        """A file beside the home, for the program or for its hook to read."""
        path = self.folder / name
        effects.write_file(path, content, mode=_PRIVATE)
        return path

    def furnish(self, path: str, content: bytes) -> None:
        """A file below the home."""
        target = self.home / path
        effects.make_folder(target.parent, mode=_PRIVATE_FOLDER)
        effects.write_file(target, content, mode=_PRIVATE)


@contextlib.contextmanager
def household(
    preset: Preset, box: Path, environ: Mapping[str, str], more: Iterable[str] = ()
) -> Iterator[AgentHome]:
    """A fresh household, removed afterwards; `more` are further files below the person's HOME.

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
    """The TMPDIR of a slot is a folder, whatever a session made of it."""
    if (passing := box / "tmp").is_symlink() or passing.is_file():
        effects.unlink(passing)
    effects.make_folder(passing)


def _clear(box: Path) -> None:
    """Remove what a session left whose runner was killed."""
    for left in box.glob(f"{_PREFIX}*"):
        _remove(left)


def _list_box(box: Path) -> set[Path]:
    """What lies in the box and in its TMPDIR, which the next command in this slot can read."""
    passing = box / "tmp"
    is_folder = passing.is_dir() and not passing.is_symlink()
    return {*box.iterdir(), *(passing.iterdir() if is_folder else ())}


def _remove(left: Path) -> None:
    """Whatever it is, and whoever locked it."""
    from runner.repo.clean import remove_tree

    if left.is_symlink() or not left.is_dir():
        effects.unlink(left)
        return
    effects.step("rmtree", left)
    with contextlib.suppress(OSError):  # what resists is tried again by the next session
        remove_tree(os.fsencode(left))


def _move_in(
    preset: Preset, folder: Path, environ: Mapping[str, str], more: Iterable[str]
) -> AgentHome:
    variables = {name: environ[name] for name in preset.variables if environ.get(name)}
    copies = dict(_copies((*preset.files, *more), Path(environ.get("HOME", "/nonexistent"))))
    for variable, path, seed in preset.seeds:
        if variable in variables:
            copies.setdefault(path, seed.encode())
    values = (
        value
        for name, value in variables.items()
        if _is_secret(name) and len(value) >= _SHORTEST_VALUE
    )
    found = {*values, *(text for content in copies.values() for text in _tokens(content))}
    made = AgentHome(folder, variables, tuple(sorted(found)))
    for path, content in copies.items():
        made.furnish(path, content)
    return made


def _is_secret(name: str) -> bool:
    return any(word in name for word in ("KEY", "TOKEN", "SECRET", "PASS"))


def _copies(paths: Iterable[str], home: Path) -> Iterator[tuple[str, bytes]]:
    """The files that are there, at most a MiB of each; a link is followed, for it is the person's.

    No folder is copied: history and caches lie beside a login.
    """
    for path in paths:
        content = read_regular(Path(os.path.realpath(home / path)))
        if content is not None:
            yield path, content


def _tokens(content: bytes) -> Iterator[str]:
    """The long words among the values of a login file in JSON; in others what is named a key."""
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
    """Whether a value may be a token: long, of one word, neither a path, an address nor a date."""
    plain = text.isascii() and not any(blank in text for blank in " /@\t\n")
    mixed = any(one.isdigit() for one in text) and any(one.isalpha() for one in text)
    is_id = text.count("-") == 4 or text[4:5] == "-"  # noqa: PLR2004  a UUID, or a date
    return len(text) >= _SHORTEST_SECRET and plain and mixed and not is_id
