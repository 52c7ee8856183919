"""The `command` implementer, and how any implementer runs one command.

Any program, an agent perhaps, works in the scratch tree. It gets the brief on standard input and
in the file `$RUNNER_BRIEF`, gets `$RUNNER_TASK` and `$RUNNER_ATTEMPT`, the diff of the failed
attempt before it in `$RUNNER_DRAFT` where there is one, and may report decisions in its output or
in the file `$RUNNER_DECISIONS`.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from math import ceil
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner import effects
from runner.implementers.base import CHECK, ImplementerAnswer, WorkResult
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.model import Finding
from runner.process.base import Command, Ended
from runner.process.supervise import run
from runner.secrets.redact import redact
from runner.text.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.context.brief import Brief
    from runner.implementers.base import ImplementerContext
    from runner.journal import decisions
    from runner.model import Decision, Task
    from runner.process.base import Ran
else:
    decisions = lazy_module("runner.journal.decisions")


_MOST_READ = 1 << 20
_LONGEST_SUMMARY = 200
_OBSTACLE = regex(r"\W{0,12}(?P<report>I cannot, because \w.*)", re.IGNORECASE)
"""Report of an implementer that a task cannot be done as written, as the brief requests."""
_MINUTE = 60
_MISSING = "create and commit the program that the command names, or fix the command"


def work(
    line: str | tuple[str, ...],
    context: ImplementerContext,
    environment: Mapping[str, str],
    *,
    stdin: bytes = b"",
    log: Path | None = None,
    reads_only: bool = False,
) -> Ran:
    """Run a command in the scratch tree, within the attempt's bounds."""
    command = Command(
        line=line,
        place=context.place,
        environment={**context.environment, **environment},
        stdin=stdin,
        network=context.network,
        limits=context.limits,
        log=log or context.log,
        known_secrets=context.known_secrets,
        reads_only=reads_only,
    )
    return run(command, context.sandbox, tell=context.tell, cancelled=context.cancelled)


def failure(ran: Ran, context: ImplementerContext, what: str, line: str = "") -> Finding | None:
    """Return the finding of a failed command with the end of its output; None if it passed.

    `line` is the shell line that ran, if any.
    """
    if ran.passed:
        return None
    message, hint = _words(ran, context, line)
    return Finding(CHECK, f"{what} {message}", hint=hint, detail=ran.tail)


def _words(ran: Ran, context: ImplementerContext, line: str) -> tuple[str, str]:
    limits = context.limits
    longer = f"raise the task's limit, such as - Timeout: {_twice(limits.hard)}, or make it faster"
    if ran.ended is Ended.EXITED:
        bound = context.find_met_bound(line, ran.tail, ran.exit)
        # Exit codes of a shell that cannot start a program (POSIX, Exit Status for Commands).
        missing = _MISSING if ran.exit in (126, 127) else ""
        return f"ended with exit {ran.exit}", bound or missing
    return {
        Ended.IDLE: (
            f"printed nothing for {limits.idle:g} seconds and was stopped",
            "make it print progress, or raise limits.idle_seconds in the settings",
        ),
        Ended.HARD: (f"took longer than {limits.hard:g} seconds and was stopped", longer),
        Ended.CANCELLED: ("was cancelled", ""),
        Ended.COULD_NOT_START: ("could not be started", "run the command yourself to see why"),
    }[ran.ended]


def _twice(seconds: float) -> str:
    """Format twice a limit as a plan writes it, in whole minutes from a minute on."""
    longer = ceil(2 * seconds)
    if longer < _MINUTE:
        return plural(longer, "second")
    return plural(ceil(longer / _MINUTE), "minute")


def output_of(ran: Ran) -> str:
    """Return a command's output, redacted: from its log, else the tail; at most the last MiB."""
    kept = read_regular(ran.log, from_end=True) if ran.log else None
    return ran.tail if kept is None else kept.decode("utf-8", "replace")


def summarize(text: str) -> str:
    """Return the line that reports an obstacle, else the last one; none of a decision."""
    lines = [
        line.strip() for line in decisions.without_decisions(text).splitlines() if line.strip()
    ]
    reported = next((line for line in reversed(lines) if find_obstacle(line)), "")
    return (reported or "".join(lines[-1:]))[:_LONGEST_SUMMARY]


def find_obstacle(line: str) -> str:
    """Return why a task cannot be done as written, where a line reports that; else empty."""
    match = _OBSTACLE.match(line)
    return match["report"].rstrip(" `*_") if match else ""


