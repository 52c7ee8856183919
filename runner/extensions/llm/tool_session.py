"""One session of a model: count, check and report each tool call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner import effects
from runner.config.permissions import FILE_TOOLS, WRITE_TOOLS, format_subject, write_tool
from runner.config.shell_rules import SHELL, Permit, command_of
from runner.errors import RunnerError
from runner.extensions.llm.tool_context import ToolRefusal
from runner.extensions.llm.tools import BadArgumentsError
from runner.implementers.agents.transcript import LOOP, Calls, ToolCall
from runner.implementers.base import CHECK
from runner.journal.session_events import ToolCalled, ToolReturned
from runner.model import Digest, Finding, digest_of
from runner.secrets.redact import redact
from runner.text.display import display
from runner.writes.paths import check_path
from runner.writes.safe_io import mode_below

if TYPE_CHECKING:
    from runner.config.shell_rules import Word
    from runner.extensions.llm.tool_context import ToolContext
    from runner.extensions.llm.tools import Given, SessionTool

BUDGET = "budget"
"""Check name of the finding for a reached limit."""
_LONGEST_LINE = 200
MOST_REFUSED = 10
"""Consecutive refused calls: a session that keeps varying its requests is still stuck."""
_FAILED = ("failed: ", "not shown: ", "not recorded: ")
"""Prefixes of answers of tools that did not do what was requested."""


class SessionEnded(Exception):  # noqa: N818 - the word for what happened
    """The session must not go on; the finding says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


