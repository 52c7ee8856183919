"""The messages of an agent session in any dialect, and how it ended.

Tool calls that go round in a circle are seen purely, for a model's loop and an agent's stream. A
session ends by itself, at a limit, in a circle, or with words that tell what failed.
"""

from __future__ import annotations

import json
import re
import signal
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner import effects
from runner.implementers.agents import preset
from runner.implementers.base import CHECK, WorkResult
from runner.implementers.command import failure
from runner.journal.session_events import ToolCalled, ToolReturned
from runner.model import Failure, Finding, Usage, digest_of
from runner.process.base import Ended
from runner.secrets.redact import redact_head
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runner.implementers.agents.preset import Sign
    from runner.implementers.base import Allowance, ImplementerContext
    from runner.journal.events import Event
    from runner.model import Digest
    from runner.process.base import Ran
    from runner.process.limits import Limits


LOOP = "loop"
"""Check name for repeated calls."""
IN_A_ROW = 3
_REMEMBERED = 4
_LONGEST = 120


class ToolCall(Struct, frozen=True):
    """One call of a tool; two are the same with the same name and arguments."""

    name: str
    arguments: Digest
    about: str = ""
    """Subject for display, such as a path. Already redacted."""

    def __str__(self) -> str:
        return display(f"{self.name} {self.about}".strip())[:_LONGEST]

    def same_as(self, other: ToolCall) -> bool:
        """Return whether both calls have equal names and arguments."""
        return (self.name, self.arguments) == (other.name, other.arguments)


class Calls(Struct, frozen=True):
    """The last calls of one session.

    Polling a long command is no loop: the caller does not pass that call to `after`.
    """

    last: tuple[ToolCall, ...] = ()

    def after(self, call: ToolCall) -> Calls:
        """Return the calls with one more."""
        return Calls((*self.last, call)[-_REMEMBERED:])

    @property
    def repeated(self) -> str:
        """Description of repeated calls; empty if there are none."""
        calls = self.last
        if len(calls) >= IN_A_ROW and all(calls[-1].same_as(call) for call in calls[-IN_A_ROW:]):
            return f"{calls[-1]} was called {IN_A_ROW} times in a row with the same arguments"
        if len(calls) < _REMEMBERED:
            return ""
        first, second, third, fourth = calls
        if first.same_as(third) and second.same_as(fourth):
            return f"{first} and {second} were called alternately with the same arguments"
        return ""

    @property
    def finding(self) -> Finding | None:
        """The finding that ends an attempt whose calls go in a circle."""
        if not (message := self.repeated):
            return None
        hint = "the same call gives the same result: change a file, or report what is missing"
        return Finding(LOOP, message, hint=hint)


_LONGEST_LINE = 200
_LONGEST_TEXT = 1 << 20
_PATHS = ("file_path", "filePath", "path", "absolute_path", "notebook_path")
_ABOUT = (*_PATHS, "command", "pattern")
"""Arguments that describe a call to a person; never one with content."""
_WAITING = ("wait", "sleep", "bashoutput", "taskoutput", "task_output", "write_stdin", "read_back")
"""Tools that poll a long command: repeated calls are no loop."""


