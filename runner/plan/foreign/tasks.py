"""The tasks of another tool's file, and their TASK-GRAPH.md sections with safe fields only.

Whatever was written there (headings, fences with commands, fields, `!` lines) arrives as plain
words; `parses_back` reads the section again and tells whether that is so.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner.model import Budget, Network, Status
from runner.model.grades import is_code, is_document
from runner.model.task import MILESTONE, PRIORITIES, AcceptanceItem
from runner.plan.document import read_plan
from runner.plan.field_names import parse_name
from runner.plan.markdown_text import plain
from runner.plan.status import write_status
from runner.plan.task_ids import LONGEST_TITLE
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from runner.model import Task


class Form(StrEnum):
    """A tool whose files are read."""

    SPEC_KIT = "spec-kit"
    KIRO = "kiro"
    OPENSPEC = "openspec"
    BACKLOG = "backlog"
    TASK_MASTER = "task-master"
    BEADS = "beads"
    CHECKLIST = "checklist"


class ForeignState(StrEnum):
    """The file's data about a task."""

    OPEN = "open"
    DONE = "done"
    DROPPED = "dropped"
    """Cancelled or deleted there: reported, not imported."""


class DoneMark(Struct, frozen=True):
    """The place of a task's done mark in a file; in characters of its text, from 0."""

    start: int
    end: int
    done: str
    """Mark of a finished task."""
    open: str
    """Mark of an open task."""


class ForeignTask(Struct, frozen=True):
    """A task as another tool's file has it."""

    key: str
    """Name in the file (`T012`, `2.1`, `bd-a1b2`); a plain item has its line."""
    title: str
    line: int
    """Line number, from 1."""
    state: ForeignState
    mark: DoneMark | None
    needs: tuple[str, ...] = ()
    """Keys of its dependencies."""
    is_group: bool = False
    """Whether its work consists of other tasks, on which it then depends."""
    paths: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    priority: str = ""
    prose: str = ""


class ForeignPlan(Struct, frozen=True):
    """One file of another tool."""

    form: Form
    tasks: tuple[ForeignTask, ...]
    left: tuple[tuple[int, str], ...] = field(default=())
    """Parts without a place in a plan: line (from 1) and text of each."""


_SUFFIX = r"\.[A-Za-z][A-Za-z0-9]{0,7}"
_QUOTED = re.compile(r"`([^`\s]+)`")
_BARE = re.compile(rf"(?<![\w`/.:@-])((?:[\w.@-]+/)+[\w.@-]*{_SUFFIX})(?![\w/`])")
_PATH = re.compile(
    rf"(?!.*://)(?!/)(?!.*(?:^|/)\.\.(?:/|$))(?:[\w.@()\[\]-]+/)*[\w.@()\[\]-]*{_SUFFIX}\Z"
)
_CALL = re.compile(r"[()=;|$<>]")
_DATA = re.compile(
    r".*\.(?:json|jsonc|ya?ml|toml|ini|cfg|conf|env|xml|csv|tsv|css|scss|html?|lock|proto|graphql|svg)\Z"
)


def paths_in(text: str) -> tuple[str, ...]:
    """Return the files named in a text, in backquotes or with folder and suffix."""
    quoted = (one for one in _QUOTED.findall(text) if _is_path(one))
    bare = (one for one in _BARE.findall(text) if _is_path(one))
    return tuple(dict.fromkeys((*quoted, *bare)))


def _is_path(text: str) -> bool:
    if _CALL.search(text) or not _PATH.match(text):
        return False
    return "/" in text or is_code(text) or is_document(text) or bool(_DATA.match(text))


def title_of(text: str) -> str:
    """Return a title on one line without comments and strong emphasis."""
    words = re.sub(r"<!--.*?-->", " ", text)
    words = re.sub(r"(\*\*|__)(.+?)\1", r"\2", words)
    return " ".join(words.split()).rstrip("#").strip(" \t:")


_OPENING = re.compile(r"([#>|!+*=~`<\[\\_-]|\d+(?=[.)]))")
_LONGEST = 4_000
"""Maximum characters of imported prose or of one criterion."""


