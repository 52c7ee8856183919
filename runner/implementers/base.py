"""The interface of an implementer: takes a Brief and a scratch tree, returns a WorkResult.

Nothing it says is believed: the tree is asked what changed, and the runner proves it. Model calls
are paced evenly across all threads of this process.
"""

from __future__ import annotations

from enum import StrEnum
from threading import Lock
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from msgspec import Struct, field

from runner import effects
from runner.config.sizes import CallRate, parse_rate
from runner.model import Decision, Failure, Finding, Network, TaskPlan, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from threading import Event

    from runner.config.settings import Settings
    from runner.config.shell_rules import Permission, PermissionAnswer
    from runner.context.brief import Brief
    from runner.journal.events import Event as Happening
    from runner.model import Change, Task
    from runner.process.base import Place, Sandbox
    from runner.process.limits import Limits

CHECK = "implementer"
"""Check name of an implementer's own findings."""


class Mode(StrEnum):
    """The mode of a request to an agent or a model."""

    PLAN = "plan"
    """Makes a plan; the tree is read-only, and no tool can write."""
    EXECUTE = "execute"
    DRAFT = "draft"
    """Drafts sections for a plan; the tree is read-only, and the answer is text."""
    REVIEW = "review"
    """Reviews a change; the tree is read-only, and the answer is text."""
    AUTHOR = "author"
    """Writes tests for a task that another implements; the answer is text."""

    @property
    def writes(self) -> bool:
        """Whether the tree may be changed."""
        return self in (Mode.EXECUTE, Mode.AUTHOR)


class Allowance(Struct, frozen=True):
    """The remaining budget of an attempt; None where nothing is set."""

    tokens: int | None = None
    dollars: float | None = None
    tool_calls: int | None = None
    minutes: float | None = None
    settings: tuple[tuple[str, str], ...] = ()
    """Setting that holds each limit, if it is not the task's own Budget."""

    def to_raise(self, limit: str) -> str:
        """Return how a person raises `tokens`, `dollars`, `tool_calls` or `minutes`."""
        if name := dict(self.settings).get(limit):
            return f"raise {name} in your settings"
        return "raise the task's Budget"


def _no_word(_change: Change) -> tuple[Finding, ...]:
    return ()


def _no_gate(_name: str) -> tuple[Finding, ...]:
    return ()


def _no_bound(_command: str, _tail: str, _code: int) -> str:
    return ""


def _nobody_asked(_tool: str, _subject: str, _rule: str) -> PermissionAnswer | None:
    return None


def _ignore(_event: Happening) -> None:
    """Ignore the event."""


class ImplementerContext(Struct, frozen=True):
    """The place and limits of an implementer."""

    place: Place
    sandbox: Sandbox
    limits: Limits
    environment: Mapping[str, str]
    """All variables of its commands; RUNNER_TASK and related ones are added."""
    tell: Callable[[str], None]
    cancelled: Event
    log: Path | None = None
    """File for the output of its command."""
    known_secrets: tuple[str, ...] = ()
    network: Network = Network.NO
    mode: Mode = Mode.EXECUTE
    plan: TaskPlan | None = None
    """Approved plan, which limits the files of the work."""
    left: Allowance = Allowance()
    verdict: Callable[[Change], tuple[Finding, ...]] = _no_word
    """Findings of the write pipeline for one write before it is made."""
    run_gate: Callable[[str], tuple[Finding, ...]] = _no_gate
    """Runs one check of the task by name on the current tree; returns findings if it fails."""
    find_met_bound: Callable[[str, str, int], str] = _no_bound
    """What of the sandbox or the limits held a command that failed, by its line, the end of its
    output and its exit; empty where nothing shows that."""
    ask: Callable[[str, str, str], PermissionAnswer | None] = _nobody_asked
    """Asks a person about a tool call, its subject and the rule; None: the answer is pending."""
    permission: tuple[Permission, ...] = ()
    """Permission rules of the user and, below them, of the repository, which only tighten."""
    permission_floor: tuple[Permission, ...] = ()
    answers: tuple[PermissionAnswer, ...] = ()
    """The person's earlier answers for this task."""
    reviewed: bool = False
    """Whether a person reviews the writes before they land."""
    record: Callable[[Happening], None] = _ignore
    """Records an event in the journal, such as a tool call."""


