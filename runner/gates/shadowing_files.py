"""Files of the repository that would run in place of the test tool that a command names.

A `pytest.py` where `python -m pytest` looks first prints what it likes and exits 0. A family of the
registry; it runs no command, and reads where each command looks: its folder, the folders that it
goes to, the paths that it names, PYTHONPATH and PATH in the line. So is a file that is found in
place of a source beside it (`shadowing_sources`).
"""

from __future__ import annotations

import posixpath
import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from runner.gates.base import Check, Proved
from runner.gates.script_targets import behind
from runner.gates.shadowing_sources import find_in_front, find_redirected
from runner.gates.test_awareness import list_files
from runner.languages.registry import is_written_in
from runner.lazy_pattern import regex
from runner.model import Finding, Severity
from runner.plan.shell.programs import program_of
from runner.plan.shell.shell_commands import commands_of
from runner.process.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.config.settings import Settings
    from runner.gates.base import GateContext
    from runner.model import Change, Task
    from runner.plan.shell.syntax import Simple

CHECK = "in-front"
_OF_PYTEST = ("pytest", "_pytest", "pluggy", "iniconfig", "xdist", "pytest_cov")
_TOOLS = frozenset((*_OF_PYTEST, "unittest", "doctest", "nose", "nose2"))
"""Modules whose stand-in decides how Python's tests end."""
_BY_NAME = frozenset({"trial", "stestr", "ward", "behave", "tox", "nox", "xmlrunner", "testtools"})
"""Modules that count where a command names them."""
_AT_START = frozenset({"sitecustomize", "usercustomize"})
"""Modules that each Python loads from PYTHONPATH before anything else."""
_PYTHON = regex(r"(?:python|pypy)[\d.]*\Z|py\.?test(?:-3)?\Z|coverage\Z|nosetests\Z|nose2\Z")
_COVERAGE = regex(r"\bcoverage\b|--cov\b")
_ENDING = regex(r"(?:\.[\w-]+)*\.(?:py|pyc|so|pyd)\Z")
_SETS = regex(r"(?P<name>PYTHONPATH|PATH)\+?=(?P<value>.*)", re.DOTALL)
_SEARCHED = regex(r"^[ \t]*pythonpath\s*=\s*(?P<value>[^\n]*)", re.MULTILINE)
_CONFIGURATIONS = ("pyproject.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg")
_METADATA = ("pyproject.toml", "setup.cfg", "setup.py")
_LINK = 0o120000


class Places(NamedTuple):
    """Where the commands of a task look, and for what."""

    folders: frozenset[str]
    """Where Python looks for modules."""
    paths: frozenset[str]
    """PYTHONPATH alone."""
    modules: frozenset[str]
    programs: frozenset[str]
    """Files that would be started in place of a program, as paths."""


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:  # noqa: ARG001 - a family's shape
    """One look at what a task that may write adds."""
    if not task.writes_anything:
        return ()
    return (Check(id=CHECK, kind="integrity", command="", limits=Limits()),)


def prove(check: Check, bench: GateContext) -> Proved:  # noqa: ARG001 - a family's shape
    """What the change puts in front refuses; what stood there before is told."""
    places = places_of(bench)
    changed = [one for one in bench.changes if one.content is not None]
    found = [
        _make_finding(one, bench, tool) for one in changed if (tool := _stands_for(one, places))
    ]
    known = {one.path for one in bench.changes}
    there = [
        _finding(path, name, Severity.WARNING)
        for folder in sorted(places.folders)
        for name in sorted(places.modules)
        for path in (_join(folder, f"{name}.py"), _join(folder, f"{name}/__init__.py"))
        if path not in known and (bench.place.tree / bench.place.start / path).is_file()
    ]
    beside = [
        _tell_beside(path, hidden, bench)
        for path, hidden in find_in_front(bench.changes, bench.before, bench.after)
    ]
    elsewhere = [
        _tell_elsewhere(*one, bench)
        for one in find_redirected(
            bench.changes, bench.before, bench.after, partial(_sources, bench)
        )
    ]
    return Proved(None, (*found, *there, *beside, *elsewhere))


def _sources(bench: GateContext) -> list[str]:
    """What is no test and a program can import."""
    return [
        path
        for path in list_files(bench)
        if is_written_in(path, "javascript") and not bench.is_test(path)
    ]


def _tell_elsewhere(path: str, source: str, given: str, bench: GateContext) -> Finding:
    return Finding(
        check=CHECK,
        message=f"imports of {source} find {given} in its place",
        path=path,
        severity=Severity.WARNING if bench.by_person else Severity.QUESTION,
        hint="let tests import what they are about, and mock it in the test where they need to",
    )


def _tell_beside(path: str, hidden: str, bench: GateContext) -> Finding:
    return Finding(
        check=CHECK,
        message=f"{path} is found in place of {hidden}: what imports that gets another program",
        path=path,
        severity=Severity.WARNING if bench.by_person else Severity.QUESTION,
        hint="put it where nothing imports it, or delete the one that it stands for",
    )


def _make_finding(change: Change, bench: GateContext, tool: str) -> Finding:
    """A new one refuses whoever wrote it; one that was there may be edited, if a person says so."""
    # pluggy edits modules of this name, being the tool: its real commits waited for an answer.
    meant = bench.by_person or _is_called(tool, bench)
    edited = Severity.WARNING if meant else Severity.QUESTION
    added = bench.before(change.path) is None
    return _finding(change.path, tool, Severity.ERROR if added else edited)