class NewSection(Struct, frozen=True):
    """The text of one task's new section."""

    id: str
    title: str
    status: Status
    note: str
    source: str
    needs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    priority: str = ""
    test: str = ""
    prose: str = ""
    is_milestone: bool = False
    inputs: tuple[str, ...] = ()
    tests: tuple[tuple[str, str], ...] = ()
    """Test contracts in addition to `test`, each a level and a command."""
    type: str = ""

    @property
    def text(self) -> str:
        """The section; ends in a line end."""
        return "\n".join((f"## {self.id}: {self.title}", "", *self._fields(), *self._prose(), ""))

    def _fields(self) -> list[str]:
        lines = [f"- Status: {write_status(self.status, self.note)}"]
        if self.is_milestone or self.type:
            lines.append(f"- Type: {MILESTONE if self.is_milestone else self.type}")
        if self.needs:
            lines.append(f"- Depends on: {', '.join(self.needs)}")
        if self.outputs:
            lines.append(f"- Output files: {', '.join(f'`{one}`' for one in self.outputs)}")
        if self.inputs:
            lines.append(f"- Inputs: {', '.join(f'`{one}`' for one in self.inputs)}")
        if self.acceptance:
            lines += ["- Acceptance:", *map(_render_item, self.acceptance)]
        if self.proofs:
            number = self.id.rpartition("-")[2]
            lines.append("- Test contracts:")
            for at, (level, command) in enumerate(self.proofs):
                lines.append(f"  - TC-{number}{at or ''} ({level}): `{command}`")
        if self.keywords:
            lines.append(f"- Keywords: {', '.join(self.keywords)}")
        if self.priority:
            lines.append(f"- Priority: {self.priority}")
        return [*lines, *([f"- Source: `{self.source}`"] if self.source else [])]

    @property
    def proofs(self) -> tuple[tuple[str, str], ...]:
        """All test contracts, each a level and a command."""
        return (*((("unit", self.test),) if self.test else ()), *self.tests)

    def _prose(self) -> list[str]:
        lines = [inert(line) for line in self.prose[:_LONGEST].splitlines()]
        return ["", *lines] if any(lines) else []


def plain_title(title: str) -> str:
    """Return a title as the plan reader normalises it, for comparison."""
    text = " ".join(plain(redact(title)).split())
    return text if len(text) <= LONGEST_TITLE else f"{text[:LONGEST_TITLE]}…"


def inert(line: str) -> str:
    """Escape a line so that it has no meaning in Markdown or in a plan."""
    words = "".join(" " if ord(one) < ord(" ") else one for one in line).strip()[:_LONGEST]
    # A comment extends to its `-->`, across all fields in between (CommonMark 0.31, 4.6).
    words = words.replace("<!--", "&lt;!--")
    if opening := _OPENING.match(words):
        at = opening.end() if opening[0][0].isdigit() else 0
        words = f"{words[:at]}\\{words[at:]}"
    if (named := parse_name(words)) and ":" in words[: named.value]:
        colon = words.index(":")
        words = f"{words[:colon]}\\{words[colon:]}"
    return words


def _render_item(line: str) -> str:
    item = AcceptanceItem.parse(line)
    return f"  - {item.id}: {inert(item.text)}" if item.id else f"  - {inert(line)}"


def parses_back(section: NewSection) -> bool:
    """Return whether a section parses as one task with exactly these fields."""
    plan = read_plan(section.text.encode("utf-8", "replace"), "TASK-GRAPH.md")
    if len(plan.tasks) != 1 or any(problem.is_error for problem in plan.problems):
        return False
    task = plan.tasks[0]
    parsed = (task.id, task.status, task.depends_on, tuple(map(str, task.outputs)), task.source)
    meant = (section.id, section.status, section.needs, section.outputs, section.source)
    rank = PRIORITIES.index(section.priority) if section.priority else None
    kind = MILESTONE if section.is_milestone else section.type
    return (
        parsed == meant
        and tuple((str(one.level), one.command) for one in task.test_contracts) == section.proofs
        and not any(one.fails for one in task.test_contracts)
        and tuple(map(str, task.inputs)) == section.inputs
        and task.type.casefold() == kind.casefold()
        and len(task.acceptance) == len(section.acceptance)
        and task.priority == rank
        and _sets_nothing_else(task)
    )


def _sets_nothing_else(task: Task) -> bool:
    others = (
        task.blocks, task.changes, task.command, task.gates, task.contracts, task.implementer,
        task.uses, task.requires, task.stack, task.patterns, task.changes_tests, task.no_proof,
        task.no_contracts,
    )  # fmt: skip
    numbers = (task.coverage, task.red_first, task.timeout, task.review)
    return (
        not any(others)
        and all(one is None for one in numbers)
        and task.network is Network.NO
        and task.budget == Budget()
    )
