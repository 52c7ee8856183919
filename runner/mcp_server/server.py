"""The Model Context Protocol over standard input and output, one JSON-RPC message a line.

Both of its forms: the handshake (revisions up to 2025-11-25) and requests that each carry their
own revision (2026-07-28, `server/discover`). Written by hand, for six methods: the SDK takes two
seconds to import. Source: modelcontextprotocol.io/specification, basic and server/tools.
"""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, TypeAlias

from msgspec import Struct, field

from runner import __version__, effects
from runner.errors import RunnerError
from runner.lazy_module import lazy_module
from runner.operations.row import InputError, check_input, choose_fields, describe_input
from runner.operations.table import TABLE
from runner.process.own_command import OwnCommand
from runner.text.display import display, format_error
from runner.text.wording import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from concurrent.futures import Future
    from pathlib import Path

    from runner.journal import lock
    from runner.journal.lock import Holder
    from runner.operations.row import Field
else:
    lock = lazy_module("runner.journal.lock")

Answering: TypeAlias = "Callable[[Mapping[str, object]], dict[str, object]]"
_HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_REVISIONS = ("2026-07-28",)
"""Revisions without a handshake: each request names its own."""
_META = "io.modelcontextprotocol/"
_NAMED = {"name": "runner", "title": "runner: build and prove a plan", "version": __version__}
_CAPABILITIES: dict[str, object] = {"tools": {"listChanged": False}}
_INSTRUCTIONS = (
    "TASK-GRAPH.md is a plan that people write; runner builds it task by task and proves each task"
    " itself. Read `status` and `why` first. Only the runner sets DONE, after its own proof: do not"
    " write statuses into the plan. After you edit the plan, call `validate`. Only a person at a"
    " terminal can answer a review: tell them that one is pending, and do not work around it."
)
_LONGEST_LINE = 4 << 20
"""Bytes of one message; a longer one is rejected and skipped."""
_AT_ONCE = 8
_PARSE, _REQUEST, _METHOD, _PARAMS, _INTERNAL, _REVISION = (
    -32700,
    -32600,
    -32601,
    -32602,
    -32603,
    -32022,
)
MOST_BYTES = 1 << 20
"""Bytes of one answer: a longer one is rejected, with a hint how to narrow the request."""
_LONGEST_OUTPUT = 8_000
"""Bytes of a run's output besides its summary."""
_BEGINS_WITHIN = 60.0
"""Seconds for a run to start or to report why it does not."""
_LOOK = 0.25
_WAITED = 60


