"""Find a repository's installed tools by reading files; no tool manager is started.

Their folders come first on the PATH of its commands, so that a contract that says `pytest` is run
by the project's Python, whoever started the runner. Sources: poetry's `EnvManager`, hatch's
`virtual` environments, pdm's `.pdm-python`, mise's and asdf's `.tool-versions`.
"""

from __future__ import annotations

import os
import re
import sys
from base64 import urlsafe_b64encode
from contextlib import suppress
from glob import escape
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex
from runner.process.base import command_environment
from runner.process.tools import which
from runner.text.foreign_documents import parse_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

IN_REPOSITORY = (".venv", "venv", "env")
"""Usual folders of a Python environment in a repository."""
MODULES = "node_modules"
_MOST_SHARED = 500
"""Maximum shared folders: each is a mount at every start of a command."""
TEST_PROGRAMS = ("pytest", "py.test")
"""Programs that run a project's tests in the environment in which they are installed."""
_MARK = "pyvenv.cfg"
_LARGEST = 1_000_000
_UNFIT = regex(r'[ $`!*@"\\\r\n\t]')
"""Characters that poetry replaces in a project's name."""
_NAME_WIDTH = 42
_ASDF_NAMES = {"nodejs": "node", "golang": "go"}
_VERSION = regex(r"[0-9][0-9A-Za-z.+_-]*")


def find_shared_folders(root: Path, folders: Iterable[str] = ("",)) -> tuple[str, ...]:
    """Return the installed dependencies in these folders, which commands need and no task changes.

    `folders` are those that git tracks below `root`, the nearest first; "" is `root` itself. What
    git tracks is part of a proposal, and so is no dependency.
    """
    tracked = set(folders)
    found: list[str] = []
    for folder in sorted(tracked, key=lambda path: (path.count("/"), path)):
        above = f"{folder}/" if folder else ""
        found += [
            path
            for name in (*IN_REPOSITORY, MODULES)
            if (path := above + name) not in tracked and _is_installed(root, path)
        ]
        if len(found) > _MOST_SHARED:
            break
    return tuple(found[:_MOST_SHARED])


def is_in_dependencies(root: Path, path: str) -> bool:
    """Return whether a path lies in installed dependencies, which commands see."""
    parts = path.split("/")
    return any(
        name in {*IN_REPOSITORY, MODULES} and _is_installed(root, "/".join(parts[: depth + 1]))
        for depth, name in enumerate(parts)
    )


def _is_installed(root: Path, path: str) -> bool:
    whole = root / path
    if not os.path.isdir(whole):  # noqa: PTH112 - of a large repository 10,000 paths
        return False
    if os.path.realpath(whole.parent) != str(Path(os.path.realpath(root), path).parent):
        return False
    if whole.name != MODULES:
        return (whole / _MARK).is_file()
    # A clone may contain a link of this name to a folder of keys: the target must have the name.
    return Path(os.path.realpath(whole)).name == MODULES


def with_own_tools(
    environment: Mapping[str, str], root: Path, *, may_use: Callable[[str], bool]
) -> dict[str, str]:
    """Return the environment with the repository's own tools first on PATH.

    `may_use` says whether a folder of the repository, by its name, may be run from. An
    environment that the person activated stays first, unless it is the runner's own: that one is
    activated for the runner's sake.
    """
    folders = [str(folder) for folder in _find_tool_folders(environment, root, may_use)]
    former = environment.get("PATH", "").split(os.pathsep)
    own = former[-1] == f"{sys.prefix}/bin" != f"{sys.base_prefix}/bin"
    if own and any(map(_is_environment, folders)):
        former.pop()  # a tool that the project lacks is missing, and not the runner's own
    path = os.pathsep.join(dict.fromkeys([*folders, *filter(None, former)]))
    return {**environment, "PATH": path}


def _is_environment(folder: str) -> bool:
    return Path(folder).with_name(_MARK).is_file()


def _find_tool_folders(
    environment: Mapping[str, str], root: Path, may_use: Callable[[str], bool]
) -> Iterator[Path]:
    activated = _activated(environment)
    if not activated or os.path.realpath(activated) == os.path.realpath(sys.prefix):
        found = (place / "bin" for place in _pythons(environment, root, may_use))
        yield from [folder for folder in found if (folder / "python").exists()][:1]
    if (root / MODULES / ".bin").is_dir() and may_use(MODULES):
        yield root / MODULES / ".bin"
    yield from _versions(environment, root)


def _activated(environment: Mapping[str, str]) -> str:
    return environment.get("VIRTUAL_ENV") or environment.get("CONDA_PREFIX") or ""


# --- programs of the runner -----------------------------------------------------------


def find_lent_program(
    programs: Collection[str], environ: Mapping[str, str], root: Path, needs: Collection[str]
) -> str:
    """Return the test program that would come from the runner's own environment; else empty.

    Its packages are the runner's, so it says little about the project. `environ` is the person's,
    `needs` are the packages that the project declares. No mistake where the environment is the
    project's, too: it lies in the repository, or the person activated it, it has what the project
    needs, and the project has no other.
    """
    asked = next((name for name in programs if name in TEST_PROGRAMS), "")
    if not asked or sys.prefix == sys.base_prefix:
        return ""
    found = which(asked, with_own_tools(command_environment(environ), root, may_use=lambda _: True))
    own = Path(sys.prefix)
    lent = own / "bin" / asked
    if found not in (None, lent) or not lent.is_file() or own.is_relative_to(root):
        return ""
    activated = os.path.realpath(_activated(environ) or "/") == os.path.realpath(own)
    alone = next(_pythons(environ, root, lambda _: True), None) is None
    installed = own.glob("lib*/python*/site-packages/*.dist-info")
    there = {_distribution(info.name.partition("-")[0]) for info in installed}
    has_all = {_distribution(name) for name in needs} <= there
    return "" if activated and alone and has_all else asked


