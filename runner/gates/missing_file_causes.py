"""Find files named by a failed command that exist in the work tree but not where it ran.

No messages are read: whatever its output names, as a path or as a dotted module, is looked for in
both trees. What only the person's work tree has is the cause, and git says why it is missing.
"""

from __future__ import annotations

import os
import posixpath
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.lazy_pattern import regex
from runner.repo.alternates import BY_PRODUCTS
from runner.repo.read import Repository
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.process.base import Place

_NAME = regex(r"[\w@%+=~.-]*(?:[/.][\w@%+=~-]+)+/?")
"""Text like a path or a dotted module: `./x.json`, `pkg._version`, `data/n.txt`."""
_QUOTED = regex(r"(?<![\w])['\"`\u2018]([\w@%+=~. -]{1,100})['\"`\u2019](?!\w)")
"""Single quoted word: `cannot import name '_version'`."""
_MISSING = regex(
    r"(?i)no such file|not found|no module|cannot find|can't find|could not find|does not exist"
    r"|ENOENT|no matching files|couldn't read|cannot import|not in std|no required module"
    r"|unresolved|cannot open|can't open|unable to"
)
"""Lines whose names are searched first."""
_UNSEEN = ", so tasks can't see it"
_EXPLAINED = regex(rf"(.+?) is (?:ignored by git|not committed){_UNSEEN}: ")
_MOST_NAMES = 400
_MOST_FOLDERS = 60
_MOST_ENTRIES = 5000
_SOURCES = ("src", "lib", "app", "tests", "test")


def explain_absent(place: Place, output: str, command: str) -> str:
    """Return why a file that the command needs was missing, and a remedy; empty if none was."""
    try:
        with Repository.open(place.shown) as repository:
            for path in _find_absent(place, output, command):
                if cause := explain_path(repository, path):
                    return cause
    except (RunnerError, OSError):  # on a worker of a cluster there is no work tree
        return ""
    return ""


# --- the file -------------------------------------------------------------------------


def _find_absent(place: Place, output: str, command: str) -> Iterator[str]:
    """Yield paths in the output that exist only in the working tree."""
    names = list(dict.fromkeys(_list_names(output, command)))[:_MOST_NAMES]
    folders = _list_folders(place, names)
    seen: set[str] = set()
    for name in names:
        for candidate in _list_candidates(place, name, folders):
            if candidate not in seen:
                seen.add(candidate)
                if found := _find_in_work_tree(place, candidate):
                    yield found


def _list_names(output: str, command: str) -> Iterator[str]:
    lines = output.splitlines()
    first = [line for line in lines if _MISSING.search(line)]
    for line in (*first, *lines, command):
        yield from (name.rstrip(".") for name in _NAME.findall(line))
        if line is not command:
            yield from _QUOTED.findall(line)


def _list_folders(place: Place, names: list[str]) -> list[str]:
    """Return the folders that a relative name may refer to, first those of mentioned files."""
    found: dict[str, None] = {}
    for name in names:
        path = _inside(place, name.partition(":")[0])
        if path and (place.tree / path).is_file():
            above = posixpath.dirname(path)
            while above:
                found.setdefault(above)
                above = posixpath.dirname(above)
    start = place.start.strip("/")
    roots = [start, *(f"{start}/{name}".strip("/") for name in _SOURCES), ""]
    return [*list(found)[:_MOST_FOLDERS], *roots]


def _list_candidates(place: Place, name: str, folders: list[str]) -> Iterator[str]:
    inside = _inside(place, name)
    if name.startswith("/"):
        if inside:
            yield inside
        return
    spellings = [name]
    if "/" not in name and "." in name.strip("."):
        spellings.append(name.strip(".").replace(".", "/"))  # a module of Python
    parts = name.split("/")
    spellings += ["/".join(parts[start:]) for start in range(1, len(parts))]  # a package of Go
    for spelling in spellings:
        for folder in folders:
            path = posixpath.normpath(posixpath.join(folder, spelling))
            if path != "." and not path.startswith(("..", "/")):
                yield path


