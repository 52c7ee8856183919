"""Serve a project's ASGI or WSGI application on a free loopback port.

Usage: serve.py MODULE:ATTRIBUTE[()] HANDSHAKE. Runs on the project's own Python, in the project's
folder. HANDSHAKE is written once, as JSON: `port` and `routes`, or `error`. ASGI is served by the
project's uvicorn where it has one, else by the small server below (HTTP/1.1, one request a
connection, lifespan), as https://asgi.readthedocs.io/en/latest/specs/main.html says.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import socket
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SKIPPED = frozenset({"HEAD", "OPTIONS"})
LARGEST_HEAD = 64 * 1024
ASGI_ARGUMENTS = 3
"""Arguments of an ASGI application: scope, receive and send."""


def main() -> None:
    """Load the application and serve it until this process is ended."""
    target, handshake = sys.argv[1:3]
    sys.path[:0] = [str(path) for path in (Path.cwd(), Path.cwd() / "src") if path.is_dir()]
    try:
        app = load(target)
    except BaseException as problem:  # noqa: BLE001 - an import may also call sys.exit
        show(problem)
        tell(handshake, {"error": f"{target} could not be imported: {format_problem(problem)}"})
        raise SystemExit(1) from None
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    # Connections inherit it; without it, a two-part response waits 40 ms for an acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    tell(handshake, {"port": listener.getsockname()[1], "routes": routes(app)})
    if is_asgi(app):
        serve_asgi(app, listener)
    else:
        serve_wsgi(app, listener)


def show(problem: BaseException) -> None:
    """Print a failure with the project's own frames alone; nothing where it has none."""
    frames = problem.__traceback__
    while frames and is_ours(frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    if frames or isinstance(problem, SyntaxError):
        traceback.print_exception(type(problem), problem, frames)


def is_ours(file: str) -> bool:
    """Return whether a file is this script or part of Python's import system."""
    return file in (__file__, importlib.__file__) or file.startswith("<frozen importlib")


def load(target: str) -> Any:
    """Import the application; a target that ends with `()` is called."""
    module, _, names = target.partition(":")
    found: Any = importlib.import_module(module)
    for name in names.replace("()", "").split("."):
        found = getattr(found, name)
    return found() if names.endswith("()") else found


def format_problem(problem: BaseException) -> str:
    """Describe a failed import in one sentence."""
    if isinstance(problem, SystemExit):
        return f"it called sys.exit({problem.code!r})"
    return f"{type(problem).__name__}: {problem}"


def tell(handshake: str, document: object) -> None:
    """Write beside, then rename: whoever waits for the file reads it whole."""
    beside = Path(handshake + ".new")
    beside.write_text(json.dumps(document), "utf-8")
    beside.replace(handshake)


# --- what the application serves ------------------------------------------------------


def routes(app: Any) -> list[list[str]] | None:
    """Return method and path of each Flask, FastAPI or Starlette route; None without a table.

    The method `*` stands for all that a mounted application may serve below a path.
    """
    try:
        if hasattr(app, "url_map"):
            return sorted(flask_routes(app))
        if isinstance(getattr(app, "routes", None), (list, tuple)):
            return sorted(starlette_routes(app.routes, ""))
    except (AttributeError, TypeError, ValueError):
        pass
    return None


def flask_routes(app: Any) -> Iterator[list[str]]:
    """Yield method and path of each rule in a werkzeug map."""
    for rule in app.url_map.iter_rules():
        # Flask adds these itself, and no document lists them.
        if rule.endpoint == "static" or rule.endpoint.endswith(".static"):
            continue
        path = "".join(
            "{" + part + "}" if is_dynamic else part for is_dynamic, part in parts_of(rule.rule)
        )
        for method in set(rule.methods or ()) - SKIPPED:
            yield [method, path]


def parts_of(rule: str) -> Iterator[tuple[bool, str]]:
    """Yield the pieces of a werkzeug rule such as `/rooms/<int:id>`."""
    for number, piece in enumerate(rule.replace(">", "<").split("<")):
        yield bool(number % 2), piece.rpartition(":")[2] if number % 2 else piece


def starlette_routes(table: Any, above: str) -> Iterator[list[str]]:
    """Yield method and path of each route in a table and its mounts."""
    for route in table:
        path = above + getattr(route, "path", "")
        # The framework's own documents omit them: FastAPI handles /docs and /openapi.json this way.
        if getattr(route, "include_in_schema", True) is False:
            continue
        if getattr(route, "methods", None):
            clean = "/".join(without_convertor(part) for part in path.split("/"))
            for method in set(route.methods) - SKIPPED:
                yield [method, clean]
        elif getattr(route, "routes", None):
            yield from starlette_routes(route.routes, path)
        elif type(route).__name__ in ("Mount", "Host"):
            yield ["*", path]  # another application, which does not say what it serves


def without_convertor(part: str) -> str:
    """Remove the convertor: `{id:int}` becomes `{id}`."""
    name, colon, _ = part.partition(":")
    return name + "}" if part.startswith("{") and colon else part


# --- WSGI -----------------------------------------------------------------------------


def serve_wsgi(app: Any, listener: socket.socket) -> None:
    """Serve one request after the other, as wsgiref does."""
    from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

    class Quiet(WSGIRequestHandler):
        # Connections are served one at a time: a silent one would block all others.
        timeout = 5

        def log_message(self, *_: object) -> None:
            """Suppress the log of single requests."""

    server = WSGIServer(listener.getsockname(), Quiet, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    server.server_name, server.server_port = "127.0.0.1", listener.getsockname()[1]
    server.setup_environ()
    server.set_app(app)
    server.serve_forever(poll_interval=0.05)


# --- ASGI -----------------------------------------------------------------------------


def is_asgi(app: Any) -> bool:
    """Return whether the application is ASGI: a coroutine function or three arguments."""
    called = type(app).__call__ if callable(app) else None
    if inspect.iscoroutinefunction(app) or inspect.iscoroutinefunction(called):
        return True
    try:
        return len(inspect.signature(app).parameters) == ASGI_ARGUMENTS
    except (TypeError, ValueError):
        return False


def serve_asgi(app: Any, listener: socket.socket) -> None:
    """Serve by uvicorn where the project has it."""
    if importlib.util.find_spec("uvicorn"):
        import uvicorn  # type: ignore[import-not-found,unused-ignore]  # the project's own

        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
        return
    import asyncio

    asyncio.run(Asgi(app).serve(listener))


class Asgi:
    """A server of one application: every connection carries one request."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.state: dict[str, Any] = {}

    async def serve(self, listener: socket.socket) -> None:
        """Start the application, then answer every connection."""
        import asyncio

        await self.start_up()
        server = await asyncio.start_server(self.connection, sock=listener, limit=LARGEST_HEAD)
        async with server:
            await server.serve_forever()

    async def start_up(self) -> None:
        """Run the lifespan protocol up to its start; an application may not know it."""
        import asyncio

        answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        asked: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        asked.put_nowait({"type": "lifespan.startup"})
        scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": self.state}
        self.life = asyncio.ensure_future(self.app(scope, asked.get, answers.put))
        answer = asyncio.ensure_future(answers.get())
        await asyncio.wait({self.life, answer}, return_when=asyncio.FIRST_COMPLETED)
        if answer.done() and answer.result()["type"] == "lifespan.startup.failed":
            sys.stderr.write(f"lifespan.startup.failed: {answer.result().get('message', '')}\n")
            raise SystemExit(3)
        answer.cancel()
        # A server then continues without lifespan events (ASGI, lifespan). Read its exception:
        # asyncio prints exceptions that were never retrieved.
        if self.life.done():
            self.life.exception()  # the application knows no lifespan

    async def connection(self, reader: Any, writer: Any) -> None:
        """Answer the one request of a connection."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            scope, length = scope_of(head.decode("latin-1"), self.state)
            body = await body_of(reader, length)
            await self.answer(scope, body, writer)
            await writer.drain()
        except (EOFError, ValueError, ConnectionError):
            pass
        finally:
            writer.close()

    async def answer(self, scope: dict[str, Any], body: bytes, writer: Any) -> None:
        """Let the application answer a request; an exception becomes status 500."""
        import asyncio

        started = []
        asked = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> dict[str, Any]:
            return asked.pop() if asked else {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                started.append(message["status"])
                writer.write(head_of(message))
            # A response to HEAD has no body, whatever the application sends (RFC 9110, 9.3.2).
            elif message["type"] == "http.response.body" and scope["method"] != "HEAD":
                writer.write(message.get("body", b""))
                await writer.drain()

        answering = asyncio.ensure_future(self.app(scope, receive, send))
        await asyncio.wait({answering})
        problem = answering.exception()
        if problem is not None:
            show(problem)
        if not started:
            await send({"type": "http.response.start", "status": 500, "headers": []})


def scope_of(head: str, state: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """Parse a request head into its ASGI scope and body length; -1 means chunked."""
    from urllib.parse import unquote

    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    path, _, query = target.partition("?")
    headers = [
        (name.strip().lower().encode("latin-1"), value.strip().encode("latin-1"))
        for name, _, value in (line.partition(":") for line in lines)
    ]
    known = dict(headers)
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        # Decoded here; raw_path has the original bytes (ASGI, HTTP connection scope).
        "path": unquote(path),
        "raw_path": path.encode("latin-1"),
        "query_string": query.encode("latin-1"),
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "state": dict(state),
    }
    chunked = known.get(b"transfer-encoding", b"").lower() == b"chunked"
    return scope, -1 if chunked else int(known.get(b"content-length", b"0"))


async def body_of(reader: Any, length: int) -> bytes:
    """Read a request body of known length or in chunks."""
    if length >= 0:
        return bytes(await reader.readexactly(length))
    parts = []
    while True:
        size = int((await reader.readline()).split(b";")[0], 16)
        parts.append(await reader.readexactly(size))
        await reader.readline()
        if not size:
            return b"".join(parts)


def head_of(message: dict[str, Any]) -> bytes:
    """Return the head of a response."""
    from http import HTTPStatus

    status = message["status"]
    known: Callable[[int], Any] = HTTPStatus
    try:
        phrase = known(status).phrase
    except ValueError:
        phrase = ""
    lines = [f"HTTP/1.1 {status} {phrase}".encode()]
    lines += [bytes(name) + b": " + bytes(value) for name, value in message.get("headers", ())]
    return b"\r\n".join([*lines, b"connection: close", b"", b""])


if __name__ == "__main__":
    main()