def decisions_in(*texts: str) -> tuple[Decision, ...]:
    """Return the decisions reported in the texts, in order without duplicates."""
    return tuple(
        dict.fromkeys(found for text in texts for found in decisions.parse_decisions(text))
    )


def read_regular(path: Path, *, from_end: bool = False) -> bytes | None:
    """Read at most 1 MiB of a regular file; None for a link, a pipe or a missing file.

    A command may put anything where its file is expected: a link to a key, or a pipe.
    """
    try:
        # Open first, then check: in between it could become another file. O_NONBLOCK: opening a
        # pipe without a writer would block (POSIX, open).
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


def context_of_block(context: ImplementerContext, number: int) -> ImplementerContext:
    """Return the context of a task's n-th command, with a separate log."""
    if context.log is None or number == 1:
        return context
    return replace(
        context, log=context.log.with_name(f"{context.log.stem}-{number}{context.log.suffix}")
    )


NAME = "command"


class CommandLine(Struct, frozen=True):
    """Runs a shell line in the scratch tree."""

    line: str
    name: str = NAME
    is_agent: bool = False
    repeatable: bool = False

    @classmethod
    def for_task(cls, task: Task, settings: Settings) -> CommandLine | Finding:
        """Return the task's command, else the project's; a finding without either."""
        line = task.command or settings.build.command
        if line:
            return cls(line)
        return Finding(
            CHECK,
            f"{task.id} has no Command, and build.command is not set",
            hint="add - Command: `…`, or set build.command in the settings",
        )

    def implement(self, brief: Brief, context: ImplementerContext) -> WorkResult:
        """Run the program, which changes the tree."""
        with _papers(brief, context) as papers:
            variables = papers.environment(brief, context)
            ran = work(self.line, context, variables, stdin=brief.text.encode("utf-8", "replace"))
            written = papers.decisions(context)
        failed = failure(ran, context, "the command", self.line)
        return WorkResult(
            summarize(ran.tail),
            decisions_in(written, output_of(ran)),
            (failed,) if failed else (),
        )

    def answer(self, brief: Brief, context: ImplementerContext) -> ImplementerAnswer:
        """Return what the program prints with `RUNNER_MODE=draft` and a read-only tree."""
        with _papers(brief, context) as papers:
            variables = {**papers.environment(brief, context), "RUNNER_MODE": str(context.mode)}
            asked = brief.text.encode("utf-8", "replace")
            ran = work(self.line, context, variables, stdin=asked, reads_only=True)
        failed = failure(ran, context, "the command", self.line)
        result = WorkResult(summarize(ran.tail), findings=(failed,) if failed else ())
        return ImplementerAnswer(redact(output_of(ran), context.known_secrets), result)


class _Papers(Struct, frozen=True):
    """The files that a program reads and writes beside the tree, in a folder of their own."""

    folder: Path

    @property
    def _brief(self) -> Path:
        return self.folder / "brief.md"

    @property
    def _draft(self) -> Path:
        return self.folder / "draft.patch"

    @property
    def _decisions(self) -> Path:
        return self.folder / "decisions.md"

    def lay_out(self, brief: Brief) -> None:
        """Write what the program may read."""
        effects.write_file(self._brief, brief.text.encode("utf-8", "replace"))
        if brief.previous:
            effects.write_file(self._draft, brief.previous.encode("utf-8", "surrogateescape"))

    def environment(self, brief: Brief, context: ImplementerContext) -> dict[str, str]:
        """Return the variables with the paths of the files."""

        def visible_path(path: Path) -> str:
            return str(context.sandbox.sees(context.place, path))

        variables = {
            "RUNNER_TASK": brief.task.id,
            "RUNNER_ATTEMPT": str(brief.attempt),
            "RUNNER_BRIEF": visible_path(self._brief),
            "RUNNER_DECISIONS": visible_path(self._decisions),
        }
        return variables | ({"RUNNER_DRAFT": visible_path(self._draft)} if brief.previous else {})

    def decisions(self, context: ImplementerContext) -> str:
        """Return the decisions that the program wrote, redacted."""
        text = (read_regular(self._decisions) or b"").decode("utf-8", "replace")
        return redact(text, context.known_secrets)


@contextlib.contextmanager
def _papers(brief: Brief, context: ImplementerContext) -> Iterator[_Papers]:
    """Create a fresh folder in the box, under a name that no earlier command could link."""
    folder = context.place.box / f"work-{effects.new_id()}"
    effects.make_folder(folder)
    papers = _Papers(folder)
    try:
        papers.lay_out(brief)
        yield papers
    finally:
        effects.step("rmtree", folder)
        with contextlib.suppress(OSError):  # what resists is in nobody's way
            effects.remove_tree(folder)