class Transcript(Struct):
    """Grows line by line; an open notebook, thus not frozen."""

    record: Callable[[Event], None]
    tell: Callable[[str], None]
    known: tuple[str, ...] = ()
    """Secrets lent to the task: no recorded file name contains one."""
    text: str = ""
    """Its last message."""
    error: str = ""
    """The program's own error message."""
    hopeless: bool = False
    """Whether it continues although it cannot succeed."""
    ended: bool = False
    """Whether it completed its answer."""
    usage: Usage = field(default_factory=Usage)
    calls: Calls = field(default_factory=Calls)
    goes_on: bool = False
    """Whether its next text belongs to the same message."""
    circle: Finding | None = None
    """Set when its calls formed a loop."""
    _open: dict[str, ToolCall] = field(default_factory=dict)
    _began: dict[str, float] = field(default_factory=dict)
    _parts: dict[str, Usage] = field(default_factory=dict)

    def record_call(self, key: str, name: str, arguments: object) -> None:
        """Record a tool call, with a digest of its arguments and the file's name only."""
        if key in self._open:
            return
        call = ToolCall(
            display(name)[:_LONGEST_LINE], _digest(arguments), _find_text(arguments, _ABOUT)
        )
        self._open[key], self._began[key] = call, effects.monotonic()
        self.usage += Usage(tool_calls=1)
        path = display(redact_head(_find_text(arguments, _PATHS), _LONGEST_LINE, self.known))
        self.record(ToolCalled(call.name, call.arguments, self.usage, path))
        self.tell(str(call))
        if not any(word in name.lower() for word in _WAITING):
            self.calls = self.calls.after(call)
            self.circle = self.circle or self.calls.finding

    def record_return(self, key: str, *, failed: bool = False) -> None:
        """Record the return of a tool call, once."""
        began = self._began.pop(key, None)
        if (call := self._open.get(key)) is not None and began is not None:
            seconds = round(effects.monotonic() - began, 3)
            outcome = "failed" if failed else "ok"
            self.record(ToolReturned(call.name, call.arguments, seconds, outcome))

    def says(self, text: str, *, goes_on: bool = False) -> None:
        """Record a message; the last one counts in the end."""
        self.text = (self.text + text if goes_on else text)[-_LONGEST_TEXT:]
        if line := next((line for line in reversed(text.splitlines()) if line.strip()), ""):
            self.tell(display(line.strip())[:_LONGEST_LINE])

    def record_usage(self, key: str, usage: Usage) -> None:
        """Record tokens and cost of a part of the session; the same key again replaces them."""
        before = self._parts.get(key, Usage())
        self._parts[key] = usage
        self.usage = _less(self.usage, before) + usage

    def record_more_usage(self, usage: Usage) -> None:
        """Record tokens and cost of one more part of the session, which never comes again."""
        self.record_usage(f"part {len(self._parts)}", usage)

    def record_total_usage(self, usage: Usage) -> None:
        """Record tokens and cost of the whole session, which replace those of its parts."""
        self._parts = {}
        self.usage = Usage(
            usage.input_tokens, usage.output_tokens, usage.dollars, self.usage.tool_calls
        )

    def record_failure(self, text: str) -> None:
        """Record why the program cannot go on."""
        self.error = text[:_LONGEST_TEXT]


def _less(usage: Usage, part: Usage) -> Usage:
    return Usage(
        usage.input_tokens - part.input_tokens,
        usage.output_tokens - part.output_tokens,
        usage.dollars - part.dollars,
        usage.tool_calls - part.tool_calls,
    )


def _digest(arguments: object) -> Digest:
    content = json.dumps(arguments, sort_keys=True, ensure_ascii=False, default=str)
    return digest_of(content.encode("utf-8", "replace"))


def _find_text(arguments: object, names: tuple[str, ...]) -> str:
    """Return the first line of the first text argument with one of these names."""
    fields: Mapping[str, object] = arguments if isinstance(arguments, dict) else {}
    found = next((fields[name] for name in names if isinstance(fields.get(name), str)), "")
    return str(found).partition("\n")[0]


BUDGET = "budget"
_LONGEST_REASON = 200
_SIGNALLED = 128
_ENDED_BY_SOMEBODY = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL)
_EVENT = re.compile(r"[{\[]\s*(?:[\"{\]}]|$)")
"""Start of a JSON line, even a truncated one."""
_BROKEN = re.compile(
    r"^Traceback \(most recent call last\)|panicked at |^(?:Uncaught|Unhandled)|^[ \t]+at node:"
    r"|Segmentation fault|core dumped|^fatal error: ",
    re.MULTILINE,
)
"""Crash messages of the runtimes of Python, Rust, Node and Go."""


class Setting(Struct, frozen=True):
    """The inputs for judging a session's end."""

    name: str
    context: ImplementerContext
    limits: Limits
    """Limits under which it ran."""
    signs: tuple[Sign, ...]
    is_our_client: bool = False
    """Whether our client runs the agent: its exit code adds no information."""

    @property
    def is_short_of_time(self) -> bool:
        """Whether the attempt's minutes end it before any other limit does."""
        return self.limits.hard != self.context.limits.hard


