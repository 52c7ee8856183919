"""The server process: one socket on loopback, and a file with the access link.

Connections of the page's listener: few wait for a head, and none of them blocks another.

asyncio accepts through `Listener`, so a connection counts from its first packet on, also before
its TLS handshake. `Protocol` is uvicorn's own, and reports when a head is complete.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
import threading
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from uvicorn.protocols.http.h11_impl import H11Protocol

from runner import effects
from runner.errors import RunnerError
from runner.lazy_module import lazy_module
from runner.serve.sessions import Access, SignInLinks, group_address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from types import FrameType

    import uvicorn
    from starlette.types import ASGIApp, Receive, Scope, Send
    from uvicorn.config import Config
    from uvicorn.server import ServerState

    from runner.config.paths import Places
    from runner.serve import application, guard
    from runner.serve.builds import Builds
    from runner.serve.guard import Gateway
else:
    uvicorn = lazy_module("uvicorn")
    application = lazy_module("runner.serve.application")
    guard = lazy_module("runner.serve.guard")

LOOPBACK = "127.0.0.1"
MOST_OF_ADDRESS = 64
"""Maximum connections of one address, if addresses identify clients."""
_BACKLOG = 1024
"""Connections that the kernel queues for accept: a burst loses none."""
_FOLDER = "serve"
_SECONDS_TO_END = 2
_TOKEN_BYTES = 32
MOST_WAITING = 64
"""Maximum connections without a complete request head; one more closes the oldest."""
HEAD_SECONDS = 10.0
"""Timeout of a request head, after which the connection is closed."""
_GRACE_SECONDS = 1.0
"""In a burst, time for a connection to send its head before a later one closes it."""
_CHECK_SECONDS = 0.1
"""Seconds between checks of the waiting connections."""
_MOST_IN_BURST = 512
"""Beyond it the oldest is closed at once: a process has 1,024 descriptors or more."""
_READ_SECONDS = 30.0
"""A client that does not read its answer for this long is disconnected."""


class ListenAddress(Struct, frozen=True):
    """The address on which the server listens."""

    listener: Listener
    port: int

    @classmethod
    def open(cls, port: int, address: str = LOOPBACK, *, most_of_address: int = 0) -> ListenAddress:
        """Listen on an address, on a free port for 0. Raises RunnerError if the port is in use.

        `most_of_address` bounds the connections of one address; 0: no bound.
        """
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        listener = Listener(family, most_of_address)
        # Otherwise a restarted server finds its port in use for a minute, because of its own closed
        # connections in TIME_WAIT (socket(7)).
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address, port))
        except OSError as error:
            listener.close()
            where = f"{address}:{port}"
            hint = "--port 0 selects a free port"
            raise RunnerError(
                f"port {port} cannot be used: {error.strerror}", where=where, hint=hint
            ) from error
        listener.listen(_BACKLOG)
        return cls(listener, listener.getsockname()[1])

    @property
    def hosts(self) -> frozenset[str]:
        """The names that a request may call it by."""
        return frozenset(f"{name}:{self.port}" for name in (LOOPBACK, "localhost"))


def links_of(places: Places, port: int) -> SignInLinks:
    """Return the sign-in links of the server on a port."""
    return SignInLinks(_folder(places) / str(port))


def find_ports(places: Places) -> tuple[int, ...]:
    """Return the ports of this user's running servers."""
    folder = _folder(places)
    names = [one.name for one in folder.iterdir()] if folder.is_dir() else []
    return tuple(sorted(int(name) for name in names if name.isdigit() and _answers(int(name))))


def _answers(port: int) -> bool:
    try:
        socket.create_connection((LOOPBACK, port), timeout=1).close()
    except OSError:
        return False
    return True


def _folder(places: Places) -> Path:
    return places.cache / _FOLDER


def format_link(port: int, token: str) -> str:
    """Return the sign-in link; browsers do not send the part after `#`."""
    return f"http://{LOOPBACK}:{port}/open#{token}"


def token_file(places: Places) -> Path:
    """Return the path of the token that permits reading the servers' metrics."""
    return places.state / _FOLDER / "metrics-token"


