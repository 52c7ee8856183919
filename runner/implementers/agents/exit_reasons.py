"""How a session ended: by itself, at a limit, in a circle, or with words that tell what failed."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runner.implementers.agents import preset
from runner.implementers.base import CHECK, Said
from runner.implementers.work import failure
from runner.model import Failure, Finding
from runner.process.base import Ended

if TYPE_CHECKING:
    from runner.implementers.agents.preset import Sign
    from runner.implementers.agents.transcript import Transcript
    from runner.implementers.base import Allowance, ImplementerContext
    from runner.process.base import Ran
    from runner.process.limits import Limits

BUDGET = "budget"
_LONGEST = 200
_SIGNALLED = 128
_ENDED_BY_SOMEBODY = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL)
_EVENT = re.compile(r"[{\[]\s*(?:[\"{\]}]|$)")
"""How a line of JSON begins, a cut one too."""
_BROKEN = re.compile(
    r"^Traceback \(most recent call last\)|panicked at |^(?:Uncaught|Unhandled)|^\s+at node:"
    r"|Segmentation fault|core dumped|^fatal error: ",
    re.MULTILINE,
)
"""What the runtimes of Python, Rust, Node and Go print where a program breaks down."""


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
    name, talk = setting.name, without_events(ran.tail)
    words = transcript.error or talk
    told = preset.classify_failure(words or ran.tail, setting.signs)
    plainly = failure(ran, setting.bench, name)
    if plainly is not None:
        plainly = replace(plainly, detail=talk)
    if ran.ended is Ended.HARD and setting.is_short_of_time:
        return _out_of(setting, "minutes", "no more minutes")
    if ran.ended in (Ended.HARD, Ended.IDLE):
        return Ending(plainly, told.failure if told and transcript.error else Failure.TRANSIENT)
    if not transcript.error and (crash := find_crash(ran)):
        hint = f"run {name} yourself; the log has all it said"
        return Ending(Finding(CHECK, f"{name} crashed: {crash}", hint=hint, detail=talk))
    said = f"{name} failed: {_line(words or transcript.text)}"
    if told is None:
        return Ending(plainly or Finding(CHECK, said))
    finding = Finding(CHECK, said, hint=told.hint, detail=talk)
    return Ending(finding, told.failure, told.retry_after)


def without_events(text: str) -> str:
    """What a program said in words: its stream of events is for programs, and stays in the log."""
    lines = [line for line in text.splitlines() if not _EVENT.match(line.lstrip())]
    return "\n".join(lines).strip("\n")


def find_crash(ran: Ran) -> str:
    """How the program itself broke down, a signal or its last words; empty where it gave up."""
    if ran.ended is not Ended.EXITED or ran.passed:
        return ""
    number = -ran.exit if ran.exit < 0 else ran.exit - _SIGNALLED
    if number in set(signal.Signals) and number not in _ENDED_BY_SOMEBODY:
        return signal.Signals(number).name
    talk = without_events(ran.tail)
    return _line(talk) if _BROKEN.search(talk) else ""


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
