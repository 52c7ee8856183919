"""The one way out of a sandbox to registries: a proxy of ours, as long as one command runs.

The sandbox has a network of its own with nothing in it. A socket that listens there is made inside
(`client`) and handed out here: only what a proxy says of hosts by name passes.
"""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from pathlib import Path
from threading import BoundedSemaphore, Lock, Thread
from typing import TYPE_CHECKING

from runner import effects
from runner.process.egress import client
from runner.process.egress.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runner.config.registries import Registries

_AT_ONCE = 64
"""Connections; further ones wait."""
_PATIENCE = 2.0
"""Seconds in which the threads end; one that asks for a name takes its time, and does no more."""


class EgressServer:
    """An open resource until `close`."""

    def __init__(self, registries: Registries, environ: Mapping[str, str] | None = None) -> None:
        self._proxy = Proxy(registries, os.environ if environ is None else environ)
        self._outside, self._inside = socket.socketpair()
        self._room = BoundedSemaphore(_AT_ONCE)
        self._lock = Lock()
        self._open: set[socket.socket] = {self._outside}
        self._threads: list[Thread] = []
        self._closed = False

    @property
    def inner(self) -> int:
        """The descriptor that the first process inside is given."""
        return self._inside.fileno()

    def before(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """The command line inside."""
        # Neither a variable nor a `.pth` of the tree may run code before the port is there; and
        # nothing is written beside a source that is read-only inside.
        words = (sys.executable, "-I", "-S", "-B", str(Path(client.__file__)))
        return (*words, str(self.inner), *argv)

    def close_own_end(self) -> None:
        """The first process has its end of it, or will never have."""
        self._inside.close()
        effects.step("listen", "registries")
        self._begin(self._listen)

    def close(self) -> str:
        """Let nothing pass any more; return the report of what was refused."""
        with self._lock:
            self._closed = True
            waiting = tuple(self._open)
        for each in waiting:
            with suppress(OSError):
                # Not close(2): that leaves a thread waiting which is in accept or recv on it;
                # shutdown(2) wakes it.
                each.shutdown(socket.SHUT_RDWR)
        until = effects.monotonic() + _PATIENCE
        for thread in tuple(self._threads):
            thread.join(max(0.0, until - effects.monotonic()))
        self._inside.close()
        self._outside.close()
        return "".join(f"runner: {line}\n" for line in self._proxy.refused)

    # --- threads ----------------------------------------------------------------------

    def _begin(self, what: Callable[..., None], *given: socket.socket) -> None:
        thread = Thread(target=what, args=given, name="registries", daemon=True)
        self._threads = [one for one in self._threads if one.is_alive()]
        self._threads.append(thread)
        thread.start()

    def _listen(self) -> None:
        try:
            _, descriptors, _, _ = socket.recv_fds(self._outside, 1, 1)
        except OSError:
            return
        if not descriptors:  # the command ended before it began
            return
        with socket.socket(fileno=descriptors[0]) as listener:
            self._accept(listener)

    def _accept(self, listener: socket.socket) -> None:
        if not self.keep(listener):
            return
        try:
            while True:
                # Before accept: who waits for room waits in the kernel's queue, and not in a thread
                # of ours.
                self._room.acquire()
                try:
                    found, _ = listener.accept()
                except ConnectionAbortedError:  # who asked has gone already
                    self._room.release()
                    continue
                self._begin(self._serve, found)
        except OSError:  # it was shut down
            return
        finally:
            self.forget(listener)

    def _serve(self, client: socket.socket) -> None:
        try:
            with client:
                if self.keep(client):
                    with suppress(OSError):
                        self._proxy.serve(client, self)
                self.forget(client)
        finally:
            self._room.release()

    # --- what is open -----------------------------------------------------------------

    def keep(self, found: socket.socket) -> bool:
        """Have it shut when the door is; False where that has happened already."""
        with self._lock:
            if not self._closed:
                self._open.add(found)
            return not self._closed

    def forget(self, found: socket.socket) -> None:
        """It is closed."""
        with self._lock:
            self._open.discard(found)
