"""The four sources of settings as found: unvalidated layers and unparsed files.

Lines of TOML keys, which tomllib does not tell: found by reading headers and keys again.

Good for pointing at a place, not for deciding anything: a key that is not found has line 0.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner.config.paths import SETTINGS_FILE
from runner.errors import RunnerError
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from runner.config.declarations import Declaration
    from runner.config.paths import Places


PREFIX = "RUNNER_"
TAKEN = frozenset(
    # GitHub's own runner sets the first ten; this runner sets the others for a task's commands.
    PREFIX + name
    for name in (
        *("NAME", "TEMP", "OS", "ARCH", "DEBUG", "ENVIRONMENT", "WORKSPACE", "TOOL_CACHE"),
        *("TRACKING_ID", "PERFLOG"),
        *("TASK", "BRIEF", "ATTEMPT", "SLOT", "PORT_BASE", "DECISIONS", "COMMAND", "DRAFT"),
        *("MODE", "MODEL", "PLAN", "HOOK"),
    )
)
"""Environment variables that are never settings."""

_MOST_BYTES = 1 << 20
_PROJECT_FILE = "pyproject.toml"


class Origin(StrEnum):
    """The origin of a setting's value; later members win over earlier ones."""

    USER = "user"
    REPOSITORY = "repository"
    ENVIRONMENT = "environment"
    FLAG = "flag"


class Layer(Struct, frozen=True):
    """One place's settings: the bytes of a file, or values by the setting's name."""

    origin: Origin
    path: str = ""
    """Path of the file as the user names it."""
    content: bytes = b""
    table: tuple[str, ...] = ()
    """Table of the file that applies; empty for the whole file."""
    given: Mapping[str, object] = field(default_factory=dict)
    """Values by variable or by flag name."""


def gather(
    root: Path,
    places: Places,
    environ: Mapping[str, str],
    flags: Mapping[str, object],
    known: Iterable[Declaration],
) -> tuple[Layer, ...]:
    """Return the layers of settings from all sources, weakest first, without empty ones.

    Raises RunnerError for a file that cannot be read.
    """
    user = _file_layer(Origin.USER, places.settings_file, _from_home(places.settings_file, environ))
    return tuple(
        layer
        for layer in (
            *user,
            *_repository_layers(root),
            Layer(Origin.ENVIRONMENT, given=_from_environment(environ, known)),
            Layer(Origin.FLAG, given={k: v for k, v in flags.items() if v is not None}),
        )
        if layer.content.strip() or layer.given
    )


def _from_home(path: Path, environ: Mapping[str, str]) -> str:
    """Return a path for display, with `~` for the home folder."""
    home = environ.get("HOME", "")
    inside = home.startswith("/") and path.is_relative_to(home)
    return "~/" + path.relative_to(home).as_posix() if inside else str(path)


def _from_environment(
    environ: Mapping[str, str], known: Iterable[Declaration]
) -> dict[str, object]:
    """Return the non-empty RUNNER_ variables of known settings."""
    named = {name for one in known for name in variables_of(one)}
    return {name: value for name, value in environ.items() if name in named and value.strip()}


def variables_of(one: Declaration) -> tuple[str, ...]:
    """Return the environment variables of a setting, the former one last; none for tables."""
    names = (f"{PREFIX}{name.upper().replace('.', '_')}" for name in (one.name, one.old))
    return tuple(name for name in names if name not in TAKEN) if "." in one.name else ()


def _repository_layers(root: Path) -> Sequence[Layer]:
    own = _file_layer(Origin.REPOSITORY, _within(root, SETTINGS_FILE), SETTINGS_FILE)
    project = _file_layer(
        Origin.REPOSITORY, _within(root, _PROJECT_FILE), _PROJECT_FILE, ("tool", "runner")
    )
    # Most of these files lack the word and so the table: parsing them is unnecessary.
    return [*own, *(layer for layer in project if b"runner" in layer.content)]


def _within(root: Path, name: str) -> Path:
    """Return a path in the repository. Raises RunnerError if a link leads out of it."""
    path = root / name
    if path.is_symlink() and not path.resolve().is_relative_to(root.resolve()):
        raise RunnerError(
            f"{name} is a symbolic link to a file outside the repository",
            where=name,
            hint=f'replace it with a copy: cp --remove-destination "$(readlink -f {name})" {name}',
        )
    return path


def _file_layer(
    origin: Origin, path: Path, name: str, table: tuple[str, ...] = ()
) -> Sequence[Layer]:
    try:
        content = _read(path)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise RunnerError(
            f"the settings cannot be read: {error.strerror or error}",
            where=name,
            hint=f"check the file: ls -l {path}",
        ) from error
    return (Layer(origin, name, content, table),)


def _read(path: Path) -> bytes:
    """Read a regular file without blocking on a FIFO. Raises OSError for any other file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(None, "not a regular file")
        if found.st_size > _MOST_BYTES:
            raise OSError(None, f"larger than {_MOST_BYTES} bytes")
        # For a regular file one call reads everything: read(2) is short only at its end.
        return os.read(descriptor, _MOST_BYTES)
    finally:
        os.close(descriptor)


# Bare keys, and keys in the quotes of either kind of string (TOML 1.0.0, "Keys").
_KEY = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_DOTTED = rf"{_KEY}(?:[ \t]*\.[ \t]*{_KEY})*"
_HEADER = regex(rf"^[ \t]*\[\[?[ \t]*({_DOTTED})[ \t]*\]")
_PAIR = regex(rf"^[ \t]*({_DOTTED})[ \t]*=(.*)")
_ONE_KEY = regex(_KEY)


def line_of(text: str, path: tuple[str, ...]) -> int:
    """Return the 1-based line of the key at `path` or its nearest table; 0 if there is none.

    Tables of a list (`[[permission]]`) differ by their place in it, from 0.
    """
    best, depth = 0, 0
    table: tuple[str, ...] = ()
    seen: Counter[tuple[str, ...]] = Counter()
    for number, line in _lines_of_code(text):
        if header := _HEADER.match(line):
            table = _parts(header[1])
            if line.lstrip().startswith("[["):
                seen[table] += 1
                table = (*table, str(seen[table] - 1))
            found = table
        elif pair := _PAIR.match(line):
            found = table + _parts(pair[1])
        else:
            continue
        shared = found[: len(path)] == path or path[: len(found)] == found
        if shared and min(len(found), len(path)) > depth:
            best, depth = number, min(len(found), len(path))
    return best


def _lines_of_code(text: str) -> list[tuple[int, str]]:
    """Return numbered lines without those inside a multi-line string."""
    kept: list[tuple[int, str]] = []
    inside = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not inside:
            kept.append((number, line))
        inside = _still_inside(line, inside)
    return kept


def _still_inside(line: str, inside: str) -> str:
    """Return the triple quotes open at the end of `line`; `inside` are those open before."""
    for quotes in re.findall(r'"""|\'\'\'', line):
        if not inside:
            inside = quotes
        elif inside == quotes:
            inside = ""
    return inside


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _ONE_KEY.findall(dotted))
