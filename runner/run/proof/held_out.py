"""Run an attempt's held-out proof, and choose what its outcome may reveal."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner.gates.base import command_limits
from runner.gates.registry import TaskProof
from runner.held_out.store import MissingFilesError
from runner.held_out.workspace import as_changes, is_enclosed
from runner.journal.events import GateCompleted
from runner.lazy_module import lazy_module
from runner.model import Ending, Finding, Reason, Severity
from runner.model.words import HELD_OUT
from runner.model.words import HELD_OUT_MISSING as MISSING
from runner.model.work import AcceptanceRow, Doubt, ItemVerdict, Judge, with_rows
from runner.process.base import Command
from runner.process.supervise import run
from runner.run.proof.prove import make_context, make_gate_context, measure_stage
from runner.writes.pipeline import WriteContext, admit_writes, compile_writes
from runner.writes.sast import scan_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.held_out import author, proof
    from runner.held_out.store import HeldOutSite
    from runner.model import Outcome
    from runner.process.base import Place, Ran
    from runner.run.worker_assignment import Assignment, WorkerContext
else:
    author = lazy_module("runner.held_out.author")
    proof = lazy_module("runner.held_out.proof")


def probe_enclosure(assignment: Assignment, site: WorkerContext) -> bool:
    """Return whether an implementer's commands cannot read held-out files, and note it.

    It is asked in the implementer's own sandbox before it starts. A worker elsewhere has no store:
    there the outcome tells it.
    """
    if not assignment.held_out or assignment.implementer is None:
        return False
    environment = site.environment(assignment)
    hidden = site.sandbox.hidden
    enclosed = bool(hidden) and all(
        is_enclosed(site.sandbox, site.place, environment, folder) for folder in hidden
    )
    if held_out := site.held_out:
        held_out.store.note_attempt(assignment.task.id, _digests(assignment), enclosed=enclosed)
    return enclosed


def _digests(assignment: Assignment) -> list[str]:
    return sorted(one.digest for one in assignment.held_out.files)


def prove_held_out(
    assignment: Assignment, site: WorkerContext, outcome: Outcome, proven: TaskProof
) -> TaskProof:
    """Return the proof with what the held-out contracts say, where its visible checks passed."""
    refused = any(one.refuses and not one.asks for one in proven.findings)
    here = site.held_out
    if not assignment.held_out or here is None or assignment.is_partial or refused:
        return proven
    task = replace(assignment.task, held_out_files=assignment.held_out.files)
    try:
        contents = here.store.read_all(task)
    except MissingFilesError as error:
        missing = Finding(MISSING, error.message, hint=error.hint)
        return replace(proven, findings=(*proven.findings, missing))
    results = here.store.results_of(task.id)
    assert results is not None  # files were read from there
    context = make_context(assignment, site, outcome, dict(site.base_environment))
    held_out_context = proof.HeldOutContext(
        part=assignment.held_out,
        contents=contents,
        gates=replace(context, proofs=proven.proofs, former=site.former(assignment)),
        workspaces=here.workspaces,
        results=results,
        lay_out=partial(site.lay_out, assignment.base),
        environment=partial(_environment, assignment, site, here),
        has_author=bool(task.test_author and assignment.implementer),
        passed_on_base=here.passed_on_base,
        inspect=partial(_inspect, assignment, site, contents),
        named=here.find_named(task),
    )
    with measure_stage(assignment, site, HELD_OUT):
        found = proof.prove(held_out_context)
    here.store.keep_survivors(task.id, outcome.tree, found.survivors)
    proofs = tuple(one.proof for one in found.results)
    for one in proofs:
        site.workers.report(task.id, assignment.attempt, GateCompleted(proof=one))
    rows = _make_rows(found, assignment, here)
    items = [item.id for item in task.acceptance_items if item.id]
    return replace(
        proven,
        proofs=with_rows((*proven.proofs, *proofs), rows, items),
        findings=(*proven.findings, *found.findings),
    )


def weigh_visible(
    assignment: Assignment, site: WorkerContext, outcome: Outcome, proven: TaskProof
) -> TaskProof:
    """Return the proof with what the visible tests of an author show of acceptance items."""
    if assignment.is_partial or any(one.refuses and not one.asks for one in proven.findings):
        return proven
    task, own = assignment.task, make_gate_context(assignment, site, outcome)
    gates = replace(own, proofs=proven.proofs, former=site.former(assignment))
    rows = author.judge_items(assignment.author_tests, gates, proven.passed)
    items = [item.id for item in task.acceptance_items if item.id]
    if site.held_out is not None and assignment.implementer is not None:
        survivors = author.find_survivors(gates, partial(author.is_noticed, gates))
        site.held_out.store.keep_survivors(task.id, outcome.tree, survivors)
    return replace(proven, proofs=with_rows(proven.proofs, rows, items))


def prove_here(assignment: Assignment, site: WorkerContext, outcome: Outcome) -> Outcome:
    """Return the outcome of a worker elsewhere with what runs at home: held-out tests, mutants.

    Held-out files never leave this machine. The worker's processes have ended by now.
    """
    proven = TaskProof(proofs=outcome.proofs)
    if not assignment.held_out:
        weigh_visible(assignment, site, outcome, proven)  # for its mutants: its rows are known
        return outcome
    if site.held_out is not None and assignment.implementer is not None:
        store = site.held_out.store
        store.note_attempt(assignment.task.id, _digests(assignment), enclosed=outcome.enclosed)
    found = prove_held_out(assignment, site, outcome, proven)
    refused = any(one.refuses for one in found.findings)
    missing = any(one.check == MISSING for one in found.findings)
    failed = Ending.BLOCKED if missing else Ending.FAILED
    return replace(
        outcome,
        ending=failed if refused else outcome.ending,
        reason=Reason.HELD_OUT if missing else outcome.reason,
        findings=(*outcome.findings, *found.findings),
        proofs=found.proofs,
    )


def _make_rows(
    found: proof.HeldOutProof, assignment: Assignment, here: HeldOutSite
) -> Iterator[AcceptanceRow]:
    """Yield what the contracts say of acceptance items, with what lowers its worth."""
    task, part = assignment.task, assignment.held_out
    once_in_git = any(here.store.record_of(task.id, one.path).once_in_git for one in part.files)
    enclosed = here.store.was_enclosed(task.id, _digests(assignment))
    for one in found.results:
        doubt = Doubt.NONE if one.fails_on else Doubt.CANNOT_FAIL
        doubt = Doubt.ONCE_IN_GIT if once_in_git else doubt
        doubt = doubt if enclosed else Doubt.NOT_ENCLOSED
        for items, verdict in ((one.passed, ItemVerdict.MET), (one.failed, ItemVerdict.NOT_MET)):
            for item in items:
                yield AcceptanceRow(item, verdict, Judge.TESTS, one.proof.id, doubt=doubt)


def _inspect(
    assignment: Assignment, site: WorkerContext, contents: Mapping[str, bytes], place: Place
) -> tuple[Finding, ...]:
    """Pass the files through the write pipeline again, since they land with the task."""
    rules = replace(
        assignment.rules,
        outputs=tuple(contents),
        planned=None,
        permission=(),
        permission_floor=(),
        held_out=frozenset(),
        compile_commands=(),
    )

    def run_command(line: str | tuple[str, ...], *, stdin: bytes = b"", folder: str = "") -> Ran:
        limits = command_limits(assignment.task, site.settings)
        command = Command(line, place, site.base_environment, stdin, limits=limits, folder=folder)
        return run(command, site.sandbox, cancelled=site.cancelled)

    tree = place.tree / place.start
    context = WriteContext(tree, before=lambda _path: None, run_command=run_command)
    found = compile_writes(
        admit_writes(as_changes(contents), rules, context), rules, context
    ).findings
    return (
        *(
            replace(one, check=HELD_OUT, severity=Severity.QUESTION, detail="")
            for one in found
            if one.refuses
        ),
        *(one for path, content in contents.items() for one in _scan(path, content)),
    )


def _scan(path: str, content: bytes) -> Iterator[Finding]:
    """Yield what bandit finds, by its rule: the text of a test stays where it is."""
    for one in scan_file(content, path).findings if path.endswith(".py") else ():
        if one.severity != "low":  # an assertion is one of these
            yield Finding(HELD_OUT, one.rule, path, one.line, severity=Severity.WARNING)


def _environment(
    assignment: Assignment, site: WorkerContext, here: HeldOutSite, place: Place
) -> dict[str, str]:
    own = site.environment(assignment).items() - site.base_environment.items()
    return here.environment(place, site.sandbox) | dict(own)
