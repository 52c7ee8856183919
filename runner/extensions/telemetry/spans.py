"""Fold a journal's records into trace spans, and send them by OTLP.

One trace a run of a build: build → task → attempt → implementer, tools, gates, landing, waits. Its
id is the run's (a UUID has the 16 bytes of one), span ids follow from record ids: what is sent
twice is the same span. A later run of the same journal links to the one before it.

Traces to a collector: spans of a folder's journal, by OTLP over HTTP, behind a cursor.

Nothing is collected while a build goes on: the journal has the times, and is read afterwards.
Only the SDK's nouns and its encoder are used; sending is ours, within bounds, without redirects.
"""

from __future__ import annotations

import hashlib
import importlib.util
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from runner import __version__
from runner.errors import RunnerError
from runner.extensions.telemetry.delivery import Poster
from runner.extensions.telemetry.outbox import Outgoing, find_journal
from runner.journal import person_waits
from runner.journal.events import (
    AttemptFinished,
    AttemptStarted,
    GateCompleted,
    GateStarted,
    RunFinished,
    RunStarted,
    TaskBlocked,
    TaskLanded,
)
from runner.journal.person_waits import PersonWaits
from runner.journal.records import Mark, read_places
from runner.journal.session_events import ToolReturned
from runner.lazy_module import lazy_module
from runner.model import Ending, Verdict
from runner.secrets.redact import redact_head
from runner.text.display import display
from runner.text.wording import install_hint

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.common import trace_encoder
    from opentelemetry.sdk import resources
    from opentelemetry.sdk import trace as sdk
    from opentelemetry.sdk.util import instrumentation

    from runner.extensions.telemetry.delivery import ReceiverCursors
    from runner.journal.events import Record
else:
    trace = lazy_module("opentelemetry.trace")
    trace_encoder = lazy_module("opentelemetry.exporter.otlp.proto.common.trace_encoder")
    resources = lazy_module("opentelemetry.sdk.resources")
    sdk = lazy_module("opentelemetry.sdk.trace")
    instrumentation = lazy_module("opentelemetry.sdk.util.instrumentation")

Value: TypeAlias = "str | int | float | bool"
_LONGEST, _LONGEST_CONTENT = 200, 4000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WORK_BEGINS = frozenset({"write.staged", "gate.started", "gate.completed", "attempt.finished"})
"""Events that end an implementer's own time in an attempt: pipeline and proof start."""
_ENDS = {
    "task.done": "done",
    "task.blocked": "blocked",
    "task.staled": "stale",
    "task.failed": "failed",
}
WANTED = person_waits.WANTED | {
    *("run.started", "run.finished", "attempt.started", "gate.started", "gate.completed"),
    *("write.staged", "task.landing", "task.landed", "task.failed", "tool.returned"),
}
_AT_ONCE = 256

# Path on which a collector receives traces by HTTP (OTLP specification, "OTLP/HTTP Request").
_PATH = "/v1/traces"


class Span(NamedTuple):
    """One span; times in nanoseconds since 1970, ids as numbers."""

    name: str
    trace: int
    id: int
    parent: int
    start: int
    end: int
    attributes: dict[str, Value]
    failed: bool = False
    link: tuple[int, int] | None = None
    """Trace and span of the previous run."""


class _Begun(NamedTuple):
    id: int
    start: int
    attributes: dict[str, Value]


