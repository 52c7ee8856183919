"""Show what the runner knows about a plan: completions, hover text, code lenses, inlay hints.

Each field of a task has a one-sentence description; some list the words that they take. A lens
names a command, which the client executes.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple, cast

from msgspec import Struct

from runner.editor.mentions import Mention, heading_of_task, makers
from runner.editor.open_plan import TextPosition, TextSpan, span_on
from runner.implementers.registry import IMPLEMENTERS
from runner.journal.display_status import format_status
from runner.journal.evidence import EvidenceState, evaluate_standing
from runner.model import Network, ReviewMode, Status
from runner.model.task import MILESTONE, PRIORITIES
from runner.plan.field_names import FIELDS, key_of, parse_name
from runner.plan.graph import TaskGraph
from runner.plan.markdown_text import cells
from runner.plan.task_types import DOMAINS, KINDS
from runner.project import PATTERNS
from runner.repo.head import OWNERSHIP_MAP
from runner.report.cost import cost
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import moment, plural, read_number, short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.app.inspect.view import View
    from runner.editor.open_plan import OpenPlan
    from runner.model import Task
    from runner.plan.outline import OutlineTask


NOTES = {
    "status": "state of the task; the runner writes it, you may set it back to PENDING",
    "type": "kind of work; decides which contracts it needs and how its brief is written",
    "depends_on": "tasks that must be DONE before it starts; `none` for no tasks",
    "outputs": "files and globs that it may write; changes to other files are rejected",
    "inputs": "files and globs that it reads; they go into its brief",
    "acceptance": "acceptance criteria, one per line: `A1: text`",
    "test_contracts": "commands that prove it: `TC-001 (unit): command`; levels are unit, "
    "integration and e2e",
    "held_out_files": "test files that its implementer cannot read; `runner hold-out` writes them",
    "test_author": "the agent that writes tests before the task starts",
    "assurance": "grade that its work needs to land without your approval",
    "contracts": "`openapi:`, `schema:` and `command:` checks of its interface, or `none — reason`",
    "changes_tests": "tests whose expectations it changes on purpose",
    "gates": "`name: command`, instead of the project's gates",
    "coverage": "minimum coverage of its own lines, in percent",
    "implementer": "implementer that makes its changes",
    "command": "command line of the `command` implementer",
    "red_first": "whether its tests must fail before the implementation",
    "uses": "resources that no two tasks use at once: `gpu 1, port 5432, memory 4GB`",
    "network": "network access of its commands",
    "timeout": "time limit of each of its commands: `10 minutes`",
    "keywords": "keywords that select patterns",
    "stack": "technology stack; patterns of other stacks do not match",
    "patterns": "patterns that are always in its brief: `PATTERN-001`",
    "requires": "requirements before it starts: `root`, `secret NAME`, `tool NAME`",
    "budget": "limits of its use: `5 attempts, 30 minutes, 200k tokens, $5`",
    "review": "whether you review its changes before they land",
    "no_proof": "`none — reason`: it needs no proof",
    "priority": "order among tasks that are ready",
    "model": "model that its agent uses",
    "source": "FILE:LINE it was imported from",
}
"""Hover texts by field key; a field without one is completed but has no hover."""

VALUES = {
    "status": tuple(Status),
    "type": (*(one.name for one in (*KINDS, *DOMAINS)), MILESTONE),
    "implementer": tuple(IMPLEMENTERS),
    "red_first": ("yes", "no"),
    "assurance": ("independent",),
    "network": tuple(Network),
    "review": tuple(ReviewMode),
    "priority": PRIORITIES,
    "coverage": ("70%", "80%", "90%", "100%"),
    "no_proof": ("none — ",),
}
"""Allowed words by field key."""


_NAME = re.compile(r"(?P<lead>[ \t]*[-*+][ \t]+)(?P<marks>\**)(?P<typed>[A-Za-z][\w -]*)?$")
_VALUE = re.compile(
    r"[ \t]*(?:[-*+][ \t]+)?\**(?P<name>[A-Za-z][A-Za-z _-]*?)(?:\**:\**)[ \t]*(?P<value>.*)$"
)
_ITEM = re.compile(r"[ \t]+(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(?P<value>.*)$")
_FENCE = re.compile(r"[ \t]*(?:`{3,}|~{3,})(?P<info>.*?)\bfile=(?P<typed>\S*)$")
_WORD = re.compile(r"[^\s,;|`()]*$")
_COMMAND = re.compile(r"`(?P<typed>[^`]*)$")
_CONTRACT = re.compile(r"TC-(\d+)", re.IGNORECASE)
_PATHS = frozenset({"outputs", "inputs", "changes_tests"})
_HIDDEN = frozenset({".git"})
_MOST = 500
"""Maximum entries of one folder that are offered."""


class Completion(NamedTuple):
    """A text for a span; `kind` is field, value, task, path, folder, command or pattern."""

    label: str
    kind: str
    span: TextSpan
    text: str
    detail: str = ""


class _Cursor(Struct, frozen=True):
    """The cursor: the task around it, if any, and the line up to it."""

    plan: OpenPlan
    place: TextPosition
    before: str
    task: Task | None

    def span(self, typed: str) -> TextSpan:
        """Return the span of the typed word, which a completion replaces."""
        return span_on(self.place.line, self.place.column - len(typed), self.place.column)


def complete(plan: OpenPlan, path: str, place: TextPosition) -> list[Completion]:
    """Return all completions at a position in the plan, ownership map or pattern index."""
    before = plan.text_of(path).line(place.line)[: place.column]
    if path == OWNERSHIP_MAP:
        return _in_map(_Cursor(plan, place, before, None))
    if path == PATTERNS:
        word = _word(before)
        return list(_paths(_Cursor(plan, place, before, None), word))
    return _in_plan(_Cursor(plan, place, before, _task_around(plan, place.line)))


def _task_around(plan: OpenPlan, line: int) -> Task | None:
    found = None
    for task in plan.tasks:
        if task.line - 1 > line:
            break
        found = task
    return found


def _word(before: str) -> str:
    match = _WORD.search(before)
    return match[0] if match else ""


def _in_map(at: _Cursor) -> list[Completion]:
    """Return completions for a table cell: files in the first column, task IDs in others."""
    column = len(cells(at.before)) - 1 if at.before.lstrip().startswith("|") else -1
    column += at.before.rstrip().endswith("|")
    word = _word(at.before)
    if column <= 0:
        return list(_paths(at, word)) if column == 0 else []
    return list(_ids(at, word))


def _in_plan(at: _Cursor) -> list[Completion]:
    if fence := _FENCE.match(at.before):
        return list(_outputs(at, fence["typed"]))
    if at.task is None:
        return []
    name = _NAME.match(at.before)
    if name and name["lead"].startswith(("-", "*", "+")):
        return list(_fields(at, name["typed"] or ""))
    value = _VALUE.match(at.before)
    key = key_of(value["name"]) if value else ""
    if not key:
        item = _ITEM.match(at.before)
        key = _field_above(at) if item else ""
        return list(_values(at, key, item["value"])) if item and key else []
    return list(_values(at, key, value["value"] if value else ""))


def _field_above(at: _Cursor) -> str:
    """Return the field of a nested item: the nearest line before it that names one."""
    first = at.task.line if at.task else 0
    for number in range(at.place.line - 1, first - 1, -1):
        line = at.plan.text.line(number)
        match = _VALUE.match(line)
        if match and not line[:1].isspace():
            return key_of(match["name"])
        if line.strip() and not line[:1].isspace():
            return ""
    return ""


def _fields(at: _Cursor, typed: str) -> Iterator[Completion]:
    """Yield the fields that the task does not have yet."""
    given = _fields_given(at)
    for key, names in FIELDS.items():
        if key not in given:
            note = NOTES.get(key, "")
            yield Completion(names[0], "field", at.span(typed), f"{names[0]}: ", note)


def _fields_given(at: _Cursor) -> set[str]:
    start = at.task.line if at.task else 0
    given: set[str] = set()
    for number in range(start, at.plan.text.line_count):
        line = at.plan.text.line(number)
        if line.startswith("#"):
            break
        match = _VALUE.match(line)
        if match and number != at.place.line and not line[:1].isspace():
            given.add(key_of(match["name"]))
    return given


def _values(at: _Cursor, key: str, value: str) -> Iterator[Completion]:
    if key in VALUES:
        typed = value.lstrip()
        for word in VALUES[key]:
            yield Completion(str(word), "value", at.span(typed), str(word))
    elif key == "depends_on":
        yield from _ids(at, _word(at.before))
    elif key in _PATHS:
        yield from _paths(at, _word(at.before))
    elif key == "patterns":
        word = _word(at.before)
        for one in at.plan.patterns().patterns:
            yield Completion(one.id, "pattern", at.span(word), one.id, one.title)
    elif key in ("test_contracts", "gates", "command"):
        yield from _commands(at, key, value)


def _ids(at: _Cursor, word: str) -> Iterator[Completion]:
    """Yield the tasks that this one can depend on without a cycle."""
    after = _waiting_for(at)
    for task in at.plan.tasks:
        if at.task is None or (task.id != at.task.id and task.id not in after):
            yield Completion(task.id, "task", at.span(word), task.id, task.title)


def _waiting_for(at: _Cursor) -> set[str]:
    graph = TaskGraph.of(at.plan.tasks)
    found: set[str] = set()
    front = [at.task.id] if at.task is not None and at.task.id in graph.ids else []
    while front:
        for after in graph.dependents(front.pop()):
            if after not in found:
                found.add(after)
                front.append(after)
    return found


def _outputs(at: _Cursor, typed: str) -> Iterator[Completion]:
    """Yield the task's output files, which its blocks can write."""
    for path in at.task.outputs if at.task is not None else ():
        if "*" not in path:
            yield Completion(path, "path", at.span(typed), path)


