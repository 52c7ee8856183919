"""Parse the targets of a test contract's command: files, folders or modules.

Narrow only where the words leave no doubt. A command that says what it tests in a place not read
here (`make test`, `tox`, `cargo test`, a shell script) is about the whole repository.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from runner.impact.change import governs
from runner.languages.python import names as python
from runner.languages.registry import language_of
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_READS_SOURCES = ("--doctest", "--mypy", "--ruff", "--flake8", "--pylint", "--black", "--pycode")
_PLAIN = regex(r"[\w./:=@+, -]*", re.ASCII)
_UNSEEN = regex(r"[`$<*?]")
_DATA = regex(r"\.(?:json|ya?ml|toml|ini|cfg|csv|txt|md|html|xml|sql)\Z")
_PYTHON = regex(r"(?:.*/)?python[\d.]*\Z")
_LONGEST = 1 << 16
"""Maximum characters of a parsed line: `shlex` needs quadratic time for a word."""
_OPERATORS = regex(r"[();|&\n]+")
_TESTERS = frozenset({"pytest", "unittest", "py.test", "coverage", "doctest", "trace"})
_WHOLE = frozenset(
    {"make", "just", "tox", "nox", "npm", "pnpm", "yarn", "bun", "cargo", "sh", "bash", "zsh"}
    | {"gradle", "mvn", "task", "docker", "env", "sudo", "xargs", "find", "eval", "source", "."}
)
_QUIET = frozenset({"cd", "true", ":", "echo", "export", "set", "mkdir", "printf", "test", "["})
_READERS = frozenset(
    {"diff", "grep", "egrep", "cmp", "cat", "head", "tail", "wc", "sort", "uniq", "cut", "tr"}
    | {"awk", "sed", "jq", "tee", "xxd", "comm", "ls"}
)
"""Programs that read only the named files."""
_OPTIONS_WITH_VALUES = frozenset(
    {"-c", "--config", "--config-file", "--rootdir", "--cov", "--cov-config", "--confcutdir"}
    | {
        "-m",
        "-p",
        "--project",
        "--tsconfig",
        "--setup",
        "-f",
        "--file",
        "--ignore",
        "--deselect",
        "-o",
    }
)


class CommandTarget(Struct, frozen=True):
    """The folder in which a command begins."""

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    """Modules it names, as keys of `runner.languages`."""
    is_whole: bool = False
    """Whether it may also refer to any other file of the repository."""
    only_runs: bool = False
    """Whether it does nothing but execute Python tests: what looks at source text, as linters do,
    sees comments too, and files that nobody executes."""


WHOLE = CommandTarget(is_whole=True)


class RepositoryPlaces(Protocol):
    """The paths of a repository: a word that matches none of them is not a path."""

    def is_file(self, path: str) -> bool:
        """Return whether the repository contains the file."""

    def is_folder(self, path: str) -> bool:
        """Return whether the repository has files below the folder."""


def target_of(command: str, places: RepositoryPlaces) -> CommandTarget:
    """Return the targets that a command names, found without running it."""
    parts = commands_by_folder(command)
    if parts is None:
        return WHOLE  # an open quote: the shell will say so
    relevant = [(folder, part) for folder, part in parts if part[0] not in _QUIET]
    found = [_name_targets(part, folder, places) for folder, part in relevant]
    runs = all(_only_runs(part, folder, places) for folder, part in relevant)
    files = _unite(one.files for one in found)
    folders = _unite(one.folders for one in found)
    keys = _unite(one.keys for one in found)
    is_whole = not (files or folders or keys) or any(one.is_whole for one in found)
    return CommandTarget(files, folders, keys, is_whole, only_runs=runs and bool(found))


def _unite(groups: Iterator[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for group in groups for one in group))


def commands_by_folder(command: str) -> list[tuple[str, list[str]]] | None:
    """Split a line into simple commands with their folders; None if not supported.

    The project's own is empty. None where a quote is open, and for a line that is too long.
    """
    words = _words(command)
    if words is None:
        return None
    folder = ""
    around: list[str] = []
    found = []
    for part in _parts(words):
        # A subshell has its own folder: after it, the outer one applies again (POSIX, 2.12).
        if part[0] == "(":
            around.append(folder)
        elif part[0] == ")":
            folder = around.pop() if around else ""
        elif part[0] == "cd":
            folder = join_path(folder, part[1]) if len(part) > 1 else ""
        else:
            found.append((folder, part))
    return found


def _words(command: str) -> Sequence[str] | None:
    if _PLAIN.fullmatch(command):
        return command.split()
    if len(command) > _LONGEST:
        return None
    lexer = shlex.shlex(command, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:
        return None


def _parts(words: Sequence[str]) -> Iterator[list[str]]:
    """Yield the simple commands of a line without assignments, and its brackets."""
    part: list[str] = []
    for word in (*words, ";"):
        if not _OPERATORS.fullmatch(word):
            if part or not re.match(r"[A-Za-z_]\w*=", word):
                part.append(word)
            continue
        if part:
            yield part
            part = []
        # Operators without a space between them form one word: `);`.
        yield from ([sign] for sign in word if sign in "()")


def _name_targets(part: Sequence[str], folder: str, places: RepositoryPlaces) -> CommandTarget:
    """Return the targets of one simple command that runs in `folder`, empty for the project."""
    here = (folder,) if folder and places.is_folder(folder) else ()
    if part[0] in _WHOLE or _UNSEEN.search("".join(part)) or _has_class(part, folder, places):
        return CommandTarget(folders=here, is_whole=not here)
    files: list[str] = []
    folders: list[str] = []
    for place in _paths(part, folder):
        if places.is_folder(place):
            folders.append(place)
        elif found := _file(place, places):
            files.append(found)
    if part[0] in _READERS:
        return CommandTarget(tuple(files), tuple(folders))
    keys = tuple(key for key in _modules(part) if _is_ours(key, folder, places))
    # a program in an unsupported language may start anything
    hidden = any(language_of(file) is None and not _is_operand(file, part) for file in files)
    tells = any(language_of(file) and not governs(file) for file in files) or folders or keys
    if not tells or hidden:
        return CommandTarget(tuple(files), (*folders, *here), keys, is_whole=not here)
    return CommandTarget(tuple(files), tuple(folders), keys)


def _has_class(part: Sequence[str], folder: str, places: RepositoryPlaces) -> bool:
    """Return whether a word is a bracket glob and not an existing file such as `[slug].py`."""
    paths = (path for path in _paths(part, folder) if "[" in path)
    return any(not (_file(path, places) or places.is_folder(path)) for path in paths)


def _only_runs(part: Sequence[str], folder: str, places: RepositoryPlaces) -> bool:
    """Return whether a command only runs own Python code or pytest, or reads other files."""
    if any(word.startswith(_READS_SOURCES) for word in part):
        return False
    if part[0] in _READERS:
        paths = tuple(_paths(part, folder))
        return not any(language_of(path) or places.is_folder(path) for path in paths)
    if _PYTHON.match(part[0]):
        module = part[part.index("-m") + 1 :][:1] if "-m" in part else ()
        return all(one in _TESTERS or _is_ours(one, folder, places) for one in module)
    return part[0] in _TESTERS or part[0].partition("::")[0].endswith(".py")


def _paths(part: Sequence[str], folder: str) -> Iterator[str]:
    """Yield the words of a command that may be paths, except values of known options."""
    before = ""
    for at, word in enumerate(part):
        path = _path(word)
        if path and before not in _OPTIONS_WITH_VALUES and (at or _is_path(word)):
            yield join_path(folder, path)
        before = word


def _is_path(word: str) -> bool:
    """Return whether a program's name is the path of a script or a test."""
    return "/" in word or word.partition("::")[0].endswith(".py")