def explain_lent_program(program: str, root: Path) -> tuple[str, str]:
    """Return what is wrong with such a program, and how to fix it."""
    there = next((name for name in IN_REPOSITORY if (root / name / _MARK).is_file()), "")
    message = f'"{program}" is found only in the environment of the runner itself ({sys.prefix})'
    if there:
        return f"{message}, not in {there}", f"{there}/bin/python -m pip install pytest"
    if (root / "poetry.lock").is_file():
        return message, "poetry install, with pytest in its dependencies"
    if (root / "uv.lock").is_file():
        return message, "uv sync, with pytest in its dependencies"
    package = " -e ." if _load_toml(root / "pyproject.toml").get("project") else ""
    install = f"{IN_REPOSITORY[0]}/bin/python -m pip install pytest{package}"
    return message, f"python3 -m venv {IN_REPOSITORY[0]} && {install}"


def _distribution(name: str) -> str:
    """Return a package's normalised name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


# --- Python ---------------------------------------------------------------------------


def _pythons(
    environment: Mapping[str, str], root: Path, may_use: Callable[[str], bool]
) -> Iterator[Path]:
    """Yield the Python environments of the project, most likely first."""
    for name in IN_REPOSITORY:
        if (root / name / _MARK).is_file() and may_use(name):
            yield root / name
    chosen = Path(_read(root / ".pdm-python").strip() or "/")
    place = chosen.parent.parent
    if chosen.is_absolute() and chosen.parent.name == "bin" and (place / _MARK).is_file():
        real, top = (Path(os.path.realpath(one)) for one in (chosen.parent, root))
        # Files in the repository may come from a clone, whoever names them.
        if not real.is_relative_to(top) or may_use(real.relative_to(top).as_posix()):
            yield place
    project = _load_toml(root / "pyproject.toml")
    yield from _managed(environment, root, project)


def _managed(
    environment: Mapping[str, str], root: Path, project: Mapping[str, object]
) -> Iterator[Path]:
    tools, about = _table(project, "tool"), _table(project, "project")
    name = about.get("name") or _table(tools, "poetry").get("name")
    if not isinstance(name, str) or {"/", "\0"} & {*name} or name in ("", ".", ".."):
        return
    home = Path(environment.get("HOME") or "/nonexistent")
    if "poetry" in tools or (root / "poetry.lock").is_file():
        cache = home / ".cache" / "pypoetry" / "virtualenvs"
        # Reproduces poetry's EnvManager (name, then the first 8 letters of the path's digest):
        # asking poetry would start a tool, and this runs before trust is given.
        known = _UNFIT.sub("_", name.lower())[:_NAME_WIDTH]
        yield from _marked(cache, f"{escape(known)}-{_short(os.path.realpath(root))}-py*")
    if "hatch" in tools or (root / "hatch.toml").is_file():
        store = home / ".local" / "share" / "hatch" / "env" / "virtual"
        # hatch hashes the path as given, poetry the resolved one.
        yield from _marked(store, f"{escape(name)}/{_short(str(root))}/{escape(name)}")


def _short(path: str) -> str:
    return urlsafe_b64encode(sha256(os.fsencode(path)).digest()).decode()[:8]


def _marked(folder: Path, pattern: str) -> list[Path]:
    """Return the environments below a folder in reverse order of names."""
    found = folder.glob(pattern) if folder.is_dir() else ()
    return sorted((one for one in found if (one / _MARK).is_file()), reverse=True)


# --- versions of tools ----------------------------------------------------------------


def _versions(environment: Mapping[str, str], root: Path) -> Iterator[Path]:
    """Yield the installed tools in the versions that the repository requests."""
    home = Path(environment.get("HOME") or "/nonexistent")
    stores = (
        home / ".local" / "share" / "mise" / "installs",
        Path(environment.get("ASDF_DATA_DIR") or home / ".asdf") / "installs",
    )
    for tool, version in _asked(root):
        names = dict.fromkeys((tool, _ASDF_NAMES.get(tool, tool)))
        places = (store / name / version / "bin" for store in stores for name in names)
        yield from [place for place in places if place.is_dir()][:1]


def _asked(root: Path) -> Iterator[tuple[str, str]]:
    for line in _read(root / ".tool-versions").splitlines():
        words = line.partition("#")[0].split()
        if len(words) > 1 and _fits(words[0], words[1]):
            yield words[0], words[1]
    for name in ("mise.toml", ".mise.toml"):
        for tool, version in _table(_load_toml(root / name), "tools").items():
            if isinstance(version, str) and _fits(tool, version):
                yield tool, version


def _fits(tool: str, version: str) -> bool:
    return tool.replace("-", "").isalnum() and _VERSION.fullmatch(version) is not None


# --- reading --------------------------------------------------------------------------


def list_entries(folder: str) -> list[os.DirEntry[str]]:
    """Return what a folder holds; nothing where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def is_in(path: str, folder: str) -> bool:
    """Return whether a path is a folder, or lies in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _read(file: Path) -> str:
    with suppress(OSError, UnicodeDecodeError), file.open("rb") as opened:
        return opened.read(_LARGEST).decode()
    return ""


def _load_toml(file: Path) -> Mapping[str, object]:
    with suppress(ValueError):
        return parse_toml(_read(file))
    return {}


def _table(parent: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = parent.get(name)
    return found if isinstance(found, dict) else {}
