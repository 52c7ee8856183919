"""The delivery process: send one source's events to the receivers in a person's settings.

A process of its own, since nothing that goes out may slow or break a build: a run starts one
beside itself, in another session and with the lowest priority, and never waits for it. It follows
the journal and ends a little after the run; what was not acknowledged by then is sent by the next
run's, or by one that a person or a service keeps running (`--follow`).

The receivers: signed webhooks, and NATS JetStream.

A signed webhook is a POST for each event, with the headers of the Standard Webhooks specification.
`webhook-signature: v1,` precedes the base64 of HMAC-SHA256 over `id.timestamp.body`
(standard-webhooks.com, "Signature scheme"). A receiver refuses what is old or has another key.

NATS JetStream keeps events in a stream for days and knows repeated ones. Events are sent one at a
time, each acknowledged by the stream. Otherwise one could fail and the next be kept, and the
journal's order would be lost.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import hashlib
import hmac
import importlib.util
import os
import re
import signal
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from runner import effects
from runner.config.paths import Places
from runner.errors import ExitCode, RunnerError
from runner.extensions.telemetry.delivery import (
    MOST_BYTES,
    CursorFile,
    Patience,
    Poster,
    ReceiverDownError,
    ReceiverWork,
    deliver,
    require_sole_process,
    take_over,
)
from runner.extensions.telemetry.outbox import FolderOutbox, StoreOutbox
from runner.extensions.telemetry.spans import OtlpWork
from runner.journal.lock import RunLock
from runner.lazy_module import lazy_module
from runner.process.platform import process
from runner.project import BUILD
from runner.text.display import display
from runner.text.wording import install_hint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import nats
    from nats import errors
    from nats.js import api
    from nats.js import errors as stream_errors

    from runner.config.settings import EventSettings, Settings
    from runner.extensions.team import event_rows, store_engine
    from runner.extensions.team.store_engine import Store
    from runner.extensions.telemetry.delivery import Duty
    from runner.extensions.telemetry.outbox import Outbox, Outgoing
    from runner.project import Project
else:
    event_rows = lazy_module("runner.extensions.team.event_rows")
    store_engine = lazy_module("runner.extensions.team.store_engine")
    nats = lazy_module("nats")
    api = lazy_module("nats.js.api")
    errors = lazy_module("nats.errors")
    stream_errors = lazy_module("nats.js.errors")

_PATIENCE = 60.0
"""Seconds for retrying an unreachable receiver once no more messages will come."""
_TURN = 0.5
_LOWEST = 19

# --- webhooks -------------------------------------------------------------------------


_PREFIX = "whsec_"
_LEAST_KEY = 16


class EventSource(NamedTuple):
    """The source of events, and their receivers."""

    works: list[Duty]
    cursors: Path
    is_idle: Callable[[], bool]
    """Whether no run is active there."""


def deliver_source(
    source: EventSource, tell: Callable[[str], None], *, follow: bool = False, beside: int = 0
) -> ExitCode:
    """Deliver all events once, until stopped, or until the accompanied run is over.

    Raises RunnerError if another process delivers them, and if not everything was delivered.
    """
    stop = threading.Event()
    is_over = (lambda: False) if follow else (lambda: True)
    if beside:
        with contextlib.suppress(OSError):
            os.nice(_LOWEST)
        is_over = _is_run_over(source.is_idle, beside)
    file = CursorFile(source.cursors)
    with _lock(file, stop, is_over, waits=bool(beside)) as is_ours, _signals(stop) as ended_by:
        if not is_ours:
            for work in source.works:
                work.close()
            if beside:
                return ExitCode.OK
        require_sole_process(is_ours=is_ours, where=file.path)
        behind = deliver(source.works, file, Patience(stop, is_over, _PATIENCE), tell)
    if ended_by == [signal.SIGINT]:
        return ExitCode.INTERRUPTED
    if behind and not follow:
        names = ", ".join(behind)
        hint = "the next run sends the rest; to send it now: runner team events --deliver"
        raise RunnerError(f"events were not delivered to: {names}", hint=hint, code=ExitCode.FAILED)
    return ExitCode.OK


@contextlib.contextmanager
def _lock(
    file: CursorFile, stop: threading.Event, is_over: Callable[[], bool], *, waits: bool
) -> Iterator[bool]:
    """Hold the lock of the cursors; during a run wait until another process releases it."""
    while True:
        with file.lock() as is_ours:
            if is_ours or not waits or is_over():
                yield is_ours
                return
        stop.wait(_TURN)


@contextlib.contextmanager
def _signals(stop: threading.Event) -> Iterator[list[int]]:
    """Handle SIGTERM and Ctrl-C by stopping between two events."""
    heard: list[int] = []

    def hear(number: int, _frame: object) -> None:
        heard.append(number)
        stop.set()

    before = {one: signal.signal(one, hear) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield heard
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _is_run_over(is_idle: Callable[[], bool], pid: int) -> Callable[[], bool]:
    """Return a function that tells if the run ended: its lock is free, or its process gone."""
    seen = False

    def ask() -> bool:
        nonlocal seen
        idle = is_idle()
        seen = seen or not idle
        found = process(pid)
        return idle and (seen or found is None or not found.alive)

    return ask


# --- the doors ----------------------------------------------------------------------------


def require_receivers(settings: Settings) -> None:
    """Raise RunnerError if the settings name no receiver."""
    if not settings.has_receivers:
        raise RunnerError(
            "no receiver of events is set",
            hint='set events.nats = "nats://HOST:4222", events.webhook = "https://…" or'
            ' telemetry.otlp = "http://HOST:4318" in your own settings',
        )


def describe_receivers(source: EventSource) -> tuple[bool, list[dict[str, object]]]:
    """Return whether a process delivers now, and the status of each receiver."""
    file = CursorFile(source.cursors)
    known = {one.door: one for one in file.list_statuses()}
    with file.lock() as is_free:
        going_on = not is_free
    rows: list[dict[str, object]] = []
    for work in source.works:
        one = known.get(work.name)
        rows.append(
            {
                "name": work.name,
                "address": work.shown,
                "events": one.events if one else 0,
                "last": (one.last if one else "") or None,
                "fault": (one.fault if one else "") or None,
                "since": (one.since if one else "") or None,
                "tries": one.tries if one else 0,
            }
        )
        work.close()
    return going_on, rows


def folder_source(project: Project, environ: Mapping[str, str]) -> EventSource:
    """Return the event source of a folder's journal. Raises RunnerError without receivers."""
    require_receivers(project.settings)
    works = open_works(project.settings.events, environ, lambda: FolderOutbox(project))
    own = project.settings.telemetry
    if own.otlp:  # drawn from a folder's journal alone: each of a team's workers draws its own
        works.append(OtlpWork(own.otlp, project.journal_path, project.name, content=own.content))
    lock = RunLock(project.root / BUILD)
    return EventSource(
        works, _cursors(environ, str(project.root.resolve())), lambda: not lock.holder()
    )