def _is_operand(file: str, part: Sequence[str]) -> bool:
    """Return whether a file is a data argument of a command, not the program."""
    return bool(_DATA.search(file)) and _path(part[0]) != file


def _file(place: str, places: RepositoryPlaces) -> str:
    """Return the file of a word; suffixes are added as Node does for modules."""
    endings = ("", ".js", ".mjs", ".cjs", ".ts", "/index.js")
    return next((place + one for one in endings if places.is_file(place + one)), "")


def _modules(part: Sequence[str]) -> Iterator[str]:
    """Yield the import keys of `python -m` and `python -c`, except test runners."""
    start = next((at for at, word in enumerate(part) if _PYTHON.match(word)), len(part))
    for option, word in zip(part[start + 1 :], part[start + 2 :], strict=False):
        if option == "-c":
            yield from sorted(python.keys_of_imports(word))
            return
        if option == "-m" and word not in _TESTERS:
            yield from (*python.module_keys(word), f"{word}.__main__")
        if option == "-m" and word == "unittest":
            for one in part[part.index(word) + 1 :]:
                if "." in one and all(name.isidentifier() for name in one.split(".")):
                    yield from python.module_keys(one)
        if option == "-m":
            return


def _is_ours(key: str, folder: str, places: RepositoryPlaces) -> bool:
    """Return whether a module may be in this repository, by its top-level package."""
    top = key.partition(".")[0]
    roots = ("", "src", "lib", "python", *((folder, f"{folder}/src") if folder else ()))
    found = (f"{root}/{top}".lstrip("/") for root in roots)
    return any(places.is_folder(one) or places.is_file(f"{one}.py") for one in found)


def _path(word: str) -> str | None:
    """Return the path in a word without node IDs; None for an option or another value."""
    value = word.partition("::")[0].removesuffix("...")
    if value in (".", "./", ""):
        return None
    value = value.removeprefix("./").rstrip("/")
    return None if value.startswith(("-", "/")) or "\0" in value else value or None


def join_path(folder: str, path: str) -> str:
    """Return a path in a folder relative to the project."""
    path = path.removeprefix("./").rstrip("/")
    joined = f"{folder}/{path}" if folder and path else folder or path
    if ".." not in joined.split("/"):
        return joined
    plain = posixpath.normpath(joined)
    return "" if plain == "." else plain