def read_token(file: Path) -> str:
    """Return the token in the file; create it if there is none."""
    try:
        known = file.read_text().strip()
    except (OSError, ValueError):
        known = ""
    if known:
        return known
    effects.make_folder(file.parent)
    with effects.wait_lock(file.with_suffix(".lock")):
        with suppress(OSError, ValueError):
            known = file.read_text().strip()  # another process made it just now
        if known:
            return known
        made = secrets.token_urlsafe(_TOKEN_BYTES)
        effects.write_file(file, f"{made}\n".encode(), mode=0o600)
        return made


def serve(
    builds: Builds,
    door: ListenAddress,
    places: Places,
    tell: Callable[[str], None],
    hook_secret: str = "",
    *,
    environ: Mapping[str, str],
) -> None:
    """Answer until SIGTERM or Ctrl-C; `tell` hears the first link. Builds go on without us.

    With a secret, deliveries of a forge that are signed by it are heard, too.
    """
    links = links_of(places, door.port)
    links.forget()  # an older server's, on the same port: it is gone, for we listen there
    access = Access(links, secrets.token_hex(4))
    context = application.PageContext
    run_server(
        door,
        lambda is_over: application.make_application(
            access, context(builds, places, environ), is_over
        ),
        lambda app: guard_application(app, access, guard.Gateway(door.hosts), places, hook_secret),
        lambda: tell(format_link(door.port, links.make())),
    )


def guard_application(
    app: ASGIApp, access: Access, gateway: Gateway, places: Places, hook_secret: str
) -> ASGIApp:
    """Wrap an application with the guard, and with the webhook if it has a secret."""
    guarded = guard.Guard(app, access, gateway)
    return guard.Webhook(guarded, hook_secret, places) if hook_secret else guarded


def run_server(
    door: ListenAddress,
    make: Callable[[Callable[[], bool]], ASGIApp],
    wrap: Callable[[ASGIApp], ASGIApp],
    begun: Callable[[], None],
    tls: tuple[str, str] = ("", ""),
) -> None:
    """Answer at the door until a signal: `make` the application, `wrap` it, then call `begun`."""
    pages = Later(lambda: make(lambda: server.should_exit))
    chain, key = tls
    server = uvicorn.Server(
        uvicorn.Config(
            wrap(pages),
            http=make_protocol(door.listener),  # type: ignore[arg-type] # a factory
            loop="asyncio",  # which accepts by the listener's own `accept`
            backlog=_BACKLOG,
            ws="none",
            lifespan="off",
            log_level="error",
            access_log=False,
            server_header=False,
            # Enabled by default and trusted from 127.0.0.1 (uvicorn, settings), which here is every
            # client. For a configured proxy, the guard reads them.
            proxy_headers=False,
            timeout_keep_alive=int(HEAD_SECONDS),
            timeout_graceful_shutdown=_SECONDS_TO_END,
            ssl_certfile=chain or None,
            ssl_keyfile=key or None,
        )
    )
    try:
        with _signals_that_end(server):
            begun()
            loading = threading.Thread(target=pages.load, daemon=True)
            loading.start()
            server.run(sockets=[door.listener])
            # If interrupted during an import, a C++ or Rust library would abort the process.
            loading.join()
    finally:
        door.listener.close()


class Later:
    """The application, made on first use: the link is printed before the imports."""

    def __init__(self, make: Callable[[], ASGIApp]) -> None:
        self._make = make
        self._made: ASGIApp | None = None
        self._making = threading.Lock()

    def load(self) -> ASGIApp:
        """Create the application, or wait until another thread has created it."""
        with self._making:
            if self._made is None:
                self._made = self._make()
            return self._made

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        made = self._made
        if made is None:
            made = await asyncio.to_thread(self.load)
        await made(scope, receive, send)


@contextmanager
def _signals_that_end(server: uvicorn.Server) -> Iterator[None]:
    """Exit uvicorn on a signal, without the signal that it raises again afterwards.

    One that comes before it listens for them ends it, too.
    """

    def ended(number: int, frame: FrameType | None) -> None:
        del number, frame
        server.should_exit = True

    heard = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(one, ended) for one in heard]
    try:
        yield
    finally:
        for one, handler in zip(heard, before, strict=True):
            signal.signal(one, handler)