def _paths(at: _Cursor, word: str) -> Iterator[Completion]:
    """Yield the entries of the typed folder inside the repository."""
    folder, _, name = word.rpartition("/")
    root = at.plan.root.resolve()
    try:
        where = (root / folder).resolve()
        entries = sorted(os.scandir(where), key=lambda one: one.name)
    except (OSError, ValueError, RuntimeError):
        return
    if not where.is_relative_to(root) or ".git" in where.relative_to(root).parts:
        return
    before = f"{folder}/" if folder else ""
    for entry in [one for one in entries if _is_offered(one, name)][:_MOST]:
        is_folder = entry.is_dir(follow_symlinks=False)
        path = f"{before}{entry.name}{'/' if is_folder else ''}"
        yield Completion(path, "folder" if is_folder else "path", at.span(word), path)


def _is_offered(entry: os.DirEntry[str], typed: str) -> bool:
    if entry.name in _HIDDEN or not entry.name.isprintable():
        return False
    return not entry.name.startswith(".") or typed.startswith(".")


def _commands(at: _Cursor, key: str, value: str) -> Iterator[Completion]:
    """Yield the test commands of other tasks; an empty entry also gets the next ID."""
    inside = _COMMAND.search(value)
    if inside is not None:
        for command in _known_commands(at, key):
            yield Completion(command, "command", at.span(inside["typed"]), command)
        return
    if key == "test_contracts" and not value.strip().endswith(":"):
        id_ = _next_contract(at.plan)
        for level in ("unit", "integration", "e2e"):
            entry = f"{id_} ({level}): "
            yield Completion(entry.strip(), "value", at.span(value.lstrip()), entry)
        return
    typed = value.rpartition(":")[2].lstrip()
    for command in _known_commands(at, key):
        yield Completion(command, "command", at.span(typed), f"`{command}`")


