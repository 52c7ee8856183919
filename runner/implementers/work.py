"""Running one command of an implementer: how it ended, as a finding, and the decisions it made."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from typing import TYPE_CHECKING

from runner.implementers.base import CHECK
from runner.model import Finding
from runner.process.base import Command, Ended
from runner.process.supervise import run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.implementers.base import ImplementerContext
    from runner.model import Decision
    from runner.process.base import Ran

_MOST_READ = 1 << 20
_LONGEST_SUMMARY = 200


def work(
    line: str | tuple[str, ...],
    bench: ImplementerContext,
    environment: Mapping[str, str],
    *,
    stdin: bytes = b"",
    log: Path | None = None,
    reads_only: bool = False,
) -> Ran:
    """Run a command in the scratch tree, within the bench's bounds."""
    command = Command(
        line=line,
        place=bench.place,
        environment={**bench.environment, **environment},
        stdin=stdin,
        network=bench.network,
        limits=bench.limits,
        log=log or bench.log,
        known_secrets=bench.known_secrets,
        reads_only=reads_only,
    )
    return run(command, bench.sandbox, tell=bench.tell, cancelled=bench.cancelled)


def failure(ran: Ran, bench: ImplementerContext, what: str) -> Finding | None:
    """Why a command is no success, with the end of its output; None when it is one."""
    if ran.passed:
        return None
    said, hint = _words(ran, bench)
    return Finding(CHECK, f"{what} {said}", hint=hint, detail=ran.tail)


def _words(ran: Ran, bench: ImplementerContext) -> tuple[str, str]:
    limits = bench.limits
    longer = "give the task - Timeout: 60 minutes, or make it faster"
    return {
        Ended.EXITED: (f"ended with exit {ran.exit}", ""),
        Ended.IDLE: (
            f"said nothing for {limits.idle:g} seconds and was ended",
            "let it print its progress, or set a higher idle_seconds",
        ),
        Ended.HARD: (f"took longer than {limits.hard:g} seconds and was ended", longer),
        Ended.CANCELLED: ("was cancelled", ""),
        Ended.COULD_NOT_START: ("could not be started", "try the command by hand"),
    }[ran.ended]


def output_of(ran: Ran) -> str:
    """What a command said, redacted: from its log, else the tail; at most the last MiB."""
    kept = read_regular(ran.log, from_end=True) if ran.log else None
    return ran.tail if kept is None else kept.decode("utf-8", "replace")


def summary_of(ran: Ran) -> str:
    """The last line that a command said, beside the decisions that it told."""
    from runner.journal.decisions import without_decisions

    lines = [line.strip() for line in without_decisions(ran.tail).splitlines() if line.strip()]
    return lines[-1][:_LONGEST_SUMMARY] if lines else ""


def decisions_in(*texts: str) -> tuple[Decision, ...]:
    """The decisions that texts report, each once, in their order."""
    from runner.journal.decisions import parse_decisions

    return tuple(dict.fromkeys(found for text in texts for found in parse_decisions(text)))


def read_regular(path: Path, *, from_end: bool = False) -> bytes | None:
    """At most a MiB of a regular file; None for a link, a pipe or nothing at all.

    A command may put anything where its file is expected: a link to a key, or a pipe.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return None
        start = max(0, found.st_size - _MOST_READ) if from_end else 0
        return os.pread(descriptor, _MOST_READ, start)
    finally:
        os.close(descriptor)


def nth_bench(bench: ImplementerContext, number: int) -> ImplementerContext:
    """The bench of the n-th command of one task: each keeps its own log."""
    if bench.log is None or number == 1:
        return bench
    return replace(bench, log=bench.log.with_name(f"{bench.log.stem}-{number}{bench.log.suffix}"))