@contextlib.contextmanager
def store_source(
    store: Store, settings: Settings, environ: Mapping[str, str], *, delivers: bool
) -> Iterator[EventSource]:
    """Open all builds of a team's store as a source; one process delivers them.

    Raises RunnerError where another does, or where there is no receiver.
    """
    require_receivers(settings)
    with contextlib.closing(event_rows.DeliveryTurn(store)) as turn:
        stored = partial(event_rows.StoredEvents, store, turn=turn)
        works = open_works(settings.events, environ, lambda: StoreOutbox(stored()))
        if delivers:
            turn.require()
        # The first versions named the file by the whole address, including the password.
        before = _cursors(environ, store.address)
        cursors = take_over(before, _cursors(environ, store_engine.name_place(store.address)))
        yield EventSource(works, cursors, lambda: True)


def open_works(
    events: EventSettings, environ: Mapping[str, str], outbox: Callable[[], Outbox]
) -> list[Duty]:
    """Return the work of each configured receiver with its own outbox. Raises RunnerError."""
    found: list[Duty] = []
    if events.nats:
        token = environ.get(events.key_env, "") if events.key_env else ""
        found.append(ReceiverWork(NatsReceiver(events.nats, events.days, token), outbox()))
    if events.webhook:
        key = find_key(events.webhook_key_env, environ)
        found.append(ReceiverWork(WebhookReceiver(events.webhook, key), outbox()))
    return found


