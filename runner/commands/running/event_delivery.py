"""`runner events --deliver` and `--doors`: telling events to the receivers of one's own settings.

A process of its own, since nothing that goes out may slow or break a build: a run starts one
beside itself, in another session and with the lowest priority, and never waits for it. It follows
the journal and ends a little after the run; what was not acknowledged by then is told by the next
run's, or by one that a person or a service keeps running (`--follow`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from runner.config.paths import Places
from runner.errors import ExitCode, RunnerError
from runner.journal.lock import RunLock
from runner.lazy_module import lazy_module
from runner.outward.delivery import Patience, deliver
from runner.outward.open_doors import cursors_path, open_works
from runner.outward.outbox import FolderOutbox, StoreOutbox
from runner.outward.told_cursors import ToldFile, require_alone
from runner.process.platform import process
from runner.project import BUILD, Project
from runner.report.documents import document
from runner.text.display import display
from runner.text.wording import moment, plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping

    from runner.commands.team import team_store
    from runner.config.settings import Settings
    from runner.outward.delivery import Work
    from runner.team import event_outbox
else:
    event_outbox = lazy_module("runner.team.event_outbox")
    team_store = lazy_module("runner.commands.team.team_store")

_PATIENCE = 60.0
"""Seconds for which a receiver that is away is tried once nothing more is to come."""
_TURN = 0.5
_LOWEST = 19


def deliver_events(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Tell all that is there, or go on until ended. Raises RunnerError where another one does."""
    with _source(given, environ) as (works, path, is_idle):
        stop = threading.Event()
        is_over = (lambda: False) if given.follow else (lambda: True)
        if given.beside:
            with contextlib.suppress(OSError):
                os.nice(_LOWEST)
            is_over = _is_run_over(is_idle, given.beside)
        told = ToldFile(path)
        with _lock(told, stop, given, is_over) as is_ours, _signals(stop) as ended_by:
            if not is_ours:
                for work in works:
                    work.close()
                if given.beside:
                    return ExitCode.OK
            require_alone(is_ours=is_ours, where=told.path)
            patience = Patience(stop, is_over, _PATIENCE)
            behind = deliver(works, told, patience, _tell)
    if ended_by == [signal.SIGINT]:
        return ExitCode.INTERRUPTED
    if behind and not given.follow:
        names = ", ".join(behind)
        hint = "what is left is told by the next run, or by runner events --deliver"
        raise RunnerError(f"not all was told: {names}", hint=hint, code=ExitCode.FAILED)
    return ExitCode.OK


def _tell(text: str) -> None:
    print(display(text), file=sys.stderr, flush=True)


@contextlib.contextmanager
def _lock(
    told: ToldFile, stop: threading.Event, given: argparse.Namespace, is_over: Callable[[], bool]
) -> Iterator[bool]:
    """The lock; beside a run it is waited for: who has it may be about to end with another run."""
    while True:
        with told.lock() as is_ours:
            if is_ours or not given.beside or is_over():
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


@contextlib.contextmanager
def _source(
    given: argparse.Namespace, environ: Mapping[str, str]
) -> Iterator[tuple[list[Work], Path, Callable[[], bool]]]:
    """What is to be told to whom, where the cursors are, and whether no run goes on."""
    state = Places.of(environ).state
    if not _is_of_team(given):
        project = Project.open(Path.cwd(), environ, plan_needed=False)
        _require_doors(project.settings)
        works = open_works(project.settings, environ, lambda: FolderOutbox(project), project)
        lock = RunLock(project.root / BUILD)
        path = cursors_path(state, str(project.root.resolve()))
        yield works, path, lambda: lock.holder() is None
        return

    settings = team_store.read_settings(environ)
    _require_doors(settings)
    with team_store.open_team(given, environ) as store:
        stored = event_outbox.StoredEvents
        works = open_works(settings, environ, lambda: StoreOutbox(stored(store)), None)
        yield works, cursors_path(state, store.address), lambda: True


def _is_of_team(given: argparse.Namespace) -> bool:
    return bool(given.team or given.store)


def _require_doors(settings: Settings) -> None:

    if not settings.has_doors:
        raise RunnerError(
            "nobody is to be told anything",
            hint='events = "nats://HOST:4222", webhook = "https://…" or [telemetry] otlp ='
            ' "http://HOST:4318" in your own settings',
        )


# --- how far it is ------------------------------------------------------------------------


def show_doors(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """How each receiver stands; exit 1 where one does not answer."""
    with _source(given, environ) as (works, path, _):
        told = ToldFile(path)
        known = {one.door: one for one in told.list_told()}
        with told.lock() as is_free:
            going_on = not is_free
        rows = []
        for work in works:
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
    if given.json:
        print(document("doors", delivering=going_on, doors=rows), end="")
    else:
        print("\n".join(_describe(row) for row in rows))
        print("a process delivers" if going_on else "nobody delivers now")
    return ExitCode.FAILED if any(row["fault"] for row in rows) else ExitCode.OK


def _describe(row: Mapping[str, object]) -> str:

    events = plural(int(str(row["events"])), "event")
    said = f"{row['name']} ({display(str(row['address']))}): {events}"
    if row["last"]:
        said += f", the last at {moment(str(row['last']))}"
    if row["fault"]:
        since = moment(str(row["since"]))
        said += f"; {display(str(row['fault']))}, since {since}, tried {row['tries']} times"
    return said