class SpanDrawer:
    """Hears every record in its order and gives the spans that it ends.

    With `content` they have what a person wrote or a program printed, too; else names, numbers
    and verdicts alone.
    """

    def __init__(self, repository: str, *, content: bool = False) -> None:
        self._repository, self._content = repository, content
        self._journal = ""
        self._now = 0
        self._run = ""
        self._last: tuple[int, int] | None = None
        self._waits = PersonWaits()
        self._forget()

    def _forget(self) -> None:
        self._root: _Begun | None = None
        self._tasks: dict[str, _Begun] = {}
        self._ended: dict[str, int] = {}
        self._attempts: dict[str, _Begun] = {}
        self._implementers: dict[str, _Begun] = {}
        self._pipelines: dict[str, _Begun] = {}
        self._gates: dict[tuple[str, str], _Begun] = {}
        self._landings: dict[str, _Begun] = {}

    def hear(self, record: Record) -> list[Span]:
        """Return the spans that end with this record."""
        self._journal = self._journal or record.id
        before, self._now = self._now, _nanoseconds(record.time, self._now)
        found: list[Span] = []
        if (wait := self._waits.hear(record)) is not None:
            found.append(self._wait(wait))
        if isinstance(record.event, RunStarted):
            found += self._end_run(before, {"runner.end": "killed"}, failed=True)
            self._begin_run(record, record.event)
        if self._root is None or record.run != self._run:
            return found  # a person's word from elsewhere, or what a killed run left
        if record.task:
            found += self._hear_task(record)
        if isinstance(record.event, RunFinished):
            ended: dict[str, Value] = {"runner.exit": record.event.exit}
            found += self._end_run(self._now, ended, failed=record.event.exit not in (0, 3))
        return found

    # --- runs and tasks ---------------------------------------------------------------

    def _begin_run(self, record: Record, started: RunStarted) -> None:
        self._run = record.run
        attributes: dict[str, Value] = {
            "runner.repository": _text(self._repository),
            "runner.journal": _text(self._journal),
            "runner.run": _text(record.run),
            "runner.branch": _text(started.branch),
            "runner.head": _text(started.head),
            "runner.producer": _text(record.producer),
        }
        self._root = _Begun(span_id("build", record.run), self._now, attributes)

    def _end_run(self, end: int, more: dict[str, Value], *, failed: bool) -> list[Span]:
        """Return the root span of a run and all spans still open in it."""
        root = self._root
        if root is None:
            return []
        open_ones: dict[str, Value] = {"runner.end": "interrupted"}
        found = [
            self._span("attempt", one, self._task_id(task), end, open_ones, failed=True)
            for task, one in self._attempts.items()
        ]
        found += [
            self._span(
                f"task {_text(task)}",
                one,
                root.id,
                self._ended.get(task, end),
                {},
                failed=one.attributes.get("runner.end") in ("blocked", "failed"),
            )
            for task, one in self._tasks.items()
        ]
        trace = trace_id(self._run)
        known = {**root.attributes, **more, "runner.tasks": len(self._tasks)}
        found.append(Span("build", trace, root.id, 0, root.start, end, known, failed, self._last))
        self._last = (trace, root.id)
        self._forget()
        return found

    def _hear_task(self, record: Record) -> list[Span]:
        task = self._tasks.get(record.task)
        if task is None:
            known: dict[str, Value] = {"runner.task": _text(record.task)}
            task = _Begun(self._task_id(record.task), self._now, known)
            self._tasks[record.task] = task
        self._ended[record.task] = self._now
        if end := _ENDS.get(record.type):
            task.attributes["runner.end"] = end
        if isinstance(record.event, TaskBlocked):
            task.attributes["runner.reason"] = _text(str(record.event.reason))
            if self._content:
                task.attributes["runner.note"] = _text(record.event.note, _LONGEST_CONTENT)
        return self._hear_work(record)

    def _task_id(self, task: str) -> int:
        return span_id("task", f"{self._run}\0{task}")

    # --- attempts ---------------------------------------------------------------------

    def _hear_work(self, record: Record) -> list[Span]:
        found = self._end_implementer(record)
        match record.event:
            case AttemptStarted() as started:
                self._begin_attempt(record, started)
            case GateStarted(gate=gate):
                self._gates[record.task, gate] = self._begin("gate", record)
            case GateCompleted() as done:
                found.append(self._gate(record, done))
            case ToolReturned() as back:
                found.append(self._tool(record, back))
            case AttemptFinished() as finished if record.task in self._attempts:
                found.append(self._attempt(record, finished))
            case TaskLanded(paths=paths) if record.task in self._landings:
                begun = self._landings.pop(record.task)
                more: dict[str, Value] = {"runner.files": len(paths)}
                found.append(self._span("landing", begun, self._task_id(record.task), None, more))
        if record.type == "task.landing":
            self._landings[record.task] = self._begin("landing", record)
        return found

    def _begin(self, kind: str, record: Record) -> _Begun:
        known: dict[str, Value] = {"runner.task": _text(record.task)}
        return _Begun(span_id(kind, record.id), self._now, known)

    def _begin_attempt(self, record: Record, started: AttemptStarted) -> None:
        begun = self._begin("attempt", record)
        begun.attributes.update(
            {
                "runner.attempt": record.attempt,
                "runner.mode": _text(started.mode),
                "runner.implementer": _text(started.implementer),
                "runner.model": _text(started.model),
            }
        )
        self._attempts[record.task] = begun
        if started.mode != "prove":
            who = self._begin("implementer", record)
            who.attributes["runner.implementer"] = _text(started.implementer)
            self._implementers[record.task] = who

    def _end_implementer(self, record: Record) -> list[Span]:
        """Return the ended spans of an implementer and of the write pipeline."""
        found = []
        parent = self._parent(record.task)
        if record.type in _WORK_BEGINS and (one := self._implementers.pop(record.task, None)):
            found.append(self._span("implementer", one, parent))
        if record.type == "write.staged":
            self._pipelines.setdefault(record.task, self._begin("pipeline", record))
        elif record.type in _WORK_BEGINS and (one := self._pipelines.pop(record.task, None)):
            found.append(self._span("pipeline", one, parent))
        return found

    def _attempt(self, record: Record, finished: AttemptFinished) -> Span:
        begun = self._attempts.pop(record.task)
        refused = [one for one in finished.findings if one.refuses]
        more: dict[str, Value] = {
            "runner.end": str(finished.ending),
            "runner.held": _text(finished.held),
            "runner.findings": len(refused),
            "runner.checks": _text(", ".join(dict.fromkeys(one.check for one in refused))),
        }
        if finished.failure is not None:
            more["runner.failure"] = str(finished.failure)
        if (used := finished.usage) is not None:
            more |= {"runner.tokens": used.tokens, "runner.dollars": used.dollars}
        if self._content:
            messages = "\n".join(one.message for one in refused)
            more["runner.messages"] = _text(messages, _LONGEST_CONTENT)
            more["runner.summary"] = _text(finished.summary, _LONGEST_CONTENT)
        failed = finished.ending in (Ending.FAILED, Ending.BLOCKED)
        return self._span("attempt", begun, self._task_id(record.task), None, more, failed=failed)

    def _gate(self, record: Record, done: GateCompleted) -> Span:
        proof = done.proof
        begun = self._gates.pop((record.task, proof.id), None)
        if begun is None:
            took = max(0, int(min(proof.seconds, 1e6) * 1e9))
            begun = self._begin("gate", record)._replace(start=self._now - took)
        more: dict[str, Value] = {
            "runner.gate": _text(proof.id),
            "runner.kind": _text(proof.kind),
            "runner.verdict": str(proof.verdict),
            "runner.exit": proof.exit,
        }
        if proof.stands_from:
            more["runner.stands_from"] = _text(proof.stands_from)
        if self._content:
            more["runner.command"] = _text(proof.command, _LONGEST_CONTENT)
        failed = proof.verdict is Verdict.FAIL
        return self._span("gate", begun, self._parent(record.task), None, more, failed=failed)

    def _tool(self, record: Record, back: ToolReturned) -> Span:
        took = max(0, int(min(back.seconds, 1e6) * 1e9))
        begun = self._begin("tool", record)._replace(start=self._now - took)
        more: dict[str, Value] = {
            "runner.tool": _text(back.name),
            "runner.outcome": _text(back.outcome),
        }
        who = self._implementers.get(record.task)
        parent = who.id if who else self._parent(record.task)
        return self._span("tool", begun, parent, None, more)

    def _parent(self, task: str) -> int:
        attempt = self._attempts.get(task)
        return attempt.id if attempt else self._task_id(task)

    # --- waits ------------------------------------------------------------------------

    def _wait(self, wait: person_waits.Wait) -> Span:
        """Draw a wait into the trace of the asking run, whoever got the answer."""
        start = _nanoseconds(wait.since, self._now)
        task = wait.task if wait.run else ""
        parent = span_id("task", f"{wait.run}\0{task}") if task else 0
        known: dict[str, Value] = {"runner.task": _text(wait.task), "runner.wait": _text(wait.kind)}
        own, trace = span_id("wait", wait.begin), trace_id(wait.run or wait.begin)
        return Span("wait", trace, own, parent, start, max(start, self._now), known)

    def _span(
        self,
        name: str,
        begun: _Begun,
        parent: int,
        end: int | None = None,
        more: dict[str, Value] | None = None,
        *,
        failed: bool = False,
    ) -> Span:
        at = self._now if end is None else end
        known = {**begun.attributes, **(more or {})}
        trace = trace_id(self._run)
        return Span(name, trace, begun.id, parent, begun.start, max(at, begun.start), known, failed)


