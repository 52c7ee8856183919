"""A process that tells one source's events to the doors that a person's own settings name.

A process of its own, since nothing that goes out may slow or break a build: a run starts one
beside itself, in another session and with the lowest priority, and never waits for it. It follows
the journal and ends a little after the run; what was not acknowledged by then is sent by the next
run's, or by one that a person or a service keeps running (`--follow`).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import threading
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from runner.config.paths import Places
from runner.errors import ExitCode, RunnerError
from runner.extensions.telemetry.delivery import (
    CursorFile,
    DoorWork,
    Patience,
    deliver,
    require_alone,
    take_over,
)
from runner.extensions.telemetry.otlp_work import OtlpWork
from runner.extensions.telemetry.outbox import FolderOutbox, StoreOutbox
from runner.extensions.telemetry.receivers import NatsDoor, WebhookDoor, find_key
from runner.journal.lock import RunLock
from runner.lazy_module import lazy_module
from runner.process.platform import process
from runner.project import BUILD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from runner.config.settings import EventSettings, Settings
    from runner.extensions.team import event_outbox, store_engine
    from runner.extensions.team.store_engine import Store
    from runner.extensions.telemetry.delivery import Duty
    from runner.extensions.telemetry.outbox import Outbox
    from runner.project import Project
else:
    event_outbox = lazy_module("runner.extensions.team.event_outbox")
    store_engine = lazy_module("runner.extensions.team.store_engine")

_PATIENCE = 60.0
"""Seconds for which a receiver that is away is tried once nothing more is to come."""
_TURN = 0.5
_LOWEST = 19


class EventSource(NamedTuple):
    """Where the events come from, and who gets them."""

    works: list[Duty]
    cursors: Path
    is_idle: Callable[[], bool]
    """Whether no run goes on there."""


def tell_source(
    source: EventSource, tell: Callable[[str], None], *, follow: bool = False, beside: int = 0
) -> ExitCode:
    """Tell all that is there, or go on until ended, or until the run `beside` it is over.

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
        require_alone(is_ours=is_ours, where=file.path)
        behind = deliver(source.works, file, Patience(stop, is_over, _PATIENCE), tell)
    if ended_by == [signal.SIGINT]:
        return ExitCode.INTERRUPTED
    if behind and not follow:
        names = ", ".join(behind)
        hint = "the next run sends the rest; to send it now: runner team events --deliver"
        raise RunnerError(f"not everything was delivered: {names}", hint=hint, code=ExitCode.FAILED)
    return ExitCode.OK


@contextlib.contextmanager
def _lock(
    file: CursorFile, stop: threading.Event, is_over: Callable[[], bool], *, waits: bool
) -> Iterator[bool]:
    """The lock; beside a run it is waited for: who has it may be about to end with another run."""
    while True:
        with file.lock() as is_ours:
            if is_ours or not waits or is_over():
                yield is_ours
                return
        stop.wait(_TURN)


@contextlib.contextmanager
def _signals(stop: threading.Event) -> Iterator[list[int]]:
    """SIGTERM and Ctrl-C end it between two events."""
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
    """Whether the run is over beside which this goes on: it had the lock, or is gone."""
    seen = False

    def ask() -> bool:
        nonlocal seen
        idle = is_idle()
        seen = seen or not idle
        found = process(pid)
        return idle and (seen or found is None or not found.alive)

    return ask


# --- the doors ----------------------------------------------------------------------------


def require_doors(settings: Settings) -> None:
    """Raise RunnerError if the settings name no receiver."""
    if not settings.has_doors:
        raise RunnerError(
            "no receiver of events is set",
            hint='set events.nats = "nats://HOST:4222", events.webhook = "https://…" or'
            ' telemetry.otlp = "http://HOST:4318" in your own settings',
        )


def describe_doors(source: EventSource) -> tuple[bool, list[dict[str, object]]]:
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
    """A folder's journal, to the doors of its settings. Raises RunnerError where there are none."""
    require_doors(project.settings)
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
    """All builds of a team's store, while entered; one process delivers them.

    Raises RunnerError where another does, or where there is no receiver.
    """
    require_doors(settings)
    with contextlib.closing(event_outbox.DeliveryTurn(store)) as turn:
        stored = partial(event_outbox.StoredEvents, store, turn=turn)
        works = open_works(settings.events, environ, lambda: StoreOutbox(stored()))
        if delivers:
            turn.require()
        # The first versions named the file by the whole address, with the password in it.
        before = _cursors(environ, store.address)
        cursors = take_over(before, _cursors(environ, store_engine.name_place(store.address)))
        yield EventSource(works, cursors, lambda: True)


def open_works(
    events: EventSettings, environ: Mapping[str, str], outbox: Callable[[], Outbox]
) -> list[Duty]:
    """What there is to be done, each with an outbox of its own. Raises RunnerError."""
    found: list[Duty] = []
    if events.nats:
        token = environ.get(events.key_env, "") if events.key_env else ""
        found.append(DoorWork(NatsDoor(events.nats, events.days, token), outbox()))
    if events.webhook:
        key = find_key(events.webhook_key_env, environ)
        found.append(DoorWork(WebhookDoor(events.webhook, key), outbox()))
    return found


def _cursors(environ: Mapping[str, str], source: str) -> Path:
    """Where the cursors of a source are kept: a folder's path, or a store without who asks it."""
    name = hashlib.sha256(source.encode()).hexdigest()[:24]
    return Places.of(environ).state / "told" / f"{name}.sqlite"
