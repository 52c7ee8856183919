"""The worker: take a build from the queue and run it, from claim to end.

The run is a process of its own session: it lands by the lease in the remote alone, and goes on
while the store is away. What it tells is copied from its journal; what people say is taken to it.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from runner import effects
from runner.app.answer.waiting_document import require_shown
from runner.app.prove.publish import errand
from runner.config.paths import Places
from runner.config.sizes import bytes_of
from runner.errors import ExitCode, MachineError, RunnerError
from runner.extensions.team.build_claim import (
    LONGEST_NOTE,
    Claimer,
    CommandEnd,
    Heartbeat,
    LostClaimError,
    WorkEnd,
    claim_build,
    describe_blocked,
    finish_build,
    join_lines,
    list_answers,
    note_mine,
    release_build,
    shorten,
    take_answer,
)
from runner.extensions.team.build_clone import BuildClone, trim_clones
from runner.extensions.team.build_queue import QueuedBuild, short_of
from runner.extensions.team.event_rows import count_since_retry, list_own_types, was_retried
from runner.extensions.team.projections import JournalCopy
from runner.extensions.team.store_engine import (
    Doorbell,
    StoreDownError,
    UnfitValueError,
    find_actor,
)
from runner.extensions.team.team_budget import FREE, Share, read_share
from runner.process import platform
from runner.process.own_command import OwnCommand, forget_child, read_document, record_child
from runner.process.sandbox import explain_opening, sandbox_of
from runner.repo.clone import ORIGIN, CloneCache, find_lack
from runner.repo.git import disk_error
from runner.repo.remote import AWAY, RemoteDownError
from runner.report.documents import document_line
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runner.config.settings import Settings
    from runner.extensions.team.pending_work import ShownWork
    from runner.extensions.team.store_engine import Store

T = TypeVar("T")
_TICK, _AWAY = 0.2, 2.0
"""Seconds between checks of a run, and before an unreachable store is queried again."""
_PATIENCE = 60.0
"""Seconds for a run to release what it holds after it was asked to end."""
_MOST = 4 << 20
_FIRST_PAUSE, _LONGEST_PAUSE = 15.0, 600.0
_PUT_OFF = 10
"""How often a build is postponed because its branch is taken or its remote unreachable."""
_LONGER = 60.0
"""Seconds beyond two ttl for which a claim waits for a branch that others hold."""
_ANSWERED = (ExitCode.FAILED, ExitCode.PERSON, ExitCode.REGRESSION)
"""Results of a run that a person's answer may change."""
_STORE_AWAY = 5.0
"""Seconds before an unreachable store is queried for builds again."""
_NOTIFY = 30.0


