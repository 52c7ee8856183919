"""Fetch secrets by a person's own command when the first attempt needs one.

The values are in memory alone, for one task each, and are gone with its attempt. The journal hears
who had which from when to when, never a value nor its digest.
"""

from __future__ import annotations

from datetime import timedelta
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner import effects
from runner.errors import RunnerError
from runner.journal.log import Journal
from runner.journal.session_events import SecretLeased, SecretReturned
from runner.model import Ending, Finding, Outcome, Reason
from runner.process import own_command
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from runner.config.setting_values import SecretSource
    from runner.config.settings import Settings
    from runner.gates.regression import Suspects
    from runner.model import Task
    from runner.run.worker_assignment import Assignment, TellOfSecrets, WorkerContext

JOURNAL = "artifacts/build/journal.jsonl"


class LeaseError(RunnerError):
    """A secret was not to be had: what that means is for its task alone."""


class _Lease(Struct):
    attempt: int
    value: str
    over: float
    """Expiry on the monotonic clock, after which a new value is requested."""

    def __repr__(self) -> str:
        return f"_Lease({self.attempt}, over={self.over})"


class SecretLeases(Struct):
    """The secrets that are in use, by holder; called from the threads of all slots."""

    settings: Settings
    environ: Mapping[str, str]
    root: Path
    _held: dict[tuple[str, str], _Lease] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def lend(
        self,
        task: Task,
        attempt: int,
        tell: TellOfSecrets,
        cancelled: Callable[[], bool] = lambda: False,
        holder: str = "",
    ) -> dict[str, str]:
        """Return the leased secrets of a task as names and values. Raises LeaseError.

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
        # Without the lock: a command that waits for its vault must not block the tasks of other
        # slots.
        answer = own_command.ask_for_secret(source.command, self.root, self.environ, cancelled)
        if answer.trouble:
            raise LeaseError(
                f"the secret {source.name} is not available: {answer.trouble}",
                where=f"[secret.{source.name}]",
                hint="run its command yourself to see whether it needs a login or input: "
                f"{display(source.command)}",
            )
        if known is not None:
            tell(task, known.attempt, SecretReturned(source.name))
        # The wall clock is only displayed. The monotonic clock below decides: setting a clock back
        # extends no value.
        until = effects.now() + timedelta(seconds=source.ttl)
        text = until.isoformat(timespec="seconds").replace("+00:00", "Z")
        with self._lock:
            over = effects.monotonic() + source.ttl
            self._held[key] = _Lease(attempt, answer.value, over)
        tell(task, attempt, SecretLeased(source.name, source.kind, text))
        return answer.value

    def give_back(self, task: str, tell: TellOfSecrets) -> None:
        """Forget the secrets of a task."""
        with self._lock:
            mine = {name: held for (one, name), held in self._held.items() if one == task}
            for name in mine:
                del self._held[task, name]
        for name, held in mine.items():
            tell(task, held.attempt, SecretReturned(name))

    def forget_all_secrets(self) -> None:
        """Forget all remaining secrets, such as those of a manual proof."""
        for task in {task for task, _ in tuple(self._held)}:
            self.give_back(task, self.write)

    def write(self, task: str, attempt: int, event: SecretLeased | SecretReturned) -> None:
        """Write an event to the journal for a proof outside of an attempt."""
        with Journal.open(self.root / JOURNAL) as journal:
            journal.append(event, task=task, attempt=attempt)


def lend_secrets(
    assignment: Assignment,
    site: WorkerContext,
    work: Callable[[Assignment, WorkerContext], Outcome],
) -> Outcome:
    """Run the work with the secrets of its task, and return the outcome.

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
    """Return the assignment with renewed secrets; old values stay known for redaction.

    Raises LeaseError.
    """
    if site.leases is None:
        return assignment
    stops = site.cancelled.is_set
    lent = site.leases.lend(assignment.task, assignment.attempt, site.workers.report, stops)
    # Appended to the former ones: for a duplicate name the later value wins, and output is still
    # redacted by the earlier one.
    new = tuple(pair for pair in lent.items() if pair not in assignment.secrets)
    return replace(assignment, secrets=(*assignment.secrets, *new)) if new else assignment


def _refuse_attempt(assignment: Assignment, error: LeaseError) -> Outcome:
    """Return a BLOCKED outcome for an attempt that did not start because of a secret."""
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
    """Return the suspects with the secrets of their tests. Raises LeaseError.

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
