"""One attempt at one task in a scratch tree: a Brief goes in, an Outcome comes out.

The implementer proposes changes; then follow write pipeline, review and proof, in this order.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner import effects
from runner.gates import missing_file_causes, sandbox_denials
from runner.gates.base import command_limits, failures_of, proof_of
from runner.gates.registry import checks_of
from runner.held_out.workspace import put_files
from runner.implementers.base import ImplementerContext, Mode, WorkResult
from runner.implementers.command import find_obstacle
from runner.lazy_module import lazy_module
from runner.model import Ending, Finding, Outcome, Reason, ReviewMode, Severity, Verdict
from runner.model.words import HELD_OUT_MISSING
from runner.model.work import WAITS_FOR_BATCH, items_of, with_rows
from runner.process.base import Command
from runner.process.sandbox import ReadOnly
from runner.process.supervise import run
from runner.process.tools import find_project_python
from runner.repo.git import StoppedError
from runner.repo.proposal_bounds import ProposalError, TooMuchError
from runner.repo.trees import Snapshot
from runner.run.permission_prompts import Questions
from runner.run.planned import phases
from runner.run.proof import held_out
from runner.run.proof.held_out import probe_enclosure
from runner.run.proof.prove import (
    make_gate_context,
    measure_attempt,
    measure_stage,
    prove_proposal,
    prove_standing,
)
from runner.run.proof_sufficiency import too_little
from runner.run.resource_locks import is_glob
from runner.run.review import Answer
from runner.run.reviewers import UNABLE, review_of
from runner.run.secret_leases import lend_secrets, renew_secrets
from runner.text.display import display
from runner.text.wording import attempt_folder, did_you_mean
from runner.writes.analyser_copies import ScanWorkspace
from runner.writes.compile_check import lacks_only_tools
from runner.writes.pipeline import WriteContext, admit_writes, compile_writes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.gates.base import Check
    from runner.gates.registry import TaskProof
    from runner.journal.events import Event as Happening
    from runner.model import Change, Proof
    from runner.process.base import Ran
    from runner.run.planned import plan_session
    from runner.run.review import Ruling
    from runner.run.worker_assignment import Assignment, WorkerContext
else:
    plan_session = lazy_module("runner.run.planned.plan_session")


def attempt(assignment: Assignment, site: WorkerContext) -> Outcome:
    """Implement, check every write and prove; nothing outside of the slot is changed."""
    began = effects.monotonic()
    try:
        with measure_attempt(assignment, site):
            outcome = lend_secrets(assignment, site, _attempt)
    except StoppedError:  # nobody has looked through what is there, so nothing of it is kept
        outcome = Outcome(
            assignment.task.id, assignment.attempt, Ending.INTERRUPTED, assignment.base, tree=""
        )
    return replace(outcome, seconds=round(effects.monotonic() - began, 3))


def stand(assignment: Assignment, site: WorkerContext) -> Outcome | None:
    """Return the outcome of a check whose commands all passed on this tree before, else None."""
    memory = site.memory
    tree = memory.trees.get(assignment.base) if memory is not None else None
    if not tree or assignment.held_out or not assignment.is_check or assignment.mode is Mode.PLAN:
        return None
    began = effects.monotonic()
    outcome = Outcome(
        task=assignment.task.id,
        attempt=assignment.attempt,
        ending=Ending.FAILED,
        base=assignment.base,
        tree=tree,
    )
    proven = prove_standing(assignment, site, outcome)
    if proven is None:
        return None
    outcome = conclude(assignment, site, outcome, proven)
    return replace(outcome, seconds=round(effects.monotonic() - began, 3))


def _attempt(assignment: Assignment, site: WorkerContext) -> Outcome:
    with measure_stage(assignment, site, "scratch tree"):
        site.reset(assignment.base)
        if given := dict(assignment.author_tests.files):
            put_files(site.place, given)
    asked = Questions(assignment, site)
    enclosed = probe_enclosure(assignment, site)
    with measure_stage(assignment, site, "implementer"):
        result = _implement(assignment, site, asked)
    # The pipeline needs the person's new answers, or it rejects what they allowed.
    if asked.answers:
        assignment = replace(assignment, rules=asked.rules)
    seen, unread, ending = _look(assignment, site, result)
    outcome = Outcome(
        task=assignment.task.id,
        attempt=assignment.attempt,
        ending=ending,
        base=assignment.base,
        tree=seen.tree,
        changes=seen.changes,
        decisions=result.decisions,
        findings=(*result.findings, *unread, *_find_ignored(assignment, site, seen)),
        summary=result.summary,
        usage=result.usage,
        failure=result.failure,
        retry_after=result.retry_after,
        plan=result.plan,
        enclosed=enclosed,
    )
    changed = any(one.path not in given for one in outcome.changes)
    obstacle = "" if changed or unread else find_obstacle(result.summary)
    if obstacle:
        outcome = _give_up(outcome, obstacle)
    elif assignment.mode is Mode.PLAN:
        outcome = plan_session.evaluate_plan(assignment, site, outcome)
    elif not any(finding.refuses for finding in outcome.findings) and not site.cancelled.is_set():
        # A lease may have expired while the implementer worked: the proof gets valid values.
        outcome = evaluate(renew_secrets(assignment, site), site, outcome)
    else:
        outcome = screen(assignment, site, outcome)
    if outcome.tainted:
        with suppress(StoppedError):  # what was looked through is kept; the next one resets anyway
            site.reset(assignment.base)  # what was refused, a secret perhaps, is not kept there
    return replace(outcome, ending=Ending.INTERRUPTED) if site.cancelled.is_set() else outcome


def _give_up(outcome: Outcome, obstacle: str) -> Outcome:
    """Return the outcome as BLOCKED because the implementer reports an obstacle."""
    finding = Finding(
        "implementer", obstacle, hint="change the task in the plan, then run `runner`"
    )
    remarks = tuple(one for one in outcome.findings if not one.refuses)
    return replace(
        outcome, ending=Ending.BLOCKED, tree="", findings=(finding, *remarks), failure=None
    )


def _look(
    assignment: Assignment, site: WorkerContext, result: WorkResult
) -> tuple[Snapshot, tuple[Finding, ...], Ending]:
    """Return what the tree holds now, what keeps it from being read, and how that ends."""
    if assignment.is_check:  # nothing of it has run yet, so nothing can have changed
        site.scratch.sign()
        tree = site.scratch.base_tree()
        if site.memory is not None:
            site.memory.trees[assignment.base] = tree
        return Snapshot(tree, ()), (), Ending.FAILED
    try:
        seen = site.scratch.last_snapshot(_find_written(assignment, result))
    except ProposalError as error:
        finding = Finding(check="scope", path=error.path, message=error.message, hint=error.hint)
        ending = Ending.BLOCKED if isinstance(error, TooMuchError) else Ending.FAILED
        return Snapshot(tree="", changes=()), (finding,), ending
    findings = (
        *_clashes(assignment, site, seen),
        *_find_foreign(site),
        *assignment.author_tests.find_altered(seen.changes, partial(site.before, assignment.base)),
    )
    return seen, findings, Ending.FAILED


def _find_foreign(site: WorkerContext) -> Iterator[Finding]:
    """Yield a finding for each changed file in a submodule."""
    for path in site.submodules.find_changed() if site.submodules else ():
        yield Finding(
            check="scope",
            message=f"{display(path)} is in a submodule, so a task cannot change it",
            path=path,
            hint="commit the change in the submodule's own repository",
        )


def _find_written(assignment: Assignment, result: WorkResult) -> frozenset[str] | None:
    """Return the paths that can differ from the base; None if only the tree can tell."""
    if result.written is None:
        return None
    given = dict(assignment.author_tests.files)
    return frozenset((*result.written, *(change.path for change in assignment.carried), *given))


def _clashes(assignment: Assignment, site: WorkerContext, seen: Snapshot) -> Iterator[Finding]:
    """Yield new names that differ from others only in case, which are one file on some systems.

    The plan may ask for it, by naming the file exactly.
    """
    for path, other in sorted(site.scratch.same_but_case(seen.changes).items()):
        named = path in assignment.task.outputs
        yield Finding(
            check="paths",
            message=f"{path!a} and {other!a} are one file on file systems that ignore case",
            path=path,
            severity=Severity.WARNING if named else Severity.ERROR,
            hint=f"choose another name, or name `{path}` exactly in Output files",
        )


def _find_ignored(
    assignment: Assignment, site: WorkerContext, seen: Snapshot
) -> tuple[Finding, ...]:
    """Return findings on named Output files that git ignores, so that they would be lost."""
    if not seen.tree:  # too large to be looked at: what git would take is not known
        return ()
    proposed = {change.path for change in seen.changes}
    named = (path.removeprefix("./") for path in assignment.task.outputs if not is_glob(path))
    lost = [
        path
        for path in named
        if path not in proposed
        and (site.scratch.project / path).is_file()
        and site.before(assignment.base, path) is None
    ]
    message = "git ignores this file, so it cannot land"
    hint = "remove it from .gitignore or from Output files"
    return tuple(Finding(check="scope", path=one, message=message, hint=hint) for one in lost)


def _implement(assignment: Assignment, site: WorkerContext, asked: Questions) -> WorkResult:
    """Run the implementer in the scratch tree, or apply carried work to it."""
    site.scratch.apply(assignment.carried)
    if assignment.implementer is None:
        return WorkResult(written=())
    if assignment.mode is Mode.PLAN and assignment.plan is not None:
        return WorkResult(plan=assignment.plan)  # only reviewed
    if assignment.is_check:  # putting a context together costs more than the check
        return WorkResult()
    planning_now = assignment.mode is Mode.PLAN
    context = ImplementerContext(
        place=site.place,
        sandbox=ReadOnly(site.sandbox) if planning_now else site.sandbox,
        limits=command_limits(assignment.task, site.settings),
        environment=site.environment(assignment),
        tell=site.teller(assignment),
        cancelled=site.cancelled,
        log=site.logs / assignment.task.id / attempt_folder(assignment.attempt) / "implementer.log",
        known_secrets=tuple(value for _, value in assignment.secrets),
        network=site.settings.network_for(assignment.task.network),
        left=assignment.left,
        mode=assignment.mode,
        plan=assignment.plan,
        verdict=lambda change: word_of_pipeline(
            replace(assignment, rules=asked.rules), site, change
        ),
        run_gate=partial(try_check, assignment, site),
        find_met_bound=partial(_find_met_bound, assignment, site),
        record=partial(report_to_journal, assignment, site),
        ask=asked.ask,
        permission=assignment.rules.permission,
        permission_floor=assignment.rules.permission_floor,
        answers=assignment.rules.answers,
        reviewed=assignment.rules.reviewed,
    )
    return assignment.implementer.implement(assignment.brief, context)


def _find_met_bound(
    assignment: Assignment, site: WorkerContext, command: str, tail: str, code: int
) -> str:
    """Return the limit that a command of the implementer hit, judged by its output."""
    asked, settings = assignment.task.network, site.settings
    about = sandbox_denials.CommandBounds(command, settings.network_for(asked), asked)
    where = (site.place, site.sandbox, site.environment(assignment), settings)
    held = sandbox_denials.add_place(about, *where, command_limits(assignment.task, settings))
    bound = sandbox_denials.find_met_bound(tail, code, held)
    return bound or missing_file_causes.explain_absent(site.place, tail, command)


_CHECK = "run_gate"
_KINDS = ("test", "gate")
"""Checks that are one command; the others compare with the base and only run in the proof."""


def try_check(assignment: Assignment, site: WorkerContext, name: str) -> tuple[Finding, ...]:
    """Run one test contract or gate of the task by its name, on the tree as it is.

    It proves nothing: the same check runs again on exactly what would land. Within that check's
    own limits; findings where it fails. What the check itself leaves behind is taken away: it is
    not the implementer's.
    """
    checks = [one for one in checks_of(assignment.task, site.settings) if one.kind in _KINDS]
    found = next((one for one in checks if _is_named(one, name)), None)
    if found is None:
        known = [one.id for one in checks]
        hint = did_you_mean(name, known) or f"checks: {', '.join(known) or 'none'}"
        return (Finding(_CHECK, f"unknown check {name!a}", hint=hint),)
    try:
        with _put_back(assignment, site):
            return _findings_of(found, assignment, site)
    except ProposalError as error:
        return (Finding(_CHECK, error.message, path=error.path, hint=error.hint),)


def _findings_of(check: Check, assignment: Assignment, site: WorkerContext) -> tuple[Finding, ...]:
    task, attempt, base = assignment.task.id, assignment.attempt, assignment.base
    unproven = Outcome(task, attempt, Ending.FAILED, base, tree="")
    context = make_gate_context(assignment, site, unproven)
    context = replace(
        context, logs=context.logs / "tried", logs_shown=f"{context.logs_shown}/tried"
    )
    ran = context.run(check)
    failed = failures_of(check, ran, proof_of(check, ran, context, ()), context)
    return failed or (Finding(check.id, "passed", severity=Severity.NOTE, detail=ran.tail),)


@contextmanager
def _put_back(assignment: Assignment, site: WorkerContext) -> Iterator[None]:
    """Restore the tree after the block. Raises ProposalError."""
    before = site.scratch.snapshot()
    try:
        yield
    finally:
        if site.scratch.snapshot().tree != before.tree:
            site.lay_out(assignment.base, before.changes)


def word_of_pipeline(
    assignment: Assignment, site: WorkerContext, change: Change
) -> tuple[Finding, ...]:
    """Return the findings on one write of the steps for path, scope, plan and secrets."""
    context = WriteContext(
        tree=site.scratch.project, before=lambda path: site.before(assignment.base, path)
    )
    return admit_writes((change,), assignment.rules, context).findings


def report_to_journal(assignment: Assignment, site: WorkerContext, event: Happening) -> None:
    """Send an implementer's event to the coordinator, which alone writes the journal."""
    site.workers.report(assignment.task.id, assignment.attempt, event)


