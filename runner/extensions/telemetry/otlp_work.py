"""Traces to a collector: spans of a folder's journal, by OTLP over HTTP, behind a cursor.

Nothing is collected while a build goes on: the journal has the times, and is read afterwards.
Only the SDK's nouns and its encoder are used; sending is ours, within bounds, without redirects.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from runner import __version__
from runner.errors import RunnerError
from runner.extensions.telemetry.door import Poster
from runner.extensions.telemetry.outbox import Outgoing, find_journal
from runner.extensions.telemetry.spans import WANTED, SpanDrawer
from runner.journal.records import Mark, read_places
from runner.lazy_module import lazy_module
from runner.text.wording import install_hint

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.common import trace_encoder
    from opentelemetry.sdk import resources
    from opentelemetry.sdk import trace as sdk
    from opentelemetry.sdk.util import instrumentation

    from runner.extensions.telemetry.delivery import DoorCursors
    from runner.extensions.telemetry.spans import Span
else:
    trace = lazy_module("opentelemetry.trace")
    trace_encoder = lazy_module("opentelemetry.exporter.otlp.proto.common.trace_encoder")
    resources = lazy_module("opentelemetry.sdk.resources")
    sdk = lazy_module("opentelemetry.sdk.trace")
    instrumentation = lazy_module("opentelemetry.sdk.util.instrumentation")

_AT_ONCE = 256
# Where a collector takes traces by HTTP (OTLP specification, "OTLP/HTTP Request").
_PATH = "/v1/traces"


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

    def go_on(self, cursors: DoorCursors) -> int:
        """Send the spans that ended behind the cursor. Raises DoorAwayError, RunnerError: damage.

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

    def _send(self, cursors: DoorCursors) -> None:
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
        """Let go of the connection."""
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
