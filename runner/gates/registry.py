"""Every kind of check there is, in the order in which they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.gates import commands, contract_tests, contracts

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.config.settings import Settings
    from runner.gates.base import Bench, Check
    from runner.model import Finding, Proof, Task

FAMILIES = (contract_tests, contracts, commands)
"""One module a family: `checks(task, settings)` names them, `prove(check, bench)` runs one."""


def checks_of(task: Task, settings: Settings) -> tuple[Check, ...]:
    """Everything that must pass before the task lands."""
    return tuple(check for family in FAMILIES for check in family.checks(task, settings))


def prove_all(
    task: Task,
    settings: Settings,
    bench: Bench,
    *,
    started: Callable[[Check], None],
    completed: Callable[[Proof], None],
) -> tuple[tuple[Proof, ...], tuple[Finding, ...]]:
    """Run every check of a task, so that the next attempt hears of all failures at once."""
    proofs: list[Proof] = []
    findings: list[Finding] = []
    for family in FAMILIES:
        for check in family.checks(task, settings):
            if bench.cancelled.is_set():
                return tuple(proofs), tuple(findings)
            started(check)
            proof, finding = family.prove(check, bench)
            completed(proof)
            proofs.append(proof)
            if finding is not None:
                findings.append(finding)
    return tuple(proofs), tuple(findings)