def _known_commands(at: _Cursor, key: str) -> list[str]:
    found: dict[str, None] = {}
    for task in at.plan.tasks:
        if key == "test_contracts":
            found.update((one.command, None) for one in task.test_contracts)
        elif key == "gates":
            found.update((one.command, None) for one in task.gates)
        elif task.command:
            found[task.command] = None
    if key == "gates":
        found.update((one.command, None) for one in at.plan.project.settings.gates)
    return list(found)[:_MOST]


def _next_contract(plan: OpenPlan) -> str:
    numbers = [
        read_number(match[1])
        for task in plan.tasks
        for one in task.test_contracts
        if (match := _CONTRACT.fullmatch(one.id))
    ]
    return f"TC-{max((0, *numbers)) + 1:03d}"


COMMANDS = ("runner.run", "runner.why", "runner.evidence", "runner.approve")
IN_TERMINAL = frozenset({"runner.run", "runner.approve"})
"""Commands that change something: the client runs them in its terminal."""
_STANDS = {
    EvidenceState.CURRENT: "",
    EvidenceState.PROOF_CHANGED: "; the task's proof fields changed since then",
    EvidenceState.WORK_CHANGED: "; the task changed since then",
    EvidenceState.NONE: "",
}
_PROOFS = 8


class Lens(NamedTuple):
    """Something to press above a task; a lens without a command only says something."""

    span: TextSpan
    title: str
    command: str
    task: str