def _is_named(check: Check, name: str) -> bool:
    wanted = name.strip().casefold()
    return wanted in (check.id.casefold(), check.id.casefold().removeprefix("gate:"))


def evaluate(assignment: Assignment, site: WorkerContext, outcome: Outcome) -> Outcome:
    """Run the write pipeline, review and proof on an outcome, and return the result."""
    if not outcome.changes or assignment.gates:
        return _prove(assignment, site, outcome)
    context = make_write_context(assignment, site, outcome)
    with measure_stage(assignment, site, "write pipeline"):
        admitted = admit_writes(outcome.changes, assignment.rules, context)
    outcome = replace(outcome, tainted=admitted.tainted)
    at_write = site.settings.review.at == "write" and assignment.review is ReviewMode.PROMPT
    if admitted.clean and at_write:  # before anything is compiled, rather than once at the end
        ruling = site.workers.ask(outcome)
        if ruling.answer is Answer.WAITS:
            return replace(outcome, ending=Ending.WAITS)
        if ruling.answer is Answer.EDITED:
            return evaluate(assignment, site, _with_edit(assignment, site, outcome, ruling))
        if ruling.standing:  # answered before: the attempt counts, and is settled with it
            return outcome
        outcome = replace(outcome, findings=(*outcome.findings, *ruling.findings))
        if ruling.answer is Answer.REJECTED:
            return outcome
    with measure_stage(assignment, site, "compile and static analysis"):
        passed = compile_writes(admitted, assignment.rules, context)
    outcome = replace(outcome, findings=(*outcome.findings, *passed.findings))
    site.workers.add_scan(assignment.task.id, assignment.attempt, passed.sast)
    if not passed.clean:
        return without_tools(outcome)
    if site.settings.proof.sast_block_at != "never":  # then a person wants to wait for it
        blocking = passed.sast.result().find_blocking(site.settings.proof.sast_block_at)
        outcome = replace(outcome, findings=(*outcome.findings, *blocking))
        if blocking:
            return outcome
    return _prove(assignment, site, outcome)


