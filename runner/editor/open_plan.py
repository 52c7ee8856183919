"""The documents open in an editor: text, positions, parsed plan and diagnostics.

Lines end in LF, CR LF or CR alone, and in nothing else (Language Server Protocol 3.17, Text
Documents): U+2028 is a character of its line. Columns count characters.

A keystroke costs one section read again and the checks of the whole plan. Checks that read other
files, and the statuses of tasks, run less often: `check_surroundings` and `standing`.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from msgspec.structs import replace

from runner.app.build.discovered_gates import find_project_gates
from runner.app.inspect.unready_tasks import Verdicts
from runner.app.inspect.validation import (
    find_nearby_problems,
    find_problems,
    find_unmade_parts,
)
from runner.app.inspect.view import View
from runner.config.default_gates import needs_defaults, with_default_gates
from runner.errors import RunnerError
from runner.journal.snapshot import pause_collections
from runner.plan.document import plan_of, reread
from runner.plan.patterns import PatternIndex
from runner.plan.sections import read_sections
from runner.plan.source import Problem
from runner.project import PATTERNS, Project
from runner.repo.head import OWNERSHIP_MAP, PLANS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runner.config.default_gates import Declared
    from runner.model import Task
    from runner.plan.document import Plan
    from runner.plan.sections import Section
    from runner.project import Reading

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ASTRAL = 0xFFFF


class TextPosition(NamedTuple):
    """A place between two characters; `line` and `column` count from 0."""

    line: int
    column: int


class TextSpan(NamedTuple):
    """The range between two positions."""

    start: TextPosition
    end: TextPosition

    def holds(self, place: TextPosition) -> bool:
        """Return whether a place is within the span or at one of its ends."""
        return self.start <= place <= self.end


def span_on(line: int, start: int, end: int) -> TextSpan:
    """Return a span within one line."""
    return TextSpan(TextPosition(line, start), TextPosition(line, end))


class Units:
    """The units of a client's columns: `utf-8`, `utf-16` (what holds unless agreed) or `utf-32`."""

    def __init__(self, name: str = "utf-16") -> None:
        self.name = name

    def count(self, text: str) -> int:
        """Return the length of a text in these units."""
        if self.name == "utf-32" or text.isascii():
            return len(text)
        if self.name == "utf-8":
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text) + sum(ord(one) > _ASTRAL for one in text)

    def column(self, line: str, units: int) -> int:
        """Convert a column in code units to one in characters, within the bounds of the line.

        What lies behind the line is its end, what lies before it its begin.
        """
        if self.name == "utf-32" or line.isascii():
            return max(0, min(units, len(line)))
        gone = 0
        for column, one in enumerate(line):
            gone += self.count(one)
            if gone > units:
                return column
        return len(line)


class SourceText:
    """The text of a document; a change makes a new one. Lone surrogates are U+FFFD."""

    __slots__ = ("_lines",)

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = list(lines)

    @classmethod
    def of(cls, text: str) -> SourceText:
        """Split a text into lines."""
        return cls(_split(_SURROGATE.sub("\ufffd", text)))

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self._lines)

    @property
    def data(self) -> bytes:
        """All of it in UTF-8."""
        return self.text.encode()

    @property
    def line_count(self) -> int:
        """Number of lines, including the empty one after a final line break."""
        return len(self._lines)

    def line(self, number: int) -> str:
        """Return a line without its line end; empty if it does not exist."""
        if not 0 <= number < len(self._lines):
            return ""
        return self._lines[number].rstrip("\r\n")

    def lines(self) -> list[str]:
        """Return all lines without their line ends."""
        return [line.rstrip("\r\n") for line in self._lines]

    def place(self, line: int, units: int, by: Units) -> TextPosition:
        """Convert a client's position to the nearest place in the text."""
        if line < 0:
            return TextPosition(0, 0)
        if line >= len(self._lines):
            last = len(self._lines) - 1
            return TextPosition(last, len(self.line(last)))
        return TextPosition(line, by.column(self.line(line), units))

    def units(self, place: TextPosition, by: Units) -> int:
        """Return the column of a place in the client's units."""
        return by.count(self.line(place.line)[: place.column])

    def change(self, span: TextSpan, text: str) -> SourceText:
        """Return the text with a span replaced."""
        start, end = min(span), max(span)
        head = self._lines[start.line][: start.column]
        tail = self._lines[end.line][end.column :]
        first = start.line
        if not head and first and self._lines[first - 1].endswith("\r"):
            first -= 1  # a LF that comes to stand behind it makes one line end of both
            head = self._lines[first]
        new = _split(head + _SURROGATE.sub("\ufffd", text) + tail)
        if end.line + 1 < len(self._lines):
            new.pop()  # behind its last line end the next line begins
        return SourceText((*self._lines[:first], *new, *self._lines[end.line + 1 :]))


