"""A client of a Dask cluster: its workers, one job to one worker, bytes in both directions.

Jobs are given to workers by name, never retried by Dask, and never taken for equal. Whether a
worker is alive follows from its heartbeats, as the scheduler counts them.

A clock for the silence of others that does not count one's own.

Who was stopped (Ctrl-Z, a machine that slept) has heard nothing meanwhile, though everybody spoke:
by a plain clock, all of them would be gone at the moment when it goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import pickle
import threading
import types
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.extensions.cluster.addresses import read_address
from runner.extensions.cluster.channel import OPENED, Channels
from runner.extensions.cluster.lease import END
from runner.extensions.cluster.local_cluster import WaitTimes, has_certificates, security_of
from runner.extensions.cluster.remote_worker import run_jobs
from runner.text.wording import install_hint

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from runner.extensions.cluster.addresses import Address
    from runner.extensions.cluster.channel import RunningJob
    from runner.extensions.cluster.local_cluster import Certificates

    Hear = Callable[[str, str, str], None]
    """Receives (ticket, kind, text) from a busy worker; must be quick, runs in a thread."""


FAMILIES = ["dask", "msgpack"]
"""Serialisation families in both directions; pickle is excluded."""
_MADE = {("builtins", "bytes"): bytes, ("builtins", "bytearray"): bytearray}


class NotOpenedError(pickle.UnpicklingError, TypeError):
    """A pickle of something else; a TypeError, too, since distributed lets one of those pass."""


class _Plain(pickle.Unpickler):
    """Makes plain values: no class, no function, whatever is named."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a permitted class for unpickling. Raises NotOpenedError for any other."""
        if (module, name) in _MADE:
            return _MADE[module, name]
        raise NotOpenedError(f"unpickling {module}.{name} is not allowed")


def plain_loads(data: bytes, *, buffers: Iterable[Any] = ()) -> Any:
    """Load only plain values, as `pickle.loads` does. Raises NotOpenedError."""
    return _Plain(io.BytesIO(data), buffers=buffers).load()


def import_distributed() -> Any:
    """Import distributed with unpickling restricted and logs off. Raises RunnerError.

    Any, since it ships no types; `cluster.py` alone uses it.
    """
    try:
        import dask
    except ImportError as error:
        raise RunnerError(
            "dask is not installed", hint=install_hint("dask"), code=ExitCode.PERSON
        ) from error
    dask.config.set({"logging": {"distributed": "critical"}})
    warnings.filterwarnings("ignore", module=r"distributed(\..*)?")
    try:
        import distributed as library
        from distributed import client
        from distributed.protocol import pickle as opened
    except ImportError as error:
        raise RunnerError("distributed is not installed", hint=install_hint("dask")) from error
    shut = _shut()
    setattr(opened, "pickle", shut)  # noqa: B010 - it is no public name of theirs
    setattr(client, "pickle", shut)  # noqa: B010 - for warnings alone
    _require_shut(opened)
    _silence()
    return library


def _silence() -> None:
    """Disable the log output of the library."""
    known = (*logging.root.manager.loggerDict, "distributed", "tornado")
    for name in known:
        if name.partition(".")[0] in {"distributed", "tornado"}:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _shut() -> types.SimpleNamespace:
    """Return the replacement of the module `pickle` in distributed."""
    names = {name: value for name, value in vars(pickle).items() if not name.startswith("__")}
    return types.SimpleNamespace(**names | {"loads": plain_loads, "load": None})


def _require_shut(opened: Any) -> None:
    """Try it: a version of distributed that opens pickles elsewhere is not used."""
    try:
        opened.loads(pickle.dumps(types.SimpleNamespace))
    except NotOpenedError:
        return
    raise RunnerError(
        "this version of distributed unpickles data where the runner cannot block it",
        hint=install_hint("dask"),
    )


_CONNECTIONS = 1 << 16
"""Connections to the scheduler: one per running job, plus those for liveness queries."""
_ASKS = 5.0
"""Timeout of a query to the scheduler."""
_SOON = 0.02
"""Seconds between two checks for the scheduler's answer."""
_GONE = "restart the cluster, or use --executor threads; finished work is kept"


class SeenWorker(Struct):
    """A worker as it was last seen."""

    threads: int
    beat: float
    """Time of its last heartbeat as reported by the scheduler, by the scheduler's clock."""
    moved: float
    """Local monotonic time at which `beat` last changed."""
    private: bool


