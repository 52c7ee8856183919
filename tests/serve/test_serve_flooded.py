"""Connections, bodies and streams that others keep open do not keep a signed-in person out."""

import asyncio
import json
import os
import socket
import ssl
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
import uvicorn
from site_process import Client

from runner.config.paths import Places
from runner.serve import guard, listener
from runner.serve.guard import FullError, RequestKind, RequestLimits

FLOOD = Path(__file__).parent / "flood.py"
SECONDS = 3
MANY = 300


def flood_and_look(site, requests):
    """Look at a page while another process floods the server: the longest time, its answers."""
    with subprocess.Popen(
        [sys.executable, str(FLOOD), str(site.port), str(SECONDS), str(MANY)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdin.write(json.dumps(requests))
        process.stdin.close()
        slowest = 0.0
        while process.poll() is None:
            begun = time.monotonic()
            while not answers(site):
                assert time.monotonic() - begun < listener.HEAD_SECONDS / 2
            slowest = max(slowest, time.monotonic() - begun)
            time.sleep(0.2)
        return slowest, json.loads(process.stdout.read())


def answers(site):
    """Whether a look is answered; on a busy machine its head may come late, as a browser's may."""
    try:
        return site.get(f"/b/{site.build}")[0] == 200
    except ConnectionError:
        return False


def enter_again(site):
    token = listener.links_of(Places.of(os.environ), site.port).make()
    other = Client(f"{site.origin}/open#{token}", site.folder)
    assert other.enter() == 200
    return other


def head(site, method, path, *lines):
    said = (f"{method} {path} HTTP/1.1", f"Host: {site.host}", f"Origin: {site.origin}", *lines)
    return "\r\n".join(said) + "\r\n\r\n"


def signed(site):
    return f"Cookie: {site.cookie}", f"X-Runner-Secret: {site.secret}"


def slow_body(site, path, *lines):
    form = "Content-Type: application/json", "Content-Length: 100"
    return head(site, "POST", path, *form, *lines) + "{"


def stream(site):
    return head(site, "GET", "/api/v1/events", "Accept: text/event-stream", *signed(site))


KINDS = {
    "half a head": lambda site: [f"GET / HTTP/1.1\r\nHost: {site.host}\r\n"],
    "no byte": lambda _: [""],
    "slow bodies without a session": lambda site: [slow_body(site, "/session")],
    "slow bodies of the same session": lambda site: [
        slow_body(site, f"/api/v1/builds/{site.build}/run", *signed(site))
    ],
    "streams of the same session": lambda site: [stream(site)],
    "streams of many sessions": lambda site: [stream(enter_again(site)) for _ in range(20)],
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_signed_in_page_answers_during_a_flood(site, kind):
    site.get(f"/b/{site.build}")  # its modules are loaded
    slowest, counts = flood_and_look(site, KINDS[kind](site))
    assert slowest <= listener.HEAD_SECONDS / 2  # it never waits until the flood's requests end
    if kind == "streams of the same session":
        assert counts["200"] == 16
        assert counts.keys() <= {"200", "429", "closed", "open"}
        # As many as the flood has time for. A busy server closes the oldest of 512 unread ones.
        assert counts["closed"] >= counts["429"] > MANY / 10
    if kind == "streams of many sessions":
        assert counts["200"] == MANY


def test_a_client_that_sends_its_head_late_is_answered_during_a_flood(site):
    for _ in range(20):
        with ExitStack() as held:
            begun = time.monotonic()
            late, *_ = [
                held.enter_context(socket.create_connection(("127.0.0.1", site.port)))
                for _ in range(2 * listener.MOST_WAITING)
            ]
            time.sleep(0.5)  # the way there and back over a slow network
            late.sendall(head(site, "GET", f"/b/{site.build}", *signed(site)).encode())
            in_time = time.monotonic() - begun < 0.9  # on a busy machine it is tried again
            answer = late.recv(12) if in_time else b""
        if in_time:
            break
    assert answer == b"HTTP/1.1 200"


def test_a_stream_too_many_is_told_when_to_come_again(site):
    held = [socket.create_connection(("127.0.0.1", site.port)) for _ in range(16)]
    for one in held:
        one.sendall(stream(site).encode())
        assert one.recv(15) == b"HTTP/1.1 200 OK"
    said = {"Cookie": site.cookie, "X_Runner_Secret": site.secret, "Accept": "text/event-stream"}
    status, headers, _ = site.ask("GET", "/api/v1/events", **said)
    assert status == 429
    assert int(headers["retry-after"]) >= 1
    assert site.get(f"/b/{site.build}")[0] == 200
    for one in held:
        one.close()
    site.until(lambda: site.api("/builds")[0] == 200)


# --- connections ----------------------------------------------------------------------


async def count_open(held, expected):
    """How many of the connections are open once as few are as expected, or after long."""
    for one in held:
        one.setblocking(False)
    for _ in range(200):
        await asyncio.sleep(0.1)
        found = sum(map(is_open, held))
        if found <= expected:
            break
    return found


def is_open(connection):
    try:
        return bool(connection.recv(1))
    except BlockingIOError:
        return True
    except OSError:
        return False


def hold(many, expected, **options):
    """Open connections that send nothing to a listener; how many stay open."""

    async def main():
        with listener.Listener(socket.AF_INET, options.pop("most_of_address", 0)) as one:
            one.bind(("127.0.0.1", 0))
            one.setblocking(False)
            server = await asyncio.get_running_loop().create_server(
                asyncio.Protocol, sock=one, backlog=1024, **options
            )
            held = [socket.create_connection(one.getsockname()) for _ in range(many)]
            found = await count_open(held, expected)
            for client in held:
                client.close()
            server.close()
            return found

    return asyncio.run(main())


@pytest.mark.parametrize(
    "options", [{}, {"ssl": ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)}], ids=["http", "TLS"]
)
def test_few_connections_wait_for_a_head(monkeypatch, options):
    assert hold(200, listener.MOST_WAITING, **options) == listener.MOST_WAITING
    monkeypatch.setattr(listener, "HEAD_SECONDS", 0.2)
    assert hold(20, 0, **options) == 0


def test_one_address_has_so_many_connections_where_addresses_tell_clients_apart():
    assert hold(30, 20, most_of_address=20) == 20


def test_a_client_that_does_not_read_is_cut_off(monkeypatch):
    monkeypatch.setattr(listener, "_READ_SECONDS", 0.2)

    async def main():
        ended = asyncio.Event()

        async def app(scope, receive, send):
            assert scope["path"] == "/large"
            await send({"type": "http.response.start", "status": 200, "headers": []})
            piece = {"type": "http.response.body", "body": b"x" * 100_000, "more_body": True}
            for _ in range(200):
                await send(piece)
            ended.set()

        with listener.Listener(socket.AF_INET) as one:
            one.bind(("127.0.0.1", 0))
            one.listen()
            protocol = listener.make_protocol(one)
            config = uvicorn.Config(app, http=protocol, lifespan="off", log_level="critical")
            server = uvicorn.Server(config)
            serving = asyncio.create_task(server.serve(sockets=[one]))
            client = socket.create_connection(one.getsockname())
            client.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
            await asyncio.wait_for(ended.wait(), 10)
            client.close()
            server.should_exit = True
            await serving

    asyncio.run(main())


# --- requests -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "owner", "most"),
    [
        (RequestKind.WORK, "ada", 32),
        (RequestKind.WORK, "", 16),
        (RequestKind.BODY, "ada", 32),
        (RequestKind.STREAM, "ada", 16),
    ],
)
def test_so_many_requests_are_in_work(kind, owner, most):
    limits = RequestLimits()
    with ExitStack() as held:
        for _ in range(most):
            held.enter_context(limits.take(kind, owner))
        with pytest.raises(FullError):
            limits.take(kind, owner)
        with limits.take(kind, "grace"):
            pass
    assert limits.has_room(kind, owner)


def test_all_sessions_together_have_so_many_streams():
    limits = RequestLimits()
    with ExitStack() as held:
        for number in range(400):
            held.enter_context(limits.take(RequestKind.STREAM, f"session {number // 16}"))
        with pytest.raises(FullError):
            limits.take(RequestKind.STREAM, "one more")


def test_a_slow_body_without_a_session_ends_for_a_later_one_and_after_its_time(monkeypatch):
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.3)

    async def main():
        limits, ended = RequestLimits(), []

        async def read(number):
            try:
                async with limits.await_body(""):
                    await asyncio.sleep(60)
            except TimeoutError:
                ended.append(number)

        tasks = [asyncio.create_task(read(number)) for number in range(18)]
        await asyncio.sleep(0.1)
        assert ended == [0, 1]
        await asyncio.gather(*tasks)
        assert len(ended) == 18

    asyncio.run(main())