def _split(text: str) -> list[str]:
    """Split a text into lines with their line ends; the last line has none."""
    found = _LINES.findall(text)
    if len(found) > 1 and not found[-1] and not found[-2].endswith(("\r", "\n")):
        found.pop()  # the pattern matches once more at the very end
    return found


_EMPTY = SourceText.of("")
BESIDE = (OWNERSHIP_MAP, PATTERNS)
"""Files next to a plan whose editor text counts while they are open."""
_LOCAL = ("", "localhost")
MOST_PROBLEMS = 200
"""Maximum per file; an editor shows no more, and all are sent after each keystroke."""
_MANY_TASKS = 300
"""From this size on, checks of the whole plan wait for a pause in typing."""


class _Stamp(NamedTuple):
    """The inputs of a computed status; a different stamp means that it may be outdated."""

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
        """Texts of open files next to the plan."""
        self._data = b""
        self._sections: tuple[Section, ...] = ()
        self._verdicts = Verdicts()
        self._whole: tuple[Problem, ...] = ()
        self._whole_lines = 0
        self._view: tuple[_Stamp, View | None] | None = None
        self.plan: Plan = self._read(_EMPTY)

    @classmethod
    def open(cls, file: Path, environ: Mapping[str, str]) -> OpenPlan:
        """Open the plan in a file that may not exist yet. Raises RunnerError.

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
        """Return all problems of the plan itself, as `validate` reports them."""
        with pause_collections():
            found = find_problems(self._check(), self.project.settings, self._verdicts)
        own = set(self.plan.problems)
        self._whole = tuple(one for one in found if one not in own)
        self._whole_lines = self.text.line_count
        return found

    def find_local_problems(self) -> tuple[Problem, ...]:
        """Return current local problems, and the last known problems of the whole plan.

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

    def check_surroundings(self, environ: Mapping[str, str]) -> tuple[Problem, ...]:
        """Reload settings and gates, and return the problems of the files near the plan."""
        before = self.prefixes
        # the plan or the repository may be gone: the earlier state remains valid
        with suppress(RunnerError, OSError):
            self.project = open_project(self.root / self.path, environ)
        if self.prefixes != before:
            self._sections = ()
        self.change(self.text)
        texts = {path: text.data for path, text in self.beside.items()}
        try:
            beside = find_nearby_problems(self.project, texts)
            return (*find_unmade_parts(self.project, self._check()), *beside)
        except (RunnerError, OSError):
            return ()  # a repository that cannot be read: `runner validate` says why

    # --- what is known beside the text ----------------------------------------------------

    def text_of(self, path: str) -> SourceText:
        """Return the text of the plan or a related file: the open buffer, else from disk."""
        if path == self.path:
            return self.text
        return self.beside[path] if path in self.beside else self._written(path)

    def load(self) -> SourceText:
        """Load the plan from disk; return an empty text if it does not exist."""
        return self._written(self.path)

    def _written(self, path: str) -> SourceText:
        try:
            return SourceText.of((self.root / path).read_bytes().decode("utf-8", "replace"))
        except OSError:
            return _EMPTY

    def patterns(self) -> PatternIndex:
        """Return the pattern index from its open buffer or from disk."""
        return PatternIndex.read(self.text_of(PATTERNS).data)

    def file(self, path: str) -> Path | None:
        """Return the path of a file in the repository; None if it is missing or outside."""
        try:
            found = (self.root / path).resolve()
            inside = found.is_relative_to(self.root.resolve())
            return self.root / path if inside and found.is_file() else None
        except (OSError, ValueError, RuntimeError):
            return None  # a path no file can have: a null byte, a name too long, links in a circle

    def standing(self) -> View | None:
        """Return the view of the saved plan, cached until it changes; None if it cannot be read.

        It is read again when journal, plan or HEAD moved.
        """
        try:
            stamp = _Stamp(
                _times(self.project.journal_path),
                _times(self.root / self.path),
                self.project.head().commit,
            )
            if self._view is None or self._view[0] != stamp:
                # Store None first: a failed read is not repeated for this stamp.
                self._view = (stamp, None)
                self._view = (stamp, View.of(self.project))
        except (RunnerError, OSError):
            return None  # no plan on disk, a damaged journal: the text is served all the same
        return self._view[1]


