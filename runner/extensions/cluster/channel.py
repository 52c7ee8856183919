"""A channel: one task of Dask that takes job after job, so that Dask hears of none of them.

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
from dataclasses import field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from runner import effects
from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    import distributed

    from runner.extensions.cluster.lease import JobLease
else:
    distributed = lazy_module("distributed")

JOB = "runner-job"
"""The message that hands a job to a channel; its reply is the answer, or None where it is shut."""
ENDED = b""
"""The reply of a job that had to end before it was done: what is left of it is no answer."""
OPENED = "opened"
"""What a channel tells when it takes jobs."""
_LARGE = 1 << 16
"""Bytes that travel as a frame of their own, which the scheduler passes on as it is."""


def as_frame(data: Any) -> Any:
    """Bytes as they travel best; anything else as it is, for the other side to refuse."""
    large = type(data) is bytes and len(data) > _LARGE
    protocol: Any = distributed.protocol  # it ships no types
    return protocol.to_serialize(data) if large else data


# --- on a worker ----------------------------------------------------------------------


_LOOK = 0.1
"""Seconds between two looks whether the channel is still wanted."""
_IDLE = 10.0
"""Seconds without a job after which a channel gives its thread back."""
_OPEN: dict[str, JobQueue] = {}
"""The channels of this process, by name."""


async def hand_in(channel: str = "", data: bytes = b"") -> Any:
    """Hear `JOB`, in the worker's event loop: plain words come in and go out, and no pickle."""
    there = _OPEN.get(channel)
    waits = there and there.put(data)
    return as_frame(await asyncio.wrap_future(waits)) if waits else None


@dataclass(slots=True)
class JobQueue:
    """The jobs that were handed to one channel, and who waits for their answers."""

    _jobs: SimpleQueue[tuple[bytes, Future[Any]]] = field(default_factory=SimpleQueue)
    _is_shut: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    @contextmanager
    def open(cls, name: str) -> Iterator[JobQueue]:
        """A channel that can be found by its name while this is entered."""
        _OPEN[name] = jobs = cls()
        try:
            yield jobs
        finally:
            del _OPEN[name]
            jobs.shut()

    def put(self, data: bytes) -> Future[Any] | None:
        """Hand in a job, and give what its answer will come by; None where this is shut."""
        waits: Future[Any] = Future()
        with self._lock:
            if self._is_shut:
                return None
            self._jobs.put((data, waits))
        return waits

    def next(self, lease: JobLease) -> tuple[bytes, Future[Any]] | None:
        """The next job, when it comes; None, and no more of them, where the channel is over."""
        until = effects.monotonic() + _IDLE
        while not (lease.is_over() or lease.is_crowded() or effects.monotonic() > until):
            with suppress(Empty):
                return self._jobs.get(timeout=_LOOK)
        self.shut()
        return None

    def shut(self) -> None:
        """Take no more jobs; what nobody has begun is given back, to be handed in elsewhere."""
        with self._lock:
            self._is_shut = True
        with suppress(Empty):
            while True:
                _, waits = self._jobs.get_nowait()
                if waits.set_running_or_notify_cancel():
                    waits.set_result(None)


def do_jobs(jobs: JobQueue, lease: JobLease, run: Callable[[bytes], Any]) -> None:
    """Do one job after the other, until the channel is over; `run` gives None for an ended one."""
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
"""Channels that may be shut before one of them takes a job."""


@dataclass(slots=True)
class Channel:
    """One channel, as it is seen from home."""

    name: str
    worker: str
    future: Any  # distributed.Future
    ready: asyncio.Event
    """Set, in the client's event loop, once it takes jobs or never will."""
    is_over: bool = False


@dataclass(slots=True)
class RunningJob:
    """A job on its way; `wait` until it is over, then `data`."""

    take_back: Callable[[], None]
    over: threading.Event = field(default_factory=threading.Event)
    answer: object = None
    is_lost: bool = False
    """Whether its worker, or the way to it, is gone."""
    reply: Future[None] | None = None

    def wait(self, seconds: float) -> bool:
        """Whether it is over, after so long at most."""
        return self.over.wait(seconds)

    def give_up(self) -> None:
        """Nobody waits for it any more: its channel is taken back, and the worker ends it.

        Also where no answer was heard: the worker may go on with it all the same.
        """
        if self.answer is None:
            self.take_back()
            if self.reply is not None:
                self.reply.cancel()

    def data(self) -> object:
        """What the worker answered, whatever that is; None where nothing can be had."""
        return self.answer


@dataclass(slots=True)
class Channels:
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
        """Hand a job to a worker: by a channel that is free, or one that is opened for it."""
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

    def hear_opened(self, name: str) -> None:
        """A channel says that it takes jobs; in the client's event loop."""
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
        """Its task has ended, in whatever way; called from a thread of the client's."""
        with self._lock:
            channel.is_over = True
            free = self._free.get(channel.worker, [])
            if channel in free:
                free.remove(channel)
        with suppress(RuntimeError):  # the client is closed
            self.client.loop.asyncio_loop.call_soon_threadsafe(self.hear_opened, channel.name)

    def _give_back(self, channel: Channel) -> None:
        with self._lock:
            if not channel.is_over:
                self._free.setdefault(channel.worker, []).append(channel)

    def _take_back(self, channel: Channel) -> None:
        """Have its worker end it; called by the threads of slots."""
        channel.is_over = True
        with suppress(Exception):  # a scheduler that is gone takes nothing back
            channel.future.cancel()

    async def _send(self, running: RunningJob, using: list[Channel], data: bytes) -> None:
        """Bring the answer of a job; one that a channel shut before it began goes to another."""
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
            # Who is there was last asked before: it would be given the same job once more.
            await self.look()
            running.is_lost = True
        except Exception:  # noqa: BLE001 - a foreign border: what was sent may raise anything
            running.answer = None
        else:
            self._give_back(using[-1])
        running.over.set()

    async def _ask(self, channel: Channel, frame: object) -> object:
        """The answer of a channel to a job; None where it is shut. Raises OSError."""
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
