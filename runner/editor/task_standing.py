"""A task's status in an editor: hover text, code lenses and inlay hints.

A lens names a command; what it does is the client's part, and `actions` says which line of the
command line stands behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from runner.editor.completions import NOTES
from runner.editor.mentions import Mention, heading_of_task, makers
from runner.editor.open_plan import span_on
from runner.journal.display_status import format_status
from runner.journal.evidence import EvidenceState, evaluate_standing
from runner.model import Status
from runner.plan.field_names import FIELDS, parse_name
from runner.report.cost import cost
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import moment, plural, short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.app.inspect.view import View
    from runner.editor.open_plan import OpenPlan, TextPosition, TextSpan
    from runner.model import Task
    from runner.plan.outline import OutlineTask

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


# --- hover ----------------------------------------------------------------------------


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
