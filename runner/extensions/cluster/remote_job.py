"""One remote job for one attempt: send it to workers until one answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner import effects
from runner.errors import RunnerError
from runner.extensions.cluster.addresses import is_sealed, restrict_settings
from runner.extensions.cluster.message import (
    PLAIN,
    Job,
    JobAnswer,
    Pack,
    SentFile,
    as_bytes,
    read_answer,
)
from runner.extensions.cluster.object_store import PIECE, in_parts
from runner.extensions.cluster.recheck import redact_proofs, require_assigned
from runner.journal.events import GateCompleted, GateStarted, StageCompleted
from runner.journal.records import BadRecordError, NewerRecordError, UnfitRecordError, decode
from runner.journal.session_events import PermissionAsked, ToolCalled, ToolReturned
from runner.model.codec import ShapeError
from runner.secrets.redact import redact, redact_head
from runner.text.display import display
from runner.text.wording import attempt_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.extensions.cluster.channel import RunningJob
    from runner.extensions.cluster.cluster import Cluster
    from runner.extensions.cluster.lease import PendingResult, PendingResults
    from runner.extensions.cluster.message import Ground, Part, Work
    from runner.extensions.cluster.object_store import ObjectTransfer
    from runner.journal.events import Event as Happening
    from runner.run.worker_assignment import Assignment, WorkerContext


_HEARD = frozenset(
    {"gate.started", "gate.completed", "stage.completed", "tool.called", "tool.returned"}
    | {"permission.asked"}
)
"""Events that an attempt may report about itself; a worker may send no others."""
_MOST = 10_000
_LONGEST_LOG = 2 << 20
_LONGEST_NAME = 200
_LONGEST_SUBJECT = 1_000
"""Maximum length of a result of `permissions.asked_about`."""


def report_events(
    answer: JobAnswer, assignment: Assignment, site: WorkerContext, known: tuple[str, ...]
) -> None:
    """Save the output of commands, then report the events of an attempt to the journal.

    In this order: who hears that a check begins shows what was printed before it.
    """
    _keep_logs(answer, assignment, site, known)
    for line in answer.events[:_MOST]:
        event = _event(line, known)
        if event is not None:
            site.workers.report(assignment.task.id, assignment.attempt, event)


def _event(line: str, known: tuple[str, ...]) -> Happening | None:
    """Parse an event line of a worker and redact it; None if it is not a permitted event."""
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
    if isinstance(event, StageCompleted):
        return replace(event, stage=display(redact_head(event.stage, _LONGEST_NAME, known)))
    if isinstance(event, PermissionAsked):
        return PermissionAsked(
            redact_head(event.tool, _LONGEST_NAME, known),
            redact_head(event.subject, _LONGEST_SUBJECT, known),
            redact_head(event.rule, _LONGEST_NAME, known),
        )
    if isinstance(event, ToolCalled):
        event = replace(event, path=display(redact_head(event.path, _LONGEST_NAME, known)))
    if isinstance(event, ToolCalled | ToolReturned):
        return replace(
            event,
            name=display(redact_head(event.name, _LONGEST_NAME, known)),
            arguments=display(redact_head(event.arguments, _LONGEST_NAME, known)),
        )
    return None


def _keep_logs(
    answer: JobAnswer, assignment: Assignment, site: WorkerContext, known: tuple[str, ...]
) -> None:
    """Write the logs where an attempt at home would have left them."""
    folder = site.logs / assignment.task.id / attempt_folder(assignment.attempt)
    named = [log for log in answer.logs if PLAIN.fullmatch(log.name) and log.name.endswith(".log")]
    if named:
        effects.make_folder(folder)
    for log in named:
        text = redact_head(log.content.decode("utf-8", "replace"), _LONGEST_LOG, known)
        effects.step("write", folder / log.name)
        (folder / log.name).write_text(text, encoding="utf-8")


TRIES = 3
"""Maximum number of workers lost with one job."""
_LOOK = 0.1
"""Seconds between two checks whether a job is still wanted and its worker alive."""
_LAST_WORD = 12.0
"""Seconds for the answer of a task that a person ended: longer than its last look at what it has
written, and less than `cancel` waits."""
_LONGEST_WHY = 500
_BUSY = "is busy with other work"
_GONE = "was lost during the job; the job moves to another worker"


class Cancelled(Exception):  # noqa: N818 - the word for what happened
    """The task was to end while its job ran."""


class Lost(Struct, frozen=True):
    """A job that came to nothing through no fault of its task."""

    worker: str
    why: str
    hint: str = ""


class Dispatch(Struct, frozen=True):
    """The shared context of all remote jobs in a run."""

    cluster: Cluster
    supply: ObjectTransfer
    tickets: PendingResults
    ground: Ground
    """Description of the repository for workers."""
    say: Callable[[str], None]
    """Prints a permanent line for the person."""


class RemoteJob(Struct):
    """Takes one job away and brings its answer home."""

    dispatch: Dispatch
    assignment: Assignment
    site: WorkerContext
    work: Work
    tree: str
    _tried: list[Lost] = field(default_factory=list)

    def run(self) -> JobAnswer | tuple[Lost, ...]:
        """Run the job until a worker answers, or return the lost attempts. Raises Cancelled.

        Raises Cancelled, and RunnerError where the cluster itself is gone.
        """
        while len(self._tried) < TRIES and self._may_help():
            worker = self._worker()
            try:
                answer = self._on(worker)
            finally:
                self.dispatch.cluster.give_back(worker)
            if isinstance(answer, JobAnswer):
                return answer
            if answer.why == _BUSY:  # with another run's jobs: that is nobody's fault
                continue
            self.dispatch.supply.forget(worker)
            self._tried.append(answer)
            self.dispatch.say(f"note: {self.assignment.task.id}: {_place(worker)} {answer.why}")
        return tuple(self._tried)

    @property
    def lost(self) -> tuple[Lost, ...]:
        """Failed tries before the last one."""
        return tuple(self._tried)

    def _may_help(self) -> bool:
        """Return whether another attempt may help: the last loss has no hint, or others exist."""
        if not self._tried or not self._tried[-1].hint:
            return True
        return self.dispatch.cluster.has_other_worker({lost.worker for lost in self._tried})

    def _worker(self) -> str:
        worker = self.dispatch.cluster.take(
            {lost.worker for lost in self._tried},
            lambda one: self.dispatch.supply.how_far(one, self.tree),
            self.site.cancelled,
        )
        if not worker:
            raise Cancelled
        return worker

    # --- with one worker --------------------------------------------------------------

    def _on(self, worker: str) -> JobAnswer | Lost:
        """Ask one worker, sending what it lacks first."""
        supply = self.dispatch.supply
        private = self._secrets or self._included
        if private and not self.dispatch.cluster.is_private(worker):
            return Lost(worker, "has no TLS: secrets are sent only over TLS or loopback")
        known = supply.knows(worker) and not supply.has(worker, self.tree)
        pack = self._pack_for(worker) if known else None
        for _ in range(3):
            if pack is not None and len(pack.data) > PIECE:
                lost = self._send_pieces(pack, worker)
                if lost is not None:
                    return lost
                pack = None
            answer = self._submit(self._job(work=self.work, pack=pack), worker)
            if isinstance(answer, Lost):
                return answer
            if answer.lacks is None:
                supply.note(worker, (self.tree,))
                return answer
            supply.forget(worker)
            # The worker lists the newest first; here the newest is last.
            supply.note(worker, reversed(answer.lacks.has))
            pack = self._pack_for(worker)
        return Lost(worker, "still lacks files that it was sent", "check its disk")

    def _pack_for(self, worker: str) -> Pack:
        return Pack(self.dispatch.supply.pack_for(worker, self.tree), self.tree)

    def _send_pieces(self, pack: Pack, worker: str) -> Lost | None:
        """Send a large pack piece by piece; None where all of it arrived."""
        for part in in_parts(pack, effects.new_id()):
            answer = self._submit(self._job(part=part), worker)
            if isinstance(answer, Lost):
                return answer
        return None

    def _job(
        self, *, work: Work | None = None, pack: Pack | None = None, part: Part | None = None
    ) -> Job:
        """Create the job without its ticket."""
        settings = self.site.settings
        sealed = is_sealed(self.dispatch.cluster.scheduler, settings)
        return Job(
            ticket="",
            topic=self.dispatch.cluster.topic,
            ground=self.dispatch.ground,
            tree=self.tree,
            settings=replace(settings if sealed else restrict_settings(settings), secret=()),
            work=work,
            pack=pack,
            part=part,
            included=self._included if work else (),
        )

    def _submit(self, job: Job, worker: str) -> JobAnswer | Lost:
        """Send the job and wait for its result or for a reason to give up."""
        task = self.assignment.task.id
        ticket = self.dispatch.tickets.open(
            task,
            self.assignment.attempt,
            lambda line: self.site.show(task, line),
            self._secrets,
        )
        running = None
        try:
            data = as_bytes(job.with_ticket(ticket.name))
            running = self.dispatch.cluster.begin(worker, ticket.name, data)
            lost = self._wait(running, ticket, worker)
            if lost is not None:
                return lost
            return self._read(running, ticket, worker)
        except (Cancelled, RunnerError):
            # Before it is closed: a late answer to a job ended on purpose is not reported.
            self.dispatch.tickets.forget(ticket)
            raise
        finally:
            self.dispatch.tickets.close(ticket)
            if running is not None:
                running.give_up()

    def _wait(self, running: RunningJob, ticket: PendingResult, worker: str) -> Lost | None:
        """Wait until the job is over; why it is lost, where it is."""
        cluster, longest = self.dispatch.cluster, self._longest_silence()
        opened, ends = effects.monotonic(), 0.0
        while not running.wait(_LOOK):
            if self.site.cancelled.is_set():
                if not (ticket.began and self._leaves_something):
                    raise Cancelled
                if not ends:
                    ends = effects.monotonic() + _LAST_WORD  # a hanging job hears it late
                    cluster.end(worker, ticket.name)
                if effects.monotonic() > ends:
                    raise Cancelled
            cluster.require_there()
            if not cluster.is_alive(worker):
                return Lost(worker, _GONE)
            # Uses this side's messages and clock: clocks of two machines are never compared.
            if ticket.began and effects.monotonic() - ticket.heard > longest:
                return Lost(worker, "has been silent for too long; the job moves to another worker")
            if not ticket.began and effects.monotonic() - opened > cluster.patience.silence:
                return Lost(worker, _BUSY)
        return None

    @property
    def _leaves_something(self) -> bool:
        """Whether a task ends while its run goes on: what it has written by then is kept."""
        return self.work.suspects is None and not self.site.workers.cancelled.is_set()

    def _longest_silence(self) -> float:
        """Return the seconds that a worker may be silent: its longest timeout and a margin."""
        settings, task = self.site.settings, self.assignment.task
        gates = (*settings.gates, *(gate for _, many in settings.gates_by_type for gate in many))
        seconds = (settings.seconds_for(gate) for gate in (*gates, *task.gates))
        limits = (settings.limits.hard_seconds, task.timeout or 0.0, *seconds)
        return max(limits) + self.dispatch.cluster.patience.silence

    def _read(self, running: RunningJob, ticket: PendingResult, worker: str) -> JobAnswer | Lost:
        """Return the validated answer to this job, or why the job is lost."""
        if running.is_lost:
            return Lost(worker, _GONE)
        data = running.data()
        if data is None:
            return Lost(worker, "sent an unreadable answer; the job moves to another worker")
        try:
            answer = read_answer(data)
            self._require_fit(answer, ticket)
        except ShapeError as error:
            hint = "install the same version of runner there, or remove it from the cluster"
            return Lost(worker, f"sent an invalid answer: {_clean(str(error))}", hint)
        if answer.trouble is not None:
            why = _clean(redact(answer.trouble.message, self._secrets))
            return Lost(worker, f"cannot work: {why}", _clean(answer.trouble.hint) or "check it")
        self.dispatch.tickets.show_remaining_lines(ticket, answer.lines[:_MOST], answer.said)
        if not self.dispatch.tickets.honour(ticket.name):
            return Lost(worker, "answered twice")
        report_events(answer, self.assignment, self.site, self._secrets)
        return answer

    def _require_fit(self, answer: JobAnswer, ticket: PendingResult) -> None:
        """Raise ShapeError where an answer is not to what was asked."""
        if answer.trouble is not None:
            return
        if answer.ticket != ticket.name:
            raise ShapeError("it is for another job")
        if answer.outcome is not None:
            base = self.tree if self.assignment.base else ""
            prefix = self.dispatch.supply.repository.prefix
            ended = self.site.cancelled.is_set()
            require_assigned(answer.outcome, self.assignment, base, prefix, ended=ended)
        parts = (answer.outcome, answer.others, answer.lacks)
        if sum(one is not None for one in parts) + answer.kept != 1:
            raise ShapeError("the answer must have exactly one result")

    @property
    def _included(self) -> tuple[SentFile, ...]:
        """Ignored files that go along; none unless the person's settings send them."""
        found = self.site.included
        if found is None or not self.site.settings.sandbox.worktree_include_remote:
            return ()
        return tuple(SentFile(one.path, one.mode, found.content(one)) for one in found.files)

    @property
    def _secrets(self) -> tuple[str, ...]:
        return self.work.secrets


def _place(worker: str) -> str:
    return f"the worker {display(worker)}"


def _clean(text: str) -> str:
    return display(text)[:_LONGEST_WHY]
