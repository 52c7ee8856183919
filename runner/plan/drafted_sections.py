"""Parse drafted sections as untrusted input: only a fixed list of fields.

What an answer may set of a task: title, prose, Depends on, Output files, Inputs, Acceptance, Test
contracts, Type, Keywords, Priority, Source; the status is PENDING. Everything else is taken out
and reported with its line. Lines count from 1 in the answer's block.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner.model import AcceptanceItem, BlockKind, Budget, Network, Status
from runner.model.task import MILESTONE, PRIORITIES
from runner.plan.document import read_plan
from runner.plan.foreign.tasks import NewSection, parses_back
from runner.plan.spans import Spans
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from runner.model import Task
    from runner.plan.document import Plan

NAME = "draft"
"""Name of the answer's block in messages."""
MOST_TASKS = 60
MOST_OUTPUTS = 20
LONGEST = 1 << 18
"""Maximum characters of an answer."""
_FENCE = re.compile(
    r"^ {0,3}(`{3,}|~{3,})[ \t]*([^\n`]*)\n(.*?)^ {0,3}\1[`~]*[ \t]*$", re.MULTILINE | re.DOTALL
)
_HEADING = re.compile(r"^#{2,6}[ \t]+TASK-\d+\b", re.MULTILINE)
_ORDER = re.compile(r"^\s*(?:[-*+]\s+)?!\s*\w+")
_QUOTE = re.compile(r"^\s*(?:[-*+]\s+)?>\s*CHANGE-\d+")
_ASKED = re.compile(r"^\s*[-*+]\s+(?P<text>.*\S)\s*[:→]\s*(?P<ids>[^:→]*)$")
_ID = re.compile(r"TASK-\d{3,9}\Z")
_WORD = re.compile(r"[\w.+-]+\Z")
_NOT_TAKEN = {
    "implementer": "Implementer", "command": "Command", "gates": "Gates", "contracts": "Contracts",
    "coverage": "Coverage", "red_first": "Red first", "uses": "Uses", "network": "Network",
    "timeout": "Timeout", "stack": "Stack", "patterns": "Patterns", "requires": "Requires",
    "budget": "Budget", "review": "Review", "changes_tests": "Changes tests",
    "model": "Model", "no_proof": "Proof: none", "no_contracts": "Contracts: none",
}  # fmt: skip
_EMPTY = {"network": Network.NO, "budget": Budget()}


class Remark(Struct, frozen=True):
    """Something to say about a line of the answer."""

    line: int
    text: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{NAME}:{self.line}: {self.text}"


