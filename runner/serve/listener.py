"""The process that serves: one socket on loopback, links on paper of the user's own."""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import RunnerError
from runner.lazy_module import lazy_module
from runner.serve.access import Access, SignInLinks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from types import FrameType

    import uvicorn
    from starlette.types import ASGIApp, Receive, Scope, Send

    from runner.config.paths import Places
    from runner.serve import application, connections, guard, webhook
    from runner.serve.builds import Builds
    from runner.serve.guard import Gateway
else:
    uvicorn = lazy_module("uvicorn")
    application = lazy_module("runner.serve.application")
    connections = lazy_module("runner.serve.connections")
    guard = lazy_module("runner.serve.guard")
    webhook = lazy_module("runner.serve.webhook")

LOOPBACK = "127.0.0.1"
MOST_OF_ADDRESS = 64
"""Connections of one address, where addresses tell clients apart."""
_BACKLOG = 1024
"""Connections that the kernel keeps until they are accepted: a burst loses none."""
_FOLDER = "serve"
_SECONDS_TO_END = 2
_TOKEN_BYTES = 32


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Where the server listens."""

    listener: connections.Listener
    port: int

    @classmethod
    def open(cls, port: int, address: str = LOOPBACK, *, most_of_address: int = 0) -> ListenAddress:
        """Listen there, on a free port for 0. Raises RunnerError where it is taken.

        `most_of_address` bounds the connections of one address; 0: no bound.
        """
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        listener = connections.Listener(family, most_of_address)
        # Else a server that is started again finds its port taken for a minute, by its own closed
        # connections in TIME_WAIT (socket(7)).
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address, port))
        except OSError as error:
            listener.close()
            where = f"{address}:{port}"
            hint = "--port 0 selects a free port"
            raise RunnerError(
                f"this port cannot be used: {error.strerror}", where=where, hint=hint
            ) from error
        listener.listen(_BACKLOG)
        return cls(listener, listener.getsockname()[1])

    @property
    def hosts(self) -> frozenset[str]:
        """The names that a request may call it by."""
        return frozenset(f"{name}:{self.port}" for name in (LOOPBACK, "localhost"))


def links_of(places: Places, port: int) -> SignInLinks:
    """The links of the server on a port."""
    return SignInLinks(_folder(places) / str(port))


def find_ports(places: Places) -> tuple[int, ...]:
    """The ports on which a server of this user listens now."""
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
    """The link: what is behind `#` never leaves the browser by itself."""
    return f"http://{LOOPBACK}:{port}/open#{token}"


def token_file(places: Places) -> Path:
    """The file with the token by which this user's servers tell their figures."""
    return places.state / _FOLDER / "metrics-token"


def read_token(file: Path) -> str:
    """The token in it, made where there is none yet."""
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
    """Put the guard before an application, and before that the hook where it has a secret."""
    guarded = guard.Guard(app, access, gateway)
    return webhook.Webhook(guarded, hook_secret, places) if hook_secret else guarded


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
            http=connections.make_protocol(door.listener),  # type: ignore[arg-type] # a factory
            loop="asyncio",  # which accepts by the listener's own `accept`
            backlog=_BACKLOG,
            ws="none",
            lifespan="off",
            log_level="error",
            access_log=False,
            server_header=False,
            # On by default and trusted from 127.0.0.1 (uvicorn, settings), which here is every
            # client. Of a proxy that was named, the guard reads them.
            proxy_headers=False,
            timeout_keep_alive=int(connections.HEAD_SECONDS),
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
            # Cut off in the middle of an import, a library in C++ or Rust would abort the process.
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
        """Make it, or wait until another thread has."""
        with self._making:
            if self._made is None:
                self._made = self._make()
            return self._made

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        made = self._made
        if made is None:
            made = await asyncio.to_thread(self.load)
        await made(scope, receive, send)


@contextmanager
def _signals_that_end(server: uvicorn.Server) -> Iterator[None]:
    """Let uvicorn end for a signal, and no more: once done it raises again what it caught.

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
