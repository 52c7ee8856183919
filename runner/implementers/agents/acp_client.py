"""Run one session of the Agent Client Protocol (version 1) inside the sandbox.

Started as `python -m …acp_client`, with the prompt on standard input, it starts the agent and sends
it the prompt. It answers the agent's requests by the rules beside it, and prints the results as
JSON lines for `output_parsers`. The agent gets no files and no terminals: the runner diffs the
tree. `runner hook` judges writes and commands, as it does for every other program; the permission
rules alone judge the rest.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec import Struct, field

from runner.config.shell_rules import Permit
from runner.implementers.agents.preset import ACP_COMMAND
from runner.lazy_module import lazy_module
from runner.process.interactive import Dialogue
from runner.process.own_command import OwnCommand

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import FrameType

    from runner.implementers.agents import hooks
else:
    hooks = lazy_module("runner.implementers.agents.hooks")

VERSION = 1

# The protocol's own code for a missing login; the two below are JSON-RPC 2.0's (section 5.1).
_LOGIN = -32000
_NO_METHOD, _BAD_PARAMS = -32601, -32602
_LONGEST_TEXT = 2_000
_MOST_ASKED = 500
_STOPS = {
    "max_tokens": "it stopped at its limit of tokens",
    "max_turn_requests": "it stopped at its limit of requests in one turn",
    "refusal": "it refuses to go on",
    "cancelled": "it was cancelled",
}
_TO_END = 3
"""Seconds for an agent to end after its session was cancelled."""
_WRITES = frozenset({"edit", "delete", "move"})
_SECONDS = 60.0
_TOOLS = {"read": "read_file", "search": "search"}
_PATHS = ("file_path", "filePath", "path", "absolute_path", "notebook_path")
_CONTENT = frozenset({"content", "file_text", "old_string", "edits"})
_LONGEST = 2_000


class _Over(Exception):  # noqa: N818 - no error: the session's end
    """The session cannot go on; its words say why."""


class _Asked(Exception):  # noqa: N818 - the same
    """Somebody wants the session to end."""


class _Refusal(Struct, frozen=True):
    """An error that the agent answered with."""

    code: object
    words: str

    def end(self, doing: str) -> NoReturn:
        """End the session with this error."""
        if self.code == _LOGIN:
            raise _Over(f"not logged in: {self.words}")
        raise _Over(f"{doing}: {self.words}")


def emit(kind: str, **fields: object) -> None:
    """Print one event."""
    sys.stdout.write(json.dumps({"type": f"acp.{kind}", **fields}) + "\n")
    sys.stdout.flush()


def log(line: str) -> None:
    """Print a line that is no event."""
    if line.strip():
        sys.stdout.write(f"log: {line}\n")
        sys.stdout.flush()


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _rows(value: object) -> Iterator[Mapping[str, Any]]:
    yield from (one for one in value if isinstance(one, dict)) if isinstance(value, list) else ()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


class Client(Struct):
    """The session and its agent."""

    wire: Dialogue
    folder: str
    """The project's folder, as the agent sees it."""
    rules: str = ""
    """File of the rules that the hook also reads."""
    model: str = ""
    session: str = ""
    _number: int = 0
    _asked: int = 0
    _text: str = ""
    _is_within: bool = False
    """Whether part of a message was printed, but not its end."""
    _calls: dict[str, dict[str, Any]] = field(default_factory=dict)

    # --- the course -------------------------------------------------------------------

    def hold(self, prompt: str) -> None:
        """Open a session, send the prompt and handle messages to the end. Raises _Over."""
        known = self._initialize()
        opened = self._open(known)
        self.session = _text(opened.get("sessionId"))
        if not self.session:
            raise _Over("its session has no ID")
        if self.model:
            self._choose_model(opened)
        content = [{"type": "text", "text": prompt}]
        done = self.request("session/prompt", {"sessionId": self.session, "prompt": content})
        self.flush()
        if isinstance(done, _Refusal):
            done.end("it could not answer")
        usage = _object(done.get("usage"))
        if usage:
            emit("usage", **{name: usage.get(name) for name in usage})
        reason = _text(done.get("stopReason"))
        if reason != "end_turn":
            raise _Over(_STOPS.get(reason, f"it stopped: {reason or 'no reason given'}"))
        emit("end")

    def cancel(self) -> None:
        """Notify the agent that the session is cancelled."""
        if self.session:
            self._send({"method": "session/cancel", "params": {"sessionId": self.session}})

    def _initialize(self) -> Mapping[str, Any]:
        # An agent may not use capabilities that the client does not offer (Agent Client Protocol,
        # "Initialization"): it writes files itself, inside the sandbox.
        can = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        who = {"name": "runner", "title": "runner", "version": "1"}
        asked = {"protocolVersion": VERSION, "clientCapabilities": can, "clientInfo": who}
        known = self.request("initialize", asked)
        if isinstance(known, _Refusal):
            known.end("it failed to initialize")
        version = known.get("protocolVersion")
        # In Python `true` equals 1. A client that lacks the answered version ends the session (ACP,
        # "Initialization").
        if version != VERSION or isinstance(version, bool):
            raise _Over(f"it speaks version {version} of the protocol, the runner {VERSION}")
        emit("began", agent=_text(_object(known.get("agentInfo")).get("name")))
        return known

    def _open(self, known: Mapping[str, Any]) -> Mapping[str, Any]:
        """Open a session, and authenticate only with keys in the environment."""
        asked = {"cwd": self.folder, "mcpServers": []}
        opened = self.request("session/new", asked)
        for method in _methods_of_keys(known):
            if not isinstance(opened, _Refusal) or opened.code != _LOGIN:
                break
            if not isinstance(self.request("authenticate", {"methodId": method}), _Refusal):
                opened = self.request("session/new", asked)
        if isinstance(opened, _Refusal):
            opened.end("it failed to open a session")
        return opened

    def _choose_model(self, opened: Mapping[str, Any]) -> None:
        """Select the model of the settings. Raises _Over if the agent does not offer it."""
        session, wanted = self.session, self.model
        offered = _object(opened.get("models")).get("availableModels")
        if wanted in {_text(one.get("modelId")) for one in _rows(offered)}:
            asked = {"sessionId": session, "modelId": wanted}
            done = self.request("session/set_model", asked)
        else:
            option = next(_options_of_models(opened, wanted), "")
            if not option:
                raise _Over(f"model {wanted} does not exist for this agent")
            asked = {"sessionId": session, "configId": option, "value": wanted}
            done = self.request("session/set_config_option", asked)
        if isinstance(done, _Refusal):
            done.end(f"model {wanted} is not supported")

    # --- the wire ---------------------------------------------------------------------

    def request(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any] | _Refusal:
        """Send a request and return its result or error; handles other messages meanwhile."""
        self._number += 1
        number = self._number
        self._send({"id": number, "method": method, "params": params})
        while True:
            row = self._next()
            if "method" in row:
                self._hear(row)
            elif row.get("id") == number and not isinstance(row.get("id"), bool):
                if "error" in row:
                    return _refusal(row["error"])
                return _object(row.get("result"))

    def _send(self, row: Mapping[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **row}).encode()
        if not self.wire.say(line):
            raise _Over(self._gone())

    def _next(self) -> Mapping[str, Any]:
        """Return the next JSON message and skip other lines."""
        while (line := self.wire.read()) is not None:
            try:
                row = json.loads(line) if line.lstrip().startswith(b"{") else None
            except (ValueError, RecursionError):
                row = None
            if isinstance(row, dict):
                return row
            log(line.decode("utf-8", "replace"))
        raise _Over(self._gone())

    def _gone(self) -> str:
        code = self.wire.end()
        last = [line for line in self.wire.last_errors.splitlines() if line.strip()]
        why = f": {last[-1].strip()}" if last else ""
        return f"the agent ended with exit {code} before it answered{why}"

    # --- what the agent says ------------------------------------------------------------

    def _hear(self, row: Mapping[str, Any]) -> None:
        method, params = row.get("method"), _object(row.get("params"))
        # Without an ID it is a notification, which gets no response (JSON-RPC 2.0, 4.1).
        if "id" not in row:
            if method == "session/update" and params.get("sessionId") == self.session:
                self._update(_object(params.get("update")))
            return
        if method == "session/request_permission":
            self._permit(row["id"], params)
            return
        message = f"{_text(method)} is not supported: read and write files in the working folder"
        self._send({"id": row["id"], "error": {"code": _NO_METHOD, "message": message}})

    def _permit(self, number: object, params: Mapping[str, Any]) -> None:
        """Answer a question by the rules. Raises _Over where it asks without end."""
        self.flush()
        self._asked += 1
        if self._asked > _MOST_ASKED:
            raise _Over(f"it asked for permission more than {_MOST_ASKED} times")
        options = list(_rows(params.get("options")))
        call = _object(params.get("toolCall"))
        if params.get("sessionId") != self.session or not options or not call:
            error = {"code": _BAD_PARAMS, "message": "this permission request is not valid"}
            self._send({"id": number, "error": error})
            return
        key = _text(call.get("toolCallId"))
        # A request may contain only new fields of its call; the rest came with earlier updates.
        whole = {**self._calls.get(key, {}), **{n: v for n, v in call.items() if v is not None}}
        answer = answer_permission(PermissionQuestion(whole, self.folder, self.rules), options)
        emit("permission", title=_text(whole.get("title")), **answer.event)
        self._send({"id": number, "result": {"outcome": answer.outcome}})

    def _update(self, update: Mapping[str, Any]) -> None:
        kind = update.get("sessionUpdate")
        if kind == "agent_message_chunk":
            content = _object(update.get("content"))
            if content.get("type") == "text":
                self._say(_text(content.get("text")))
            return
        self.flush()
        if kind in ("tool_call", "tool_call_update"):
            self._call(update)
        elif kind == "plan":
            rows = [_text(one.get("content")) for one in _rows(update.get("entries"))]
            emit("plan", entries=rows[:50])
        elif kind == "usage_update":
            cost = _object(update.get("cost"))
            dollars = cost.get("amount") if cost.get("currency") == "USD" else None
            emit("context", used=update.get("used"), dollars=dollars)
        else:
            emit("update", name=_text(kind))

    def _call(self, update: Mapping[str, Any]) -> None:
        key = _text(update.get("toolCallId"))
        if not key:
            return
        known = self._calls.setdefault(key, {})
        known.update({name: value for name, value in update.items() if value is not None})
        status = known.get("status")
        if update.get("sessionUpdate") == "tool_call" or status in ("completed", "failed"):
            places = [_text(one.get("path")) for one in _rows(known.get("locations"))]
            about = {"path": places[0]} if places else {}
            raw = known.get("rawInput")
            named = _text(known.get("title")) or _text(known.get("kind")) or "tool"
            emit("call", id=key, name=named, arguments={**about, **_object(raw), "title": named})
        if status in ("completed", "failed"):
            emit("return", id=key, failed=status == "failed")

    def _say(self, text: str) -> None:
        """Print whole lines of the chunks, and the rest at the next event."""
        self._text += text
        if "\n" in text or len(self._text) > _LONGEST_TEXT:
            self.flush(ends=False)

    def flush(self, *, ends: bool = True) -> None:
        """Print the collected text; `ends` where the message is over."""
        if self._text:
            emit("text", text=self._text)
            self._text, self._is_within = "", True
        if ends and self._is_within:
            emit("message")
            self._is_within = False