class Cluster:
    """A connection to a scheduler; an open resource until `close`. Raises RunnerError."""

    def __init__(
        self,
        scheduler: Address,
        certificates: Certificates,
        hear: Hear,
        *,
        open_network: bool = False,
        patience: WaitTimes | None = None,
    ) -> None:
        self.scheduler = scheduler
        self.patience = patience or WaitTimes()
        self.topic = f"runner-{effects.new_id()}"
        self._open_network = open_network
        self._hear = hear
        self._changed = threading.Condition()
        self._seen: dict[str, SeenWorker] = {}
        self._busy: Counter[str] = Counter()
        self._closing = threading.Event()
        self._client = self._connect(certificates)
        self._clock = AwakeClock(self.patience.look + _ASKS)
        self._answered = self._clock.now()
        self._channels = Channels(self._client, self._open_channel, self._poll_workers)
        self._look()
        self._watch = threading.Thread(target=self._keep_looking, name="cluster", daemon=True)
        self._watch.start()

    def close(self) -> None:
        """Leave; jobs that still run are taken back."""
        self._closing.set()
        self._watch.join()
        with contextlib.suppress(Exception):  # a scheduler that is gone needs no farewell
            self._client.close(timeout=2)

    # --- who is there -----------------------------------------------------------------

    @property
    def threads(self) -> int:
        """Number of jobs that can run at once now."""
        with self._changed:
            return sum(seen.threads for seen in self._seen.values())

    def is_alive(self, worker: str) -> bool:
        """Return whether a worker is connected and sends heartbeats."""
        with self._changed:
            return self._lives(worker)

    def is_private(self, worker: str) -> bool:
        """Return whether the connection to a worker is private on its whole way."""
        with self._changed:
            seen = self._seen.get(worker)
            return self.scheduler.is_private and seen is not None and seen.private

    @property
    def keeps_secrets(self) -> bool:
        """Whether nobody can listen on the way to any worker that is there."""
        with self._changed:
            return self.scheduler.is_private and all(one.private for one in self._seen.values())

    def require_there(self) -> None:
        """Raise RunnerError when the scheduler has not answered for long."""
        if self._clock.now() - self._answered > self.patience.scheduler:
            raise RunnerError(
                f"the cluster's scheduler at {self.scheduler} stopped answering",
                hint=_GONE,
                code=ExitCode.PERSON,
            )

    def take(
        self, avoid: Collection[str], how_far: Callable[[str], int], ended: threading.Event
    ) -> str:
        """Reserve a worker thread for one job; empty if `ended` was set. Raises RunnerError.

        Of those with as little to do, the one that `how_far` is least for. Where all that are there
        are to be avoided, one of them. Raises RunnerError when there is none for long.
        """
        waited = effects.monotonic()
        while not ended.is_set():
            self.require_there()
            with self._changed:
                found = self._best(avoid, how_far)
                if found:
                    self._busy[found] += 1
                    return found
                if any(self._lives(worker) for worker in self._seen):
                    waited = effects.monotonic()
                self._changed.wait(0.1)
            if effects.monotonic() - waited > self.patience.workers:
                raise RunnerError(
                    f"the cluster at {self.scheduler} has no workers",
                    hint=f"start one: dask worker {self.scheduler} --nthreads 1",
                    code=ExitCode.PERSON,
                )
        return ""

    def give_back(self, worker: str) -> None:
        """Release a worker after its job."""
        with self._changed:
            self._busy[worker] -= 1
            self._changed.notify_all()

    def has_other_worker(self, avoid: Collection[str]) -> bool:
        """Return whether a worker is alive that is not in `avoid`."""
        with self._changed:
            return any(self._lives(one) for one in self._seen if one not in avoid)

    def _best(self, avoid: Collection[str], how_far: Callable[[str], int]) -> str:
        living = [worker for worker in self._seen if self._lives(worker)]
        usable = [worker for worker in living if worker not in avoid] or living
        free = [worker for worker in usable if self._busy[worker] < self._seen[worker].threads]
        return min(free, key=lambda one: (self._busy[one], how_far(one), one), default="")

    def _lives(self, worker: str) -> bool:
        seen = self._seen.get(worker)
        if seen is None or not (seen.private or self._open_network):
            return False
        return self._clock.now() - seen.moved < self.patience.heartbeat

    # --- jobs -------------------------------------------------------------------------

    def begin(self, worker: str, ticket: str, data: bytes) -> RunningJob:
        """Send a job to one worker. Raises RunnerError if the scheduler cannot be reached."""
        del ticket  # it stands in the job
        return self._channels.begin(worker, data)

    def prepare(self, count: int) -> None:
        """Open a channel on `count` of the known workers in advance."""
        for worker in sorted(self._seen)[:count]:
            self._channels.open(worker)

    def _open_channel(self, worker: str, name: str) -> Any:
        """Submit the task that runs the jobs of a channel. Raises RunnerError."""
        try:
            return self._client.submit(
                run_jobs,
                name,
                self.topic,
                key=f"runner-{name}",
                workers=[worker],
                # Only this worker: what it has of the base, and whether it may receive secrets, was
                # checked for it (distributed, Client.submit).
                allow_other_workers=False,
                pure=False,
                retries=0,
            )
        except Exception as error:
            raise RunnerError(
                f"the cluster at {self.scheduler} rejected a job: {error}",
                hint=_GONE,
                code=ExitCode.PERSON,
            ) from error

    def end(self, worker: str, ticket: str) -> None:
        """Ask a worker to end one job early; the message may be lost."""
        with contextlib.suppress(Exception):  # whoever waits for the answer gives up in time
            self._client.sync(
                self._client.scheduler.broadcast,
                msg={"op": END, "ticket": ticket},
                workers=[worker],
                on_error="ignore",
                callback_timeout=_ASKS,
            )

    # --- details ----------------------------------------------------------------------

    def _connect(self, certificates: Certificates) -> Any:
        library = import_distributed()
        security = security_of(library, certificates)
        if self.scheduler.is_encrypted and not has_certificates(security):
            raise RunnerError(
                f"{self.scheduler} needs TLS, but no certificates are set",
                where="executor",
                hint="set tls_ca, tls_cert and tls_key in [cluster] of your own settings",
                code=ExitCode.PERSON,
            )
        try:
            client = library.Client(
                str(self.scheduler),
                security=security,
                serializers=FAMILIES,
                deserializers=FAMILIES,
                timeout=self.patience.connect,
                connection_limit=_CONNECTIONS,
                set_as_default=False,
                name="runner",
            )
        except Exception as error:
            raise RunnerError(
                f"no cluster answers at {self.scheduler}: {error}",
                where="executor",
                hint="start one: dask scheduler, or run with --executor dask",
                code=ExitCode.PERSON,
            ) from error
        for topic in ("print", "warn"):  # nobody's words reach the terminal unseen
            client._event_handlers.pop(topic, None)  # noqa: SLF001 - there is no other way
        client.subscribe_topic(self.topic, self._forward)
        return client

    def _forward(self, event: Any) -> None:
        """Forward a worker's message if it is three strings."""
        try:
            ticket, kind, text = json.loads(event[1])
        except (TypeError, ValueError, LookupError, RecursionError):
            return
        if not all(type(one) is str for one in (ticket, kind, text)):
            return
        if kind == OPENED:
            self._channels.mark_opened(ticket)
        else:
            self._hear(ticket, kind, text)

    def _keep_looking(self) -> None:
        while not self._closing.wait(self.patience.look):
            self._look()

    def _look(self) -> None:
        """Ask the scheduler who is there; one that does not answer is asked again."""
        with contextlib.suppress(Exception):  # no answer in time
            self._client.sync(self._refresh_workers, callback_timeout=_ASKS)
        self._clock.tick()

    async def _poll_workers(self) -> None:
        """Poll until the scheduler has returned its workers."""
        while True:
            if await self._refresh_workers():
                return
            await asyncio.sleep(_SOON)

    async def _refresh_workers(self) -> bool:
        """Update the known workers from the scheduler; False without a valid response."""
        try:
            identity = await self._client.scheduler.identity(n_workers=-1)
            found = {
                address: (int(one["nthreads"]), float(one["last_seen"]))
                for address, one in identity["workers"].items()
                if one.get("status") in {"running", "paused"}
            }
        except Exception:  # noqa: BLE001 - a foreign border: no answer, or an odd one
            return False
        self._answered = self._clock.now()
        with self._changed:
            self._seen = {
                address: self._note_worker(address, threads, beat)
                for address, (threads, beat) in found.items()
            }
            self._changed.notify_all()
        return True

    def _note_worker(self, address: str, threads: int, beat: float) -> SeenWorker:
        before = self._seen.get(address)
        now = self._clock.now()
        moved = before.moved if before is not None and before.beat == beat else now
        where = read_address(address)
        return SeenWorker(threads, beat, moved, private=where is not None and where.is_private)


class AwakeClock:
    """Seconds that only grow, by `longest` at most between two ticks of whoever watches."""

    def __init__(self, longest: float) -> None:
        self._longest = longest
        self._ticked = (0.0, effects.monotonic())  # one value: others read while it is written

    def now(self) -> float:
        """Return the seconds so far, without time suspended; thread-safe."""
        seconds, at = self._ticked
        return seconds + min(effects.monotonic() - at, self._longest)

    def tick(self) -> None:
        """Advance the clock; called only from the watcher's thread."""
        self._ticked = (self.now(), effects.monotonic())
