"""Offer the tools of MCP servers (Model Context Protocol over stdio) to a model.

A small client of the protocol's `stdio` transport (revision 2025-06-18: JSON-RPC 2.0, a message
a line): it greets, lists tools, calls them, and answers pings. The server runs in the sandbox
like any other command. Its words are material, bounded and redacted like every tool's answer.
"""

from __future__ import annotations

import json
import os
import shlex
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner import __version__, effects
from runner.errors import RunnerError
from runner.implementers.agents.home import is_secret
from runner.implementers.base import CHECK
from runner.implementers.command import read_regular
from runner.model import Finding, Severity
from runner.process.base import Command
from runner.process.interactive import InteractiveProcess, InteractiveProcessOver
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from runner.config.setting_values import McpServer
    from runner.config.settings import Settings
    from runner.extensions.llm.tool_context import ToolContext
    from runner.extensions.llm.tools import Given

PROTOCOL = "2025-06-18"
_STARTING = 60.0
"""Timeout of a server's first answer: some servers are downloaded first."""
_MOST_TOOLS = 100
_MOST_PAGES = 20
_LONGEST_PURPOSE = 1_000
_LONGEST_NAME = 64
"""Maximum length of a tool's name that every provider accepts."""
_MOST_WORDS, _LAST_LINES, _LONGEST_WORDS = 65_536, 3, 600
"""Bytes kept of a server's log; lines and characters of it in an error."""
_NO_SUCH_METHOD = -32601


class McpError(RunnerError):
    """A server that cannot be used."""


class McpTool(Struct, frozen=True):
    """One tool of a server, under the name `mcp__server__tool`."""

    client: McpClient
    server: str
    own_name: str
    purpose: str
    schema: dict[str, object]
    once: bool = True
    """Whether its effects are unknown: a repeated call is not sent again."""

    @property
    def name(self) -> str:
        """Name for the model and in permission rules."""
        return f"mcp__{self.server}__{self.own_name}"

    def subject(self, given: Given) -> str:
        """Return the arguments as JSON."""
        return json.dumps(dict(given), sort_keys=True, ensure_ascii=False)

    def call(self, given: Given) -> str:
        """Call the tool and return the response; a failure of the tool is returned as text."""
        try:
            return self.client.call(self.own_name, given)
        except McpError as error:
            return f"failed: {error.message}"


