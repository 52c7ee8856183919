"""Select the tasks of a run by the ids that a person named.

What a run's exit says, from what every selected task came to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from runner.errors import ExitCode, RunnerError
from runner.model import Reason, Status
from runner.text.wording import did_you_mean, read_number

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from runner.journal.state import RunState
    from runner.plan.graph import TaskGraph


class Selection(Struct, frozen=True):
    """The requested tasks; none named means every task.

    `ids` are built with what they depend on, `only` without; `start` adds all that follows from it,
    `until` stops there, `with_dependents` adds what depends on the named ones.
    """

    ids: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    start: str = ""
    until: str = ""
    with_dependents: bool = False

    @property
    def named(self) -> tuple[str, ...]:
        """Every id a person typed."""
        return tuple(id_ for id_ in (*self.ids, *self.only, self.start, self.until) if id_)


def find_id(typed: str, known: Collection[str]) -> str:
    """Return the task ID for `3`, `task-3` or `TASK-003`. Raises RunnerError.

    Raises RunnerError with a suggestion when there is none.
    """
    if typed in known:
        return typed
    same = [id_ for id_ in known if _bare(id_) == _bare(typed)]
    if not same and (number := read_number(typed)) >= 0:
        same = [id_ for id_ in known if _number(id_) == number]
    if len(same) == 1:
        return same[0]
    hint = did_you_mean(typed.upper(), known) or "`runner status --list` lists the tasks"
    raise RunnerError(f'unknown task "{typed}"', hint=hint)


def select_ids(selection: Selection, graph: TaskGraph, ids: Iterable[str]) -> frozenset[str]:
    """Return the task IDs in a run. Raises RunnerError for an ID that is not in the plan."""
    known = tuple(ids)
    everything = frozenset(known)
    if not selection.named:
        return everything
    chosen: set[str] = set()
    for typed in selection.ids:
        id_ = find_id(typed, everything)
        chosen.update((id_, *graph.ancestors(id_)))
    chosen |= {find_id(typed, everything) for typed in selection.only}
    if selection.start:
        start = find_id(selection.start, everything)
        chosen.update((start, *graph.descendants(start)))
    if selection.until:
        until = find_id(selection.until, everything)
        before = {until, *graph.ancestors(until)}
        chosen = chosen & before if selection.start else chosen | before
    if selection.with_dependents:
        for id_ in tuple(chosen):
            chosen.update(graph.descendants(id_))
    return frozenset(chosen)


def _bare(id_: str) -> str:
    letters = "".join(letter for letter in id_ if letter.isalpha()).upper()
    return f"{letters}-{_number(id_)}"


def _number(id_: str) -> int:
    return read_number("".join(letter for letter in id_ if letter.isdigit()))


# --- exit codes -----------------------------------------------------------------------


def codes_of(
    selected: Iterable[str],
    state: RunState,
    outdated: Iterable[str],
    *,
    only_planned: bool,
) -> tuple[set[ExitCode], list[str]]:
    """Return the exit codes, and the tasks that are still PENDING, sorted."""
    codes: set[ExitCode] = set()
    waiting = []
    for id_ in selected:
        known = state.task(id_)
        match known.status:
            case Status.BLOCKED if known.reason is Reason.CHECKS:
                codes.add(ExitCode.FAILED)
            case Status.BLOCKED if known.reason in (Reason.STUCK, Reason.BUDGET):
                codes.add(ExitCode.STOPPED)
            case Status.BLOCKED | Status.STALE:
                codes.add(ExitCode.PERSON)
            case Status.PENDING if not (only_planned and known.planned and known.planned.approved):
                waiting.append(id_)
    codes |= {ExitCode.CONFLICT} if set(waiting) & set(outdated) else set()
    return codes, sorted(waiting)