class DraftReading(Struct, frozen=True):
    """The content of an answer."""

    lines: tuple[str, ...] = ()
    sections: tuple[NewSection, ...] = ()
    places: dict[str, int] = field(default_factory=dict)
    """Line of each task's heading."""
    mistakes: tuple[Remark, ...] = ()
    """Why it cannot be accepted as it is."""
    taken_out: tuple[Remark, ...] = ()
    asked: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Items of the request, each with the tasks that build it."""

    @property
    def text(self) -> str:
        """The sections as they are to stand in the plan, with LF."""
        return "\n".join(one.text for one in self.sections)

    def line_of(self, id_: str, text: str = "") -> int:
        """Return the line in a task's section that contains a text, else its heading's line."""
        start = self.places.get(id_, 1)
        later = [line for line in self.places.values() if line > start]
        end = min(later, default=len(self.lines) + 1)
        wanted = text.strip("`")
        found = (
            at
            for at in range(start, min(end, len(self.lines) + 1))
            if wanted and wanted in self.lines[at - 1]
        )
        return next(found, start)


def read_draft(answer: str, taken: Collection[str] = ()) -> DraftReading:
    """Read the last block `markdown draft` of an answer; `taken` are ids that are not new."""
    text = answer[-LONGEST:].replace("\r\n", "\n").replace("\r", "\n")
    block = _find_block(text)
    if block is None:
        why = "the answer has no fenced block `markdown draft` with `## TASK-…: Title` sections"
        return DraftReading(mistakes=(Remark(1, why, "answer with exactly one"),))
    data = block.encode("utf-8", "replace")
    plan, places = read_plan(data, NAME), Spans(data, NAME)
    mistakes = [Remark(one.line, one.message, one.hint) for one in plan.problems if one.is_error]
    mistakes += _of_ids(plan, taken)
    taken_out = [Remark(one.line, one.message) for one in plan.problems if not one.is_error]
    sections: list[NewSection] = []
    for task in plan.tasks:
        taken_out += _not_taken(task, places)
        sections.append(_section(task))
        mistakes += _of_one(task, sections[-1], places)
    taken_out += _orders(block)
    return DraftReading(
        tuple(block.split("\n")),
        tuple(sections),
        {task.id: task.line for task in plan.tasks},
        tuple(sorted(mistakes, key=lambda one: one.line)),
        tuple(sorted(dict.fromkeys(taken_out), key=lambda one: one.line)),
        tuple(_asked(text)),
    )


def _find_block(text: str) -> str | None:
    """Return the last fenced draft block, else the text from the first task heading."""
    marked = [one for one in _FENCE.finditer(text) if NAME in one[2].casefold().split()]
    if marked:
        return marked[-1][3]
    fenced = [one for one in _FENCE.finditer(text) if _HEADING.search(one[3])]
    if fenced:
        return fenced[-1][3]
    heading = _HEADING.search(text)
    return text[heading.start() :] if heading else None


def _of_ids(plan: Plan, taken: Collection[str]) -> Iterator[Remark]:
    if len(plan.tasks) > MOST_TASKS:
        late = plan.tasks[MOST_TASKS].line
        yield Remark(late, f"more than {MOST_TASKS} tasks", "draft only the first tasks")
    seen: set[str] = set()
    for task in plan.tasks:
        if not _ID.match(task.id):
            yield Remark(task.line, f"{task.id} is not a valid new id", "write it as TASK-012")
        elif task.id in taken:
            yield Remark(task.line, f"{task.id} is already in use", "choose an unused id")
        elif task.id in seen:
            yield Remark(task.line, f"duplicate task ID {task.id}", "give each task its own id")
        seen.add(task.id)


def _of_one(task: Task, section: NewSection, places: Spans) -> Iterator[Remark]:
    if task.outputs == ("any",):
        at = places.find(task, "outputs").line
        yield Remark(at, "Output files may not be `any`", "name the files that the task writes")
    if len(task.outputs) > MOST_OUTPUTS:
        at = places.find(task, "outputs").line
        yield Remark(at, f"more than {MOST_OUTPUTS} output files", "split the task")
    for test in task.test_contracts:
        if not test.command.strip("`' \""):
            yield Remark(
                test.line, f"{test.id} has no command", "write it as TC-001 (unit): `command`"
            )
    if not parses_back(section):
        hint = "use plain words in title, prose and criteria; no backquotes in commands and paths"
        yield Remark(task.line, f"Markdown in the text of {task.id} changes its fields", hint)


def _not_taken(task: Task, places: Spans) -> Iterator[Remark]:
    for key, name in _NOT_TAKEN.items():
        if getattr(task, key) not in (_EMPTY.get(key), None, "", ()):
            yield Remark(
                places.find(task, "contracts" if key == "no_contracts" else key).line, name
            )
    if task.status is not Status.PENDING or task.note:
        yield Remark(places.find(task, "status").line, f"Status {task.status}")
    for test in task.test_contracts:
        if test.fails:
            yield Remark(test.line, f"{test.id} that is expected to fail")
    for block in task.blocks:
        message = "a `sh run` block" if block.kind is BlockKind.RUN else f"a block for {block.path}"
        yield Remark(block.line, message)
    odd = [one for one in task.keywords if not _WORD.match(one)]
    if odd:
        yield Remark(places.find(task, "keywords").line, f"Keywords {', '.join(odd)}")
    if task.type and not _WORD.match(task.type):
        yield Remark(places.find(task, "type").line, f"Type {task.type}")


def _orders(block: str) -> Iterator[Remark]:
    for number, line in enumerate(block.split("\n"), start=1):
        if _ORDER.match(line):
            yield Remark(number, "a `!` line")
        elif _QUOTE.match(line):
            yield Remark(number, "a CHANGE quote")


def _section(task: Task) -> NewSection:
    milestone = task.is_milestone
    prose = "\n".join(
        line for line in task.prose.split("\n") if not (_ORDER.match(line) or _QUOTE.match(line))
    )
    return NewSection(
        task.id, " ".join(redact(task.title).split()), Status.PENDING, "", task.source,
        task.depends_on, tuple(map(str, task.outputs)),
        acceptance=number_items(
            redact(" ".join(one.split())) for one in task.acceptance
            if one.strip() and not (_ORDER.match(one) or _QUOTE.match(one))
        ),
        keywords=tuple(one for one in task.keywords if _WORD.match(one)),
        priority="" if task.priority is None else PRIORITIES[task.priority],
        prose=redact(prose).strip(),
        is_milestone=milestone,
        inputs=tuple(map(str, task.inputs)),
        tests=tuple((str(one.level), one.command) for one in task.test_contracts if not one.fails),
        type=task.type if task.type != MILESTONE and _WORD.match(task.type) else "",
    )  # fmt: skip


def number_items(texts: Iterable[str]) -> tuple[str, ...]:
    """Give numbers to acceptance items unless each has an id; merge duplicate texts."""
    parsed = map(AcceptanceItem.parse, texts)
    items = list({item.text: item for item in parsed}.values())
    ids = {item.id for item in items} - {""}
    if len(ids) == len(items):
        return tuple(f"{item.id}: {item.text}" for item in items)
    return tuple(f"A{number}: {item.text}" for number, item in enumerate(items, 1))


def _asked(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield text and task IDs of each row in the last block named `asked`."""
    found = [one for one in _FENCE.finditer(text) if "asked" in one[2].casefold().split()]
    for line in found[-1][3].split("\n")[:200] if found else ():
        if match := _ASKED.match(line):
            ids = tuple(re.findall(r"TASK-\d+", match["ids"]))
            yield " ".join(redact(match["text"]).split()), ids