def _inside(place: Place, name: str) -> str:
    """Return a path relative to the repository's top; empty if it is outside."""
    if not name.startswith("/"):
        return posixpath.normpath(name) if name and not name.startswith("..") else ""
    for top in (str(place.shown), os.path.realpath(place.shown), str(place.tree)):
        if name.startswith(f"{top}/"):
            return posixpath.normpath(name[len(top) + 1 :])
    return ""


def _find_in_work_tree(place: Place, path: str) -> str:
    """Return the matching path, in any extension, that exists only in the working tree, or ""."""
    folder, name = posixpath.split(path)
    if _is_by_product(path) or f"{path}/".startswith(tuple(f"{one}/" for one in place.shares)):
        return ""
    if os.path.lexists(place.shown / path):
        return "" if os.path.lexists(place.tree / path) else path
    try:
        with os.scandir(place.shown / folder) as entries:
            names = [one.name for _, one in zip(range(_MOST_ENTRIES), entries, strict=False)]
    except (OSError, ValueError):
        return ""
    there = (one for one in sorted(names) if one.partition(".")[0] == name and "." in one)
    named = [f"{folder}/{one}".lstrip("/") for one in there]
    is_found = any(os.path.lexists(place.tree / one) for one in named)
    return "" if is_found else next(iter(named), "")


def _is_by_product(path: str) -> bool:
    known = {pattern.strip("/") for pattern in BY_PRODUCTS}
    return not known.isdisjoint(path.split("/")) or path.endswith(".pyc")


# --- the cause ------------------------------------------------------------------------


def explain_path(repository: Repository, path: str) -> str:
    """Return why a work tree path is in no scratch tree, and a remedy; empty if it is in it."""
    top, shown = repository.folders.top, display(path)
    module = next((one for one in _folders_above(path) if os.path.lexists(top / one / ".git")), "")
    if module:
        kind = "submodule" if (top / ".gitmodules").is_file() else "nested git repository"
        return f"{shown} is inside the {kind} {display(module)}, which tasks can't see"
    head = repository.head().commit
    if head and repository.blob(head, repository.prefix.inside(path)) is not None:
        return ""  # the task took it away, or its base is older
    if line := _find_pattern(repository, path):
        typed = f"add {line} to .worktreeinclude and commit that file"
        return f"{shown} is ignored by git{_UNSEEN}: {typed}"
    if not (top / path).is_dir() or any(Path(top, path).iterdir()):
        typed = shlex.quote(repository.prefix.inside(path))
        return f"{shown} is not committed{_UNSEEN}: git add {typed}, then commit"
    return ""


def find_named(hint: str) -> str:
    """Return the path whose absence a hint of this module explains; empty for another hint."""
    found = _EXPLAINED.match(hint)
    return found[1] if found else ""


def _find_pattern(repository: Repository, path: str) -> str:
    """Return the ignore line of a file, or of its outermost ignored folder; else empty."""
    git = repository.git.with_settings(GIT_LITERAL_PATHSPECS="0")
    for one in (*_folders_above(path), path):
        is_folder = (repository.folders.top / one).is_dir()
        if git.ask("check-ignore", "-q", "--", f"./{one}{'/' if is_folder else ''}").exit == 0:
            return _as_pattern(one, is_folder=is_folder)
    return ""


def _folders_above(path: str) -> Iterator[str]:
    parts = path.split("/")
    yield from ("/".join(parts[:end]) for end in range(1, len(parts)))


def _as_pattern(path: str, *, is_folder: bool) -> str:
    """Return a gitignore(5) line that matches exactly this path."""
    escaped = "".join(f"\\{mark}" if mark in "*?[]\\" else mark for mark in path)
    return f"/{escaped}/" if is_folder else f"/{escaped}"
