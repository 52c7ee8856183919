"""What a session of an agent program has said so far, whatever its dialect.

Tool calls that go round in a circle: seen purely, for a model's loop and an agent's stream.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner import effects
from runner.journal.sessions import ToolCalled, ToolReturned
from runner.model import Finding, Usage, digest_of
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runner.journal.events import Event
    from runner.model import Digest


LOOP = "loop"
"""The name under which a circle is told."""
IN_A_ROW = 3
_REMEMBERED = 4
_LONGEST = 120


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool; two are the same with the same name and arguments."""

    name: str
    arguments: Digest
    about: str = ""
    """What it was about, for a person: a path perhaps. Redacted already."""

    def __str__(self) -> str:
        return display(f"{self.name} {self.about}".strip())[:_LONGEST]

    def same_as(self, other: Call) -> bool:
        """Whether both ask for the same."""
        return (self.name, self.arguments) == (other.name, other.arguments)


@dataclass(frozen=True, slots=True)
class Calls:
    """The last calls of one session.

    To wait for a long command is no circle: who asks again whether it has ended does not hand
    that call to `after`.
    """

    last: tuple[Call, ...] = ()

    def after(self, call: Call) -> Calls:
        """With one more call."""
        return Calls((*self.last, call)[-_REMEMBERED:])

    @property
    def repeated(self) -> str:
        """What repeats itself, in words; empty while nothing does."""
        calls = self.last
        if len(calls) >= IN_A_ROW and all(calls[-1].same_as(call) for call in calls[-IN_A_ROW:]):
            return f"{calls[-1]} was called {IN_A_ROW} times in a row with the same arguments"
        if len(calls) < _REMEMBERED:
            return ""
        first, second, third, fourth = calls
        if first.same_as(third) and second.same_as(fourth):
            return f"{first} and {second} were called in turn, twice with the same arguments"
        return ""

    @property
    def finding(self) -> Finding | None:
        """The finding that ends an attempt whose calls go in a circle."""
        if not (said := self.repeated):
            return None
        hint = "an answer does not change by asking again: change a file, or say what is missing"
        return Finding(LOOP, said, hint=hint)


_LONGEST_LINE = 200
_LONGEST_TEXT = 1 << 20
_ABOUT = ("file_path", "filePath", "path", "absolute_path", "notebook_path", "command", "pattern")
"""Arguments that tell a person what a call is about; never one that holds content."""
_WAITING = ("wait", "sleep", "bashoutput", "taskoutput", "task_output", "write_stdin", "read_back")
"""Tools that ask whether a long command has ended: asking again is no circle."""


@dataclass
class Transcript:
    """Grows line by line; an open notebook, thus not frozen."""

    record: Callable[[Event], None]
    tell: Callable[[str], None]
    text: str = ""
    """Its last message."""
    error: str = ""
    """What it said of its own failure."""
    hopeless: bool = False
    """Whether it goes on though it cannot succeed."""
    ended: bool = False
    """Whether it came to the end of its answer."""
    usage: Usage = field(default_factory=Usage)
    calls: Calls = field(default_factory=Calls)
    circle: Finding | None = None
    """Told when its calls went in a circle."""
    _open: dict[str, Call] = field(default_factory=dict)
    _began: dict[str, float] = field(default_factory=dict)
    _parts: dict[str, Usage] = field(default_factory=dict)

    def record_call(self, key: str, name: str, arguments: object) -> None:
        """A tool was called; its arguments are kept as a digest alone."""
        if key in self._open:
            return
        call = Call(display(name)[:_LONGEST_LINE], _digest(arguments), _about(arguments))
        self._open[key], self._began[key] = call, effects.monotonic()
        self.usage += Usage(tool_calls=1)
        self.record(ToolCalled(call.name, call.arguments, self.usage))
        self.tell(str(call))
        if not any(word in name.lower() for word in _WAITING):
            self.calls = self.calls.after(call)
            self.circle = self.circle or self.calls.finding

    def record_return(self, key: str, *, failed: bool = False) -> None:
        """A tool came back, once."""
        began = self._began.pop(key, None)
        if (call := self._open.get(key)) is not None and began is not None:
            seconds = round(effects.monotonic() - began, 3)
            outcome = "failed" if failed else "ok"
            self.record(ToolReturned(call.name, call.arguments, seconds, outcome))

    def says(self, text: str, *, goes_on: bool = False) -> None:
        """It said something; the last message is what counts in the end."""
        self.text = (self.text + text if goes_on else text)[-_LONGEST_TEXT:]
        if line := next((line for line in reversed(text.splitlines()) if line.strip()), ""):
            self.tell(display(line.strip())[:_LONGEST_LINE])

    def record_usage(self, key: str, usage: Usage) -> None:
        """Tokens and cost of a part of the session; the same key again replaces what it said."""
        before = self._parts.get(key, Usage())
        self._parts[key] = usage
        self.usage = _less(self.usage, before) + usage

    def record_total_usage(self, usage: Usage) -> None:
        """Tokens and cost of the whole session, which count instead of its parts."""
        self._parts = {}
        self.usage = Usage(
            usage.input_tokens, usage.output_tokens, usage.dollars, self.usage.tool_calls
        )

    def record_failure(self, text: str) -> None:
        """It said why it cannot go on."""
        self.error = text[:_LONGEST_TEXT]


def _less(usage: Usage, part: Usage) -> Usage:
    return Usage(
        usage.input_tokens - part.input_tokens,
        usage.output_tokens - part.output_tokens,
        usage.dollars - part.dollars,
        usage.tool_calls - part.tool_calls,
    )


def _digest(arguments: object) -> Digest:
    said = json.dumps(arguments, sort_keys=True, ensure_ascii=False, default=str)
    return digest_of(said.encode("utf-8", "replace"))


def _about(arguments: object) -> str:
    told: Mapping[str, object] = arguments if isinstance(arguments, dict) else {}
    found = next((told[name] for name in _ABOUT if isinstance(told.get(name), str)), "")
    return str(found).partition("\n")[0]
