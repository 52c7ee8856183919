"""API and data contracts as checks: list those of a task, and run one.

A contract of another task is held against a change of what lies under it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner.contracts.entries import Refused, documents, name_checks
from runner.gates.base import (
    NOT_RUN,
    Check,
    Fitted,
    Proved,
    command_limits,
    failures_of,
    file_name,
    make_proof,
    proof_of,
)
from runner.gates.own_files import make_empty, own_folder
from runner.lazy_module import lazy_module
from runner.model import Contract, Finding, Network, Severity, Verdict

if TYPE_CHECKING:
    from runner.config.settings import Settings
    from runner.contracts import contract_context, entries, openapi, schema, touched_contracts
    from runner.contracts.contract_context import ContractContext, ContractResult
    from runner.gates import commands
    from runner.gates.base import GateContext
    from runner.model import Task
else:
    commands = lazy_module("runner.gates.commands")
    contract_context = lazy_module("runner.contracts.contract_context")
    entries = lazy_module("runner.contracts.entries")
    openapi = lazy_module("runner.contracts.openapi")
    schema = lazy_module("runner.contracts.schema")
    touched_contracts = lazy_module("runner.contracts.touched_contracts")


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:
    """Return the checks for a task's contracts, in order."""
    return tuple(check for check, _ in _number_checks(task, settings))


def _number_checks(task: Task, settings: Settings) -> list[tuple[Check, Contract]]:
    return [(_check(name, entry, task, settings), entry) for name, entry in name_checks(task)]


def _check(id_: str, contract: Contract, task: Task, settings: Settings) -> Check:
    asked = task.network
    if contract.kind == "openapi" and asked is Network.NO:
        asked = Network.LOOPBACK
    return Check(
        id=id_,
        kind="contract",
        command=contract.value
        if contract.kind == "command"
        else f"{contract.kind}: {contract.value}",
        network=settings.network_for(asked),
        limits=command_limits(task, settings),
    )


def prove(check: Check, context: GateContext) -> Proved:
    """Run one contract; one that cannot be read, or lacks a tool, is not proven: it fails.

    What the change breaks for those who keep to the contract as it was is a warning beside it. A
    contract of another task is proven with that task in the context.
    """
    numbered = _number_checks(context.task, context.settings)
    contract = {known.id: contract for known, contract in numbered}.get(check.id)
    if contract is None or contract.kind == "command":
        return commands.prove(check, context)
    try:
        proved = _make_proved(check, _run_contract(check, contract, context), context)
    except Refused as refused:
        proved = _make_refused_proof(check, refused)
    return replace(proved, findings=(*proved.findings, *_find_breaks(check, contract, context)))


def make_context(check: Check, context: GateContext) -> ContractContext:
    """Return the place of a check with an empty folder; no link in the box is followed."""
    above = own_folder(context.place.box, "contracts")
    return contract_context.ContractContext(
        check=check.id,
        folder=make_empty(above / file_name(check.id)),
        place=context.place,
        environment=context.environment,
        run=lambda line: context.run(check, Fitted(line, {})),
        seconds=check.limits.hard,
        examples=context.settings.proof.contract_examples,
        kept=context.kept,
    )


def _run_contract(check: Check, contract: Contract, context: GateContext) -> ContractResult:
    contract_context = make_context(check, context)
    if contract.kind == "openapi":
        return openapi.test_application(entries.openapi(contract.value), contract_context)
    return schema.compare_schema(entries.schema(contract.value), contract_context)


def _make_proved(check: Check, result: ContractResult, context: GateContext) -> Proved:
    """Return the proof of a result; a difference outranks the exit code of the command."""
    if result.ran is None:
        proof = make_proof(check, Verdict.PASS, "", output=result.output)
        return Proved(proof, tools=result.tools)
    proof = proof_of(check, result.ran, context, result.counts)
    findings = result.findings or failures_of(check, result.ran, proof)
    if result.is_silent and not findings:
        message = f"the test of {check.command} left no report"
        hint = "read the output; code that is imported must not exit the process"
        findings = (Finding(check.id, message, hint=hint, detail=result.ran.tail),)
    if any(finding.refuses for finding in findings):
        proof = replace(proof, verdict=Verdict.FAIL)
    return Proved(proof, findings, tools=result.tools)


def _find_breaks(check: Check, contract: Contract, context: GateContext) -> tuple[Finding, ...]:
    path = next(iter(documents(contract)), "")
    return (
        touched_contracts.find_broken_promises(
            check.id, contract.kind, path, context.before, context.after
        )
        if path
        else ()
    )


def _make_refused_proof(check: Check, refused: Refused) -> Proved:
    """Create the failed proof of a contract that could not run, with a finding that says why."""
    output = refused.message.encode()
    proof = make_proof(
        check, Verdict.FAIL, "the contract check did not run", code=NOT_RUN, output=output
    )
    problem = refused.message.removeprefix(f"{refused.path} ") if refused.path else refused.message
    finding = Finding(
        check=check.id,
        message=problem if problem == refused.message else f"the file {problem}",
        path=refused.path,
        line=refused.line,
        hint=refused.hint,
    )
    return Proved(proof, (finding,))


def prove_for_other_task(check: Check, task: Task, context: GateContext) -> Proved:
    """Run a task's contract on the change of another; what failed before the change is known.

    `check` is the contract's own with the id `regression:TASK-002/contract:schema`.
    """
    own = replace(check, id=check.id.partition("/")[2], task="")
    theirs = replace(
        context,
        task=task,
        logs=context.logs / task.id,
        logs_shown=f"{context.logs_shown}/{task.id}",
    )
    proved = prove(own, theirs)
    if _refusals(proved) and not context.cancelled.is_set():
        proved = _excuse_known_failures(own, proved, theirs)
    return _with_id(check.id, proved)


def _excuse_known_failures(check: Check, proved: Proved, context: GateContext) -> Proved:
    """Return the result, excused if the contract failed in the base with equal findings."""
    if context.settings.proof.strict or context.on_base is None or not context.changes:
        return proved
    with context.on_base(()):
        # Without a tree: results of the base must not be stored under the proposal's name.
        before = prove(check, replace(context, changes=(), on_base=None, tree=""))
    if _refusals(proved) - _refusals(before):
        return proved
    note = "already failed before this change"
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