def open_project(file: Path, environ: Mapping[str, str]) -> Project:
    """Open the project of a plan or a related file. Raises RunnerError without a repository.

    The gates that it declares are taken as they are named: to ask its own Python for a tool, as
    `validate` does, would run a program of a repository that somebody only looks at.
    """
    project = _find_project(file, environ)
    if needs_defaults(project.settings):
        gates = find_project_gates(project)
        project.loaded = with_default_gates(project.loaded, gates, _as_named)
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


class OpenDocument(NamedTuple):
    """An open document: the plan it is, or stands beside, and its path in the project."""

    plan: OpenPlan
    path: str

    @property
    def text(self) -> SourceText:
        """Its text as it is open."""
        return self.plan.text_of(self.path)

    @property
    def is_plan(self) -> bool:
        """Whether it is the plan itself."""
        return self.path == self.plan.path


class OpenDocuments:
    """All of an editor's documents that belong to a plan."""

    def __init__(self, folders: Iterable[Path], environ: Mapping[str, str]) -> None:
        self.folders = tuple(folder.resolve() for folder in folders)
        self.environ = environ
        self._by_uri: dict[str, OpenDocument] = {}
        self._plans: dict[Path, OpenPlan] = {}
        self._around: dict[Path, tuple[Problem, ...]] = {}
        self._shown: dict[Path, set[str]] = defaultdict(set)
        """Paths of each project with problems shown in the client."""

    def open(self, uri: str, text: str) -> OpenDocument | None:
        """Open a document; None if it belongs to no plan.

        Raises RunnerError for a plan in no git repository, and for bad settings.
        """
        file = path_of_uri(uri)
        if file is None or not self._is_inside(file):
            return None
        if file.name in BESIDE:
            document = self._beside(file)
        elif file.name == Path(PLANS[0]).name or self._is_named_plan(file):
            document = self._plan(file)
        else:
            return None
        self._by_uri[uri] = document
        self.replace(document, SourceText.of(text))
        return document

    def _is_inside(self, file: Path) -> bool:
        resolved = file.resolve()
        return not self.folders or any(map(resolved.is_relative_to, self.folders))

    def _is_named_plan(self, file: Path) -> bool:
        """Return whether the settings name this file as the plan."""
        if file.suffix != ".md":
            return False
        try:
            plan = OpenPlan.open(file.with_name(PLANS[0]), self.environ)
            named = plan.project.settings.build.task_graph
            return bool(named) and (plan.root / named).resolve() == file.resolve()
        except RunnerError:
            return False

    def _plan(self, file: Path) -> OpenDocument:
        known = self._plans.get(file)
        if known is None:
            known = self._plans[file] = OpenPlan.open(file, self.environ)
        return OpenDocument(known, known.path)

    def _beside(self, file: Path) -> OpenDocument:
        """Return the document of a file next to a plan; load the plan from disk if needed."""
        for plan in PLANS:
            if file.with_name(PLANS[0]) in self._plans or (file.parent / plan).is_file():
                found = self._plan(file.parent / plan)
                if not found.plan.tasks:
                    found.plan.change(found.plan.load())
                return OpenDocument(found.plan, file.name)
        return OpenDocument(self._plan(file.with_name(PLANS[0])).plan, file.name)

    def find(self, uri: str) -> OpenDocument | None:
        """Return the open document of a URI, or None."""
        return self._by_uri.get(uri)

    def replace(self, document: OpenDocument, text: SourceText) -> None:
        """Replace the text of a document."""
        if document.is_plan:
            document.plan.change(text)
        else:
            document.plan.beside[document.path] = text

    def close(self, uri: str) -> OpenDocument | None:
        """Close a document, so that the saved file counts again."""
        document = self._by_uri.pop(uri, None)
        if document is None:
            return None
        if document.is_plan:
            document.plan.change(document.plan.load())
        else:
            document.plan.beside.pop(document.path, None)
        if all(one.plan is not document.plan for one in self._by_uri.values()):
            self._plans = {at: one for at, one in self._plans.items() if one is not document.plan}
        return document

    def uri(self, plan: OpenPlan, path: str) -> str:
        """Return the URI of a project file, as the client spells it if it is open."""
        for uri, one in self._by_uri.items():
            if one.plan is plan and one.path == path:
                return uri
        return (plan.root / path).absolute().as_uri()

    def is_open(self, plan: OpenPlan) -> bool:
        """Return whether any document of a plan is open."""
        return any(one.plan is plan for one in self._by_uri.values())

    # --- what is wrong ----------------------------------------------------------------

    def check_surroundings(self, plan: OpenPlan) -> None:
        """Check the files near a plan, its settings and its declared gates."""
        self._around[plan.root] = plan.check_surroundings(self.environ)

    def problems(
        self, plan: OpenPlan, *, while_typing: bool = False
    ) -> dict[str, tuple[Problem, ...]]:
        """Return all problems of a plan and the files near it, by path.

        `while_typing` a large plan is looked at only where it was changed.

        A path that is open, or had problems before, and has none now is among them, with none.
        """
        is_open = [one.path for one in self._by_uri.values() if one.plan is plan]
        paths = (plan.path, *is_open, *self._shown[plan.root])
        found: dict[str, list[Problem]] = {path: [] for path in paths}
        is_quick = while_typing and len(plan.tasks) > _MANY_TASKS
        inside = plan.find_local_problems() if is_quick else plan.find_problems()
        for problem in (*inside, *self._around.get(plan.root, ())):
            found.setdefault(problem.path, []).append(problem)
        self._shown[plan.root] = {path for path, problems in found.items() if problems}
        return {path: _few(problems) for path, problems in found.items()}

    def forget(self, plan: OpenPlan) -> tuple[str, ...]:
        """Forget a closed plan and return the paths whose problems the client still shows."""
        self._around.pop(plan.root, None)
        return tuple(self._shown.pop(plan.root, ()))


def _few(problems: list[Problem]) -> tuple[Problem, ...]:
    """Return the problems within the editor's limit, errors first, with a note on the rest."""
    if len(problems) <= MOST_PROBLEMS:
        return tuple(problems)
    ordered = sorted(problems, key=lambda one: not one.is_error)
    left = len(problems) - MOST_PROBLEMS
    first = ordered[MOST_PROBLEMS]
    message = f"{left:,} more errors and warnings are not shown here"
    note = Problem(message, first.path, 1, 1, "run `runner validate` to see all", first.severity)
    return (*ordered[:MOST_PROBLEMS], note)


def path_of_uri(uri: str) -> Path | None:
    """Return the local path of a file URI (RFC 8089), or None."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    path = unquote(parts.path)
    is_file = parts.scheme == "file" and parts.netloc in _LOCAL and path.startswith("/")
    return Path(path) if is_file and path.isprintable() else None
