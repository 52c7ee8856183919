"""A worker: it takes builds out of the queue, one at a time, until it is ended."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.prove.publish import errand
from runner.config.paths import Places
from runner.config.sizes import bytes_of
from runner.errors import RunnerError
from runner.extensions.team.build_claim import Claimer, claim_build
from runner.extensions.team.build_clone import BuildClone, trim_clones
from runner.extensions.team.build_queue import QueuedBuild, short_of
from runner.extensions.team.build_work import BuildWork
from runner.extensions.team.doorbell import Doorbell
from runner.extensions.team.store_engine import StoreAwayError, find_actor
from runner.extensions.team.work_end import WorkEnd
from runner.process.sandbox import explain_opening, sandbox_of
from runner.repo.clone import CloneCache, find_lack
from runner.report.documents import document_line
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runner.config.settings import Settings
    from runner.extensions.team.store_engine import Store

_AWAY = 5.0
"""Seconds before a store that is away is asked for builds again."""
_NOTIFY = 30.0


@dataclass(frozen=True, slots=True)
class WorkerRequest:
    """How long a worker works, and what it offers."""

    tags: tuple[str, ...] = ()
    once: bool = False
    """It ends after one build, or where none waits."""
    until_idle: bool = False
    """It ends where none waits."""


@dataclass
class TeamWorker:
    """One worker of this machine."""

    store: Store
    settings: Settings
    environ: Mapping[str, str]
    asked: WorkerRequest
    tell: Callable[[str], None]
    on_end: Callable[[QueuedBuild, WorkEnd], None]
    over: threading.Event = field(default_factory=threading.Event)
    """Set: what goes on is ended, and the build handed back."""
    rung: threading.Event = field(default_factory=threading.Event)

    def serve(self) -> None:
        """Work until there is nothing more to do, or it is ended.

        Raises StoreAwayError where the store is away from the beginning, and OSError where the disk
        is full and nobody waits.
        """
        require_sandbox(self.settings, self.environ)
        if (lack := self._find_lack()) and (self.asked.once or self.asked.until_idle):
            raise lack
        mine = None if lack else self._claim()
        with Doorbell(self.store, self.rung):
            while True:
                if mine is not None:
                    self._work(mine)  # claimed while it was ended: handed back at once
                is_done = self.asked.once or (mine is None and self.asked.until_idle)
                if is_done or self.over.is_set():
                    break
                if mine is None:
                    self._wait(self.settings.team.worker_poll)
                mine = self._claim_later()

    @property
    def me(self) -> Claimer:
        """What the store calls it."""
        name = f"{find_actor(self.environ)}/{os.getpid()}"
        return Claimer(name, socket.gethostname(), self.asked.tags, self.settings.team.worker_ttl)

    def _claim(self) -> QueuedBuild | None:
        return claim_build(self.store, self.me, self._tell_of_lost)

    def _claim_later(self) -> QueuedBuild | None:
        """The next build, once the store answers and the disk takes it; None where it ends before.

        A worker that took builds which it cannot clone would keep them from those that can.
        """
        reported = ""
        while not self.over.is_set():
            try:
                if (lack := self._find_lack()) is None:
                    return self._claim()
                why = f"cannot write to the disk ({lack}); no new build until it works"
            except StoreAwayError as error:
                why = f"{error.message} ({error.detail}); no new build until it answers"
            if why != reported:
                self.tell(why)
            reported = why
            self._wait(_AWAY)
        return None

    def _find_lack(self) -> OSError | None:
        return find_lack(self._builds, self._copies)

    @property
    def _builds(self) -> Path:
        return Places.of(self.environ).state / "team" / "builds"

    @property
    def _copies(self) -> Path:
        return Places.of(self.environ).cache / "team" / "repositories"

    def _wait(self, seconds: float) -> None:
        self.rung.wait(seconds)
        # Before the store is asked: what rings while it is asked is kept for the next wait.
        self.rung.clear()

    def end(self) -> None:
        """Have it end soon; from any thread."""
        self.over.set()
        self.rung.set()

    def _work(self, mine: QueuedBuild) -> None:
        self.tell(f"{mine.short}: {mine.repository}, {mine.branch}, attempt {mine.attempts}")
        cache = CloneCache(self._copies, bytes_of(self.settings.team.worker_cache) or 0)
        permitted, home = self.settings.team.worker_credentials, self._builds
        folders = self.settings.team.worker_folders
        clone = BuildClone(mine, home, cache, self.environ, permitted, folders)
        work = BuildWork(
            *(self.store, mine, clone, self.settings, self.rung, self.over.is_set, self.tell)
        )
        try:
            end = work.go()
        except StoreAwayError as error:
            end = WorkEnd("", error.message)
        self._tell_end(mine, end)
        with suppress(RunnerError):  # the store is away: another time
            for one in trim_clones(self.store, home, cache.most, self.environ):
                self.tell(f"{short_of(one[:36])}: removed its clone, which was saved elsewhere")

    def _tell_end(self, mine: QueuedBuild, end: WorkEnd) -> None:
        if end.state:
            state = end.state if end.state != "PENDING" else "returned to the queue"
            note = f": {end.note}" if end.note else ""
            self.tell(f"{mine.short}: {state}{note}")
        else:
            self.tell(f"{mine.short}: {end.note}")
        self.on_end(mine, end)
        if end.state in ("COMPLETED", "FAILED") or end.waits:
            self._notify(mine, end)

    def _tell_of_lost(self, mine: QueuedBuild) -> None:
        self._tell_end(mine, WorkEnd(mine.state, mine.note))

    def _notify(self, mine: QueuedBuild, end: WorkEnd) -> None:
        """Hand `notify.command` a line about the build, as a run does about itself."""
        line = self.settings.notify.command
        if not line or end.ending not in self.settings.notify.on:
            return
        text = document_line(
            "attention",
            ending=end.ending,
            build=short_of(mine.id),
            repository=mine.repository,
            branch=mine.branch,
            state=end.state,
            waits=end.waits,
            note=end.note,
            by=mine.by,
        )
        data = redact(text).encode()
        ran = errand(line, Path.cwd(), self.environ, stdin=data, seconds=_NOTIFY)
        if not ran.passed:
            self.tell(f"warning: notify.command failed: {ran.tail.strip()[-200:]}")


def require_pace(settings: Settings) -> None:
    """Raise RunnerError where a build would be handed on although its worker lives."""
    if settings.team.worker_ttl < 2 * settings.team.worker_beat:
        raise RunnerError(
            f"worker_ttl ({settings.team.worker_ttl:g} s) is less than twice worker_beat "
            f"({settings.team.worker_beat:g} s): live workers would lose their builds",
            hint="remove both settings to use the defaults 30 and 3",
        )


def require_sandbox(settings: Settings, environ: Mapping[str, str]) -> None:
    """Raise RunnerError where commands of other people's repositories would not be enclosed."""
    sandbox = sandbox_of(settings, environ)
    if not sandbox.encloses:
        raise RunnerError(
            "a worker needs a sandbox, and none is available here",
            detail=sandbox.reason,
            hint=f'{explain_opening()}; or set sandbox.kind = "landlock"',
        )
