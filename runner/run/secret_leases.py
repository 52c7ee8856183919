"""Secrets that a person's own command gives: asked for by the first attempt that needs one.

The values are in memory alone, for one task each, and are gone with its attempt. The journal hears
who had which from when to when, never a value nor its digest.
"""

from __future__ import annotations

from dataclasses import field, replace
from datetime import timedelta
from threading import Lock
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import RunnerError
from runner.journal.log import Journal
from runner.journal.session_events import SecretLeased, SecretReturned
from runner.lazy_dataclass import dataclass
from runner.model import Ending, Finding, Outcome, Reason
from runner.process import own_command
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.config.values import SecretSource
    from runner.gates.regression import Suspects
    from runner.model import Task
    from runner.run.assignment import Assignment, TellOfSecrets, WorkerContext

JOURNAL = "artifacts/build/journal.jsonl"


class LeaseError(RunnerError):
    """A secret was not to be had: what that means is for its task alone."""


@dataclass(slots=True)
class _Lease:
    attempt: int
    value: str = field(repr=False)
    over: float
    """When, by the monotonic clock, another value is asked for."""


@dataclass(slots=True)
class SecretLeases:
    """Who has which secret now; called from the threads of all slots."""

    settings: Settings
    environ: Mapping[str, str]
    root: Path
    _held: dict[tuple[str, str], _Lease] = field(default_factory=dict, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def lend(
        self,
        task: Task,
        attempt: int,
        tell: TellOfSecrets,
        cancelled: Callable[[], bool] = lambda: False,
        holder: str = "",
    ) -> dict[str, str]:
        """Names and values of all leased secrets that a task requires. Raises LeaseError.

        One whose time is over is asked for anew; the task's other secrets stay as they are. The
        `holder` is the task whose attempt has them, where it is another one.
        """
        needed = {need.name for need in task.requires if need.kind == "secret"}
        sources = [one for one in self.settings.secret if one.name in needed]
        who = holder or task.id
        return {one.name: self._value(one, who, attempt, tell, cancelled) for one in sources}

    def _value(
        self,
        source: SecretSource,
        task: str,
        attempt: int,
        tell: TellOfSecrets,
        cancelled: Callable[[], bool],
    ) -> str:
        key = (task, source.name)
        with self._lock:
            known = self._held.get(key)
        now = effects.monotonic()
        if known is not None and now < known.over:
            return known.value
        # Outside of the lock: a command that waits for its vault must not hold up the tasks of
        # other slots.
        answer = own_command.ask_for_secret(source.command, self.root, self.environ, cancelled)
        if answer.trouble:
            raise LeaseError(
                f"the secret {source.name} is not available: {answer.trouble}",
                where=f"[secret.{source.name}]",
                hint="run its command yourself: "
                f"{display(source.command)} (is its tool logged in, does it wait for input?)",
            )
        if known is not None:
            tell(task, known.attempt, SecretReturned(source.name))
        # The wall's clock is for people to read. What decides is the monotonic one below: setting a
        # clock back makes no value last longer.
        until = effects.now() + timedelta(seconds=source.ttl)
        text = until.isoformat(timespec="seconds").replace("+00:00", "Z")
        with self._lock:
            over = effects.monotonic() + source.ttl
            self._held[key] = _Lease(attempt, answer.value, over)
        tell(task, attempt, SecretLeased(source.name, source.kind, text))
        return answer.value

    def give_back(self, task: str, tell: TellOfSecrets) -> None:
        """Forget what a task had."""
        with self._lock:
            mine = {name: held for (one, name), held in self._held.items() if one == task}
            for name in mine:
                del self._held[task, name]
        for name, held in mine.items():
            tell(task, held.attempt, SecretReturned(name))

    def give_all_back(self) -> None:
        """Forget what is left, such as that of a proof by hand."""
        for task in {task for task, _ in tuple(self._held)}:
            self.give_back(task, self.write)

    def write(self, task: str, attempt: int, event: SecretLeased | SecretReturned) -> None:
        """Tell the journal, where no coordinator does: of a proof that no attempt is about."""
        with Journal.open(self.root / JOURNAL) as journal:
            journal.append(event, task=task, attempt=attempt)


def lend_secrets(
    assignment: Assignment,
    site: WorkerContext,
    work: Callable[[Assignment, WorkerContext], Outcome],
) -> Outcome:
    """What the work comes to with the secrets that its task is lent.

    BLOCKED where one is not to be had, at the beginning or later; all are given back at its end.
    """
    leases = site.leases
    if leases is None:
        return work(assignment, site)
    try:
        return work(renew_secrets(assignment, site), site)
    except LeaseError as error:
        refused = _refuse_attempt(assignment, error)
        return replace(refused, ending=Ending.INTERRUPTED) if site.cancelled.is_set() else refused
    finally:
        leases.give_back(assignment.task.id, site.workers.report)


def renew_secrets(assignment: Assignment, site: WorkerContext) -> Assignment:
    """The same with values that still hold; former ones stay known, so that they stay hidden.

    Raises LeaseError.
    """
    if site.leases is None:
        return assignment
    stops = site.cancelled.is_set
    lent = site.leases.lend(assignment.task, assignment.attempt, site.workers.report, stops)
    # Added behind the former ones: a name that is given twice means the later value, and output is
    # still cleared of the earlier one.
    new = tuple(pair for pair in lent.items() if pair not in assignment.secrets)
    return replace(assignment, secrets=(*assignment.secrets, *new)) if new else assignment


def _refuse_attempt(assignment: Assignment, error: LeaseError) -> Outcome:
    """The task waits for a person; nothing of it has run."""
    finding = Finding("secret", error.message, hint=error.hint)
    return Outcome(
        task=assignment.task.id,
        attempt=assignment.attempt,
        ending=Ending.BLOCKED,
        base=assignment.base,
        tree="",
        findings=(finding,),
        reason=Reason.SECRET,
    )


def lend_to_traced(suspects: Suspects, assignment: Assignment, site: WorkerContext) -> Suspects:
    """Tests of other tasks with the secrets that these require. Raises LeaseError.

    It is this attempt that has them, and that gives them back.
    """
    leases = site.leases
    if leases is None or not site.settings.secret:
        return suspects
    traced = []
    tell, stops, mine = site.workers.report, site.cancelled.is_set, assignment.task.id
    for one in suspects.traced:
        lent = leases.lend(one.task, assignment.attempt, tell, stops, holder=mine)
        traced.append(replace(one, secrets=(*one.secrets, *lent.items())) if lent else one)
    return replace(suspects, traced=tuple(traced))
