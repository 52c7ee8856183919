"""A server on loopback that speaks the wire formats of the providers, with a scripted answer.

Each turn of the script is text, or a call of a tool; a request that carries the results of n calls
gets turn n. Also answers with a status instead (rate limit, overload), as many times as told.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Provider:
    """The server; `turns` is what the model says, one after the other."""

    def __init__(self, *turns, status=200, headers=()):
        self.turns = turns
        self.status = status
        self.headers = dict(headers)
        self.asked = []
        """Path and body of each request for an answer."""
        self.keys = set()
        """What requests were authorised with."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Answering)
        self._server.provider = self
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self):
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def turn(self, body):
        """The turn that is due: as many results of calls as the request carries."""
        return self.turns[min(_results(body), len(self.turns) - 1)]


def call(tool, **arguments):
    """A turn that calls a tool."""
    return tool, arguments


def _results(body):
    messages = body.get("messages") or body.get("input") or body.get("contents") or []
    return sum(_results_of(message) for message in messages if isinstance(message, dict))


def _results_of(message):
    if message.get("role") == "tool" or str(message.get("type")).endswith("_call_output"):
        return 1
    parts = message.get("content") if message.get("role") == "user" else None
    parts = parts if isinstance(parts, list) else message.get("parts") or []
    kinds = [part for part in parts if isinstance(part, dict)]
    return sum(part.get("type") == "tool_result" or "functionResponse" in part for part in kinds)


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self._send(200, "application/json", b'{"data": [], "models": []}')

    def do_HEAD(self):
        self._send(200, "application/json", b"")

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition("?")[0]
        speak = next((say for end, say in _SPEECHES.items() if end in path), None)
        if speak is None or "count_tokens" in path:
            self._send(200, "application/json", b'{"input_tokens": 7, "totalTokens": 7}')
            return
        body = json.loads(raw)
        self.server.provider.asked.append((path, body))
        names = ("x-api-key", "authorization", "x-goog-api-key")
        self.server.provider.keys |= {value for name in names if (value := self.headers.get(name))}
        self._answer(path, body, speak)

    def _answer(self, path, body, speak):
        if self.server.provider.status != 200:
            error = {
                "type": "overloaded",
                "message": "scripted",
                "code": self.server.provider.status,
            }
            answer = json.dumps({"type": "error", "error": error}).encode()
            self._send(self.server.provider.status, "application/json", answer)
            return
        streams = body.get("stream") or "stream" in path
        kind = "text/event-stream" if streams else "application/json"
        self._send(200, kind, speak(self.server.provider.turn(body), body, streams))

    def _send(self, status, kind, body):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        for name, value in self.server.provider.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _events(pairs):
    lines = []
    for name, data in pairs:
        lines += [f"event: {name}"] if name else []
        lines += [f"data: {data if isinstance(data, str) else json.dumps(data)}", ""]
    return ("\n".join(lines) + "\n").encode()


def _anthropic(turn, body, _stream):
    """The Messages API, streaming."""
    head = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", ""),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 1},
    }
    is_call = isinstance(turn, tuple)
    if is_call:
        block = {"type": "tool_use", "id": f"toolu_{len(str(body))}", "name": turn[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(turn[1])}
    else:
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": turn}
    reason = "tool_use" if is_call else "end_turn"
    stop = {"stop_reason": reason, "stop_sequence": None}
    pairs = [
        ("message_start", {"type": "message_start", "message": head}),
        (
            "content_block_start",
            {"type": "content_block_start", "index": 0, "content_block": block},
        ),
        ("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}),
        ("content_block_stop", {"type": "content_block_stop", "index": 0}),
        ("message_delta", {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 20}}),
        ("message_stop", {"type": "message_stop"}),
    ]
    return _events(pairs)


def _responses(turn, _body, _stream):
    """The Responses API, streaming."""
    if isinstance(turn, tuple):
        item = {
            "type": "function_call",
            "id": "fc_1",
            "call_id": f"call_{turn[0]}",
            "name": turn[0],
            "arguments": json.dumps(turn[1]),
        }
        if "input" in turn[1] and len(turn[1]) == 1:
            item = {
                "type": "custom_tool_call",
                "id": "ctc_1",
                "call_id": "call_1",
                "name": turn[0],
                "input": turn[1]["input"],
            }
    else:
        content = [{"type": "output_text", "text": turn, "annotations": []}]
        item = {"type": "message", "role": "assistant", "id": "msg_1", "content": content}
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 120,
    }
    done = {"id": "resp_1", "object": "response", "status": "completed", "output": [item]}
    pairs = [
        ("response.created", {"type": "response.created", "response": {"id": "resp_1"}}),
        (
            "response.output_item.done",
            {"type": "response.output_item.done", "output_index": 0, "item": item},
        ),
        (
            "response.completed",
            {"type": "response.completed", "response": {**done, "usage": usage}},
        ),
    ]
    return _events(pairs)


def _completions(turn, body, stream):
    """Chat completions, streaming or not."""
    message = {"role": "assistant", "content": turn}
    if isinstance(turn, tuple):
        function = {"name": turn[0], "arguments": json.dumps(turn[1])}
        calls = [{"index": 0, "id": "call_1", "type": "function", "function": function}]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
    reason = "tool_calls" if isinstance(turn, tuple) else "stop"
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    head = {"id": "chatcmpl-1", "created": 1, "model": body.get("model", "")}
    if not stream:
        choice = {"index": 0, "message": message, "finish_reason": reason}
        whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
        return json.dumps(whole).encode()
    chunk = {**head, "object": "chat.completion.chunk"}
    pairs = [
        ("", {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}),
        ("", {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}),
        ("", {**chunk, "choices": [], "usage": usage}),
        ("", "[DONE]"),
    ]
    return _events(pairs)


def _gemini(turn, _body, stream):
    """`generateContent`, streaming or not."""
    part = {"text": turn}
    if isinstance(turn, tuple):
        part = {"functionCall": {"name": turn[0], "args": turn[1]}}
    candidate = {
        "content": {"role": "model", "parts": [part]},
        "finishReason": "STOP",
        "index": 0,
    }
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
    whole = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}
    return _events([("", whole)]) if stream else json.dumps(whole).encode()


_SPEECHES = {
    "/messages": _anthropic,
    "/responses": _responses,
    "/chat/completions": _completions,
    "enerateContent": _gemini,
}
