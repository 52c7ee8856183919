"""What a check is, and what one run of it says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.model import Finding, Network, Proof, Verdict
from runner.process.command import Command, Ended, Limits, run
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from threading import Event

    from runner.config.settings import Settings
    from runner.model import Level, Task
    from runner.process.command import Place, Ran
    from runner.process.sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class Check:
    """One command of a task's proof, before it runs."""

    id: str
    kind: str
    """`test`, `gate` or `contract`."""
    command: str
    limits: Limits
    level: Level | None = None
    network: Network = Network.NO


@dataclass(frozen=True, slots=True)
class Bench:
    """Where a task's checks run."""

    place: Place
    sandbox: Sandbox
    environment: Mapping[str, str]
    logs: Path
    """Folder that keeps the output of each check."""
    logs_shown: str
    """The same folder as a person would type it, relative to the repository."""
    tell: Callable[[str], None]
    cancelled: Event
    known_secrets: tuple[str, ...] = ()

    def run(self, check: Check) -> Ran:
        """Run one check in the scratch tree."""
        return run(
            Command(
                line=check.command,
                place=self.place,
                environment=self.environment,
                network=check.network,
                limits=check.limits,
                log=self.logs / f"{file_name(check.id)}.log",
                known_secrets=self.known_secrets,
            ),
            self.sandbox,
            tell=self.tell,
            cancelled=self.cancelled,
        )


def command_limits(task: Task, settings: Settings) -> Limits:
    """How long a command of this task may run."""
    return Limits(
        soft=settings.soft_seconds,
        idle=settings.idle_seconds,
        hard=task.timeout or settings.hard_seconds,
    )


def file_name(check_id: str) -> str:
    """A check's id as part of a file name."""
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in check_id)


def proof_of(check: Check, ran: Ran, bench: Bench, counts: tuple[tuple[str, int], ...]) -> Proof:
    """What is kept of one run, whichever way it ended."""
    return Proof(
        id=check.id,
        kind=check.kind,
        command=redact(check.command),
        verdict=Verdict.PASS if ran.exit == 0 and ran.ended is Ended.EXITED else Verdict.FAIL,
        exit=ran.exit,
        seconds=round(ran.seconds, 3),
        output=ran.output,
        level=check.level,
        counts=counts,
        log=f"{bench.logs_shown}/{file_name(check.id)}.log",
    )


def failure_of(check: Check, ran: Ran, proof: Proof) -> Finding:
    """Why a check failed, with the end of what it printed."""
    return Finding(
        check=check.id,
        message=_how_it_ended(check, ran),
        hint=f"run it yourself: {redact(check.command)}",
        detail=ran.tail or f"(no output; the whole log is {proof.log})",
    )


def _how_it_ended(check: Check, ran: Ran) -> str:
    command = redact(check.command)
    match ran.ended:
        case Ended.EXITED:
            return f"`{command}` ended with exit code {ran.exit}"
        case Ended.IDLE:
            return f"`{command}` printed nothing for {check.limits.idle:g} s and was ended"
        case Ended.HARD:
            return f"`{command}` ran longer than {check.limits.hard:g} s and was ended"
        case Ended.CANCELLED:
            return f"`{command}` was cancelled"
        case _:
            return f"`{command}` could not be started"