class RpcError(Exception):
    """A request that gets an error instead of a result."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code, self.data = code, data


class Server:
    """Answers one client until its input ends. Calls are carried out side by side."""

    def __init__(self, caller: Caller, output: BinaryIO) -> None:
        self._caller, self._output = caller, output
        self._writing = threading.Lock()
        self._calls: dict[str, Call] = {}
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="mcp")

    def serve(self, given: BinaryIO) -> None:
        """Read messages to the end of `given`; a run that was begun goes on without us."""
        try:
            for line in _lines(given):
                self._hear(line)
        finally:
            for call in list(self._calls.values()):
                if call.tool.name == "wait":  # nobody hears how it ends; the others answer soon
                    call.cancelled.set()
            self._pool.shutdown(wait=True)

    def _hear(self, line: bytes | None) -> None:
        try:
            message = _read(line)
        except RpcError as error:
            self._say(_error(None, error))
            return
        id_, method = message.get("id"), message.get("method")
        if not isinstance(method, str):
            # Otherwise it is a response, which gets no reply (JSON-RPC 2.0, Response object).
            if "result" not in message and "error" not in message:
                self._say(_error(_id(id_), RpcError(_REQUEST, "the message has no method")))
            return
        params = message.get("params", {})
        if "id" not in message:
            self._notice(method, params)
            return
        try:
            self._request(id_, method, params)
        except RpcError as error:
            self._say(_error(_id(id_), error))

    def _notice(self, method: str, params: object) -> None:
        """Handle a notification; only the cancellation of a call has an effect."""
        if method == "notifications/cancelled" and isinstance(params, dict):
            call = self._calls.get(_key(params.get("requestId")))
            if call is not None:
                call.cancelled.set()

    def _request(self, id_: object, method: str, params: object) -> None:
        if _id(id_) is None:
            raise RpcError(_REQUEST, "an id must be a string or an integer")
        if not isinstance(params, dict):
            raise RpcError(_PARAMS, "params must be an object")
        modern = _names_revision(params)
        if method == "tools/call":
            self._begin_call(id_, params, modern=modern)
            return
        answer = (_DISCOVERED if modern else _SHAKEN).get(method)
        if answer is None:
            raise RpcError(_METHOD, f"unknown method {method[:100]!r}")
        self._say(_result(id_, answer(params), modern=modern))

    def _begin_call(self, id_: object, params: Mapping[str, object], *, modern: bool) -> None:
        name = params.get("name")
        if not isinstance(name, str) or name not in TOOLS:
            hint = did_you_mean(str(name)[:100], TOOLS) or f"expected one of {', '.join(TOOLS)}"
            raise RpcError(_PARAMS, f"unknown tool {str(name)[:100]!r}; {hint}")
        arguments = params.get("arguments")
        call = Call(TOOLS[name], {} if arguments is None else arguments)
        if (token := _token(params)) is not None:
            call.tell = _Progress(self, token)
        self._calls[_key(id_)] = call
        carried = self._pool.submit(self._carry_out, call)
        carried.add_done_callback(partial(self._end_call, id_, modern=modern))

    def _carry_out(self, call: Call) -> dict[str, object]:
        try:
            return _tool_result(self._caller.carry_out(call))
        except InputError as error:
            return _failed(str(error))
        except RunnerError as error:
            return _failed(format_error(error))

    def _end_call(self, id_: object, carried: Future[dict[str, object]], *, modern: bool) -> None:
        """Answer; a bug of one call is reported, and ends no other."""
        self._calls.pop(_key(id_), None)
        bug = carried.exception()
        if bug is not None:
            self._say(_error(id_, RpcError(_INTERNAL, f"runner bug: {type(bug).__name__}: {bug}")))
        else:
            self._say(_result(id_, carried.result(), modern=modern))

    def notify(self, method: str, params: Mapping[str, object]) -> None:
        """Send a notification to the client."""
        self._say({"jsonrpc": "2.0", "method": method, "params": dict(params)})

    def _say(self, message: Mapping[str, object]) -> None:
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        with self._writing:
            self._output.write(line)
            self._output.flush()


class _Progress:
    """Tells how a call goes on, to whoever asked to hear it."""

    def __init__(self, server: Server, token: object) -> None:
        self._server, self._token, self._count = server, token, 0

    def __call__(self, text: str) -> None:
        self._count += 1
        params = {"progressToken": self._token, "progress": self._count, "message": text}
        self._server.notify("notifications/progress", params)


# --- messages -------------------------------------------------------------------------


def _lines(given: BinaryIO) -> Iterator[bytes | None]:
    """Yield the messages; None for one that is too long."""
    while line := given.readline(_LONGEST_LINE + 1):
        if len(line) <= _LONGEST_LINE:
            if line.strip():
                yield line
            continue
        while line and not line.endswith(b"\n"):
            line = given.readline(_LONGEST_LINE)
        yield None


def _read(line: bytes | None) -> dict[str, object]:
    if line is None:
        raise RpcError(_REQUEST, f"the message is longer than {_LONGEST_LINE >> 20} MB")
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RpcError(_PARSE, "this line is not valid JSON") from error
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise RpcError(_REQUEST, 'a message must be one object with "jsonrpc": "2.0"')
    return message


def _id(value: object) -> str | int | None:
    """Return a valid JSON-RPC ID, or None."""
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None


def _key(id_: object) -> str:
    """Return a key that distinguishes the id `1` from the id `"1"`."""
    return repr(id_)


def _error(id_: object, error: RpcError) -> dict[str, object]:
    document: dict[str, object] = {"code": error.code, "message": str(error)}
    if error.data is not None:
        document["data"] = error.data
    return {"jsonrpc": "2.0", "id": id_, "error": document}


def _result(id_: object, result: dict[str, object], *, modern: bool) -> dict[str, object]:
    if modern:
        result = {"resultType": "complete", "_meta": {f"{_META}serverInfo": _NAMED}, **result}
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def _names_revision(params: Mapping[str, object]) -> bool:
    """Return whether a request names its protocol revision. Raises RpcError if unsupported."""
    meta = params.get("_meta")
    asked = meta.get(f"{_META}protocolVersion") if isinstance(meta, dict) else None
    if asked is not None and asked not in _REVISIONS:
        data = {"supported": list(_REVISIONS), "requested": str(asked)}
        raise RpcError(_REVISION, "unsupported protocol version", data)
    return asked is not None


def _token(params: Mapping[str, object]) -> str | int | None:
    meta = params.get("_meta")
    return _id(meta.get("progressToken")) if isinstance(meta, dict) else None


# --- results --------------------------------------------------------------------------


def _initialize(params: Mapping[str, object]) -> dict[str, object]:
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in _HANDSHAKES else _HANDSHAKES[-1],
        "capabilities": _CAPABILITIES,
        "serverInfo": _NAMED,
        "instructions": _INSTRUCTIONS,
    }


def _discover(_: Mapping[str, object]) -> dict[str, object]:
    return {
        "supportedVersions": list(_REVISIONS),
        "capabilities": _CAPABILITIES,
        "instructions": _INSTRUCTIONS,
        **_KEPT,
    }


_KEPT: dict[str, object] = {"ttlMs": 3_600_000, "cacheScope": "public"}
"""Cache lifetime of an answer that is the same for all clients."""


def _list_tools(params: Mapping[str, object]) -> dict[str, object]:
    if params.get("cursor") is not None:
        raise RpcError(_PARAMS, "cursor not supported: the tools are on one page")
    kept = _KEPT if _names_revision(params) else {}
    return {"tools": [tool.document() for tool in TOOLS.values()], **kept}


def _pong(_: Mapping[str, object]) -> dict[str, object]:
    return {}


_BOTH: dict[str, Answering] = {"ping": _pong, "tools/list": _list_tools}
_SHAKEN: dict[str, Answering] = {"initialize": _initialize, **_BOTH}
_DISCOVERED: dict[str, Answering] = {"server/discover": _discover, **_BOTH}
"""Immediate answers, by request method."""


def _tool_result(answer: CallResult) -> dict[str, object]:
    result: dict[str, object] = {
        "content": [{"type": "text", "text": answer.text}],
        "isError": answer.failed,
    }
    if answer.document is not None:
        result["structuredContent"] = answer.document
    return result


def _failed(text: str) -> dict[str, object]:
    return {"content": [{"type": "text", "text": text}], "isError": True}


class CallResult(Struct, frozen=True):
    """The result of a call: a document or text; `failed` where it answers nothing."""

    document: dict[str, object] | None
    text: str
    failed: bool = False


class Call(Struct):
    """One call that is being carried out; `cancelled` ends it from another thread."""

    tool: ServedTool
    arguments: object
    """Arguments from the client: validated when the tool runs."""
    tell: Callable[[str], None] = lambda _: None
    """Receives progress messages of a wait."""
    cancelled: threading.Event = field(default_factory=threading.Event)


class Caller:
    """Carries out calls in one folder; several at once. Holds the run that it began last."""

    def __init__(self, folder: Path, environ: Mapping[str, str], plan: str = "") -> None:
        self._folder, self._environ = folder, dict(environ)
        if plan:
            self._environ["RUNNER_BUILD_TASK_GRAPH"] = plan
        self._run: OwnCommand | None = None
        self._lock = threading.Lock()

    def carry_out(self, call: Call) -> CallResult:
        """Carry out a call and return its result. Raises InputError for invalid arguments."""
        arguments = call.tool.check(call.arguments)
        if call.tool.name == "wait":
            return self._wait(call, arguments)
        words = call.tool.words(arguments)
        if call.tool.changes and not arguments.get("dry_run"):
            return self._begin(words)
        return self._ask(words, call.cancelled)

    def _ask(self, words: list[str], cancelled: threading.Event) -> CallResult:
        """Run a read-only command and return its output."""
        command = OwnCommand(words, self._folder, self._environ)
        try:
            while command.wait(_LOOK) is None:
                if cancelled.is_set():
                    command.end()
                    return CallResult(None, "cancelled", failed=True)
            # One byte over the limit shows that there is more.
            return _answer_of(*command.read(MOST_BYTES + 1))
        finally:
            command.forget()

    def _begin(self, words: list[str]) -> CallResult:
        """Begin a run that outlives us; what refuses to begin says so at once."""
        # Until the run holds its own lock: a second call waits here, and that lock then rejects its
        # run.
        with self._lock:
            began = OwnCommand(words, self._folder, self._environ, stays=True)
            until = effects.monotonic() + _BEGINS_WITHIN
            while (code := began.wait(_LOOK)) is None and effects.monotonic() < until:
                holder = self._holder()
                if holder is not None and holder.pid == began.pid:
                    break
            if code is not None:
                return self._describe_end(began, code)
            if self._run is not None:
                self._run.forget()
            self._run = began
        document = {"running": True, "pid": began.pid, "next": "call wait, then status or why"}
        return CallResult(document, json.dumps(document))

    def _wait(self, call: Call, arguments: Mapping[str, object]) -> CallResult:
        seconds = arguments.get("seconds", _WAITED)
        assert isinstance(seconds, int)  # checked against the schema
        until = effects.monotonic() + seconds
        while self._runs():
            if effects.monotonic() >= until:
                document = {"running": True, "next": "call wait again"}
                return CallResult(document, json.dumps(document))
            call.tell("the run is still active")
            if call.cancelled.wait(min(_LOOK * 8, max(0.0, until - effects.monotonic()))):
                return CallResult(None, "cancelled; the run continues", failed=True)
        ended = self._take_ended()
        if ended is not None:
            return self._describe_end(*ended)
        return self._ask(["status", "--json"], call.cancelled)

    def _take_ended(self) -> tuple[OwnCommand, int] | None:
        """Return the run that we began, with its exit code; only once."""
        with self._lock:
            code = None if self._run is None else self._run.wait(0)
            if self._run is None or code is None:  # another call has begun one at this moment
                return None
            ended, self._run = self._run, None
            return ended, code

    def _runs(self) -> bool:
        """Return whether a run is active or starting, from this server or elsewhere."""
        if self._lock.locked():
            return True
        ours = self._run is not None and self._run.wait(0) is None
        return ours or self._holder() is not None

    def _holder(self) -> Holder | None:
        """Return the holder of the project's run lock. Raises RunnerError without a project."""
        from runner.project import BUILD, Project

        project = Project.open(self._folder, self._environ, plan_needed=False)
        return lock.RunLock(project.root / BUILD).holder()

    def _describe_end(self, ended: OwnCommand, code: int) -> CallResult:
        """Return how a run ended: its summary, and the end of its output."""
        output, errors = ended.read(MOST_BYTES + 1)
        ended.forget()
        text = display(errors[-_LONGEST_OUTPUT:].decode("utf-8", "replace"), lines=True)
        document: dict[str, object] = {"running": False, "exit": code, "said": text}
        document["summary"] = _parse(output)
        return CallResult(document, json.dumps(document), failed=document["summary"] is None)