class BuildWork(Struct, dict=True):
    """One claim of one build."""

    store: Store
    mine: QueuedBuild
    clone: BuildClone
    settings: Settings
    rung: threading.Event
    """Set when the store may have news."""
    is_over: Callable[[], bool]
    """Whether the worker has to end."""
    tell: Callable[[str], None]
    _tasks: tuple[str, ...] = ()
    _shown: tuple[ShownWork, ...] = ()
    _given: Share = FREE
    """Budget share of this claim."""
    _has_answered: bool = False
    """Whether an answer came during the run, which may have missed it."""
    _began: float = 0.0
    _looked: float = 0.0
    _away_until: float = 0.0

    def go(self) -> WorkEnd:
        """Build, and record the end in the store."""
        self._began = effects.monotonic()
        pace = (self.settings.team.worker_beat, self.settings.team.worker_ttl)
        self._heart = Heartbeat(self.store, self.mine, pace, self.rung)
        self._copy = JournalCopy.begin(self.clone.journal, self.mine.branch)
        self.clone.stopped = self._wants_end
        with self._heart:
            try:
                end = self._finish(self._work())
            except LostClaimError as error:
                return WorkEnd("", error.message)
            finally:
                self.clone.close()
        return end

    # --- the way ------------------------------------------------------------------------

    def _work(self) -> WorkEnd:
        try:
            self._given = self._insist(lambda: read_share(self.store, self.mine))
            self.clone.open()
            self._copy = JournalCopy.begin(self.clone.journal, self.mine.branch)
            if why := self._find_stop():
                return why
            self._prepare()
            if why := self._find_stop():
                return why
            self._insist(lambda: self._carry_out_answers(is_running=False))
            return self._show(self._draft() or self._build())
        except (LostClaimError, StoreDownError):
            raise
        except OSError as error:  # no room, no process, what nobody may take away: this machine's
            return self._find_stop() or self._put_off(str(error))
        except RunnerError as error:
            if why := self._find_stop():
                return why
            if lack := self._find_lack(f"{error.message} {error.detail}"):
                return self._put_off(lack)  # another machine may well build it
            where = f" ({error.where})" if error.where else ""
            reason = "; ".join(filter(None, (error.message + where, error.detail, error.hint)))
            if error.code is ExitCode.CONFLICT or isinstance(
                error, (MachineError, RemoteDownError)
            ):
                return self._put_off(reason)
            return WorkEnd("FAILED", shorten(reason))

    def _show(self, end: WorkEnd) -> WorkEnd:
        """Collect the work to be shown to a person, and return the end unchanged."""
        self._shown = self.clone.describe_shown() if end.waits else ()
        return end

    def _find_lack(self, text: str) -> str:
        """Return why this machine's disk failed, by an error text and by trying; or empty."""
        home, copies = self.clone.home, self.clone.cache.folder
        return str(disk_error(text, home) or find_lack(home, copies, is_written=True) or "")

    def _note(self, kind: str, fields: Mapping[str, object] | None = None, **row: object) -> None:
        self._insist(lambda: note_mine(self.store, self.mine, kind, fields, **row))

    def _list_own(self) -> list[str]:
        return self._insist(lambda: list_own_types(self.store, self.mine.id))

    def _insist(self, ask: Callable[[], T]) -> T:
        """Retry a call until the store answers. Raises StoreDownError if the worker must stop."""
        while True:
            try:
                return ask()
            except StoreDownError:
                if self.is_over() or self._heart.is_lost:
                    raise
                time.sleep(_AWAY)

    def _prepare(self) -> None:
        self._note("clone.started", {"url": self.mine.url})
        copy = JournalCopy(self.clone.journal, self.mine.branch)
        commit = self.clone.prepare(lambda: self._insist(lambda: copy.save(self.store, self.mine)))
        fields = {"commit": commit, "kept": self.clone.kept}
        self._note("clone.completed", fields, place=str(self.clone.place))
        if self.clone.kept:
            self.tell(f"{self.mine.short}: kept unusable {self.clone.kept}: it has unpushed work")
        self._note("push.started", {"branch": self.mine.branch})
        try:
            tip = self.clone.switch_to_build_branch()
        except RunnerError as error:
            self._note("push.failed", {"why": shorten(error.message)})
            raise
        self._note("push.completed", {"branch": self.mine.branch, "commit": tip})
        self._note("analysis.started")
        self._copy = JournalCopy.begin(self.clone.journal, self.mine.branch)
        if was_retried(self._list_own()):
            self.clone.retry_blocked()

    def _draft(self) -> WorkEnd | None:
        """Draft a plan for the build's request; return why the build waits, or None."""
        if not self.mine.wish:
            return None
        state = self.clone.project().state()
        if state.drafts and not state.open_drafts:
            return None
        if not state.open_drafts:
            ran = self._run("draft", "--json", "--trust", "--file", str(self.clone.wish))
            if why := self._find_stop():
                return why
            state = self.clone.project().state()
            if not state.open_drafts:
                self._copy.is_reported = False  # nothing is in the journal of a draft that failed
                return WorkEnd("FAILED", f"drafting failed: {ran.stderr}", ending="blocked")
        waits = f"DRAFT-{state.open_drafts[-1].number}"
        return WorkEnd("PENDING", f"{waits} waits for an answer", waits, ending="waits")

    def _build(self) -> WorkEnd:
        """Run the build; wait while another run holds the branch."""
        self._tasks = self.clone.list_tasks()
        self._note("analysis.completed", {"tasks": len(self._tasks)})
        until = effects.monotonic() + 2 * self.settings.git.lease_seconds + _LONGER
        while True:
            self._has_answered = False
            if self._share.left == 0.0:
                return WorkEnd("PENDING", str(self._share))
            ran = self._run("run", "--json", "--yes", "--trust", "--", *self.mine.tasks)
            if why := self._find_stop():
                return why
            if self._has_answered and ran.code in _ANSWERED:
                continue
            if ran.code != ExitCode.CONFLICT or effects.monotonic() > until:
                return self._judge(ran)
            self.tell(f"{self.mine.short}: {ran.stderr.splitlines()[0] if ran.stderr else 'busy'}")
            self._pause(self.settings.git.lease_seconds / 5)
            if not self.clone.catch_up():  # it is made anew by the next claim, on its branch
                return self._put_off(ran.stderr)

    def _pause(self, seconds: float) -> None:
        until = effects.monotonic() + seconds
        while effects.monotonic() < until and not self._find_stop():
            self.rung.wait(_TICK)
            self.rung.clear()

    def _judge(self, ran: CommandEnd) -> WorkEnd:
        """Return the end of the build that follows from the end of a run."""
        match ran.code:
            case ExitCode.OK:
                return WorkEnd("COMPLETED", head=self.clone.find_tip(), ending="done")
            case _ if ran.code in _ANSWERED and (waits := ", ".join(self.clone.list_waiting())):
                return WorkEnd("PENDING", f"{waits} waits for an answer", waits, ending="waits")
            case ExitCode.CONFLICT:
                return self._put_off(ran.stderr)
            case _ if f"{ORIGIN} {AWAY}" in ran.stderr:  # it did when the clone was made
                return self._put_off(ran.stderr)
            case ExitCode.USAGE if lack := self._find_lack(ran.stderr):
                return self._put_off(lack)
            case ExitCode.STOPPED if self._share.is_used:
                return WorkEnd("PENDING", str(self._share))
            case ExitCode.REGRESSION:
                return WorkEnd("FAILED", ran.stderr, ending="regression")
            case ExitCode.PERSON if ran.document.get("blocked"):  # such as held-out files
                waits = describe_blocked(ran)
                return WorkEnd("PENDING", waits, waits, ending="waits")
            case ExitCode.FAILED:
                return WorkEnd("FAILED", describe_blocked(ran), ending="blocked")
            case _:
                return WorkEnd("FAILED", ran.stderr or f"the run ended with exit {ran.code}")

    def _put_off(self, why: str) -> WorkEnd:
        """Return an end that postpones the build, or fails it after too many attempts."""
        tries = count_since_retry(self._list_own(), "build.put-off")
        if tries >= _PUT_OFF:
            return WorkEnd("FAILED", shorten(why))
        pause = min(_FIRST_PAUSE * 2**tries, _LONGEST_PAUSE)
        return WorkEnd("PENDING", shorten(why), after=pause)

    @property
    def _share(self) -> Share:
        spent, is_whole = self._copy.dollars, self._copy.is_cost_known
        return replace(self._given, spent=spent, is_whole=is_whole)

    def _find_stop(self) -> WorkEnd | None:
        """Return why the build must stop on this worker, or None."""
        if self._heart.is_lost:
            raise LostClaimError(f"{self.mine.short} was taken over by another worker")
        if by := self._heart.cancelled_by:
            return WorkEnd("CANCELLED", f"cancelled by {by}")
        limit = self.mine.timeout
        if limit and self.mine.spent + effects.monotonic() - self._began > limit:
            return WorkEnd("FAILED", f"it exceeded its limit of {limit:g} s")
        if self.is_over():
            return WorkEnd("PENDING", "its worker was stopped")
        return None

    # --- a command that goes on ---------------------------------------------------------

    def _run(self, *words: str) -> CommandEnd:
        """Run a runner command on the build's branch until it ends or is stopped."""
        self.clone.require_branch()
        environ = self._share.limit(self.clone.environ, self.settings)
        command = OwnCommand(words, self.clone.place, environ, stays=True)
        try:
            record_child(self.clone.folder, command.pid)
            code = self._watch(command)
            output, errors = command.read(_MOST)
        except BaseException:
            command.end()
            raise
        finally:
            command.forget()
            forget_child(self.clone.folder)
        stderr = join_lines(errors.decode("utf-8", "replace"))
        return CommandEnd(code, stderr[-LONGEST_NOTE:], read_document(output))

    def _watch(self, command: OwnCommand) -> int:
        asked: float | None = None
        while (code := command.wait(_TICK)) is None:
            self._look()
            if asked is None:
                if self._wants_end():
                    asked = effects.monotonic()
                    platform.interrupt(command.pid, lambda: True)
            elif effects.monotonic() > asked + _PATIENCE:
                self._copy.is_reported = False
                command.end()
        self._copy_rest()
        return code

    def _wants_end(self) -> bool:
        try:
            return self._find_stop() is not None
        except LostClaimError:
            return True

    def _look(self) -> None:
        """Copy new journal lines to the store and fetch answers; retry later on an error."""
        now = effects.monotonic()
        if now < self._away_until or self._heart.is_lost:
            return
        try:
            while self._copy.step(self.store, self.mine, self._tasks):
                pass
            if self.rung.is_set() or now > self._looked + self.settings.team.worker_poll:
                self.rung.clear()
                self._looked = now
                self._carry_out_answers(is_running=True)
                self._heart.look()
        except StoreDownError:
            self._away_until = now + _AWAY
        except LostClaimError:
            self._heart.is_lost = True

    def _copy_rest(self) -> None:
        with suppress(StoreDownError, LostClaimError, UnfitValueError):
            while self._copy.step(self.store, self.mine, self._tasks):
                pass

    def _carry_out_answers(self, *, is_running: bool) -> None:
        """Carry out the new answers of people, in order.

        Raises LostClaimError, StoreDownError: then it is done again, and changes nothing more.
        """
        for one in list_answers(self.store, self.mine):
            is_draft = one["task"].upper().startswith("DRAFT-")
            if is_draft and one["word"] == "reject":
                if is_running:
                    continue
                outcome = self._reject_draft(one["task"], one["reason"], one["seen"])
            else:
                answer = (one[name] for name in ("word", "task", "reason", "by", "seen"))
                outcome = self.clone.take_answer(*answer)
            take_answer(self.store, self.mine, one["id"], shorten(outcome))
            self._has_answered = True

    def _reject_draft(self, item: str, reason: str, seen: str) -> str:
        """Reject a draft with a command, which also writes a new one."""
        try:
            require_shown(self.clone.project(), item, seen)
        except RunnerError as error:
            return f"not applied: {error.message}"
        ran = self._run("reject", item, f"--reason={reason}")
        return f"{item} rejected" if ran.code == ExitCode.PERSON else f"not applied: {ran.stderr}"

    # --- the end ------------------------------------------------------------------------

    def _finish(self, end: WorkEnd) -> WorkEnd:
        """Write it down, however long the store is away; how it ended. Raises LostClaimError."""

        def say() -> WorkEnd:
            with suppress(UnfitValueError):  # what the build ended by, perhaps
                while self._copy.step(self.store, self.mine, ()):
                    pass
            if end.state == "PENDING":
                known = (self.store, self.mine, end.note, self._share)
                by = release_build(*known, waits=end.waits, after=end.after, shown=self._shown)
                return WorkEnd("CANCELLED", f"cancelled by {by}") if by else end
            finish_build(self.store, self.mine, end.state, end.note, end.head, self._share)
            return end

        return self._insist(say)