def trace_id(run: str) -> int:
    """Return a run's trace ID: its UUID as an integer, or a digest of any other text."""
    digits = run.replace("-", "")
    if len(digits) == 32 and set(digits) <= set("0123456789abcdef") and int(digits, 16):  # noqa: PLR2004
        return int(digits, 16)
    # All zeroes are no valid trace-id or parent-id (W3C Trace Context, 3.2.2).
    return int.from_bytes(_digest(run)[:16]) or 1


def span_id(kind: str, of: str) -> int:
    """Return a reproducible span ID for this kind and subject."""
    return int.from_bytes(_digest(f"{kind}\0{of}")[:8]) or 1


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _nanoseconds(time: str, otherwise: int) -> int:
    """Convert a journal time to nanoseconds; return `otherwise` if it is invalid."""
    try:
        passed = datetime.fromisoformat(time) - _EPOCH
    except (ValueError, TypeError):
        return otherwise
    return max(0, (passed.days * 86_400 + passed.seconds) * 10**9 + passed.microseconds * 1000)


def _text(value: str, most: int = _LONGEST) -> str:
    """Return a text that is safe to show: redacted, printable and cut."""
    return display(redact_head(value, 2 * most), lines=most > _LONGEST)[:most]


class OtlpWork:
    """One collector, and the journal whose runs become traces."""

    name = "otlp"

    def __init__(self, url: str, journal: Path, repository: str, *, content: bool = False) -> None:
        _require_library()
        self.shown = url.partition("?")[0]
        whole = url if url.rstrip("/").endswith(_PATH) else url.rstrip("/") + _PATH
        self._poster = Poster(whole)
        self._path, self._repository, self._content = journal, repository, content
        self._resource = resources.Resource(
            {"service.name": "task-graph-runner", "service.version": __version__}
        )
        self._begin("")

    def _begin(self, journal: str) -> None:
        self._journal, self._place = journal, Mark()
        self._drawer = SpanDrawer(self._repository, content=self._content)
        self._spans: list[Span] = []

    def go_on(self, cursors: ReceiverCursors) -> int:
        """Send the spans after the cursor. Raises ReceiverDownError, RunnerError (damage).

        The first look of a process reads the journal from its start: what was open at the cursor is
        drawn again, and sent when it ends.
        """
        journal = find_journal(self._path)
        if not journal:
            return 0
        if journal != self._journal:
            self._begin(journal)
        self._send(cursors)  # what was drawn and not acknowledged
        cursor, heard = cursors.place(journal)[0], 0
        for record, place in read_places(self._path, self._place, wanted=WANTED):
            spans = self._drawer.hear(record)
            self._place = place
            if record.seq > cursor:
                self._spans += spans
                heard += 1
            if len(self._spans) >= _AT_ONCE:
                self._send(cursors)
        self._send(cursors)
        return heard

    def _send(self, cursors: ReceiverCursors) -> None:
        if self._spans:
            headers = {"Content-Type": "application/x-protobuf"}
            self._poster.post(self._encode(self._spans), headers)
            self._spans = []
        if self._place.seq > cursors.place(self._journal)[0]:
            names = ("", self._repository, self._journal, "")
            cursors.move(Outgoing(self._journal, self._place.seq, *names, self._place.offset))

    def _encode(self, spans: Iterable[Span]) -> bytes:
        made = [self._make(span) for span in spans]
        return bytes(trace_encoder.encode_spans(made).SerializeToString())

    def _make(self, span: Span) -> sdk.ReadableSpan:
        code = trace.StatusCode.ERROR if span.failed else trace.StatusCode.UNSET
        links = [trace.Link(_context(*span.link))] if span.link else []
        return sdk.ReadableSpan(
            name=span.name,
            context=_context(span.trace, span.id),
            parent=_context(span.trace, span.parent) if span.parent else None,
            resource=self._resource,
            attributes=span.attributes,
            links=links,
            status=trace.Status(code),
            start_time=span.start,
            end_time=span.end,
            instrumentation_scope=instrumentation.InstrumentationScope("runner", __version__),
        )

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()


def _context(trace_id: int, span: int) -> trace.SpanContext:
    flags = trace.TraceFlags(trace.TraceFlags.SAMPLED)
    return trace.SpanContext(trace_id, span, is_remote=False, trace_flags=flags)


def _require_library() -> None:
    for name in ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.common"):
        try:
            found = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            found = None
        if found is None:
            raise RunnerError(
                "traces need the OpenTelemetry SDK, which is not installed",
                hint=install_hint("telemetry"),
            )