def without_tools(outcome: Outcome) -> Outcome:
    """Return the outcome as BLOCKED if only missing tools reject it."""
    if not lacks_only_tools(outcome.findings):
        return outcome
    return replace(outcome, ending=Ending.BLOCKED, reason=Reason.TOOL)


def screen(assignment: Assignment, site: WorkerContext, outcome: Outcome) -> Outcome:
    """Return the outcome of failed work with its rejected paths marked as tainted.

    A draft branch keeps the rest: what holds a secret or lies out of scope must not come along.
    """
    if not outcome.changes:
        return outcome
    admitted = admit_writes(
        outcome.changes, assignment.rules, make_write_context(assignment, site, outcome)
    )
    findings = tuple(finding for finding in admitted.findings if finding.refuses)
    return replace(outcome, tainted=admitted.tainted, findings=(*outcome.findings, *findings))


def _with_edit(
    assignment: Assignment, site: WorkerContext, outcome: Outcome, ruling: Ruling
) -> Outcome:
    """Return the outcome with a person's edit, which restarts the pipeline."""
    site.lay_out(assignment.base, ruling.changes)
    seen = site.scratch.snapshot()
    return replace(outcome, tree=seen.tree, changes=seen.changes)


def _prove(assignment: Assignment, site: WorkerContext, outcome: Outcome) -> Outcome:
    """Run the proof on an outcome, and the review command if due; return the result."""
    proof = phases.proof_so_far if assignment.is_partial else prove_proposal
    return conclude(assignment, site, outcome, proof(assignment, site, outcome))