class WorkResult(Struct, frozen=True):
    """The result of an implementer; findings that refuse end the attempt."""

    summary: str = ""
    decisions: tuple[Decision, ...] = ()
    findings: tuple[Finding, ...] = field(default=())
    usage: Usage = field(default_factory=Usage)
    failure: Failure | None = None
    """Kind of failure of `findings`, if it is not the usual one."""
    retry_after: float = 0.0
    """Seconds that a provider asked to wait; 0 if it did not."""
    plan: TaskPlan | None = None
    """Plan made in plan mode."""
    written: tuple[str, ...] | None = None
    """All paths it may have written, where the runner itself wrote each of them and ran nothing;
    None: the whole tree is looked at."""


class Implementer(Protocol):
    """Proposes changes by making them in the scratch tree."""

    @property
    def name(self) -> str:
        """The word of the plan's Implementer field."""

    @property
    def repeatable(self) -> bool:
        """Whether it would give the same bytes again: then it is called once."""

    @property
    def is_agent(self) -> bool:
        """Whether it is an agent program or a model: planned first, sandboxed, few at once."""

    def implement(self, brief: Brief, context: ImplementerContext) -> WorkResult:
        """Change `context.place.tree` as the brief asks."""


class ImplementerAnswer(Struct, frozen=True):
    """The answer to a question that is answered in words."""

    text: str
    """Answer text, redacted."""
    result: WorkResult
    """Findings if the program failed, and its usage."""


@runtime_checkable
class Drafter(Protocol):
    """An implementer that also answers questions in words; it changes files only as `AUTHOR`."""

    @property
    def name(self) -> str:
        """The word of the plan's Implementer field."""

    def answer(self, brief: Brief, context: ImplementerContext) -> ImplementerAnswer:
        """Answer the brief, whose text is the whole prompt."""


@runtime_checkable
class Instructed(Protocol):
    """An implementer with instructions of its own, which a person may want to see."""

    def instructions(self, mode: Mode) -> str:
        """Return the instructions that come with a brief."""


class ImplementerKind(Protocol):
    """The factory of an implementer for a task: one line of the registry."""

    def for_task(self, task: Task, settings: Settings) -> Implementer | Finding:
        """Create the implementer for a task; return a finding if that is not possible."""


_LONG_WAIT = 2.0
"""Seconds; longer waits are reported."""


class Pacer(Struct):
    """Gives out one call after the other: nobody saves calls up for later."""

    rate: CallRate
    clock: Callable[[], float] = effects.monotonic
    _next: float = float("-inf")
    _lock: Lock = field(default_factory=Lock)

    def take(self) -> float:
        """Take the next call and return 0, or return the seconds until it is available."""
        with self._lock:
            now = self.clock()
            if now < self._next:
                return self._next - now
            self._next = now + self.rate.seconds
            return 0.0

    def pauses(self, tell: Callable[[str], None]) -> Iterator[float]:
        """Yield the seconds to wait until the next call is taken; report a long wait."""
        since, is_reported = self.clock(), False
        while seconds := self.take():
            if not is_reported and self.clock() - since + seconds > _LONG_WAIT:
                is_reported = True
                tell(f"waiting to call the model, limited by model.calls = {self.rate}")
            yield seconds

    def wait(self, cancelled: Event, tell: Callable[[str], None]) -> bool:
        """Wait for the next call; False if it was cancelled before."""
        return not any(cancelled.wait(seconds) for seconds in self.pauses(tell))


_PACERS: dict[str, Pacer] = {}


def find_pacer(calls: str) -> Pacer | None:
    """Return this process's pacer for a rate; None without a limit."""
    if not calls:
        return None
    return _PACERS.setdefault(calls, Pacer(parse_rate(calls)))