def _refusal(error: object) -> _Refusal:
    fields = _object(error)
    words = _text(fields.get("message")) or "no reason given"
    data = fields.get("data")
    more = data if isinstance(data, str) else json.dumps(data) if data else ""
    return _Refusal(fields.get("code"), f"{words} {more}".strip()[:_LONGEST_TEXT])


def _methods_of_keys(known: Mapping[str, Any]) -> Iterator[str]:
    """Yield login methods that use a key in the environment and need no person."""
    for one in _rows(known.get("authMethods")):
        names = [_text(row.get("name")) for row in _rows(one.get("vars"))]
        id_ = _text(one.get("id"))
        words = f"{id_} {_text(one.get('name'))} {_text(one.get('description'))}"
        named = [name for name in os.environ if name.endswith("_API_KEY") and name in words]
        is_of_gemini = id_ == "gemini-api-key" and "GEMINI_API_KEY" in os.environ
        if (names and all(os.environ.get(name) for name in names)) or named or is_of_gemini:
            yield id_


def _options_of_models(opened: Mapping[str, Any], wanted: str) -> Iterator[str]:
    for one in _rows(opened.get("configOptions")):
        if one.get("category") != "model" and one.get("id") != "model":
            continue
        groups = list(_rows(one.get("options")))
        rows = [*groups, *(row for group in groups for row in _rows(group.get("options")))]
        if wanted in {_text(row.get("value")) for row in rows}:
            yield _text(one.get("id"))


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise _Asked