def conclude(
    assignment: Assignment, site: WorkerContext, outcome: Outcome, proven: TaskProof
) -> Outcome:
    """Return the outcome with the results of its proof and its reviews."""
    if assignment.held_out:
        proven = held_out.prove_held_out(assignment, site, outcome, proven)
    if assignment.author_tests.files:
        proven = held_out.weigh_visible(assignment, site, outcome, proven)
    findings = (*outcome.findings, *proven.findings)
    bad = any(finding.refuses for finding in findings)
    if assignment.rows and not bad:
        items = items_of(assignment.task)
        proven = replace(proven, proofs=with_rows(proven.proofs, assignment.rows, items))
    # Only for proven bytes: don't pay for a review of work that will be rebuilt anyway.
    if assignment.review is ReviewMode.AUTO and outcome.changes and not bad:
        review = review_of(assignment, site, outcome, proven)
        findings = (*findings, *review.findings)
        outcome = replace(outcome, usage=outcome.usage + review.usage)
        items = items_of(assignment.task)
        proven = replace(proven, proofs=with_rows(proven.proofs, review.rows, items))
    good = not any(finding.refuses for finding in findings)
    reason = _find_obstacle(findings)
    if good and (lack := _too_little(assignment, site, outcome, proven.proofs)) is not None:
        good, reason, findings = False, Reason.PROOF, (*findings, lack)
    failed = Ending.BLOCKED if reason else Ending.FAILED
    return replace(
        outcome,
        ending=Ending.PASSED if good else failed,
        reason=reason or outcome.reason,
        findings=findings,
        proofs=proven.proofs,
        coverage=proven.coverage,
        observed=proven.observed,
        tools=proven.tools,
    )


