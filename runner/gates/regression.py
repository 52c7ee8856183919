"""Run other tasks' proofs on a change before it lands, and name what it would break.

Several run at once, each in a scratch tree of its own. Two in one tree would not be sound: a test
may write beside the code (a database, a snapshot, a build), what a check changed is put back under
the feet of whatever else runs there, and reports and measured lines lie in one box.
"""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner.gates import contract_checks, contract_tests, proof_cache, shim
from runner.gates.registry import TaskProof, together
from runner.model import Finding, Severity
from runner.text.wording import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from runner.gates.base import Check, GateContext, Proved
    from runner.model import Proof, Task

    Lane = Callable[[], AbstractContextManager["Helper | None"]]
    """Gives another scratch tree with the same change; None if none is free."""

PREFIX = "regression:"
"""A check `regression:TASK-004/TC-004` is a test contract of another task."""
KIND = "regression"
_WORTH = 0.5
"""Seconds of tests that justify another scratch tree; making one takes a tenth of that."""
_UNKNOWN_SECONDS = 1.0


class Traced(Struct, frozen=True):
    """A test contract or contract of another task that a change may break, and why it may."""

    task: Task
    name: str
    """Name such as `TC-004`, or `contract:schema`."""
    path: str
    """Changed file that reaches it."""
    line: int
    why: str
    seconds: float | None = None
    """Its last duration in seconds."""
    secrets: tuple[tuple[str, str], ...] = ()
    """Names and values of secrets for its own task's commands."""

    @property
    def check(self) -> str:
        """The id of the check."""
        return f"{PREFIX}{self.task.id}/{self.name}"

    @property
    def is_contract(self) -> bool:
        """Whether it is an entry under Contracts, and no test."""
        return self.name.startswith("contract:")


class Suspects(Struct, frozen=True):
    """The proofs that a change may break, the likely failures first."""

    traced: tuple[Traced, ...] = ()
    enough: int | None = None
    """Failures after which no more tests start; None if all must be known."""
    notes: tuple[Finding, ...] = ()
    """Findings about what could not be decided."""


def estimate_seconds(traced: Traced) -> float:
    """Estimate the seconds of a proof from earlier runs."""
    return _UNKNOWN_SECONDS if traced.seconds is None else traced.seconds


def count_helpers(suspects: Suspects) -> int:
    """Return how many additional trees are worth creating for the expected duration.

    What uses scarce things, one of which two must not take at once, is the task's own tree's.
    """
    free = [one for one in suspects.traced if not one.task.uses]
    expected = sum(map(estimate_seconds, free))
    rest = len(free) if len(free) < len(suspects.traced) else len(free) - 1
    return max(0, min(rest, int(expected / _WORTH)))


class Helper(Struct, frozen=True):
    """A scratch tree beside the task's own, and whether it may be used for one more."""

    context: GateContext
    may_go_on: Callable[[], bool]


def prove_others(
    suspects: Suspects,
    context: GateContext,
    *,
    started: Callable[[Check], None],
    completed: Callable[[Proof], None],
    lane: Lane | None = None,
) -> TaskProof:
    """Run what is traced, as much at once as there are lanes; the results keep their order.

    All of it runs, so that the tasks a change breaks are known together, unless `enough` says that
    fewer will do for the next attempt.
    """
    row = _Row(suspects, context, started, completed)
    helpers = 0 if lane is None else count_helpers(suspects)
    if not helpers:
        row.work(context)
    else:
        _work_together(row, lane, helpers)
    return row.to_proven()


def _work_together(row: _Row, lane: Lane | None, helpers: int) -> None:
    """Run the row in the task's tree and in helper trees; exceptions of helpers are raised."""
    from concurrent.futures import ThreadPoolExecutor

    assert lane is not None
    with ThreadPoolExecutor(max_workers=helpers, thread_name_prefix="lane") as executor:
        beside = [executor.submit(row.work_in, lane) for _ in range(helpers)]
        try:
            row.work(row.context)
        except BaseException:
            # The executor waits for its threads on exit: otherwise an interrupt takes effect only
            # after the whole row.
            row.stop()
            raise
        for one in beside:
            one.result()


class _Row(Struct):
    """A queue of proofs to run, taken by free workers."""

    suspects: Suspects
    context: GateContext
    started: Callable[[Check], None]
    completed: Callable[[Proof], None]
    _waiting: deque[int] = field(default_factory=deque)
    _alone: deque[int] = field(default_factory=deque)
    """Tests with scarce resources, which must not run in parallel: for the task's own tree."""
    _proved: dict[int, Proved] = field(default_factory=dict)
    _failures: int = 0
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        for number, one in enumerate(self.suspects.traced):
            (self._alone if one.task.uses else self._waiting).append(number)

    def work_in(self, lane: Lane) -> None:
        """Run entries of the row in another tree while one is available."""
        with lane() as helper:
            while helper is not None and helper.may_go_on() and self._one(helper.context):
                pass

    def work(self, context: GateContext) -> None:
        """Run entries of the row in the task's tree until none is left."""
        while self._one(context, self._alone) or self._one(context):
            pass

    def stop(self) -> None:
        """Stop starting further entries."""
        with self._lock:
            self._waiting.clear()
            self._alone.clear()

    def _one(self, context: GateContext, row: deque[int] | None = None) -> bool:
        """Run the next one; whether there was one."""
        number = self._next(self._waiting if row is None else row)
        if number is None:
            return False
        traced = self.suspects.traced[number]
        self.started(_check(traced, context))
        proved = _about(traced, _prove(traced, _context_for(traced, context)))
        failed = any(finding.refuses for finding in proved.findings)
        if failed:
            remember_failure(traced, context.kept, str(context.place.shown))
        proved = replace(proved, findings=(*proved.findings, *shim.findings(context)))
        if proved.proof:
            self.completed(proved.proof)
        with self._lock:
            self._proved[number] = proved
            self._failures += failed
        return True

    def _next(self, row: deque[int]) -> int | None:
        with self._lock:
            enough = self.suspects.enough
            over = enough is not None and self._failures >= enough
            if over or not row or self.context.cancelled.is_set():
                return None
            return row.popleft()

    def to_proven(self) -> TaskProof:
        """Return the combined results in the order of the traced tests."""
        proven = together([self._proved[number] for number in sorted(self._proved)])
        left = len(self._waiting) + len(self._alone)
        over = left > 0 and not self.context.cancelled.is_set()
        notes = (*self.suspects.notes, *([make_left_out(left, self._failures)] if over else []))
        return replace(proven, findings=(*proven.findings, *notes))


