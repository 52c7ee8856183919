"""What comes home beside an answer: events for the journal, and what commands printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner import effects
from runner.journal.codec import BadRecordError, NewerRecordError, UnfitRecordError, decode
from runner.journal.events import GateCompleted, GateStarted
from runner.journal.sessions import PermissionAsked, ToolCalled, ToolReturned
from runner.run.executors.message import PLAIN
from runner.run.executors.recheck import redact_proofs
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from runner.journal.events import Event as Happening
    from runner.run.assignment import Assignment, WorkerContext
    from runner.run.executors.message import Answer

_HEARD = frozenset(
    {"gate.started", "gate.completed", "tool.called", "tool.returned", "permission.asked"}
)
"""Events that an attempt may tell of itself; no other one is a worker's to tell."""
_MOST = 10_000
_LONGEST_LOG = 2 << 20
_LONGEST_NAME = 200
_LONGEST_SUBJECT = 1_000
"""Room for what `permissions.asked_about` makes of any subject."""


def tell_events(
    answer: Answer, assignment: Assignment, site: WorkerContext, known: tuple[str, ...]
) -> None:
    """Keep what commands printed, then let the journal hear what an attempt told of itself.

    In this order: who hears that a check begins shows what was printed before it.
    """
    _keep_logs(answer, assignment, site, known)
    for line in answer.events[:_MOST]:
        event = _event(line, known)
        if event is not None:
            site.crew.report(assignment.task.id, assignment.attempt, event)


def _event(line: str, known: tuple[str, ...]) -> Happening | None:
    """The event of a line; None where it is none, or none that a worker may tell."""
    try:
        record = decode(line.encode("utf-8", "surrogatepass"), wanted=_HEARD)
    except (BadRecordError, UnfitRecordError, NewerRecordError, UnicodeError):
        return None
    event = record.event
    if record.type not in _HEARD:
        return None
    if isinstance(event, GateStarted):
        return GateStarted(gate=event.gate, command=redact(event.command, known))
    if isinstance(event, GateCompleted):
        return GateCompleted(proof=redact_proofs((event.proof,), known)[0])
    if isinstance(event, PermissionAsked):
        parts = (
            event.tool[:_LONGEST_NAME],
            event.subject[:_LONGEST_SUBJECT],
            event.rule[:_LONGEST_NAME],
        )
        return PermissionAsked(*(redact(part, known) for part in parts))
    if isinstance(event, ToolCalled | ToolReturned):
        name = display(redact(event.name[:_LONGEST_NAME], known))
        return event._replace(name=name, arguments=display(redact(event.arguments[:_LONGEST_NAME])))
    return None


def _keep_logs(
    answer: Answer, assignment: Assignment, site: WorkerContext, known: tuple[str, ...]
) -> None:
    """Write the logs where an attempt at home would have left them."""
    folder = site.logs / assignment.task.id / str(assignment.attempt)
    named = [log for log in answer.logs if PLAIN.fullmatch(log.name) and log.name.endswith(".log")]
    if named:
        effects.make_folder(folder)
    for log in named:
        text = log.content[:_LONGEST_LOG].decode("utf-8", "replace")
        effects.step("write", folder / log.name)
        (folder / log.name).write_text(redact(text, known), encoding="utf-8")