class _Connection(Struct):
    socket: socket.socket
    """Socket given to asyncio, which finally closes it."""
    client: str
    since: float = 0.0
    """When it began to wait for a head; 0: not waiting."""

    def close(self) -> None:
        """Shut down the socket, which asyncio notices even during a TLS handshake."""
        self.since = 0.0
        with suppress(OSError):  # it is closed
            self.socket.shutdown(socket.SHUT_RDWR)

    def has_unread(self) -> bool:
        """Return whether a busy loop has not yet read what the client sent."""
        try:
            return bool(self.socket.recv(1, socket.MSG_PEEK))
        except OSError:
            return False


class Listener(socket.socket):
    """A listening socket that closes connections which do not send a request."""

    def __init__(self, family: socket.AddressFamily, most_of_address: int = 0) -> None:
        super().__init__(family, socket.SOCK_STREAM)
        self._most_of_address = most_of_address
        self._open: dict[int, _Connection] = {}
        """Connections by descriptor."""
        self._timer: asyncio.TimerHandle | None = None

    def accept(self) -> tuple[socket.socket, tuple[str, int]]:
        """Accept the next connection, which waits for its request head."""
        accepted, address = super().accept()
        made = _Connection(accepted, group_address(address[0]))
        self._open = {n: one for n, one in self._open.items() if one.socket.fileno() >= 0}
        of_client = sum(one.client == made.client for one in self._open.values())
        waiting = [one for one in self._open.values() if one.since]
        if len(waiting) >= _MOST_IN_BURST:
            min(waiting, key=lambda one: one.since).close()
        self._open[accepted.fileno()] = made
        if self._most_of_address and of_client >= self._most_of_address:
            made.close()
        else:
            self.wait(accepted.fileno())
        return accepted, address

    def wait(self, number: int) -> None:
        """Count a connection as one without a complete head, from now on."""
        loop = asyncio.get_running_loop()
        if known := self._open.get(number):
            known.since = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(_CHECK_SECONDS, self._close_late)

    def release(self, number: int) -> None:
        """Count it no longer: its head is complete."""
        if known := self._open.get(number):
            known.since = 0.0

    def _close_late(self) -> None:
        loop = asyncio.get_running_loop()
        waiting = [one for one in self._open.values() if one.since and one.socket.fileno() >= 0]
        waiting.sort(key=lambda one: one.since)
        count = len(waiting)
        for one in waiting:
            age = loop.time() - one.since
            is_over = count > MOST_WAITING and age >= _GRACE_SECONDS
            if age >= HEAD_SECONDS or (is_over and not one.has_unread()):
                one.close()
                count -= 1
        self._timer = loop.call_later(_CHECK_SECONDS, self._close_late) if count else None


class Protocol(H11Protocol):
    """uvicorn's protocol; tells the listener which connections wait for a head."""

    def __init__(
        self,
        listener: Listener,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._listener = listener
        self._unread: asyncio.TimerHandle | None = None

    @property
    def _number(self) -> int:
        """The descriptor of its socket."""
        found: int = self.transport.get_extra_info("socket").fileno()
        return found

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def handle_events(self) -> None:
        """Read what came; a request whose head is complete waits no more."""
        super().handle_events()
        if self._is_answering:
            self._listener.release(self._number)

    def on_response_complete(self) -> None:
        """Wait for the next head, also where the rest of a refused body is still on its way."""
        super().on_response_complete()
        if not self._is_answering and not self.transport.is_closing():
            self._listener.wait(self._number)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting for the client."""
        self.resume_writing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Abort the connection later if the client does not read."""
        super().pause_writing()
        self._unread = self.loop.call_later(_READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Cancel the abort, since the client reads again."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()


def make_protocol(listener: Listener) -> Callable[..., Protocol]:
    """Return the factory of protocols for a listener's connections."""
    return partial(Protocol, listener)
