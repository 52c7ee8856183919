"""Find missing parts of a plan: inputs, test files and contract modules that no task creates.

Warnings, and only where the words leave no doubt: a command whose programs are not known here, a
variable, or a task that may write anything is a doubt.
"""

from __future__ import annotations

import re
import sys
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner.config.stack import detect_stack
from runner.contracts.entries import documents, modules
from runner.impact import targets
from runner.languages.registry import is_source
from runner.model import Severity, Status
from runner.plan.globs import Claims, folders_of, is_glob, matches, may_overlap
from runner.plan.spans import Spans
from runner.process.environments import IN_REPOSITORY
from runner.repo.git import text
from runner.repo.read import Repository

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from runner.model import Task
    from runner.plan.source import Problem

_TESTERS = frozenset({"pytest", "py.test"})
_STARTERS = frozenset({"node", "npx", "bunx", "deno", "vitest", "jest", "mocha", "tsx"})
_QUIET = frozenset({"cd", "true", ":", "export", "set", "test", "["})
_PYTHON = re.compile(r"(?:.*/)?python[\d.]*\Z")
_UNSEEN = re.compile(r"[`$<>*?{}]")
_OPTIONS = frozenset(
    {"-k", "-m", "-p", "-n", "-c", "-o", "-W", "--ignore", "--deselect", "--maxfail", "--rootdir"}
    | {"--cov", "--config", "--confcutdir", "--junitxml", "--basetemp", "--outputFile"}
    | {"--reporter", "--project", "--dir", "--root", "-t", "--ignore-glob", "--junit-xml"}
)
"""Options followed by a value that names no program."""
_ROOTS = ("", "src/", "lib/", "python/")
_ENDINGS = ("", ".js", ".mjs", ".cjs", ".ts", "/index.js")


class Supply(Struct, dict=True):
    """Everything that is there, or that a task of the plan writes."""

    root: Path
    tasks: Sequence[Task]
    files: frozenset[str] | None = None
    """Files of the project; None: ask git when needed."""
    _known: dict[str, bool] = field(default_factory=dict)

    def has(self, path: str) -> bool:
        """Return whether a path exists or is an output of a task, itself or a file below it."""
        if path not in self._known:
            self._known[path] = self._look(path)
        return self._known[path]

    def has_like(self, glob: str) -> bool:
        """Return whether a glob matches an existing file or a task's output."""
        if any(may_overlap(glob, one) if is_glob(one) else matches(glob, one) for one in self._out):
            return True
        return any(matches(glob, one) for one in self._listed)

    def has_module(self, module: str, folder: str = "", *, with_tests: bool = False) -> bool:
        """Return whether a module, or with `with_tests` its classes and tests, has a file."""
        parts = module.split(".")
        roots = (*_ROOTS, *((f"{folder}/", f"{folder}/src/") if folder else ()))
        for end in range(len(parts), 0, -1):
            stem = "/".join(parts[:end])
            rest = parts[end:]
            if rest and not (with_tests and (rest[0][:1].isupper() or rest[0].startswith("test"))):
                continue
            names = (f"{stem}.py", f"{stem}/__init__.py", *(() if rest else (stem,)))
            if any(self.has(f"{root}{name}") for root in roots for name in names):
                return True
            ends = (f"/{stem}.py", f"/{stem}/__init__.py")
            if any(one.endswith(ends) for end in ends for one in self._named(end)):
                return True
        return False

    def knows_package(self, name: str) -> bool:
        """Return whether a name is a folder or module of the project, existing or planned."""
        return name in self._packages or f"{name}.py" in self._by_name

    def is_installed(self, package: str) -> bool:
        """Return whether a package is in the standard library, declared or installed."""
        if package in sys.stdlib_module_names:
            return True
        if package.replace("_", "-").casefold() in self._declared:
            return True
        return any(
            (site / package).exists() or (site / f"{package}.py").exists() for site in self._sites
        )

    @cached_property
    def _declared(self) -> frozenset[str]:
        """The packages that the project says it needs: read once for all contracts."""
        return frozenset(one.replace("_", "-") for one in detect_stack(self.root).dependencies)

    @cached_property
    def _sites(self) -> tuple[Path, ...]:
        """The folders of installed packages, in environments inside the project."""
        sites = ((self.root / name).glob("lib*/python*/site-packages") for name in IN_REPOSITORY)
        return tuple(one for found in sites for one in found)

    @cached_property
    def is_open(self) -> bool:
        """Whether a task may write any file."""
        return any(task.writes_everything for task in self.tasks)

    def _look(self, path: str) -> bool:
        if (self.root / path).exists() or self._claims.of(path):
            return True
        return path.rstrip("/") in self._folders_out or path in self._listed

    @cached_property
    def _folders_out(self) -> frozenset[str]:
        """The folders that what is written lies in."""
        return frozenset(folder for one in self._out for folder in folders_of(one) if folder)

    @cached_property
    def _out(self) -> tuple[str, ...]:
        paths = (
            path
            for task in self.tasks
            for path in (*task.outputs, *(file.path for file in task.held_out_files))
            if path != "any"
        )
        return tuple(dict.fromkeys(path.removeprefix("./") for path in paths))

    @cached_property
    def _claims(self) -> Claims:
        return Claims((path, path) for path in self._out)

    @cached_property
    def _listed(self) -> frozenset[str]:
        """The files that git tracks or would, asked for once."""
        if self.files is not None:
            return self.files
        with Repository.open(self.root) as repository:
            asked = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
            listed = text(repository.git.run(*asked)).split("\0")[:-1]
            return frozenset(repository.prefix.inside(path) for path in listed)

    def _named(self, path: str) -> Sequence[str]:
        return self._by_name.get(path.rpartition("/")[2], ())

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        """All files that are there or written, by their name alone."""
        found: dict[str, list[str]] = {}
        for one in self._every:
            found.setdefault(one.rpartition("/")[2], []).append(one)
        return found

    @cached_property
    def _packages(self) -> frozenset[str]:
        """The names of all folders on the way to them."""
        return frozenset(part for one in self._every for part in one.split("/")[:-1])

    @cached_property
    def _every(self) -> tuple[str, ...]:
        return (*self._out, *sorted(self._listed))