class End(Struct, frozen=True):
    """The reason why a session failed; empty where it succeeded."""

    finding: Finding | None = None
    failure: Failure | None = None
    retry_after: float = 0.0


def evaluate_ending(ran: Ran, transcript: Transcript, limit: str, setting: Setting) -> End:
    """Evaluate how a session ended; `limit` is the limit that was reached, empty for none."""
    name, context = setting.name, setting.context
    if "max_budget" in transcript.error:  # the program's own word for a bound that we set
        limit = "dollars"
    if limit:
        return _out_of(setting, limit, f"no more than {_amount(context.left, limit)}")
    ended_by_us = ran.ended is Ended.CANCELLED  # it may have come to its end in that instant
    if transcript.circle and (ended_by_us or not transcript.ended):
        return End(transcript.circle, Failure.SEMANTIC)
    if ran.ended is Ended.CANCELLED and not transcript.hopeless:
        return End(failure(ran, context, name))
    if ran.passed and not transcript.error:
        return End()
    return _evaluate_failure(ran, transcript, setting)


def with_ending(result: WorkResult, ending: End) -> WorkResult:
    """Return the result of a session with its end."""
    if ending.finding is None:
        return result
    return replace(
        result,
        findings=(ending.finding,),
        failure=ending.failure,
        retry_after=ending.retry_after,
    )


def _evaluate_failure(ran: Ran, transcript: Transcript, setting: Setting) -> End:
    """Evaluate a failure by the program's own message, else by how the process ended."""
    name, talk = setting.name, without_events(ran.tail)
    words = transcript.error or talk
    cause = preset.classify_failure(words or ran.tail, setting.signs)
    plainly = failure(ran, setting.context, name)
    if plainly is not None:
        plainly = replace(plainly, detail=talk)
    if ran.ended is Ended.HARD and setting.is_short_of_time:
        return _out_of(setting, "minutes", "no more time")
    if ran.ended in (Ended.HARD, Ended.IDLE):
        return End(plainly, cause.failure if cause and transcript.error else Failure.TRANSIENT)
    if not transcript.error and (crash := find_crash(ran)):
        hint = f"run {name} yourself; the log has its full output"
        return End(Finding(CHECK, f"{name} crashed: {crash}", hint=hint, detail=talk))
    message = f"{name} failed: {_line(words or transcript.text)}"
    if cause is None:
        of_ours = setting.is_our_client and transcript.error
        return End(plainly if plainly and not of_ours else Finding(CHECK, message, detail=talk))
    finding = Finding(CHECK, message, hint=cause.hint, detail=talk)
    return End(finding, cause.failure, cause.retry_after)


def without_events(text: str) -> str:
    """Return a program's messages: its stream of events is for programs, and stays in the log."""
    lines = [line for line in text.splitlines() if not _EVENT.match(line.lstrip())]
    return "\n".join(lines).strip("\n")


def find_crash(ran: Ran) -> str:
    """Return the signal or last line of a crashed program; empty if it exited by itself."""
    if ran.ended is not Ended.EXITED or ran.passed:
        return ""
    # A signal's number is negative if the runner waited itself (CPython, subprocess), and added to
    # 128 if a shell did (POSIX, 2.8.2).
    number = -ran.exit if ran.exit < 0 else ran.exit - _SIGNALLED
    if number in set(signal.Signals) and number not in _ENDED_BY_SOMEBODY:
        return signal.Signals(number).name
    talk = without_events(ran.tail)
    return _line(talk) if _BROKEN.search(talk) else ""


def _out_of(setting: Setting, limit: str, what: str) -> End:
    hint = f"{setting.context.left.to_raise(limit)}, or make the task smaller"
    return End(Finding(BUDGET, f"{setting.name} was stopped: the budget allows {what}", hint=hint))


def _amount(left: Allowance, limit: str) -> str:
    if limit == "dollars":
        return f"${left.dollars}"
    return f"{getattr(left, limit)} {limit.replace('_', ' ')}"


def _line(words: str) -> str:
    """Return the last non-blank line as the reason, or a default."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return lines[-1][:_LONGEST_REASON] if lines else "no reason given"