def _is_called(tool: str, bench: GateContext) -> bool:
    """Whether the project itself is that tool, by its metadata before the change."""
    said = rf"^[ \t]*name\s*=\s*[\"']?{re.escape(tool)}[\"']?\s*,?\s*$"
    texts = ((bench.before(name) or b"").decode("utf-8", "replace") for name in _METADATA)
    return any(re.search(said, text, re.MULTILINE) for text in texts)


def _finding(path: str, tool: str, severity: Severity) -> Finding:
    before = "before every Python" if tool in _AT_START else f"in place of {tool}"
    return Finding(
        check=CHECK,
        message=f"{path} of this repository would run {before}",
        path=path,
        severity=severity,
        hint="give it another name: the checks of this task would ask it instead of the tool",
    )


def _stands_for(change: Change, places: Places) -> str:
    """The tool that a file would run in place of; empty where it is none."""
    path = change.path
    if path in places.programs:
        return posixpath.basename(path)
    package = re.fullmatch(r"(.*/)?node_modules/(?:\.bin/)?([^/.][^/]*)(?:/.*)?", path)
    if package and any(posixpath.basename(one) == package[2] for one in places.programs):
        return package[2]
    for folder in sorted(places.folders | places.paths):
        if not path.startswith(inside := f"{folder}/" if folder else ""):
            continue
        first, slash, rest = path[len(inside) :].partition("/")
        stem = first if slash or change.mode == _LINK else _ENDING.sub("", first)
        whole = not slash or _ENDING.sub("", rest) in ("__init__", "__main__")
        wanted = places.modules | (_AT_START if folder in places.paths else frozenset())
        if stem in wanted and whole and (slash or stem != first or change.mode == _LINK):
            return stem
    return ""


# --- where commands look --------------------------------------------------------------


def places_of(bench: GateContext) -> Places:
    """Where the test contracts and gates of a task look for their tools."""
    folders, paths, modules, programs = set[str](), set[str](), set[str](), set[str]()
    paths |= set(_folders_in(bench.environment.get("PYTHONPATH", ""), "", bench))
    for line in _lines(bench):
        at = ""
        for one in _commands(line):
            if one.values[:1] == ("cd",) and len(one.values) > 1:
                at = _join(at, one.values[1])
                continue
            bins = {_join(at, "node_modules/.bin"), "node_modules/.bin"}
            for variable, value in _set_in(one):
                into = paths if variable == "PYTHONPATH" else bins
                into |= set(_folders_in(value, at, bench))
            name, words = _program(one)
            programs |= {_join(folder, name) for folder in bins if name}
            if _PYTHON.match(name):
                folders |= {at, *_folders_of_words(words, at)}
                modules |= _TOOLS | (_BY_NAME & {word.partition(".")[0] for word in words})
            elif name in _BY_NAME:
                folders.add(at)
                modules |= _TOOLS | {name}
            modules |= {"coverage"} if modules and _COVERAGE.search(line) else set()
    if modules:
        folders |= paths | set(_find_configured(bench))
    inside, searched = _inside(folders), _inside(paths)
    return Places(inside, searched, frozenset(modules), frozenset(programs))


def _inside(folders: set[str]) -> frozenset[str]:
    return frozenset(one for one in folders if not one.startswith(("/", "..")))


def _lines(bench: GateContext) -> Iterator[str]:
    """The commands of a task, and the scripts and rules behind them."""
    gates = (*bench.settings.gates_for(bench.task.type), *bench.task.gates)
    said = [one.command for one in bench.task.test_contracts]
    for line in (*said, *(gate.command.removeprefix("sh:").strip() for gate in gates)):
        yield line
        for _, text in behind(line, bench.after):
            yield from (each.strip().lstrip("@-+") for each in text.splitlines())


def _set_in(command: Simple) -> Iterator[tuple[str, str]]:
    """The search paths that a command sets: `PATH=…` before it, or as a word of `env`, `export`."""
    for word in (*command.assignments, *command.words):
        if said := _SETS.match(word.value):
            yield said["name"], said["value"]


def _commands(line: str) -> tuple[Simple, ...]:
    return commands_of(line)


def _program(command: Simple) -> tuple[str, tuple[str, ...]]:
    return program_of(command)


def _folders_of_words(words: tuple[str, ...], at: str) -> Iterator[str]:
    """The folders of the paths among a command's words, up to where it stands: pytest adds them."""
    for word in words:
        path = word.partition("::")[0]
        if path.startswith(("-", "/")) or not re.search(r"/|\.py\Z", path):
            continue
        folder = posixpath.dirname(path) if path.endswith(".py") else path
        while folder.strip("/"):
            yield _join(at, folder)
            folder = posixpath.dirname(folder.rstrip("/"))


def _find_configured(bench: GateContext) -> Iterator[str]:
    for name in _CONFIGURATIONS:
        text = (bench.after(name) or b"").decode("utf-8", "replace")
        for found in _SEARCHED.finditer(text):
            yield from (_join("", one) for one in re.findall(r"[\w./-]+", found["value"]))


def _folders_in(value: str, at: str, bench: GateContext) -> Iterator[str]:
    """The folders of a search path that lie in the repository."""
    place = bench.place
    shown = (f"{place.shown}/{place.start}", f"{place.tree}/{place.start}")
    for part in value.split(":"):
        inner = re.sub(r"\A\"?\$\{?PWD\}?/?|\A\$\(pwd\)/?|\A`pwd`/?", "./", part)
        for root in shown:
            inner = f"./{inner[len(root) :]}" if f"{inner}/".startswith(root) else inner
        if inner and not inner.startswith(("/", "$", "~")):
            yield _join("" if part.startswith("/") else at, inner)


def _join(folder: str, path: str) -> str:
    whole = posixpath.normpath(posixpath.join(folder, path))
    return "" if whole == "." else whole