def find_unmade(
    root: Path, data: bytes, path: str, tasks: Sequence[Task], *, only: frozenset[str] | None = None
) -> tuple[Problem, ...]:
    """Return a warning for each path of an open task that neither exists nor is an output.

    `data` is the plan that the tasks were read from, which lies at `path` of the project in
    `root`; `only` are ids of the tasks to look at, None for all.
    """
    supply, places = Supply(root, tasks), Spans(data, path)
    found: list[Problem] = []
    for task in tasks:
        if task.status is Status.DONE or (only is not None and task.id not in only):
            continue
        found += _inputs(task, supply, places)
        if not supply.is_open:
            found += _tests(task, supply, places)
            found += _contracts(task, supply, places)
    return tuple(found)


def _inputs(task: Task, supply: Supply, places: Spans) -> Iterator[Problem]:
    for given in task.inputs:
        path = given if is_glob(given) else given.removeprefix("./")
        there = supply.has_like(given.removeprefix("./")) if is_glob(given) else supply.has(path)
        if not there and not supply.is_open:
            yield places.problem(
                places.find(task, "inputs", given),
                f'{task.id} reads "{path}": missing, and no task writes it',
                "fix the path, or add it to Output files of an earlier task",
                Severity.WARNING,
            )


def _tests(task: Task, supply: Supply, places: Spans) -> Iterator[Problem]:
    for test in task.test_contracts:
        if (missing := find_missing_target(test.command, supply)) is not None:
            kind, name = missing
            yield places.problem(
                places.at_line(test.line, name),
                f'{test.id} of {task.id} runs the {kind} "{name}": missing, and no task writes it',
                f"fix the command, or add the {kind} to Output files of a task",
                Severity.WARNING,
            )


def _contracts(task: Task, supply: Supply, places: Spans) -> Iterator[Problem]:
    for contract in task.contracts:
        for module in modules(contract):
            outermost = module.partition(".")[0]
            if not supply.has_module(module) and not supply.is_installed(outermost):
                yield places.problem(
                    places.at_line(contract.line, module),
                    f'a contract of {task.id} names the module "{module}": missing, and'
                    " no task writes it",
                    "fix its name, or add its file to Output files of a task",
                    Severity.WARNING,
                )
        for path in documents(contract)[:1]:
            if not is_glob(path) and not supply.has(path):
                yield places.problem(
                    places.at_line(contract.line, path),
                    f'a contract of {task.id} names "{path}": missing, and no task writes it',
                    "fix the path, or add it to Output files of a task",
                    Severity.WARNING,
                )


# --- a command ------------------------------------------------------------------------


def find_missing_target(command: str, supply: Supply) -> tuple[str, str] | None:
    """Return `file` or `module` and the name of a missing target of a command; None in doubt."""
    parts = targets.commands_by_folder(command)
    if parts is None or _UNSEEN.search(command):
        return None
    missing: tuple[str, str] | None = None
    for folder, part in parts:
        if part[0] in _QUIET:
            continue
        if part[0] not in _TESTERS | _STARTERS and not _PYTHON.match(part[0]):
            return None
        missing = missing or _of_one(part, folder, supply)
    return missing


def _of_one(part: Sequence[str], folder: str, supply: Supply) -> tuple[str, str] | None:
    if _PYTHON.match(part[0]) and "-m" in part[1:-1]:
        at = part.index("-m") + 1
        module, rest = part[at], part[at + 1 :]
        if module == "unittest":
            return _unittest(rest, folder, supply)
        if module != "pytest":
            ours = supply.knows_package(module.partition(".")[0])
            lost = ours and not supply.has_module(module, folder)
            return ("module", module) if lost else None
        return _first_lost(rest, folder, supply)
    if _PYTHON.match(part[0]):
        script = next((word for word in part[1:] if not word.startswith("-")), "")
        plain = script.endswith(".py") and "-c" not in part
        return _first_lost([script], folder, supply) if plain else None
    return _first_lost(part[1:], folder, supply)


def _unittest(words: Sequence[str], folder: str, supply: Supply) -> tuple[str, str] | None:
    if "discover" in words:
        return None
    for before, word in zip(("", *words), words, strict=False):
        named = all(one.isidentifier() for one in word.split("."))
        if (
            named
            and before not in _OPTIONS
            and not supply.has_module(word, folder, with_tests=True)
        ):
            return "module", word
    return None


def _first_lost(words: Sequence[str], folder: str, supply: Supply) -> tuple[str, str] | None:
    for before, word in zip(("", *words), words, strict=False):
        path = word.partition("::")[0].removeprefix("./")
        if before in _OPTIONS or word.startswith(("-", "/")) or "=" in word:
            continue
        if not is_source(path):
            continue
        place = targets.join_path(folder, path)
        if not any(supply.has(place + end) for end in _ENDINGS):
            return "file", path
    return None
