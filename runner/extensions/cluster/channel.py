"""A channel: one Dask task that runs job after job, so that Dask does not schedule each of them.

To submit a task, fetch its result and take it back costs Dask's client, scheduler and worker 16 ms
of processors between them; a message to a handler of a worker and its reply 2 to 3. So a worker is
given one task, which holds its thread as a job would, and jobs are handed to that by messages
that the scheduler passes on. Everything that Dask says of a task is still true: a channel that is
taken back, or whose coordinator or worker is gone, is over, and its job ends. It ends itself when
nobody needs it for a while, and after each job where others wait for its thread.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from runner import effects
from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    import distributed

    from runner.extensions.cluster.lease import JobLease
else:
    distributed = lazy_module("distributed")

JOB = "runner-job"
"""Message that gives a job to a channel; the reply is the answer, or None if it is closed."""
ENDED = b""
"""Reply for a job that was ended early: its partial result is no answer."""
OPENED = "opened"
"""Message of a channel that is ready for jobs."""
_LARGE = 1 << 16
"""Bytes sent as a separate frame, which the scheduler forwards unchanged."""


def as_frame(data: Any) -> Any:
    """Return large bytes wrapped for serialization without copying; other data unchanged."""
    large = type(data) is bytes and len(data) > _LARGE
    protocol: Any = distributed.protocol  # it ships no types
    return protocol.to_serialize(data) if large else data


# --- on a worker ----------------------------------------------------------------------


_LOOK = 0.1
"""Seconds between two checks whether the channel is still needed."""
_IDLE = 10.0
"""Seconds without a job after which a channel releases its thread."""
_OPEN: dict[str, JobQueue] = {}
"""Channels of this process, by name."""


async def receive_job(channel: str = "", data: bytes = b"") -> Any:
    """Handle `JOB` in the worker's event loop, without pickle."""
    there = _OPEN.get(channel)
    waits = there and there.put(data)
    return as_frame(await asyncio.wrap_future(waits)) if waits else None


class JobQueue(Struct):
    """The jobs that were handed to one channel, and who waits for their answers."""

    _jobs: SimpleQueue[tuple[bytes, Future[Any]]] = field(default_factory=SimpleQueue)
    _is_shut: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    @contextmanager
    def open(cls, name: str) -> Iterator[JobQueue]:
        """Open a channel and register it by name for the duration of the block."""
        _OPEN[name] = jobs = cls()
        try:
            yield jobs
        finally:
            del _OPEN[name]
            jobs.shut()

    def put(self, data: bytes) -> Future[Any] | None:
        """Queue a job and return the future of its result; None if the queue is closed."""
        waits: Future[Any] = Future()
        with self._lock:
            if self._is_shut:
                return None
            self._jobs.put((data, waits))
        return waits

    def next(self, lease: JobLease) -> tuple[bytes, Future[Any]] | None:
        """Return the next job; None once the lease is over, crowded or idle for too long."""
        until = effects.monotonic() + _IDLE
        while not (lease.is_over() or lease.is_crowded() or effects.monotonic() > until):
            with suppress(Empty):
                return self._jobs.get(timeout=_LOOK)
        self.shut()
        return None

    def shut(self) -> None:
        """Close the queue, and return jobs that have not started to their senders."""
        with self._lock:
            self._is_shut = True
        with suppress(Empty):
            while True:
                _, waits = self._jobs.get_nowait()
                if waits.set_running_or_notify_cancel():
                    waits.set_result(None)


def do_jobs(jobs: JobQueue, lease: JobLease, run: Callable[[bytes], Any]) -> None:
    """Run jobs one by one until the channel ends; `run` returns None for a job that was ended."""
    while (job := jobs.next(lease)) is not None:
        data, waits = job
        if not waits.set_running_or_notify_cancel():  # the worker's event loop is ending
            continue
        try:
            answer = run(data)
            waits.set_result(ENDED if answer is None else answer)
        except BaseException as error:
            waits.set_exception(RuntimeError("the job failed"))  # a foreign one may not travel
            raise error from None


# --- at home --------------------------------------------------------------------------


_TRIES = 10
"""Closed channels to try before one accepts a job."""


class Channel(Struct):
    """One channel, as it is seen from home."""

    name: str
    worker: str
    future: Any  # distributed.Future
    ready: asyncio.Event
    """Set, in the client's event loop, once it accepts jobs or never will."""
    is_over: bool = False


