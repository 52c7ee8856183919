"""Review by a command of the person's choice: any program that reads a diff and says yes or no."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from runner.gates.base import command_limits
from runner.implementers.base import ImplementerContext, Said
from runner.implementers.registry import choose
from runner.model import Finding, Network, ReviewMode
from runner.process.base import Command
from runner.process.sandbox import ReadOnly
from runner.process.supervise import run
from runner.run.review import CHECK
from runner.text.wording import attempt_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runner.config.settings import Settings
    from runner.context.brief import Brief
    from runner.implementers.base import Implementer
    from runner.model import Change, Outcome, Task
    from runner.run.assignment import Assignment, WorkerContext


@runtime_checkable
class Reviewer(Protocol):
    """An implementer that can read a diff or a plan and say yes, or why not."""

    def review(
        self, brief: Brief, bench: ImplementerContext, text: str, *, is_plan: bool = False
    ) -> Said:
        """Findings where it says no, and what it used."""


def review_by_agent(
    assignment: Assignment, site: WorkerContext, text: str, *, is_plan: bool = False
) -> Said | None:
    """What a session of the task's own agent says of a diff; None where no such review is set.

    With `is_plan` it is the text of a plan that it reads.
    """
    if not site.settings.model_review:
        return None
    agent = assignment.implementer or choose(assignment.task, site.settings)
    if not isinstance(agent, Reviewer):
        message = "review is auto, and what implements this task cannot review"
        hint = "set review_command in your own settings, or review = prompt"
        return Said(findings=(Finding(CHECK, message, hint=hint),))
    return agent.review(assignment.brief, _bench(assignment, site), text, is_plan=is_plan)


def _bench(assignment: Assignment, site: WorkerContext) -> ImplementerContext:
    logs = site.logs / assignment.task.id / attempt_folder(assignment.attempt)
    return ImplementerContext(
        place=site.place,
        sandbox=ReadOnly(site.sandbox),
        limits=command_limits(assignment.task, site.settings),
        environment=site.environment(assignment),
        tell=site.teller(assignment),
        cancelled=site.cancelled,
        log=logs / "review.log",
        known_secrets=tuple(value for _, value in assignment.secrets),
        left=assignment.left,
        plan=assignment.plan,
        record=lambda event: site.crew.report(assignment.task.id, assignment.attempt, event),
    )


UNABLE = "review-command"
"""The check of a reviewing command that says neither yes nor no: no attempt can help that."""
_CANNOT_START = (126, 127)
"""What a shell says of a program that it may not, or cannot, run (POSIX, 2.8.2)."""
_ENCLOSED = (
    "it runs enclosed, in the task's tree: name its program by its whole path, "
    "and the folder that it lies in under sandbox_read in your own settings"
)
_HINT = "set review_command or [model] review (for agents) in your own settings, or review = prompt"


def review_by_command(
    assignment: Assignment, site: WorkerContext, outcome: Outcome
) -> tuple[Finding, ...]:
    """What has to be said against a change where review is `auto`; see `review_of`."""
    return review_of(assignment, site, outcome).findings


def review_of(assignment: Assignment, site: WorkerContext, outcome: Outcome) -> Said:
    """Let `review_command` read the diff on standard input; exit 0 approves, else it says why.

    It is the person's own setting, never the repository's, and may use the network. Where there
    is none, but a model for reviews, a session of the task's agent reads it.
    """
    line = site.settings.review_command
    diff = "".join(
        part
        for change in outcome.changes
        for part in diff_of(change, lambda path: site.before(assignment.base, path))
    )
    if line:
        return Said(findings=ask_review_command(assignment, site, line, diff))
    if (said := review_by_agent(assignment, site, diff)) is not None:
        return said
    none = Finding(check=CHECK, message="review is auto, and no command reviews", hint=_HINT)
    return Said(findings=(none,))


def without_reviewer(mode: ReviewMode, settings: Settings, implementer: Implementer | None) -> str:
    """Why nobody could review what a task would be built into; empty where somebody can."""
    name = "" if implementer is None else implementer.name
    if mode is not ReviewMode.AUTO or settings.review_command or name in ("", "check"):
        return ""
    if not settings.model_review:
        return f"review is auto, and nothing reviews; {_HINT}"
    if isinstance(implementer, Reviewer):
        return ""
    return f"review is auto, and what implements this task ({name}) cannot review; {_HINT}"


def find_no_auto(task: Task, settings: Settings, implementer: Implementer | None) -> str:
    """Why a person at the terminal cannot give a task's reviews away; empty where they can.

    Plan and repository only tighten: what they ask for is not answered by a key.
    """
    if task.review is ReviewMode.PROMPT:
        return f"the plan says Review: prompt for {task.id}"
    if settings.review_floor is ReviewMode.PROMPT:
        return "this repository's settings say review = prompt"
    return without_reviewer(ReviewMode.AUTO, settings, implementer)


def ask_review_command(
    assignment: Assignment, site: WorkerContext, line: str, text: str, check: str = CHECK
) -> tuple[Finding, ...]:
    """What a reviewing command has against a text that it reads on standard input."""
    command = Command(
        line=line,
        place=site.place,
        environment=site.environment(assignment),
        stdin=text.encode("utf-8", "surrogateescape"),
        network=Network.YES,
        limits=command_limits(assignment.task, site.settings),
        known_secrets=tuple(value for _, value in assignment.secrets),
    )
    ran = run(command, site.sandbox, tell=site.teller(assignment), cancelled=site.cancelled)
    if ran.passed:
        return ()
    reason = ran.tail.strip() or f"it ended with exit code {ran.exit}"
    if ran.exit in _CANNOT_START:
        message = f"the reviewing command cannot run (exit {ran.exit})"
        where = UNABLE if check == CHECK else check
        return (Finding(check=where, message=message, detail=reason, hint=_ENCLOSED),)
    return (Finding(check=check, message="the reviewing command says no", detail=reason),)


def diff_of(change: Change, before: Callable[[str], bytes | None]) -> Iterator[str]:
    """One file's unified diff; bytes that are no text are only named."""
    try:
        old = _lines(before(change.path) or b"")
        new = _lines(change.content or b"")
    except UnicodeDecodeError:
        yield f"Binary file {change.path} {change.action}\n"
        return
    yield from difflib.unified_diff(old, new, f"a/{change.path}", f"b/{change.path}")


def _lines(content: bytes) -> list[str]:
    """Lines as git's diffs have them: ended by LF alone, and the last one says where it is not.

    Else what follows would stand on that line: the head of the next file.
    """
    *whole, last = content.decode().split("\n")
    open_end = [f"{last}\n\\ No newline at end of file\n"] if last else []
    return [*(f"{line}\n" for line in whole), *open_end]