def may_be_regression(own: TaskProof, task: Task) -> bool:
    """Return whether nothing refuses a change but project gates of which all failures are known."""
    refusing = {one.check for one in own.findings if one.refuses and not one.asks}
    return refusing <= own.failing.keys() - {f"gate:{gate.name}" for gate in task.gates}


def excuse_gates(own: TaskProof, others: TaskProof) -> TaskProof:
    """Return a task's own proof without the gates that fail only because of a regression.

    These are gates in which no test fails but those that fail in other tasks' contracts, too.
    """
    broken = frozenset().union(*others.failing.values())
    excused = {check for check, failing in own.failing.items() if failing <= broken}
    names = ", ".join(find_broken_tasks(others.failing))
    note = f"fails only in tests of {names}, which this change breaks"
    return replace(
        own,
        proofs=tuple(replace(one, note=note) if one.id in excused else one for one in own.proofs),
        findings=tuple(one for one in own.findings if not (one.check in excused and one.refuses)),
    )


def make_left_out(left: int, failures: int) -> Finding:
    """Return a note on proofs that did not run because too many had failed."""
    checks = "1 more was" if left == 1 else f"{left} more were"
    return Finding(
        check=KIND,
        message=f"{plural(failures, 'proof')} of other tasks failed; {checks} not run",
        severity=Severity.NOTE,
        hint="the next attempt runs them",
    )


def _context_for(traced: Traced, context: GateContext) -> GateContext:
    """Return the context with the secrets of the traced task instead of the change's own."""
    mine = {need.name for need in context.task.requires if need.kind == "secret"}
    kept = {name: value for name, value in context.environment.items() if name not in mine}
    values = tuple(value for _, value in traced.secrets)
    return replace(
        context,
        environment=kept | dict(traced.secrets),
        known_secrets=(*context.known_secrets, *values),
        memory=None if traced.task.uses else context.memory,
    )


def _check(traced: Traced, context: GateContext) -> Check:
    """Return the check of another task, labelled for this change."""
    checks = contract_tests.checks(traced.task, context.settings)
    if traced.is_contract:
        checks = contract_checks.checks(traced.task, context.settings)
    check = next(one for one in checks if one.id == traced.name)
    return replace(check, id=traced.check, task=traced.task.id)


def _prove(traced: Traced, context: GateContext) -> Proved:
    check = _check(traced, context)
    if traced.is_contract:
        return contract_checks.prove_for_other_task(check, traced.task, context)
    return contract_tests.prove(check, context)


def _about(traced: Traced, proved: Proved) -> Proved:
    """Turn a result into one about the change instead of the other task."""
    proof = replace(proved.proof, kind=KIND, held_out=()) if proved.proof else None
    return replace(
        proved,
        proof=proof,
        coverage=None,
        findings=tuple(_locate_finding(traced, finding) for finding in proved.findings),
    )


def _locate_finding(traced: Traced, finding: Finding) -> Finding:
    if not finding.refuses:
        return finding
    name = f"{traced.task.id}'s {traced.name}"
    return replace(
        finding,
        path=traced.path,
        line=traced.line,
        message=f"this change breaks {name}: {finding.message}",
        hint=f"{traced.why}; keep the behaviour that {traced.task.id} relies on",
    )


def failures_before(kept: Path | None, shown: str, task: str, name: str) -> int:
    """Return how many changes have failed this proof of another task, from the user's cache."""
    count = proof_cache.load_entry(kept, "broken", shown, task, name).get("failures")
    return count if isinstance(count, int) else 0


def remember_failure(traced: Traced, kept: Path | None, shown: str) -> None:
    """Count that a change failed a proof of another task: it runs among the first next time."""
    key = (shown, traced.task.id, traced.name)
    count = failures_before(kept, *key) + 1
    proof_cache.remember(kept, {"failures": count}, "broken", *key)


def find_broken_tasks(checks: Iterable[str]) -> tuple[str, ...]:
    """Return the tasks of failed checks, sorted; empty if one check is not another task's.

    By their ids: the checks come in the order in which they failed, which is chance.
    """
    checks = tuple(checks)
    if not all(check.startswith(PREFIX) for check in checks):
        return ()
    return tuple(sorted({one.removeprefix(PREFIX).partition("/")[0] for one in checks}))
