"""The entry point on a worker: one function, bytes in and bytes out."""

from __future__ import annotations

import os
import traceback
from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner.config.loading import register_secret_formats
from runner.config.paths import Places
from runner.errors import RunnerError, refusal_of
from runner.extensions.cluster.channel import JOB, OPENED, JobQueue, do_jobs, receive_job
from runner.extensions.cluster.lease import LATE, JobLease
from runner.extensions.cluster.message import JobAnswer, Lacks, Trouble, as_bytes, read_job
from runner.extensions.cluster.object_store import ObjectStore
from runner.extensions.cluster.remote_slot import (
    RemoteSlots,
    RemoteWorker,
    others,
    with_implementer,
)
from runner.model.codec import ShapeError
from runner.run.attempt import attempt

if TYPE_CHECKING:
    from runner.extensions.cluster.message import Job, Work
    from runner.extensions.cluster.remote_slot import RemoteSlot

STATIONS = RemoteSlots()
"""Module level: this process is only a worker."""


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