def main(environ: Mapping[str, str]) -> int:
    """Run one session; exit code 0 if the agent finished, else 1."""
    prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    folder = str(Path.cwd())
    try:
        wire = Dialogue(("/bin/sh", "-c", environ.get(ACP_COMMAND, "")), folder, log)
    except OSError as error:
        emit("failed", message=f"the agent did not start: {error.strerror}")
        return 1
    client = Client(wire, folder, environ.get("RUNNER_HOOK", ""), environ.get("RUNNER_MODEL", ""))
    signal.signal(signal.SIGTERM, _stop)
    try:
        client.hold(prompt)
    except _Over as error:
        client.flush()
        emit("failed", message=str(error))
        wire.end()
        return 1
    except _Asked:
        _cancel_session(client)
        return 128 + signal.SIGTERM
    wire.end()
    return 0


def _cancel_session(client: Client) -> None:
    """Cancel the session and read the agent's output for a short time."""
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(_TO_END)
    try:
        client.cancel()
        while client.wire.read() is not None:
            pass
    except (_Asked, _Over):
        pass
    finally:
        signal.alarm(0)
        client.wire.end()


class PermissionQuestion(Struct, frozen=True):
    """One question."""

    call: Mapping[str, Any]
    """The tool call with all known fields."""
    folder: str
    rules: str


