"""A server on loopback that speaks the providers' wire formats, turn by turn as it was told."""

import contextlib
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from wire import FORMATS, MODEL


@dataclass
class Answer:
    """How one request is answered: a turn of a model, or whatever goes wrong instead."""

    turn: tuple = ()
    """Texts, and calls as (name, arguments)."""
    status: int = 200
    headers: dict = field(default_factory=dict)
    body: object = None
    cut: int | None = None
    """So many events, then the connection breaks; with `ends`, it ends as if that were all."""
    ends: bool = False
    waits: float = 0.0


def says(*turn, **how):
    return Answer(turn, **how)


class Server(ThreadingHTTPServer):
    """Keeps what it was asked; a context that closes all it opened."""

    daemon_threads = True

    def __init__(self, *answers):
        super().__init__(("127.0.0.1", 0), _Exchange)
        self.answers = list(answers)
        self.asked = []
        """Path, headers and JSON of each request."""
        self.stopped = threading.Event()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)

    def answer(self, asked):
        """The next answer, or what a function of the request says."""
        if self.answers and callable(self.answers[0]):
            return self.answers[0](asked)
        return self.answers.pop(0) if self.answers else Answer(status=500, body={})

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def environment(self):
        """What leads the providers' clients here."""
        key = "test-" + "key-of-nobody"
        return {
            "ANTHROPIC_API_KEY": key,
            "OPENAI_API_KEY": key,
            "GOOGLE_API_KEY": key,
            "ANTHROPIC_BASE_URL": self.url,
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "GOOGLE_GEMINI_BASE_URL": self.url,
            "NO_PROXY": "127.0.0.1",
        }

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, *_):
        """A client that goes away is part of the play."""


class _Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        size = int(self.headers.get("Content-Length") or 0)
        asked = json.loads(self.rfile.read(size) or b"{}")
        self.server.asked.append(
            (self.path, {name.lower(): value for name, value in self.headers.items()}, asked)
        )
        answer = self.server.answer(asked)
        self.server.stopped.wait(answer.waits)
        if answer.status != 200 or answer.body is not None:
            self._plain(answer)
        else:
            at = self.path.partition("models/")[2].partition(":")[0]
            self._stream(answer, json.dumps(asked.get("model") or at).encode())

    def _plain(self, answer):
        body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        headers = {"Content-Type": "application/json"} | answer.headers
        for name, value in (headers | {"Content-Length": len(body)}).items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, answer, model):
        path = self.path.partition("?")[0]
        speak = next(speak for end, speak in FORMATS if path.endswith(end))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with contextlib.suppress(OSError):
            for said in speak(answer.turn)[: answer.cut]:
                event = said.replace(json.dumps(MODEL).encode(), model)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            if answer.cut is None or answer.ends:
                self.wfile.write(b"0\r\n\r\n")
        self.close_connection = answer.cut is not None