def _cursors(environ: Mapping[str, str], source: str) -> Path:
    """Return the cursor file of a source, which is a folder or a store without credentials."""
    name = hashlib.sha256(source.encode()).hexdigest()[:24]
    return Places.of(environ).state / "told" / f"{name}.sqlite"


class WebhookReceiver:
    """One address, with the key that both sides know."""

    name = "webhook"

    def __init__(self, url: str, key: bytes) -> None:
        self.shown = url.partition("?")[0]  # what stands behind it may be a token
        self._key = key
        self._poster = Poster(url)

    def send(self, messages: Sequence[Outgoing]) -> None:
        """Send messages in order. Raises ReceiverDownError at the first unacknowledged one."""
        for place, message in enumerate(messages):
            # A lone surrogate becomes six ASCII characters, which in a JSON string are its own
            # escape.
            body = message.text(MOST_BYTES).encode("utf-8", "backslashreplace")
            # Time of this attempt, not of the event: a receiver rejects messages some minutes old
            # (Standard Webhooks), and a delivery may be retried for hours.
            stamp = str(int(effects.now().timestamp()))
            headers = {
                "Content-Type": "application/json",
                "webhook-id": message.key,
                "webhook-timestamp": stamp,
                "webhook-signature": sign(self._key, message.key, stamp, body),
            }
            try:
                self._poster.post(body, headers)
            except ReceiverDownError as away:
                raise ReceiverDownError(away.why, place, away.wait) from away

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()


def sign(key: bytes, id_: str, stamp: str, body: bytes) -> str:
    """Return the signature of one message."""
    digest = hmac.digest(key, f"{id_}.{stamp}.".encode() + body, hashlib.sha256)
    return "v1," + base64.b64encode(digest).decode()


def find_key(name: str, environ: Mapping[str, str]) -> bytes:
    """Return the webhook key in this variable, `whsec_` and base64 or text. Raises RunnerError."""
    hint = "export RUNNER_EVENTS_WEBHOOK_KEY_ENV=KEY KEY=whsec_$(openssl rand -base64 32)"
    if not name or not environ.get(name):
        what = f"the variable {name} is not set" if name else "events.webhook_key_env is not set"
        raise RunnerError(f"no webhook key: {what}", where="events.webhook_key_env", hint=hint)
    value = environ[name]
    key = value.encode()
    if value.startswith(_PREFIX):
        try:
            # Without `validate` characters outside the alphabet are dropped, and a mistyped key
            # becomes another key.
            key = base64.b64decode(value.removeprefix(_PREFIX), validate=True)
        except (ValueError, binascii.Error):
            key = b""
    if len(key) < _LEAST_KEY:
        raise RunnerError(
            f"the key in {name} is shorter than {_LEAST_KEY} bytes, or not valid base64",
            where="events.webhook_key_env",
            hint=hint,
        )
    return key


# --- NATS -----------------------------------------------------------------------------


STREAM, SUBJECTS = "RUNNER", "runner.events"
WINDOW = 3600.0
"""Seconds for which the stream detects a repeated message by its ID."""
_DAY = 86_400.0
_SECONDS = 5.0
_PASSWORD = re.compile(r"(://)[^/@\s]*@")
_NOT_IN_SUBJECT = re.compile(r"[^A-Za-z0-9_-]+")
_ROOM = 1024
"""Bytes of headers within the server's limit for one message."""