class PermissionReply(Struct, frozen=True):
    """The answer to an agent's permission request."""

    outcome: Mapping[str, str]
    event: Mapping[str, object]
    """Event for observers of the session: whether it is allowed, and why not."""


def answer_permission(
    asked: PermissionQuestion, options: Sequence[Mapping[str, Any]]
) -> PermissionReply:
    """Choose one of the agent's options; none of them where no fitting one is offered."""
    why = _refuse(asked)
    # "once" before "always": after a permanent answer the agent asks no more, and the rules are
    # bypassed.
    kinds = ("reject_once", "reject_always") if why else ("allow_once", "allow_always")
    for kind in kinds:
        for one in options:
            if one.get("kind") == kind and isinstance(one.get("optionId"), str):
                chosen = {"outcome": "selected", "optionId": one["optionId"]}
                return PermissionReply(chosen, {"allowed": not why, "why": why})
    return PermissionReply(
        {"outcome": "cancelled"}, {"allowed": False, "why": why or "it offered no matching answer"}
    )


def _refuse(asked: PermissionQuestion) -> str:
    """Return why a call is not allowed; empty if it is."""
    kind = asked.call.get("kind")
    raw = asked.call.get("rawInput")
    command = raw.get("command") or raw.get("cmd") if isinstance(raw, dict) else None
    if kind == "execute" or command:
        line = command or asked.call.get("title") or ""
        return _hook(asked, "bash", {"command": line})
    writes = list(_writes(asked.call))
    if kind in _WRITES or writes:
        if not writes:
            return "the request does not name the file that it would write"
        return next(filter(None, (_hook(asked, "write", one) for one in writes)), "")
    return _by_rules(asked, str(kind or "other"))


def _writes(call: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """Yield the writes of a call in the hook's format."""
    content = call.get("content")
    diffs = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
    found = False
    for one in diffs:
        path, new, old = one.get("path"), one.get("newText"), one.get("oldText")
        if one.get("type") != "diff" or not isinstance(path, str) or not isinstance(new, str):
            continue
        found = True
        if isinstance(old, str) and old:
            yield {"file_path": path, "old_string": old, "new_string": new}
        else:
            yield {"file_path": path, "content": new}
    raw = call.get("rawInput")
    if not found and isinstance(raw, dict) and _CONTENT & raw.keys() and {*_PATHS} & raw.keys():
        found = True
        yield raw
    if found or call.get("kind") not in _WRITES:
        return
    for path in dict.fromkeys(_places(call)):
        if call["kind"] == "delete":
            patch = f"*** Begin Patch\n*** Delete File: {path}\n*** End Patch"
            yield {"input": patch}
        else:  # its content is not known: the path alone is judged
            yield {"notebook_path": path}


def _places(call: Mapping[str, Any]) -> Iterator[str]:
    places = call.get("locations")
    for one in places if isinstance(places, list) else []:
        if isinstance(one, dict) and isinstance(one.get("path"), str) and one["path"]:
            yield one["path"]
    raw = call.get("rawInput")
    fields = raw if isinstance(raw, dict) else {}
    yield from (one for name in _PATHS if isinstance(one := fields.get(name), str) and one)


def _hook(asked: PermissionQuestion, tool: str, arguments: Mapping[str, object]) -> str:
    """Return the refusal of `runner hook` for a call; a failing hook refuses, too."""
    call = {"cwd": asked.folder, "tool_name": tool, "tool_input": arguments}
    with tempfile.TemporaryFile() as file:
        file.write(json.dumps(call).encode("utf-8", "replace"))
        file.seek(0)
        words = ("hook", "--rules", asked.rules)
        command = OwnCommand(words, Path(asked.folder), os.environ, stdin=file)
        try:
            code = command.wait(_SECONDS)
            if code == 0:
                return ""
            if code is None:
                command.end()
                return "the check of the permission rules took too long"
            return command.read(_LONGEST)[1].decode("utf-8", "replace").strip() or "refused"
        finally:
            command.forget()


def _by_rules(asked: PermissionQuestion, kind: str) -> str:
    """Return why the permission rules refuse a call other than a write or a shell line."""
    try:
        rules = hooks.Rules.read(Path(asked.rules))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "the file of permission rules cannot be read"
    if kind == "switch_mode" and not rules.writes:
        return "this session is read-only"
    raw = asked.call.get("rawInput")
    tool = _TOOLS.get(kind, str(asked.call.get("title") or kind))
    inside = (
        os.path.relpath(one, asked.folder) if one.startswith("/") else one
        for one in _places(asked.call)
    )
    subjects = list(inside) if kind in _TOOLS else [json.dumps(raw, sort_keys=True)]
    for subject in subjects or [""]:
        word = rules.book.word(tool, subject)
        if word.permit is not Permit.ALLOW:
            return f"{word} does not allow it"
    return ""


if __name__ == "__main__":
    sys.exit(main(os.environ))
