"""What is said at the end of a run: how it stands, what waits for whom, what to type next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.errors import ExitCode
from runner.model import Failure, Reason, Status
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MEANING = {
    ExitCode.OK: "all tasks are DONE",
    ExitCode.FAILED: "a task failed its checks",
    ExitCode.USAGE: "usage, plan or settings are wrong",
    ExitCode.PERSON: "a person is needed",
    ExitCode.REGRESSION: "the run halted on a regression",
    ExitCode.STOPPED: "stopped by a budget or a loop",
    ExitCode.CONFLICT: "somebody's work or the plan moved",
    ExitCode.BUG: "a bug; the journal is whole, run again",
    ExitCode.INTERRUPTED: "interrupted; run again to go on",
}
_ORDER = (Status.DONE, Status.IN_PROGRESS, Status.PENDING, Status.BLOCKED, Status.STALE)
_SECONDS_A_MINUTE = 60
_AGAIN = "set its Status to PENDING in TASK-GRAPH.md, then run again"
_NEXT = {
    Reason.REVIEW: "`runner review` shows it; `runner approve` or `runner reject` answers",
    Reason.SECRET: f"`runner doctor` says what is missing; {_AGAIN}",
    Reason.TOOL: f"`runner doctor` says what is missing; {_AGAIN}",
    Reason.PROOF: (
        "add to its section `- Test contracts:` with an entry such as TC-001 (unit): `command`,"
        " or `- Contracts:`, or `- Gates:`; where nothing can prove it, `- Proof: none — reason`;"
        " then run again"
    ),
    Reason.WISH: (
        "write `- Output files:` with the files as blocks, a `- Command:` or an `- Implementer:`;"
        " a check has `- Test contracts:`; what only waits is `- Type: milestone`; then run again"
    ),
    Reason.BUDGET: "raise its Budget or the setting, or `runner approve` it; then run again",
}


HELD_UP = {
    "in-the-way": "commit or move your own file, then: runner",
    "conflict": "go back to the branch that the run began on, then: runner",
}
"""What a person does where work is proven and cannot land, by the kind of what is held."""


@dataclass(frozen=True, slots=True)
class BlockedTask:
    """A task that waits for a person."""

    id: str
    note: str
    reason: Reason | None = None
    draft: str = ""
    victims: tuple[str, ...] = ()
    """The tasks that its held change breaks."""
    unapproved: tuple[str, ...] = ()
    """Those of them that nobody has approved yet."""
    in_vain: str = ""
    """Why an approval of them changes nothing, and what does; empty where it helps."""
    report: str = ""
    """The file that tells more of its last attempt, relative to the project."""
    failure: Failure | None = None
    """Why its attempts ended, where something else than a missing tool or a check did that."""
    hint: str = ""
    """What would help, in the words of what ended the last attempt."""
    held: str = ""
    """What kind of bytes are held for it; empty for none."""
    has_proof: bool = False
    """Whether its section names what would prove it: then something else is wrong with that."""
    wrong_line: bool = False
    """Whether a test contract of it could not fail, or skips checks."""
    answered: bool = True
    """Whether there is something that `approve` or `reject` answers, of a task in review."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Everything that is said at the end of a run."""

    exit: ExitCode
    counts: Mapping[Status, int]
    seconds: float
    landed: int = 0
    """Commits of this run."""
    unproven: tuple[str, ...] = ()
    """DONE tasks that are neither proven nor waived."""
    blocked: tuple[BlockedTask, ...] = ()
    stale: tuple[tuple[str, str], ...] = ()
    """(id, the change that made it so)."""
    waiting: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(id, ids of the tasks it waits for)."""
    notes: tuple[str, ...] = ()
    cost: str = ""
    """What agents and models used in this run."""


def summary(said: Summary) -> str:
    """The text, several lines; a run in which all is done has one line."""
    lines = [_first(said), *([f"used: {said.cost}"] if said.cost else [])]
    for task in said.blocked:
        lines += _format_blocked(task)
    for id_, change in said.stale:
        name = display(id_)
        lines.append(f"STALE {name}: {display(change)}")
        broken = any(id_ in task.victims for task in said.blocked)
        if not broken:  # else the task that breaks it says both ways out
            lines.append(f"  next: `runner review {name}`; `runner approve {name}` builds it anew")
    lines += [
        f"waiting {display(name)}: needs {', '.join(map(display, needs))}"
        if needs
        else f"ready {display(name)}: not finished by this run"
        for name, needs in said.waiting
    ]
    lines += [f"note: {display(note)}" for note in said.notes]
    if said.exit is not ExitCode.OK:
        lines.append(f"exit {int(said.exit)}: {MEANING[said.exit]}")
    return "\n".join(lines) + "\n"


def _first(said: Summary) -> str:
    total = sum(said.counts.values())
    counts = ", ".join(_format_count(said, status) for status in _ORDER if said.counts.get(status))
    commits = f"{said.landed} commit{'' if said.landed == 1 else 's'}"
    return f"{total} task{'' if total == 1 else 's'}: {counts or 'none'}; {commits}, " + duration(
        said.seconds
    )


def _format_count(said: Summary, status: Status) -> str:
    lacking = len(said.unproven) if status is Status.DONE else 0
    number = f"{said.counts[status]} {status}"
    return f"{number} ({lacking} unproven)" if lacking else number


def _format_blocked(task: BlockedTask) -> list[str]:
    name = display(task.id)
    code = f" ({task.reason})" if task.reason else ""
    lines = [f"BLOCKED {name}{code}: {display(task.note)}"]
    if task.draft and task.draft not in task.note:
        lines.append(f"  work kept on {display(task.draft)}")
    if task.report:
        lines.append(f"  report: {display(task.report)}")
    if task.victims:
        victims = tuple(map(display, task.victims))
        open_ones = tuple(map(display, task.unapproved)) or victims
        return [*lines, *ways_out(name, victims, open_ones, display(task.in_vain))]
    lines.append(f"  next: {_advice(task, name)}")
    if task.draft and not (task.reason is Reason.REVIEW and task.answered):
        lines.append(f"  or finish it on that branch, then `runner adopt {name}`")
    return lines


def _advice(task: BlockedTask, name: str) -> str:
    """What helps, for what stopped just this task."""
    if task.held in HELD_UP:
        return HELD_UP[task.held]
    if task.failure is Failure.TRANSIENT:
        return f"`runner run {name}` later: what it called did not answer"
    if task.failure is not None:
        helps = display(task.hint) or f"`runner show {name}` says why"
        return f"{helps}; then `runner run {name}`"
    if task.reason is Reason.REVIEW and not task.answered:
        return f"`runner why {name}`; `runner approve {name}` has it tried again, then `runner`"
    if task.reason is Reason.BUDGET and task.hint:
        return f"{display(task.hint)}; `runner approve {name}`, then `runner`"
    if task.reason is Reason.PROOF and task.has_proof:
        shows = "`runner validate` shows the line; " if task.wrong_line else ""
        return f"{shows}mend it as the note says, then run again"
    advice = _NEXT.get(task.reason) if task.reason else None
    return advice or f"`runner show {name}`; {_AGAIN}"


def ways_out(
    culprit: str, victims: Sequence[str], unapproved: Sequence[str], in_vain: str = ""
) -> list[str]:
    """What a person can do about a change that breaks other tasks; not all may be approved yet."""
    ids, names = " ".join(unapproved), ", ".join(victims)
    follows = f"({names} built anew on it, then all land together)"
    return [
        f"  keep it: {in_vain}, then `runner approve {ids}`"
        if in_vain
        else f"  keep it: `runner approve {ids}` {follows}",
        f"  drop it: `runner reject {culprit} --reason …` ({names} DONE again as before)",
    ]


def duration(seconds: float) -> str:
    """`4.2 s`, `3 min 07 s`, `2 h 05 min`."""
    if seconds < _SECONDS_A_MINUTE:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), _SECONDS_A_MINUTE)
    if minutes < _SECONDS_A_MINUTE:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, _SECONDS_A_MINUTE)
    return f"{hours} h {minutes:02d} min"