class Hint(NamedTuple):
    """A word behind a line, and what it says when one points at it."""

    place: TextPosition
    label: str
    tooltip: str


def status_words(task: Task, view: View | None) -> str:
    """Return status words such as `DONE · proven by tests`, `PENDING · ready`, `BLOCKED · no key`.

    A task that the runner has not seen yet stands as the text says.
    """
    if view is None or task.id not in view.states:
        return f"{task.status} · {display(task.note)}" if task.note else str(task.status)
    outlined = cast("OutlineTask", task)  # the view looks at id, status, note and needs alone
    status = view.status(task.id)
    more = ""
    if status is Status.DONE:
        graded = view.grades.get(task.id)
        unverified = view.unverified.get(task.id)
        more = f"not verified: {unverified.why}" if unverified else graded.words if graded else ""
    elif waits := view.waits_for(outlined):
        more = f"waits for {', '.join(waits)}"
    elif status is Status.PENDING:
        more = "ready"
    else:
        more = view.note(outlined)
    shown = format_status(view.states[task.id])
    return f"{shown} · {display(more)}" if more else shown


def lenses(plan: OpenPlan, view: View | None) -> Iterator[Lens]:
    """Yield the lenses above each task: its status and its commands."""
    for task in plan.tasks:
        span = heading_of_task(plan, task).span
        yield Lens(span, status_words(task, view), "", task.id)
        for command, title in _actions(task, view):
            yield Lens(span, title, command, task.id)


def _actions(task: Task, view: View | None) -> Iterator[tuple[str, str]]:
    known = view.states.get(task.id) if view is not None else None
    status = task.status if known is None else known.status
    if status is not Status.DONE:
        yield "runner.run", "run"
    yield "runner.why", "why"
    if known is not None and known.spec is not None:
        yield "runner.evidence", "evidence"
    planned = known.planned if known is not None else None
    is_waiting = planned is not None and not planned.approved
    if known is not None and (known.held or status is Status.STALE or is_waiting):
        yield "runner.approve", "approve"


def command_line(command: str, id_: str) -> tuple[str, ...]:
    """Return the command line of a code lens command: `runner run TASK-003`."""
    return ("runner", command.removeprefix("runner."), id_)