class WorkerRequest(Struct, frozen=True):
    """A worker's working time and abilities."""

    tags: tuple[str, ...] = ()
    once: bool = False
    """Whether to end after one build, or if none waits."""
    until_idle: bool = False
    """Whether to end if no build waits."""


class TeamWorker(Struct):
    """One worker of this machine."""

    store: Store
    settings: Settings
    environ: Mapping[str, str]
    asked: WorkerRequest
    tell: Callable[[str], None]
    on_end: Callable[[QueuedBuild, WorkEnd], None]
    over: threading.Event = field(default_factory=threading.Event)
    """When set, current work is ended and the build is handed back."""
    rung: threading.Event = field(default_factory=threading.Event)

    def serve(self) -> None:
        """Run builds until none is left or the worker is stopped.

        Raises StoreDownError where the store is away from the beginning, and OSError where the disk
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
        """Identity of the worker in the store."""
        name = f"{find_actor(self.environ)}/{os.getpid()}"
        return Claimer(name, socket.gethostname(), self.asked.tags, self.settings.team.worker_ttl)

    def _claim(self) -> QueuedBuild | None:
        return claim_build(self.store, self.me, self._report_lost_claim)

    def _claim_later(self) -> QueuedBuild | None:
        """Return the next build when store and disk are usable; None if the worker stops.

        A worker that took builds which it cannot clone would keep them from those that can.
        """
        reported = ""
        while not self.over.is_set():
            try:
                if (lack := self._find_lack()) is None:
                    return self._claim()
                why = f"cannot write to the disk ({lack}); no new build until the disk works"
            except StoreDownError as error:
                why = f"{error.message} ({error.detail}); no new build until the store answers"
            if why != reported:
                self.tell(why)
            reported = why
            self._wait(_STORE_AWAY)
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
        # Before the store query: a signal during the query is kept for the next wait.
        self.rung.clear()

    def end(self) -> None:
        """Stop the worker soon; may be called from any thread."""
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
        except StoreDownError as error:
            end = WorkEnd("", error.message)
        self._report_end(mine, end)
        with suppress(RunnerError):  # the store is away: another time
            for one in trim_clones(self.store, home, cache.most, self.environ):
                self.tell(f"{short_of(one[:36])}: removed its clone; its work is saved")

    def _report_end(self, mine: QueuedBuild, end: WorkEnd) -> None:
        if end.state:
            state = end.state if end.state != "PENDING" else "returned to the queue"
            note = f": {end.note}" if end.note else ""
            self.tell(f"{mine.short}: {state}{note}")
        else:
            self.tell(f"{mine.short}: {end.note}")
        self.on_end(mine, end)
        if end.state in ("COMPLETED", "FAILED") or end.waits:
            self._notify(mine, end)

    def _report_lost_claim(self, mine: QueuedBuild) -> None:
        self._report_end(mine, WorkEnd(mine.state, mine.note))

    def _notify(self, mine: QueuedBuild, end: WorkEnd) -> None:
        """Pipe a line about the build to `notify.command`."""
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
            f"team.worker_ttl ({settings.team.worker_ttl:g} s) is less than twice team.worker_beat "
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
            hint=f'{explain_opening()}; or set sandbox.kind = "landlock" in your own settings',
        )