def _parse(output: bytes) -> dict[str, object] | None:
    try:
        document = json.loads(output)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _answer_of(output: bytes, errors: bytes) -> CallResult:
    """Return the JSON document that a command printed, or the reason for none."""
    if len(output) > MOST_BYTES:
        more = f"more than {MOST_BYTES >> 20} MB; ask for one status, one task or a smaller limit"
        return CallResult(None, f"the answer is {more}", failed=True)
    document = _parse(output)
    if document is None:
        text = display(errors.decode("utf-8", "replace"), lines=True).strip()
        return CallResult(None, text or "the command printed nothing", failed=True)
    return CallResult(document, json.dumps(document, separators=(",", ":")))


class ServedTool(NamedTuple):
    """One tool: what it is called, what it takes, and how its command line begins."""

    name: str
    description: str
    fields: Mapping[str, Field]
    begins: tuple[str, ...]
    changes: bool
    """Whether it builds something instead of only reading."""

    def document(self) -> dict[str, object]:
        """Return the tool as `tools/list` gives it."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": {
                **describe_input(self.fields),
                "additionalProperties": False,
            },
            "annotations": {
                "readOnlyHint": not self.changes,
                "destructiveHint": False,
                "idempotentHint": not self.changes,
                "openWorldHint": False,
            },
        }

    def check(self, arguments: object) -> Mapping[str, object]:
        """Return the arguments, if the tool takes them. Raises InputError."""
        return check_input(self.name, self.fields, arguments)

    def words(self, arguments: Mapping[str, object]) -> list[str]:
        """Return the command line that answers."""
        given = [(self.fields[name], value) for name, value in arguments.items()]
        options = [one for field, value in given if field.flags for one in _option(field, value)]
        places = [one for field, value in given if not field.flags for one in _values(value)]
        return [*self.begins, "--json", *options, *(["--", *places] if places else [])]


def _option(field: Field, value: object) -> Iterator[str]:
    if field.kind is bool:
        yield from [field.flags[-1]] if value else []
    else:
        yield from (f"{field.flags[-1]}={one}" for one in _values(value))


def _values(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]


TOOLS = {
    tool.name: ServedTool(
        tool.name,
        tool.description,
        choose_fields(row, tool.fields),
        tool.words or tuple(row.name.split()),
        tool.effects != "reads",
    )
    for row in TABLE.values()
    for tool in row.tools
}
