"""Test contracts as checks: each `TC-NNN (level): command` of a task."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from runner.gates.base import Check, Proved, command_limits, failures_of, proof_of
from runner.gates.counts import ran_no_test, read_counts
from runner.model import Finding, Verdict
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from runner.config.settings import Settings
    from runner.gates.base import Bench
    from runner.model import Task

_PYTEST_ID = re.compile(r"^[\w./-]+\.py(?:::[\w\[\]:.,-]+)?$|^[\w./-]+/?::[\w\[\]:.,-]+$")


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:
    """The test contracts of a task, in its own order."""
    limits = command_limits(task, settings)
    return tuple(
        Check(
            id=contract.id,
            kind="test",
            command=as_command(contract.command),
            level=contract.level,
            network=settings.network_for(task.network),
            limits=limits,
        )
        for contract in task.test_contracts
    )


def as_command(line: str) -> str:
    """A test contract's command; a bare pytest path or node id stands for pytest on it."""
    return f"python -m pytest -q {line}" if _PYTEST_ID.match(line) else line


def prove(check: Check, bench: Bench) -> Proved:
    """Run one test contract; one that runs no test has not passed."""
    ran = bench.run(check)
    counts = read_counts(ran.tail)
    proof = proof_of(check, ran, bench, counts)
    if proof.verdict is Verdict.PASS and ran_no_test(counts):
        empty = Finding(
            check=check.id,
            message=f"`{redact(check.command)}` ran no test",
            hint="name tests that exist, or make the command collect them",
            detail=ran.tail,
        )
        return Proved(replace(proof, verdict=Verdict.FAIL), (empty,))
    return Proved(proof, failures_of(check, ran, proof))
