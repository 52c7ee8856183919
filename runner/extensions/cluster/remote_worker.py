"""Run jobs on a worker: the entry point, bytes in and bytes out, and the slot of a job.

The attempt runs as it does at home, but no person can be asked. The coordinator asks afterwards
for a person's review, and which tests of other tasks a change may break.
"""

from __future__ import annotations

import os
import threading
import traceback
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner import effects
from runner.config.loading import register_secret_formats
from runner.config.paths import Places
from runner.errors import RunnerError, refusal_of
from runner.extensions.cluster.channel import JOB, OPENED, JobQueue, do_jobs, receive_job
from runner.extensions.cluster.lease import LATE, JobLease
from runner.extensions.cluster.message import (
    PLAIN,
    JobAnswer,
    Lacks,
    Log,
    Others,
    Trouble,
    as_bytes,
    read_job,
)
from runner.extensions.cluster.object_store import ObjectStore
from runner.gates.regression import prove_others
from runner.implementers.registry import choose
from runner.journal.events import NAMES, GateCompleted, GateStarted, Record
from runner.journal.records import encode
from runner.model import Ending, Finding, Outcome
from runner.model.codec import ShapeError
from runner.process.base import Place, command_environment, git_identity
from runner.process.sandbox import sandbox_of
from runner.repo.alternates import Lender
from runner.repo.included_files import IncludedFiles
from runner.repo.proposal_bounds import ProposalBounds
from runner.repo.scratch import Pool, Scratch
from runner.repo.trees import Prefix
from runner.run.attempt import attempt
from runner.run.proof.prove import make_gate_context
from runner.run.worker_assignment import WorkerContext
from runner.run.worker_setup import LOGS, LastLook, end_former_owner
from runner.run.workers import WorkerPool
from runner.run.worktree_include import hide_values
from runner.secrets.redact import redact
from runner.text.wording import attempt_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.extensions.cluster.message import Ground, Job, SentFile, Work
    from runner.gates.base import Check
    from runner.gates.regression import Suspects
    from runner.journal.events import Event as Happening
    from runner.model import Proof
    from runner.repo.scratch import Slot
    from runner.run.worker_assignment import Assignment


def run_jobs(channel: str, topic: str) -> bytes:
    """Run the jobs of a channel one by one; Dask sees only this task."""
    lease = JobLease.of(channel, topic)
    if lease.worker is not None:
        lease.worker.handlers[JOB] = receive_job
    with JobQueue.open(channel) as jobs:
        lease.tell(OPENED)
        do_jobs(jobs, lease, run_job)
    return b""


def run_job(data: bytes) -> bytes | None:
    """Run one job and return the result or the error; None if it was ended before."""
    answer = _process_message(data)
    return None if answer is None else as_bytes(answer)


def _process_message(data: bytes) -> JobAnswer | None:
    try:
        job = read_job(data)
        duty = JobLease.of(job.ticket, job.topic)
        with duty.hold():
            answer = _answer(job, duty)
        if duty.is_over():
            duty.tell(LATE)
        if duty.was_ended:
            return None
        named = replace(answer, ticket=job.ticket, worker=duty.name)
        return replace(named, lines=duty.lines, said=duty.line_count)
    except ShapeError as error:
        return _trouble(f"the job cannot be read: {error}")
    except Exception:  # noqa: BLE001 - a bug here would travel as a pickle, which nobody opens
        return _trouble("a bug in the worker: " + traceback.format_exc()[-2000:])


def _answer(job: Job, duty: JobLease) -> JobAnswer:
    try:
        return _process(job, duty)
    except RunnerError as error:
        message = f"{error.where}: {error.message}" if error.where else error.message
        return _trouble(message, error.hint)
    except OSError as error:
        refused = refusal_of(error)
        return _trouble(refused.message if refused else str(error), refused.hint if refused else "")


def _trouble(message: str, hint: str = "") -> JobAnswer:
    return JobAnswer("", "", trouble=Trouble(message, hint))


def _process(job: Job, duty: JobLease) -> JobAnswer:
    """Store the files that came with the job, then run it if its base is complete."""
    if job.work is None:
        return _keep_piece(job)
    with STATIONS.lend(job.ground) as station:
        if job.pack and not station.store.has(job.pack.makes):
            station.store.take(job.pack)
        if not station.store.has(job.tree):
            return JobAnswer("", "", lacks=Lacks(station.store.trees()))
        return _work(job, job.work, duty, station)


def _keep_piece(job: Job) -> JobAnswer:
    """Store a piece of a pack and acknowledge it; no slot is needed."""
    if job.part is None:
        raise ShapeError("it contains no work")
    store = ObjectStore(Places.of(os.environ).cache, job.ground)
    try:
        store.take_part(job.part)
    finally:
        store.close()
    return JobAnswer("", "", kept=True)