def hints(plan: OpenPlan, view: View | None, first: int, last: int) -> Iterator[Hint]:
    """Yield the status hint of each task whose heading is in these lines."""
    for task in plan.tasks:
        if first <= task.line - 1 <= last:
            end = heading_of_task(plan, task).span.end
            tooltip = "\n".join(_standing_lines(task, view))
            yield Hint(end, status_words(task, view), tooltip)


def hover(plan: OpenPlan, mention: Mention, view: View | None) -> str:
    """Return a Markdown description of a name; empty if nothing is known."""
    if mention.kind == "task":
        task = next(one for one in plan.tasks if one.id == mention.name)
        return redact("\n\n".join(_task_lines(task, view)))
    if mention.kind == "pattern":
        found = next((one for one in plan.patterns().patterns if one.id == mention.name), None)
        if found is None:
            return f"**{mention.name}**: not in the pattern index"
        words = ", ".join(filter(None, (found.domain, *found.stack, *found.keywords)))
        return redact("\n\n".join(filter(None, (f"**{found.id}**: {found.title}", words))))
    made = ", ".join(task.id for task in makers(plan, mention.name))
    there = "is in the tree" if plan.file(mention.name) else "does not exist yet"
    return f"`{mention.name}` {there}" + (f"; an output of {made}" if made else "")


def field_hover(plan: OpenPlan, place: TextPosition) -> tuple[str, TextSpan] | None:
    """Return the purpose and span of the field name at a position, or None."""
    line = plan.text.line(place.line)
    lead = len(line) - len(line.lstrip(" \t-*+|"))
    named = parse_name(line[lead:].replace("|", ":", 1) if "|" in line[:lead] else line[lead:])
    if named is None or not named.key or not lead:
        return None
    start = lead + named.start
    end = start + len(named.name)
    if not start <= place.column <= end or named.key not in NOTES:
        return None
    also = ", ".join(FIELDS[named.key][1:])
    written = f"\n\nalso written {also}" if also else ""
    return f"**{FIELDS[named.key][0]}**: {NOTES[named.key]}{written}", span_on(
        place.line, start, end
    )


def _task_lines(task: Task, view: View | None) -> Iterator[str]:
    yield f"**{task.id}: {_plain(task.title)}**"
    yield from (_plain(line) for line in _standing_lines(task, view))
    if task.depends_on:
        yield f"Depends on {', '.join(task.depends_on)}"
    if task.outputs:
        yield "Output files: " + ", ".join(f"`{display(one)}`" for one in task.outputs)


def _standing_lines(task: Task, view: View | None) -> Iterator[str]:
    """Yield status, evidence and cost, a line each."""
    yield status_words(task, view)
    known = view.states.get(task.id) if view is not None else None
    if known is None:
        return
    if known.commit:
        text = f"commit {short(known.commit)}"
        yield f"{text}, {moment(known.done_at)}" if known.done_at else text
    if known.proofs:
        ran = [one for one in known.proofs if one.command]
        text = "; ".join(f"{one.id} {one.verdict} in {one.seconds:.2f} s" for one in ran[:_PROOFS])
        more = f"; {len(ran) - _PROOFS} more" if len(ran) > _PROOFS else ""
        yield f"proofs: {display(text)}{more}{_STANDS[evaluate_standing(known, task.spec)]}"
    if known.attempts_in_row:
        yield plural(known.attempts_in_row, "failed attempt") + " since the last success"
    if known.findings:
        yield "last finding: " + display(known.findings[0].message)
    took = f"{known.seconds:.1f} s" if known.seconds else ""
    if spent := ", ".join(filter(None, (took, cost(known.usage)))):
        yield f"cost: {spent}"


def _plain(text: str) -> str:
    """Escape text of others, so that none of its links, images or HTML is rendered."""
    shown = display(text)
    for sign in "\\`*_[]<>&!|#":
        shown = shown.replace(sign, f"\\{sign}")
    return shown