class McpClient:
    """A server that runs; an open resource until `close`. Raises McpError."""

    def __init__(self, server: McpServer, context: ToolContext) -> None:
        self._server = server
        self._number = 0
        self._context = context
        attempt = context.attempt
        folder = attempt.place.box / f"mcp-{effects.new_id()}"
        effects.make_folder(folder)
        self._words = folder / "words"
        command = Command(
            # Its log is no message: keep it out of the message stream.
            line=("/bin/sh", "-c", _server_with_log(server.command, self._words)),
            place=attempt.place,
            environment={**attempt.environment, **_own(server)},
            network=context.settings.network_for(server.network),
            limits=replace(attempt.limits, hard=0.0),
            known_secrets=context.known_secrets,
        )
        try:
            self._dialogue = InteractiveProcess(command, attempt.sandbox, attempt.cancelled)
        except (OSError, ValueError) as error:
            raise self._error(f"cannot be started: {error}") from error
        try:
            self._greet()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stop the server and remove its output."""
        self._dialogue.close()
        effects.step("rmtree", self._words.parent)
        with suppress(OSError):
            effects.remove_tree(self._words.parent)

    def tools(self) -> tuple[McpTool, ...]:
        """Return the server's tools, reading page by page."""
        found: list[McpTool] = []
        asked: dict[str, object] = {}
        for _ in range(_MOST_PAGES):
            page = self._ask("tools/list", asked)
            listed = page.get("tools")
            found += filter(None, map(self._tool, listed if isinstance(listed, list) else ()))
            if not page.get("nextCursor") or len(found) >= _MOST_TOOLS:
                break
            asked = {"cursor": page["nextCursor"]}
        return tuple(found[:_MOST_TOOLS])

    def call(self, tool: str, given: Given) -> str:
        """Call one of its tools. Raises McpError."""
        answer = self._ask("tools/call", {"name": tool, "arguments": dict(given)})
        content = answer.get("content")
        parts = [_format_part(part) for part in content] if isinstance(content, list) else []
        if not parts and answer.get("structuredContent") is not None:
            parts = [json.dumps(answer["structuredContent"], ensure_ascii=False)]
        text = "\n".join(parts) or "(no answer)"
        return f"failed: {text}" if answer.get("isError") else text

    # --- the protocol -----------------------------------------------------------------

    def _greet(self) -> None:
        who = {"name": "task-graph-runner", "version": __version__}
        self._ask(
            "initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": who}
        )
        # Before this a server should send only pings (MCP, "Lifecycle").
        self._send({"method": "notifications/initialized"})

    def _ask(self, method: str, params: Mapping[str, object]) -> dict[str, object]:
        """Send a request and return its result. Raises McpError."""
        self._number += 1
        number = self._number
        self._send({"id": number, "method": method, "params": params})
        called = method == "tools/call"
        until = effects.monotonic() + (self._server.seconds if called else _STARTING)
        while True:
            message = self._next(until - effects.monotonic())
            if "method" in message:
                self._answer(message)
            elif message.get("id") == number:
                break
        error, result = message.get("error"), message.get("result")
        if isinstance(error, dict):
            raise self._error(f"rejected {method}: {display(_error_message(error))}")
        return result if isinstance(result, dict) else {}

    def _answer(self, message: Mapping[str, object]) -> None:
        """Answer what the server asks: a ping, and nothing else."""
        if "id" not in message:
            return  # it only tells something
        if message["method"] == "ping":
            self._send({"id": message["id"], "result": {}})
        else:
            unknown = {"code": _NO_SUCH_METHOD, "message": "this client supports only ping"}
            self._send({"id": message["id"], "error": unknown})

    def _send(self, message: Mapping[str, object]) -> None:
        try:
            line = json.dumps({"jsonrpc": "2.0", **message}).encode()
            self._dialogue.say(line, self._server.seconds)
        except InteractiveProcessOver as over:
            raise self._error(str(over)) from over

    def _next(self, seconds: float) -> dict[str, object]:
        """Return the next JSON message and skip other lines. Raises an error at the end."""
        until = effects.monotonic() + seconds
        while True:
            try:
                line = self._dialogue.hear(max(0.0, until - effects.monotonic()))
            except InteractiveProcessOver as over:
                raise self._error(str(over)) from over
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(message, dict):
                return message

    def _tool(self, listed: object) -> McpTool | None:
        if not isinstance(listed, dict) or not isinstance(listed.get("name"), str):
            return None
        name = listed["name"]
        full = f"mcp__{self._server.name}__{name}"
        plain = all(one.isascii() and (one.isalnum() or one in "_-") for one in name)
        if not (name and plain) or len(full) > _LONGEST_NAME:
            return None  # no provider takes such a name
        schema = listed.get("inputSchema")
        safe = self._context.safe(str(listed.get("description") or ""))  # half a key fits no shape
        purpose = display(safe, lines=True)[:_LONGEST_PURPOSE]
        whole = schema if isinstance(schema, dict) else {"type": "object", "properties": {}}
        return McpTool(self, self._server.name, name, purpose, whole)

    def _error(self, message: str) -> McpError:
        hint = f"run it yourself: {self._server.command}"
        words = self._last_words()
        safe = (
            f"{self._context.safe(message)}; its output: {words}"
            if words
            else self._context.safe(message)
        )
        return McpError(f"the MCP server {self._server.name} {safe}", hint=hint)

    def _last_words(self) -> str:
        """Return the end of the server's standard error."""
        text = (read_regular(self._words) or b"").decode("utf-8", "replace")
        safe = redact(text, self._context.known_secrets)  # a key has more lines than are shown
        lines = [line.strip() for line in safe.splitlines() if line.strip()]
        return display(" | ".join(lines[-_LAST_LINES:]))[-_LONGEST_WORDS:]


@contextmanager
def tools_of_servers(
    context: ToolContext,
) -> Iterator[tuple[tuple[McpTool, ...], tuple[Finding, ...]]]:
    """Start the configured servers, and yield their tools and a warning for each one that fails."""
    found: list[McpTool] = []
    warnings: list[Finding] = []
    with ExitStack() as running:
        for server in context.settings.mcp:
            try:
                client = McpClient(server, context)
                running.callback(client.close)
                found += client.tools()
            except McpError as error:
                message = f"{error.message}: the model works without this server's tools"
                warnings.append(Finding(CHECK, message, severity=Severity.WARNING, hint=error.hint))
        yield tuple(found), tuple(warnings)


def _server_with_log(command: str, words: Path) -> str:
    """Return a command line that keeps the server's standard error in a bounded file."""
    file = shlex.quote(str(words))
    # `cat` reads beyond the limit: otherwise SIGPIPE would end a server that logs a lot.
    keep = f"head -c {_MOST_WORDS} > {file}; cat > /dev/null"
    return f"exec 3>&1; {{ {command}\n}} 2>&1 >&3 3>&- | {{ exec 3>&-; {keep}; }}"


def _error_message(error: Mapping[str, object]) -> str:
    """Return the message of a JSON-RPC error with its data if that is text."""
    data = error.get("data")
    return ": ".join([str(error.get("message")), *([data] if isinstance(data, str) else [])])


def find_secrets(settings: Settings) -> Iterator[str]:
    """Yield the secret values in the environment variables of MCP servers, for redaction."""
    for server in settings.mcp:
        yield from (value for name, value in _own(server).items() if is_secret(name, value))


def _own(server: McpServer) -> dict[str, str]:
    """Return the environment variables of a server."""
    return {name: os.environ[name] for name in server.env if name in os.environ}


def _format_part(part: object) -> str:
    """Return one part of an answer as text, or a note on its type."""
    if not isinstance(part, dict):
        return ""
    if part.get("type") == "text":
        return str(part.get("text", ""))
    resource = part.get("resource")
    if isinstance(resource, dict) and isinstance(resource.get("text"), str):
        return str(resource["text"])
    return f"({display(str(part.get('type')))}, not shown)"
