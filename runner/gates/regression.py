"""Test contracts of other tasks, run on a change before it lands: what it would break is told."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runner.gates import contract_tests
from runner.gates.base import Check, Proved
from runner.gates.registry import Proven, together
from runner.process.command import Limits
from runner.process.limits import bounded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from runner.gates.base import Bench
    from runner.model import Finding, Network, Proof, TestContract

PREFIX = "regression:"
"""A check `regression:TASK-004/TC-004` is a test contract of another task."""
KIND = "regression"


@dataclass(frozen=True, slots=True)
class Traced:
    """A test contract of another task that a change may break, and why it may."""

    task: str
    contract: TestContract
    network: Network
    timeout: float | None
    path: str
    """The changed file by which it is reached."""
    line: int
    why: str

    @property
    def check(self) -> str:
        """The id of the check."""
        return f"{PREFIX}{self.task}/{self.contract.id}"


def prove_others(
    traced: Iterable[Traced],
    bench: Bench,
    *,
    started: Callable[[Check], None],
    completed: Callable[[Proof], None],
) -> Proven:
    """Run every traced test contract, so that all tasks a change breaks are known together."""
    said = []
    for one in traced:
        if bench.cancelled.is_set():
            break
        check = _check(one, bench)
        started(check)
        proved = _about(one, contract_tests.prove(check, bench))
        if proved.proof:
            completed(proved.proof)
        said.append(proved)
    return together(said)


def _check(traced: Traced, bench: Bench) -> Check:
    settings = bench.settings
    hard = traced.timeout or settings.hard_seconds
    return Check(
        id=traced.check,
        kind="test",
        command=contract_tests.as_command(traced.contract.command),
        level=traced.contract.level,
        network=settings.network_for(traced.network),
        limits=bounded(
            Limits(soft=settings.soft_seconds, idle=settings.idle_seconds, hard=hard), settings
        ),
        task=traced.task,
    )


def _about(traced: Traced, proved: Proved) -> Proved:
    """What a run says, as a word about the change and not about the other task."""
    proof = replace(proved.proof, kind=KIND) if proved.proof else None
    return replace(
        proved,
        proof=proof,
        coverage=None,
        findings=tuple(_told(traced, finding) for finding in proved.findings),
    )


def _told(traced: Traced, finding: Finding) -> Finding:
    if not finding.refuses:
        return finding
    name = f"{traced.task}'s {traced.contract.id}"
    return replace(
        finding,
        path=traced.path,
        line=traced.line,
        message=f"this breaks {name}: {finding.message}",
        hint=f"{traced.why}; keep what {traced.task} relies on",
    )


def broken_tasks(checks: Iterable[str]) -> tuple[str, ...]:
    """The tasks that refusing checks are about; none where a check is no test of another task."""
    checks = tuple(checks)
    if not all(check.startswith(PREFIX) for check in checks):
        return ()
    return tuple(dict.fromkeys(one.removeprefix(PREFIX).partition("/")[0] for one in checks))
