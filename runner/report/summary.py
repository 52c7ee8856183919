"""The summary at the end of a run: results, pending answers, and the next command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner.errors import ExitCode
from runner.model import Reason, Status
from runner.text.display import display
from runner.text.wording import plural, without_repeated_hints

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MEANING = {
    ExitCode.OK: "all tasks are DONE",
    ExitCode.FAILED: "a task failed its checks",
    ExitCode.USAGE: "usage, plan or settings are wrong",
    ExitCode.PERSON: "needs your input",
    ExitCode.REGRESSION: "the run stopped at a regression",
    ExitCode.STOPPED: "a budget was used up, or attempts repeated themselves",
    ExitCode.CONFLICT: "files or the plan changed during the run",
    ExitCode.BUG: "a bug; the journal is intact, run again",
    ExitCode.INTERRUPTED: "interrupted; run again to continue",
}
_ORDER = (Status.DONE, Status.IN_PROGRESS, Status.PENDING, Status.BLOCKED, Status.STALE)
_SECONDS_A_MINUTE = 60


class BlockedTask(Struct, frozen=True):
    """A task that waits for a person."""

    id: str
    note: str
    reason: Reason | None = None
    draft: str = ""
    victims: tuple[str, ...] = ()
    """Tasks that its held change breaks."""
    unapproved: tuple[str, ...] = ()
    """Those of them without an approval yet."""
    in_vain: str = ""
    """Why approving them has no effect, and what helps; empty if it has."""
    report: str = ""
    """File with details of its last attempt, relative to the project."""
    next: str = ""
    """What a person should do next."""
    findings: tuple[str, ...] = ()
    """Why the last attempt was rejected, as lines."""


class Summary(Struct, frozen=True):
    """Everything that the end of a run shows."""

    exit: ExitCode
    counts: Mapping[Status, int]
    seconds: float
    landed: int = 0
    """Number of commits of this run."""
    unproven: tuple[str, ...] = ()
    """DONE tasks that are neither proven nor waived."""
    blocked: tuple[BlockedTask, ...] = ()
    stale: tuple[tuple[str, str], ...] = ()
    """(ID, the change that made it so)."""
    nobodys: frozenset[str] = frozenset()
    """Those of them that have no implementer."""
    waiting: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(ID, IDs of the tasks it waits for)."""
    edited: Mapping[str, str] = field(default_factory=dict)
    """What a person changed in a waiting task during the run, as text."""
    notes: tuple[str, ...] = ()
    cost: str = ""
    """Usage of agents and models in this run."""
    proofs: str = ""
    """Cost of this run's proofs, if some were reused for others."""


def summary(run: Summary) -> str:
    """Return the summary of a run; one line if everything is done."""
    lines = [_first(run), *([f"used: {run.cost}"] if run.cost else [])]
    lines += [f"proofs: {run.proofs}"] if run.proofs else []
    hints: set[str] = set()
    for task in run.blocked:
        lines += without_repeated_hints(_format_blocked(task), hints)
    for id_, change in run.stale:
        name = display(id_)
        lines.append(f"STALE {name}: {display(change)}")
        broken = any(id_ in task.victims for task in run.blocked)
        if not broken:  # else the task that breaks it says both ways out
            lines.append(f"  next: {stale_step(id_, nobody=id_ in run.nobodys)}")
    lines += [
        f"waiting {display(name)}: needs {', '.join(map(display, needs))}"
        if needs
        else _format_ready(run, name)
        for name, needs in run.waiting
    ]
    lines += [f"note: {display(note)}" for note in run.notes]
    if run.exit is not ExitCode.OK:
        lines.append(f"exit {int(run.exit)}: {MEANING[run.exit]}{_more(run)}")
    return "\n".join(lines) + "\n"


def _format_ready(run: Summary, name: str) -> str:
    changed = f" ({display(how)} during this run)" if (how := run.edited.get(name)) else ""
    return f"{display(name)} is ready{changed}: run `runner`"


def _more(run: Summary) -> str:
    """Return a hint to the explanation of the reasons for BLOCKED; empty if no task is blocked."""
    codes = dict.fromkeys(str(task.reason) for task in run.blocked if task.reason)
    if not codes:
        return ""
    return f" (runner help blocked {next(iter(codes)) if len(codes) == 1 else ''}".rstrip() + ")"


def _first(run: Summary) -> str:
    total = sum(run.counts.values())
    counts = ", ".join(_format_count(run, status) for status in _ORDER if run.counts.get(status))
    tasks, commits = plural(total, "task"), plural(run.landed, "commit")
    return f"{tasks}: {counts or 'none'}; {commits}, {duration(run.seconds)}"


def _format_count(run: Summary, status: Status) -> str:
    lacking = len(run.unproven) if status is Status.DONE else 0
    number = f"{run.counts[status]} {status}"
    return f"{number} ({lacking} unproven)" if lacking else number


def _format_blocked(task: BlockedTask) -> list[str]:
    name = display(task.id)
    code = f" ({task.reason})" if task.reason else ""
    lines = [f"BLOCKED {name}{code}: {display(task.note)}"]
    lines += [f"  {line}" for line in task.findings]
    if task.draft and task.draft not in task.note:
        lines.append(f"  work kept on {display(task.draft)}")
    if task.report:
        lines.append(f"  report: {display(task.report)}")
    if task.victims:
        victims = tuple(map(display, task.victims))
        open_ones = tuple(map(display, task.unapproved)) or victims
        return [*lines, *ways_out(name, victims, open_ones, display(task.in_vain))]
    return [*lines, f"  next: {task.next}"]


def stale_step(id_: str, *, nobody: bool = False) -> str:
    """Return the next step for a STALE task, which cannot be rebuilt without an implementer."""
    name = display(id_)
    proves = f"`runner approve {name} --reuse`, then `runner`, re-tests the existing code"
    step = f"{proves} (not rebuilt)" if nobody else "`runner --rebuild` rebuilds it"
    return f"{step}; `runner review {name}` shows what was built"


def ways_out(
    culprit: str, victims: Sequence[str], unapproved: Sequence[str], in_vain: str = ""
) -> list[str]:
    """Return the options for a change that breaks other tasks, of which some may be approved."""
    ids, names = " ".join(unapproved), ", ".join(victims)
    follows = f"(rebuilds {names} on it, then all land together)"
    return [
        f"  keep it: {in_vain}, then `runner approve {ids}`"
        if in_vain
        else f"  keep it: `runner approve {ids}` {follows}",
        f"  drop it: `runner reject {culprit} --reason …` (DONE again: {names})",
    ]


def duration(seconds: float) -> str:
    """Format a duration as `4.2 s`, `3 min 07 s` or `2 h 05 min`."""
    if seconds < _SECONDS_A_MINUTE:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), _SECONDS_A_MINUTE)
    if minutes < _SECONDS_A_MINUTE:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, _SECONDS_A_MINUTE)
    return f"{hours} h {minutes:02d} min"
