"""A plan that is open in an editor: its text, what is read of it, and all that is wrong with it.

What each keystroke costs is a section read anew and the checks of the whole plan. What looks at
other files (the map, the index, skills, declared gates) and how the tasks stand is asked for more
seldom: `look_around` and `standing`.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from runner.app.build.discovered_gates import list_committed
from runner.app.inspect.unready_tasks import Verdicts
from runner.app.inspect.validation import (
    find_problems,
    find_problems_beside,
    find_unmade_parts,
)
from runner.app.inspect.view import View
from runner.config.default_gates import needs_defaults, with_default_gates
from runner.config.stack import detect_stack
from runner.editor.source_text import SourceText
from runner.errors import RunnerError
from runner.journal.snapshot import pause_collections
from runner.plan.document import plan_of
from runner.plan.patterns import PatternIndex
from runner.plan.reread import reread
from runner.plan.sections import read_sections
from runner.project import PATTERNS, Project
from runner.repo.head import OWNERSHIP_MAP, PLANS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.config.default_gates import Declared
    from runner.model import Task
    from runner.plan.diagnostic import Problem
    from runner.plan.document import Plan
    from runner.plan.sections import Section
    from runner.project import Reading

_EMPTY = SourceText.of("")
BESIDE = (OWNERSHIP_MAP, PATTERNS)
"""The files beside a plan whose text counts while they are open."""


class _Stamp(NamedTuple):
    """What a standing was read from; another stamp means that it may be another one."""

    journal: tuple[int, int]
    plan: tuple[int, int]
    head: str | None


class OpenPlan:
    """One plan and the project it belongs to; `path` is relative to the project."""

    def __init__(self, project: Project, path: str) -> None:
        self.project = project
        self.path = path
        self.text = _EMPTY
        self.beside: dict[str, SourceText] = {}
        """Texts of the files beside it that are open."""
        self._data = b""
        self._sections: tuple[Section, ...] = ()
        self._verdicts = Verdicts()
        self._whole: tuple[Problem, ...] = ()
        self._whole_lines = 0
        self._view: tuple[_Stamp, View | None] | None = None
        self.plan: Plan = self._read(_EMPTY)

    @classmethod
    def open(cls, file: Path, environ: Mapping[str, str]) -> OpenPlan:
        """The plan in a file, which may not be written yet.

        Raises RunnerError for a file that is in no git repository, and for bad settings.
        """
        project = open_project(file, environ)
        return cls(project, file.resolve().relative_to(project.root.resolve()).as_posix())

    @property
    def root(self) -> Path:
        """The folder of the project."""
        return self.project.root

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks as they are written now."""
        return self.plan.tasks

    @property
    def prefixes(self) -> tuple[str, ...]:
        """Words that the settings allow before a task's number."""
        return self.project.settings.build.id_prefixes

    def change(self, text: SourceText) -> None:
        """Read another text; only what changed of it."""
        with pause_collections():
            self.plan = self._read(text)

    def _read(self, text: SourceText) -> Plan:
        data = text.data
        if self._sections:
            sections = reread(data, self.path, self.prefixes, self._data, self._sections)
        else:
            sections = tuple(read_sections(data, self.path, self.prefixes))
        self.text, self._data, self._sections = text, data, sections
        return self.project.with_literals(plan_of(data, self.path, sections))

    def find_problems(self) -> tuple[Problem, ...]:
        """Every mistake and warning of the plan itself, as `validate` tells them."""
        with pause_collections():
            found = find_problems(self._check(), self.project.settings, self._verdicts)
        own = set(self.plan.problems)
        self._whole = tuple(one for one in found if one not in own)
        self._whole_lines = self.text.line_count
        return found

    def find_problems_here(self) -> tuple[Problem, ...]:
        """Those of single places as the text is now; of the whole plan those that were found last.

        They stay at their lines, wherever these have moved; those of a line that was changed since
        are left out until the whole is looked at again.
        """
        moved = self.text.line_count - self._whole_lines
        still = [self._at_its_line(one, moved) for one in self._whole]
        return (*self.plan.problems, *(one for one in still if one is not None))

    def _at_its_line(self, problem: Problem, moved: int) -> Problem | None:
        for by in (0, moved):
            if self.text.line(problem.line + by - 1) == problem.source_line:
                return replace(problem, line=problem.line + by) if by else problem
        return None

    def _check(self) -> Reading:
        return self.project.check_text(self._data, self.plan)

    def look_around(self, environ: Mapping[str, str]) -> tuple[Problem, ...]:
        """What is wrong with the files beside the plan; settings and gates are read anew."""
        before = self.prefixes
        # the plan or the repository may be gone: what was read of it still holds
        with suppress(RunnerError, OSError):
            self.project = open_project(self.root / self.path, environ)
        if self.prefixes != before:
            self._sections = ()
        self.change(self.text)
        texts = {path: text.data for path, text in self.beside.items()}
        try:
            beside = find_problems_beside(self.project, texts)
            return (*find_unmade_parts(self.project, self._check()), *beside)
        except (RunnerError, OSError):
            return ()  # a repository that cannot be read: `runner validate` says why

    # --- what is known beside the text ----------------------------------------------------

    def text_of(self, path: str) -> SourceText:
        """The text of the plan or of a file beside it: as it is open, else as it is written."""
        if path == self.path:
            return self.text
        return self.beside[path] if path in self.beside else self._written(path)

    def load(self) -> SourceText:
        """The plan as it is written on the disk; empty where it is not there."""
        return self._written(self.path)

    def _written(self, path: str) -> SourceText:
        try:
            return SourceText.of((self.root / path).read_bytes().decode("utf-8", "replace"))
        except OSError:
            return _EMPTY

    def patterns(self) -> PatternIndex:
        """The pattern index as it is open or written."""
        return PatternIndex.read(self.text_of(PATTERNS).data)

    def file(self, path: str) -> Path | None:
        """A file of the repository by its path; None for what is not there or leaves it."""
        try:
            found = (self.root / path).resolve()
            inside = found.is_relative_to(self.root.resolve())
            return self.root / path if inside and found.is_file() else None
        except (OSError, ValueError, RuntimeError):
            return None  # a path no file can have: a null byte, a name too long, links in a circle

    def standing(self) -> View | None:
        """How every task of the written plan stands; None where that cannot be read.

        It is read again when journal, plan or HEAD moved.
        """
        try:
            stamp = _Stamp(
                _times(self.project.journal_path),
                _times(self.root / self.path),
                self.project.head().commit,
            )
            if self._view is None or self._view[0] != stamp:
                # First as none: what cannot be read is not tried again under this stamp.
                self._view = (stamp, None)
                self._view = (stamp, View.of(self.project))
        except (RunnerError, OSError):
            return None  # no plan on disk, a damaged journal: the text is served all the same
        return self._view[1]