class ToolSession(Struct):
    """Holds what happened so far; one for each attempt."""

    context: ToolContext
    tools: dict[str, SessionTool]
    calls: Calls = field(default_factory=Calls)
    count: int = 0
    answered: dict[str, tuple[Digest, str]] = field(default_factory=dict)
    """Calls by ID, with the answer if the call changed something."""
    ids_tell: bool = True
    """Whether an ID identifies one call; some servers restart IDs with each answer."""
    refused: int = 0
    """Number of consecutive refused calls."""
    ended: Finding | None = None
    """Why the session must end, in case the model's client hides the reason."""
    transcript: list[str] = field(default_factory=list)
    """The model's text and calls, line by line, for the log."""

    def call(self, name: str, call_id: str, given: Given) -> str:
        """Answer one call. Raises SessionEnded where nothing more may be done."""
        tool = self.tools[name]
        text = json.dumps(dict(given), sort_keys=True, default=str)
        arguments = digest_of(text.encode())
        if (known := self._find_repeated(tool, call_id, arguments)) is not None:
            return known
        about = self.context.safe(tool.subject(given))
        self._hold(ToolCall(name, arguments, about))
        recorded = digest_of(redact(text, self.context.known_secrets).encode())  # of no secret
        path = display(about)[:_LONGEST_LINE] if name in FILE_TOOLS else ""
        self.context.attempt.record(ToolCalled(name, recorded, path=path))
        line = display(f"{name} {about}".strip())[:_LONGEST_LINE]
        self.context.attempt.tell(line)
        began, outcome = effects.monotonic(), "failed"
        try:
            result = self._answer(tool, given)
            answer = self.context.safe(result)
            outcome = _outcome(result)
            self.transcript.append(f"> {line}: {display(answer)[:_LONGEST_LINE]}")
        finally:
            seconds = round(effects.monotonic() - began, 3)
            self.context.attempt.record(ToolReturned(name, recorded, seconds, outcome))
        self.answered[call_id] = (arguments, answer if tool.once else "")
        self._count_refusal(result)
        return answer

    def _count_refusal(self, result: str) -> None:
        self.refused = self.refused + 1 if isinstance(result, ToolRefusal) else 0
        if self.refused >= MOST_REFUSED:
            message = f"{MOST_REFUSED} calls in a row were refused"
            self.end(Finding(LOOP, message, hint="instead, say what is missing"))

    def end(self, finding: Finding) -> None:
        """End the session; the finding is stored in case a library swallows the exception."""
        self.ended = finding
        raise SessionEnded(finding)

    def check_ended(self) -> None:
        """Raise SessionEnded if the session has ended."""
        if self.ended is not None:
            raise SessionEnded(self.ended)

    def _find_repeated(self, tool: SessionTool, call_id: str, arguments: Digest) -> str | None:
        """Return the earlier answer to a repeated call of a `once` tool; None for a new call."""
        before, answer = self.answered.get(call_id, (arguments, ""))
        self.ids_tell = self.ids_tell and before == arguments
        return answer if tool.once and self.ids_tell and answer else None

    def _hold(self, call: ToolCall) -> None:
        """Count the call, and end what goes in a circle or beyond the budget."""
        self.check_cancelled()
        most = self.context.attempt.left.tool_calls
        if most is not None and self.count >= most:
            raise SessionEnded(make_limit_finding(f"{most} tool calls"))
        self.count += 1
        self.calls = self.calls.after(call)
        if finding := self.calls.finding:
            raise SessionEnded(finding)

    def check_cancelled(self) -> None:
        """Raise SessionEnded if the run was cancelled."""
        if self.context.attempt.cancelled.is_set():
            raise SessionEnded(Finding(CHECK, "the model's session was cancelled"))

    def _answer(self, tool: SessionTool, given: Given) -> str:
        if refused := self._not_permitted(tool, given):
            return ToolRefusal(refused)
        try:
            return tool.call(given)
        except BadArgumentsError as error:
            return ToolRefusal(f"invalid arguments for {tool.name}: {error}")
        finally:
            self.context.answers[:] = [one for one in self.context.answers if not one.once]

    def _not_permitted(self, tool: SessionTool, given: Given) -> str:
        """Return why the permission rules forbid this call; empty if they allow it."""
        subject = tool.subject(given)
        names = dict.fromkeys((tool.name, self._effective_tool(tool.name, subject)))
        calls = [(name, subject) for name in names]
        if command := command_of(tool.name, given):  # a tool of an MCP server that is a shell
            calls.append((SHELL, command))
        return next(filter(None, (self._refusal(*call) for call in calls)), "")

    def _effective_tool(self, tool: str, path: str) -> str:
        """Return the tool whose rules apply to a write: `write_file` for a new file."""
        if tool not in WRITE_TOOLS or check_path(path, 0, kind="delete"):
            return tool
        try:
            return write_tool(is_new=mode_below(self.context.project, path) is None)
        except RunnerError:  # something else stands in the way: the write itself will say so
            return tool

    def _refusal(self, tool: str, subject: str) -> str:
        """Return why the rules or a person forbid one call; empty if they allow it."""
        word = self.context.book.word(tool, subject)
        if word.permit is Permit.ASK and self.context.attempt.reviewed and tool in WRITE_TOOLS:
            return ""  # a person sees the very bytes before they land
        if word.permit is Permit.ASK:
            word = self._ask(word, tool, subject)
        if word.permit is Permit.ALLOW:
            return ""
        if word.permit is Permit.DENY and word.reason:
            return f"denied: a person does not allow {tool} {subject}: {word.reason}"
        if word.permit is Permit.DENY:
            return f"denied: {word} does not allow {tool} {subject}"
        return (
            f"denied for now: {word} needs a person's approval for {tool} {subject}, and nobody is "
            "available; the runner asks later. Try another way, or say at the end what is missing"
        )

    def _ask(self, word: Word, tool: str, subject: str) -> Word:
        """Ask a person and return the decision; the same decision if no person can answer."""
        exact = format_subject(tool, subject, self.context.known_secrets)
        answer = self.context.attempt.ask(tool, exact, str(word))
        if answer is None:
            return word
        self.context.answers.append(answer)
        return self.context.book.word(tool, subject)


def make_limit_finding(what: str) -> Finding:
    """Return the finding for an exhausted limit."""
    return Finding(
        BUDGET,
        f"the budget is used up: {what}",
        hint="give the task a larger Budget, or make it smaller",
    )


def _outcome(result: str) -> str:
    """Return the outcome of a call by its answer."""
    if isinstance(result, ToolRefusal):
        return "refused"
    return "failed" if result.startswith(_FAILED) else "ok"