def _find_obstacle(findings: tuple[Finding, ...]) -> Reason | None:
    """Return why no other attempt can help; None where one may."""
    checks = {finding.check for finding in findings}
    if HELD_OUT_MISSING in checks:
        return Reason.HELD_OUT
    return Reason.TOOL if UNABLE in checks else None


def _too_little(
    assignment: Assignment, site: WorkerContext, outcome: Outcome, proofs: tuple[Proof, ...]
) -> Finding | None:
    """Return what a passed proof lacks for this author's work, or None."""
    if assignment.is_partial or assignment.stands:
        return None  # phases are proven together; tests that stand are among the proofs later
    if assignment.held_out and site.held_out is None:
        return None  # a worker elsewhere: what its proof lacks runs at home
    written = [change.path for change in outcome.changes]
    # What waits lands only if it passes.
    proofs = tuple(
        replace(one, verdict=Verdict.PASS) if one.note == WAITS_FOR_BATCH else one for one in proofs
    )
    return too_little(assignment.task, site.settings, assignment.author, proofs, written)


def make_write_context(
    assignment: Assignment, site: WorkerContext, outcome: Outcome
) -> WriteContext:
    """Create the context of the write pipeline."""
    context = make_gate_context(assignment, site, outcome)
    limits = command_limits(assignment.task, site.settings)

    def run_command(line: str | tuple[str, ...], *, stdin: bytes = b"", folder: str = "") -> Ran:
        return run(
            Command(
                line=line,
                place=site.place,
                environment=context.environment,
                stdin=stdin,
                limits=limits,
                known_secrets=context.known_secrets,
                folder=folder,
            ),
            site.sandbox,
            tell=site.teller(assignment),
            cancelled=site.cancelled,
        )

    return WriteContext(
        tree=site.scratch.project,
        before=lambda path: site.before(assignment.base, path),
        run_command=run_command,
        python=find_project_python(site.place, context.environment),
        on_base=None if site.settings.proof.strict else context.on_base,
        sast=site.sast,
        secrets=assignment.secrets,
        stopped=site.scratch.stopped,
        laboratory=ScanWorkspace(
            folder=site.place.box.parent / "scans",
            tree=site.scratch.project,
            base=lambda path: site.before(assignment.base, path),
            place=site.place,
            sandbox=site.sandbox,
            environment=site.base_environment,
            interrupted=lambda: site.workers.interrupted,  # a pool that ends in peace ends no scan
        ),
    )