def open_project(file: Path, environ: Mapping[str, str]) -> Project:
    """The project of a plan, or of a file beside one. Raises RunnerError without a repository.

    The gates that it declares are taken as they are named: to ask its own Python for a tool, as
    `validate` does, would run a program of a repository that somebody only looks at.
    """
    project = _find_project(file, environ)
    if needs_defaults(project.settings):
        stack = detect_stack(project.root, partial(list_committed, project.root))
        project.loaded = with_default_gates(project.loaded, stack, _as_named)
    return project


def _as_named(declared: Declared) -> tuple[str, str]:
    return declared.gate.command, ""


def _find_project(file: Path, environ: Mapping[str, str]) -> Project:
    folder = file.parent
    while not folder.is_dir():
        folder = folder.parent
    if file.is_file() and file.name not in (Path(PLANS[0]).name, *BESIDE):
        return Project.open(folder, environ, {"task_graph": file.name})
    if folder.parts[-2:] == ("artifacts", "build"):
        folder = folder.parent.parent
    return Project.open(folder, environ, plan_needed=False)


def _times(file: Path) -> tuple[int, int]:
    try:
        found = os.stat(file)  # noqa: PTH116 - a path whose parents are links is the same file
    except OSError:
        return (0, -1)
    return (found.st_mtime_ns, found.st_size)