class RunningJob(Struct):
    """A job on its way; `wait` until it is over, then `data`."""

    take_back: Callable[[], None]
    over: threading.Event = field(default_factory=threading.Event)
    answer: object = None
    is_lost: bool = False
    """Whether its worker or the connection to it is lost."""
    reply: Future[None] | None = None

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds` and return whether the job is over."""
        return self.over.wait(seconds)

    def give_up(self) -> None:
        """Abandon the job: take its channel back and cancel the reply.

        Also where no answer was heard: the worker may go on with it all the same.
        """
        if self.answer is None:
            self.take_back()
            if self.reply is not None:
                self.reply.cancel()

    def data(self) -> object:
        """Return the worker's response; None if there is none."""
        return self.answer


class Channels(Struct):
    """The channels of a run; jobs are handed in by the threads of all slots.

    `submit` has a worker open the channel of a name; `look` looks who is there, and is over when
    the scheduler has answered.
    """

    client: Any  # distributed.Client
    submit: Callable[[str, str], Any]
    look: Callable[[], Awaitable[None]]
    _free: dict[str, list[Channel]] = field(default_factory=dict)
    _opening: dict[str, Channel] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, worker: str, data: bytes) -> RunningJob:
        """Send a job to a worker on a free channel or a new one."""
        using = [self._take(worker)]
        running = RunningJob(lambda: self._take_back(using[-1]))
        sent = self._send(running, using, data)
        running.reply = asyncio.run_coroutine_threadsafe(sent, self.client.loop.asyncio_loop)
        return running

    def open(self, worker: str) -> None:
        """Open a channel before it is needed."""
        channel = self._open(worker)
        with self._lock:
            self._free.setdefault(worker, []).append(channel)

    def mark_opened(self, name: str) -> None:
        """Mark a channel as ready for jobs; runs in the client's event loop."""
        if (channel := self._opening.pop(name, None)) is not None:
            channel.ready.set()

    def _take(self, worker: str) -> Channel:
        with self._lock:
            free = self._free.get(worker)
            if free:
                return free.pop()
        return self._open(worker)

    def _open(self, worker: str) -> Channel:
        name = effects.new_id()
        channel = Channel(name, worker, None, asyncio.Event())
        self._opening[name] = channel
        channel.future = self.submit(worker, name)
        channel.future.add_done_callback(lambda _future: self._note_over(channel))
        return channel

    def _note_over(self, channel: Channel) -> None:
        """Record that a channel's task has ended; called from a thread of the client."""
        with self._lock:
            channel.is_over = True
            free = self._free.get(channel.worker, [])
            if channel in free:
                free.remove(channel)
        with suppress(RuntimeError):  # the client is closed
            self.client.loop.asyncio_loop.call_soon_threadsafe(self.mark_opened, channel.name)

    def _give_back(self, channel: Channel) -> None:
        with self._lock:
            if not channel.is_over:
                self._free.setdefault(channel.worker, []).append(channel)

    def _take_back(self, channel: Channel) -> None:
        """Cancel the channel's task; called from the threads of slots."""
        channel.is_over = True
        with suppress(Exception):  # a scheduler that is gone takes nothing back
            channel.future.cancel()

    async def _send(self, running: RunningJob, using: list[Channel], data: bytes) -> None:
        """Send a job and store its response; resend it if the channel closes meanwhile."""
        worker, frame = using[-1].worker, as_frame(data)
        try:
            for _ in range(_TRIES):
                await using[-1].ready.wait()
                answer = await self._ask(using[-1], frame)
                if answer is not None:
                    break
                using[-1].is_over = True
                using.append(self._take(worker))
            running.answer = answer
        except OSError:
            # Worker liveness was checked before: without this it would get the same job again.
            await self.look()
            running.is_lost = True
        except Exception:  # noqa: BLE001 - a foreign border: what was sent may raise anything
            running.answer = None
        else:
            self._give_back(using[-1])
        running.over.set()

    async def _ask(self, channel: Channel, frame: object) -> object:
        """Send a job to a channel and return its answer; None if it is closed. Raises OSError."""
        if channel.is_over:  # meanwhile, and the job is not yet on its way
            return None
        answers = await self.client.scheduler.broadcast(
            msg={"op": JOB, "channel": channel.name, "data": frame},
            workers=[channel.worker],
            on_error="ignore",
        )
        if channel.worker not in answers:
            raise ConnectionError("the worker does not answer")
        answer = answers[channel.worker]
        if type(answer) is bytes and answer == ENDED:
            raise ConnectionError("the task was withdrawn, or the worker is shutting down")
        return answer
