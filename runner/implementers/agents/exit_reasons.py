"""How a session ended: by itself, at a limit, in a circle, or with words that tell what failed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runner.implementers.agents import agent_failures
from runner.implementers.base import CHECK, Said
from runner.implementers.work import failure
from runner.model import Failure, Finding
from runner.process.base import Ended

if TYPE_CHECKING:
    from runner.implementers.agents.agent_failures import Sign
    from runner.implementers.agents.transcript import Transcript
    from runner.implementers.base import Allowance, ImplementerContext
    from runner.process.base import Ran
    from runner.process.limits import Limits

BUDGET = "budget"
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Setting:
    """What a session's end is judged by."""

    name: str
    bench: ImplementerContext
    limits: Limits
    """Those it ran under."""
    signs: tuple[Sign, ...]

    @property
    def is_short_of_time(self) -> bool:
        """Whether the attempt's minutes end it before any other limit does."""
        return self.limits.hard != self.bench.limits.hard


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a session is no success; nothing where it is one."""

    finding: Finding | None = None
    failure: Failure | None = None
    retry_after: float = 0.0


def evaluate_ending(ran: Ran, transcript: Transcript, limit: str, setting: Setting) -> Ending:
    """How a session ended; `limit` names the bound it was ended at, empty for none."""
    name, bench = setting.name, setting.bench
    if "max_budget" in transcript.error:  # the program's own word for a bound that we told it
        limit = "dollars"
    if limit:
        return _out_of(setting, limit, f"no more than {_amount(bench.left, limit)}")
    ended_by_us = ran.ended is Ended.CANCELLED  # it may have come to its end in that instant
    if transcript.circle and (ended_by_us or not transcript.ended):
        return Ending(transcript.circle, Failure.SEMANTIC)
    if ran.ended is Ended.CANCELLED and not transcript.hopeless:
        return Ending(failure(ran, bench, name))
    if ran.passed and not transcript.error:
        return Ending()
    return _evaluate_failure(ran, transcript, setting)


def with_ending(said: Said, ending: Ending) -> Said:
    """What is said of a session, with its end."""
    if ending.finding is None:
        return said
    return replace(
        said,
        findings=(ending.finding,),
        failure=ending.failure,
        retry_after=ending.retry_after,
    )


def _evaluate_failure(ran: Ran, transcript: Transcript, setting: Setting) -> Ending:
    """What its own words mean, where it has some; else how the process ended."""
    name, words = setting.name, transcript.error or ran.tail
    told = agent_failures.classify_failure(words, setting.signs)
    plainly = failure(ran, setting.bench, name)
    if ran.ended is Ended.HARD and setting.is_short_of_time:
        return _out_of(setting, "minutes", "no more minutes")
    if ran.ended in (Ended.HARD, Ended.IDLE):
        return Ending(plainly, told.failure if told and transcript.error else Failure.TRANSIENT)
    said = f"{name} failed: {_line(words)}"
    if told is None:
        return Ending(plainly or Finding(CHECK, said))
    finding = Finding(CHECK, said, hint=told.hint, detail=ran.tail)
    return Ending(finding, told.failure, told.retry_after)


def _out_of(setting: Setting, limit: str, what: str) -> Ending:
    hint = f"{setting.bench.left.to_raise(limit)}, or make the task smaller"
    return Ending(Finding(BUDGET, f"{setting.name} was ended: the budget has {what}", hint=hint))


def _amount(left: Allowance, limit: str) -> str:
    if limit == "dollars":
        return f"${left.dollars}"
    return f"{getattr(left, limit)} {limit.replace('_', ' ')}"


def _line(words: str) -> str:
    """The last line that says something."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return lines[-1][:_LONGEST] if lines else "it did not say why"