def _work(job: Job, work: Work, duty: JobLease, station: RemoteSlot) -> JobAnswer:
    # First of all: this job's output is redacted by the formats sent with it.
    register_secret_formats(job.settings)
    workers = RemoteWorker(duty.say)
    assignment = with_implementer(work.assignment, job.settings)
    station.clear_logs()
    station.include(job.included)
    site = station.site(job.tree, job.settings, workers, lambda _task, line: duty.say(line))
    try:
        with duty.watch(workers.cancel, workers.ends(site.number).set):
            if work.suspects is None:
                result = JobAnswer("", "", outcome=attempt(assignment, site))
            else:
                result = JobAnswer("", "", others=others(assignment, site, work.suspects))
    finally:
        workers.close()
    return replace(result, events=workers.lines(), logs=station.logs(assignment))


_LONGEST_LOG = 1 << 20
"""Bytes of the end of one command's output that are sent back."""
_MOST_LOGS = 200


class RemoteSlot(Struct):
    """A slot with its scratch tree, kept open between jobs of this process."""

    ground: Ground
    store: ObjectStore
    slot: Slot
    scratch: Scratch
    _known: dict[tuple[str, ...], dict[str, str]] = field(default_factory=dict)

    @classmethod
    def open(cls, ground: Ground, cache: Path) -> RemoteSlot:
        """Open a free slot of this repository on the worker. Raises RunnerError, OSError."""
        store = ObjectStore(cache, ground)
        slot = Pool(store.folder).take()
        end_former_owner(slot.folder / "owner")
        lender = Lender(
            objects=store.objects,
            object_format=ground.object_format,
            shallow=store.folder / "no-shallow",
            branch=ground.branch or None,
            prefix=Prefix(_prefix(ground)),
            ignored=ground.ignored,
            who=ground.who,
        )
        return cls(ground, store, slot, Scratch.open(slot.folder, lender))

    def close(self) -> None:
        """Close scratch tree and store, and release the slot."""
        self.scratch.close()
        self.store.close()
        self.slot.release()

    def site(
        self, tree: str, settings: Settings, workers: WorkerPool, show: Callable[[str, str], None]
    ) -> WorkerContext:
        """Return the context of one job. Raises RunnerError without a usable sandbox."""
        self.scratch.bounds = ProposalBounds.of(settings)
        self.scratch.stopped = LastLook(workers, self.slot.number)
        box = self.slot.folder / "box"
        effects.make_folder(box / "tmp")
        return WorkerContext(
            scratch=self.scratch,
            place=Place(
                tree=self.scratch.tree_folder,
                shown=self._visible_path(),
                box=box,
                objects=self.store.objects,
                start=self.scratch.lender.prefix.value,
                beside=included.mark if (included := self.scratch.included) else "",
            ),
            sandbox=sandbox_of(settings, os.environ),
            settings=settings,
            logs=self.slot.folder / "logs",
            logs_shown=LOGS,
            workers=workers,
            show=show,
            release=self.close,
            before=partial(self._before, tree),
            base_environment=self._variables(settings.sandbox.pass_env),
            kept=self.store.folder / "kept",
            number=self.slot.number,
            of_commits=False,
        )

    def include(self, sent: tuple[SentFile, ...]) -> None:
        """Set the ignored files of the next job's trees, replacing all previous ones."""
        contents = [(one.path, one.mode, one.content) for one in sent]
        files = IncludedFiles.of_contents(contents, self.slot.folder) if contents else None
        if files is not None:
            hide_values(files)
        self.scratch.include(files)

    def _variables(self, pass_env: tuple[str, ...]) -> dict[str, str]:
        """Return the environment for commands in this process; cached, since it is constant."""
        if pass_env not in self._known:
            mine = {"TMPDIR": str(self.slot.folder / "box" / "tmp")}
            own = command_environment(os.environ, pass_env=pass_env, extra=mine)
            self._known[pass_env] = git_identity(*self.ground.who) | own
        return self._known[pass_env]

    def clear_logs(self) -> None:
        """Remove the output of earlier jobs."""
        folder = self.slot.folder / "logs"
        effects.step("rmtree", folder)
        if folder.is_dir():
            effects.remove_tree(folder)

    def logs(self, assignment: Assignment) -> tuple[Log, ...]:
        """Return the output of the commands of an attempt."""
        folder = self.slot.folder / "logs" / assignment.task.id / attempt_folder(assignment.attempt)
        files = sorted(folder.glob("*.log"))[:_MOST_LOGS] if folder.is_dir() else []
        return tuple(Log(file.name, _end_of(file)) for file in files if PLAIN.fullmatch(file.name))

    def _visible_path(self) -> Path:
        """Return the path at which commands see the tree, the same for every slot."""
        name = self.ground.name if PLAIN.fullmatch(self.ground.name) else "repository"
        shown = self.store.folder / "shown" / name
        effects.make_folder(shown)
        return shown

    def _before(self, tree: str, _base: str, path: str) -> bytes | None:
        return self.store.blob(tree, self.scratch.lender.prefix.whole(path))


