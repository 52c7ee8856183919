"""A contract of another task, held against a change of what lies under it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.gates.base import Proved
from runner.gates.contracts.contract_checks import prove as prove_own
from runner.model import Severity, Verdict

if TYPE_CHECKING:
    from runner.gates.base import Check, GateContext
    from runner.model import Finding, Task


def prove(check: Check, task: Task, bench: GateContext) -> Proved:
    """Run a task's contract on the change of another; what failed before the change is known.

    `check` is the contract's own with the id `regression:TASK-002/contract:schema`.
    """
    own = replace(check, id=check.id.partition("/")[2], task="")
    theirs = replace(
        bench,
        task=task,
        logs=bench.logs / task.id,
        logs_shown=f"{bench.logs_shown}/{task.id}",
    )
    proved = prove_own(own, theirs)
    if _refusals(proved) and not bench.cancelled.is_set():
        proved = _excuse_known_failures(own, proved, theirs)
    return _with_id(check.id, proved)


def _excuse_known_failures(check: Check, proved: Proved, bench: GateContext) -> Proved:
    """The same, excused where every part of it failed on the tree before the change."""
    if bench.settings.strict or bench.on_base is None or not bench.changes:
        return proved
    with bench.on_base(()):
        before = prove_own(check, replace(bench, changes=(), on_base=None, tree=""))
    if _refusals(proved) - _refusals(before):
        return proved
    note = "fails as before the change"
    return Proved(
        proof=replace(proved.proof, verdict=Verdict.KNOWN, note=note) if proved.proof else None,
        findings=tuple(_excuse(finding, note) for finding in proved.findings),
    )


def _refusals(proved: Proved) -> frozenset[str]:
    return frozenset(finding.message for finding in proved.findings if finding.refuses)


def _excuse(finding: Finding, note: str) -> Finding:
    if not finding.refuses:
        return finding
    return replace(finding, severity=Severity.WARNING, message=f"{finding.message}: {note}")


def _with_id(id_: str, proved: Proved) -> Proved:
    return replace(
        proved,
        proof=replace(proved.proof, id=id_) if proved.proof else None,
        findings=tuple(replace(finding, check=id_) for finding in proved.findings),
    )