class NatsReceiver:
    """One server, or several of a cluster between commas."""

    name = "nats"

    def __init__(self, url: str, days: int, token: str = "") -> None:
        _require_library()
        self.shown = _PASSWORD.sub(r"\1…@", url)
        self._url, self._days, self._token = url, days, token
        self._loop = asyncio.new_event_loop()
        self._client: Any = None  # Any: the library's own types are known where it is installed
        self._stream: Any = None

    def send(self, messages: Sequence[Outgoing]) -> None:
        """Send messages in order. Raises ReceiverDownError at the first unacknowledged one."""
        is_kept = self._client is not None
        try:
            self._loop.run_until_complete(self._send(messages))
        except ReceiverDownError as away:
            # Between two calls a server's pings stay unanswered, and it drops such a client
            # (docs.nats.io, "Ping/Pong Protocol").
            if not is_kept or away.acknowledged:
                raise
            self._loop.run_until_complete(self._send(messages))

    def close(self) -> None:
        """Close the connection."""
        self._loop.run_until_complete(self._leave())
        self._loop.close()

    async def _send(self, messages: Sequence[Outgoing]) -> None:
        acknowledged = 0
        try:
            if self._client is None:
                await asyncio.wait_for(self._connect(), 4 * _SECONDS)
            most = min(MOST_BYTES, self._client.max_payload - _ROOM)
            for message in messages:
                body = message.text(most).encode("utf-8", "backslashreplace")
                # The stream drops a second message with the same Nats-Msg-Id within its window
                # (docs.nats.io, JetStream, message deduplication): a message sent twice is stored
                # once.
                headers = {api.Header.MSG_ID: message.key}
                subject = subject_of(message)
                await self._stream.publish(subject, body, timeout=_SECONDS, headers=headers)
                acknowledged += 1
        except (errors.Error, OSError, TimeoutError, ValueError) as error:
            await self._leave()
            why = str(error) or type(error).__name__
            raise ReceiverDownError(display(why)[:200], acknowledged) from error

    async def _connect(self) -> None:
        options: dict[str, Any] = {"token": self._token} if self._token else {}
        self._client = await nats.connect(
            self._url.split(","),
            allow_reconnect=False,  # the delivery tries again, and says so
            max_reconnect_attempts=1,  # the first connection heeds these, too
            reconnect_time_wait=0.1,
            connect_timeout=int(_SECONDS),
            error_cb=_ignore_error,
            name="task-graph-runner",
            **options,
        )
        self._stream = self._client.jetstream(timeout=_SECONDS)
        await self._prepare()

    async def _prepare(self) -> None:
        """Create or update the stream of the events; one with another name is left unchanged."""
        try:
            name = await self._stream.find_stream_name_by_subject(f"{SUBJECTS}.>")
        except stream_errors.NotFoundError:
            wanted = api.StreamConfig(
                name=STREAM,
                subjects=[f"{SUBJECTS}.>"],
                description="events of builds; message ids are JOURNAL:SEQ",
                max_age=self._days * _DAY,
                duplicate_window=WINDOW,
            )
            await self._stream.add_stream(wanted)
            return
        if name != STREAM:
            return
        config = (await self._stream.stream_info(STREAM)).config
        if (config.max_age, config.duplicate_window) != (self._days * _DAY, WINDOW):
            config.max_age, config.duplicate_window = self._days * _DAY, WINDOW
            await self._stream.update_stream(config)

    async def _leave(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(errors.Error, OSError, TimeoutError):
                await asyncio.wait_for(client.close(), _SECONDS)


async def _ignore_error(_: Exception) -> None:
    """Ignore the error: the failed call raises it, too."""


def subject_of(message: Outgoing) -> str:
    """Return a subject such as `runner.events.shop.task.done`, with special characters replaced."""
    name = _NOT_IN_SUBJECT.sub("-", message.repository)[:64].strip("-") or "unnamed"
    kind = ".".join(_NOT_IN_SUBJECT.sub("-", one)[:40] or "-" for one in message.type.split("."))
    return f"{SUBJECTS}.{name}.{kind[:100].strip('.') or '-'}"


def _require_library() -> None:
    if importlib.util.find_spec("nats") is None:
        raise RunnerError(
            "events to NATS need nats-py, which is not installed",
            hint=install_hint("events"),
        )