def _prefix(ground: Ground) -> str:
    parts = ground.prefix.split("/")
    if ground.prefix and (parts[-1] or any(part in {"", ".", "..", ".git"} for part in parts[:-1])):
        raise ShapeError("the folder of the repository is not valid")
    return ground.prefix


def _end_of(file: Path) -> bytes:
    with file.open("rb") as opened:
        size = opened.seek(0, os.SEEK_END)
        opened.seek(max(0, size - _LONGEST_LOG))
        return opened.read()


class RemoteSlots(Struct):
    """The slots that this worker process holds; one a thread that works at the same time."""

    _free: list[RemoteSlot] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def lend(self, ground: Ground) -> Iterator[RemoteSlot]:
        """Lend a slot for one job; after an exception it is closed and not used again."""
        station = self._take(ground)
        try:
            yield station
        # Also for exceptions that end the thread: a half-reset slot would spoil the next job.
        except BaseException:
            station.close()
            raise
        with self._lock:
            self._free.append(station)

    def close(self) -> None:
        """Close the slots that are not in use."""
        with self._lock:
            free, self._free = self._free, []
        for station in free:
            station.close()

    def _take(self, ground: Ground) -> RemoteSlot:
        with self._lock:
            fitting = next((one for one in self._free if one.ground == ground), None)
            if fitting is not None:
                self._free.remove(fitting)
                return fitting
            # The same repository with another branch or ignore rules: with outdated ones such a
            # slot would propose the wrong files.
            stale = [one for one in self._free if one.ground.key == ground.key]
            self._free = [one for one in self._free if one not in stale]
        for one in stale:
            one.close()
        return RemoteSlot.open(ground, Places.of(os.environ).cache)


STATIONS = RemoteSlots()
"""Module level: this process is only a worker."""


class RemoteWorker(WorkerPool):
    """Hears what an attempt has to say; the coordinator hears it with the answer.

    `show` gets each line at once.
    """

    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__(1, _no_slots, inline=True)
        self._show = show
        self._lines: list[str] = []

    def report(self, task: str, number: int, event: Happening) -> None:
        """Queue an event for the result; the command of a starting gate is shown, too."""
        self._lines.append(_as_line(task, number, event))
        if isinstance(event, GateStarted):
            self._show(f"{event.gate}: {event.command}")

    def lines(self) -> tuple[str, ...]:
        """Return all reported lines in the journal's format."""
        return tuple(self._lines)


def _no_slots(_number: int, _workers: WorkerPool) -> WorkerContext:
    raise RunnerError("a cluster worker runs one job: it cannot start another")


def _as_line(task: str, number: int, event: Happening) -> str:
    name = NAMES[type(event)]
    record = Record("", 0, "", "", name, task, number, "", "", "", event)
    return encode(record).decode()


def with_implementer(assignment: Assignment, settings: Settings) -> Assignment:
    """Return the assignment with its implementer from this process. Raises RunnerError."""
    if assignment.implementer is None:
        return assignment
    chosen = choose(assignment.task, settings)
    if isinstance(chosen, Finding):
        raise RunnerError(chosen.message, hint=chosen.hint)
    if chosen.name != assignment.implementer.name:
        raise RunnerError(f"the worker chose another implementer: {chosen.name}")
    return replace(assignment, implementer=chosen)


def others(assignment: Assignment, site: WorkerContext, suspects: Suspects) -> Others:
    """Run tests of other tasks on the carried changes in a clean tree."""
    site.lay_out(assignment.base, assignment.carried)
    context = make_gate_context(assignment, site, proposal_of(assignment))

    def on_started(check: Check) -> None:
        event = GateStarted(gate=check.id, command=redact(check.command))
        site.workers.report(assignment.task.id, assignment.attempt, event)

    def on_completed(proof: Proof) -> None:
        event = GateCompleted(proof=proof)
        site.workers.report(assignment.task.id, assignment.attempt, event)

    result = prove_others(suspects, context, started=on_started, completed=on_completed)
    return Others(result.proofs, result.findings, result.observed)


def proposal_of(assignment: Assignment) -> Outcome:
    """Return the carried changes as an outcome, for the context of the gates."""
    return Outcome(
        task=assignment.task.id,
        attempt=assignment.attempt,
        ending=Ending.FAILED,
        base=assignment.base,
        tree="",
        changes=assignment.carried,
    )
