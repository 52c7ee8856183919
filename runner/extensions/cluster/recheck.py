"""Check a worker's answer again on the coordinator before anything uses it.

The shape was held when it was read. Here its words are held against what was asked, its paths and
contents go through path rules, scope and secret scan again, tree and digests are made anew from
the bytes, and what would land is compiled once more.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner.context.task_plan import redact_plan
from runner.errors import RunnerError
from runner.extensions.cluster.message import OBJECT, PLAIN
from runner.gates.registry import checks_of
from runner.model import Action, Change, Ending, Finding, Reason, ReviewMode, Verdict, digest_of
from runner.model.codec import ShapeError
from runner.model.work import items_of, with_rows
from runner.run.attempt import make_write_context, without_tools
from runner.run.reviewers import UNABLE, review_of
from runner.run.worker_setup import LOGS
from runner.secrets.redact import redact, redact_head, redact_tail
from runner.writes.pipeline import admit_writes, compile_writes

if TYPE_CHECKING:
    from collections.abc import Collection

    from runner.config.settings import Settings
    from runner.model import Decision, Outcome, Proof
    from runner.repo.trees import Prefix
    from runner.run.worker_assignment import Assignment, WorkerContext

CHECK = "cluster"
"""Check name of the executor's own findings."""
_FILE_TYPES = frozenset({0, 0o100644, 0o100755, 0o120000, 0o160000})
_LOG = re.compile(rf"{LOGS}/[A-Za-z0-9_-]+/\d+/{PLAIN.pattern}")
"""Path of the coordinator's command logs: no other file is read as a log."""
_MOST_USED = 10**15
"""Maximum number of tokens, dollars, calls, or seconds to wait."""
_LONGEST_WORD, _LONGEST_DETAIL, _MOST_FINDINGS = 4_000, 64_000, 1_000
_LANDING = frozenset({"build", "prove"})
"""Kinds of attempts that are proven completely; a plan, or a phase of one, is not."""
_ENDINGS = frozenset({Ending.PASSED, Ending.FAILED, Ending.BLOCKED})


def require_assigned(
    outcome: Outcome, assignment: Assignment, base: str, prefix: Prefix, *, ended: bool = False
) -> None:
    """Check an outcome against its assignment. Raises ShapeError.

    `ended`: whether the coordinator interrupted it, so that the outcome may be INTERRUPTED.
    """
    asked = (assignment.task.id, assignment.attempt, base)
    if (outcome.task, outcome.attempt, outcome.base) != asked:
        raise ShapeError("it is for another task, attempt or base")
    if outcome.ending not in _ENDINGS and not (ended and outcome.ending is Ending.INTERRUPTED):
        raise ShapeError(f"an attempt on a worker cannot end as {outcome.ending}")
    if outcome.tree and not OBJECT.fullmatch(outcome.tree):
        raise ShapeError("its tree ID is not valid")
    if any(change.mode not in _FILE_TYPES for change in outcome.changes):
        raise ShapeError("a file has an unknown mode")
    paths = [change.path for change in outcome.changes]
    if not all(_is_inside(prefix.whole(path)) for path in paths):
        raise ShapeError("a path is outside the repository")
    if len(set(paths)) < len(paths):
        raise ShapeError("a path is listed twice")
    if outcome.seconds < 0:
        raise ShapeError("its duration is negative")
    used = outcome.usage
    amounts = (used.input_tokens, used.output_tokens, used.dollars, used.tool_calls)
    if not all(0 <= one < _MOST_USED for one in (*amounts, outcome.retry_after)):
        raise ShapeError("its usage is out of range")  # a budget would grow by less than 0


def _is_inside(path: str) -> bool:
    """Return whether a path is valid in a git tree."""
    parts = path.split("/")
    return "\0" not in path and "\n" not in path and not {"", ".", ".."} & set(parts)


def check_again(
    assignment: Assignment, site: WorkerContext, outcome: Outcome, tree: str
) -> Outcome:
    """Check a worker's outcome again on the coordinator; the scratch tree gets its changes.

    `outcome.base` is the commit by now, and `tree` that commit's.
    """
    outcome = _redact_outcome(outcome, tuple(value for _, value in assignment.secrets))
    outcome = replace(
        outcome,
        changes=tuple(_remake_change(one, site, assignment.base) for one in outcome.changes),
    )
    passed, lands = outcome.is_good, assignment.kind in _LANDING
    if passed and lands and (missing := _find_unproven(assignment, outcome, site.settings)):
        return _refuse(
            outcome, f"the worker reported a pass, but no result of {', '.join(missing)}"
        )
    if not outcome.changes:
        return replace(outcome, tree=tree, tainted=frozenset()) if passed else outcome
    context = make_write_context(assignment, site, outcome)
    admitted = admit_writes(outcome.changes, assignment.rules, context)
    found = tuple(one for one in admitted.findings if one not in outcome.findings)
    outcome = replace(
        outcome,
        tainted=outcome.tainted | admitted.tainted,
        findings=(*outcome.findings, *found),
    )
    if outcome.tainted or not admitted.clean:
        return replace(outcome, ending=Ending.FAILED) if passed else outcome
    outcome = _lay_out(assignment, site, outcome)
    if not outcome.is_good:
        return outcome
    compiled = compile_writes(admitted, assignment.rules, context)
    site.workers.add_scan(assignment.task.id, assignment.attempt, compiled.sast)
    more = tuple(one for one in compiled.findings if one not in outcome.findings)
    blocking = (
        compiled.sast.result().find_blocking(site.settings.proof.sast_block_at)
        if compiled.clean and site.settings.proof.sast_block_at != "never"
        else ()
    )
    return without_tools(_with_findings(outcome, (*more, *blocking)))


def rerun_review(assignment: Assignment, site: WorkerContext, outcome: Outcome) -> Outcome:
    """Return the outcome with the result of the local review command, if one is due."""
    asked = assignment.review is ReviewMode.AUTO and outcome.changes
    if not asked or outcome.ending is not Ending.PASSED:
        return outcome
    review = review_of(assignment, site, outcome)
    proofs = with_rows(outcome.proofs, review.rows, items_of(assignment.task))
    outcome = replace(outcome, proofs=proofs, usage=outcome.usage + review.usage)
    return _with_findings(outcome, review.findings)


def _with_findings(outcome: Outcome, findings: tuple[Finding, ...]) -> Outcome:
    refused = any(finding.refuses for finding in findings)
    unable = any(finding.check == UNABLE for finding in findings)  # another attempt helps nobody
    failed = Ending.BLOCKED if unable else Ending.FAILED
    return replace(
        outcome,
        ending=failed if refused else outcome.ending,
        reason=Reason.TOOL if unable else outcome.reason,
        findings=(*outcome.findings, *findings),
    )


def _remake_change(change: Change, site: WorkerContext, base: str) -> Change:
    """Rebuild the change from its bytes and the base, ignoring the worker's own description."""
    before = site.before(base, change.path)
    known = None if before is None else digest_of(before)
    if change.content is None:
        return Change(change.path, Action.DELETE, 0, known, None)
    action = Action.CREATE if before is None else Action.MODIFY
    mode = change.mode or 0o100644
    return Change(change.path, action, mode, known, digest_of(change.content), change.content)


def _find_unproven(assignment: Assignment, outcome: Outcome, settings: Settings) -> list[str]:
    """Return the checks without a proof and the test contracts that did not pass.

    Where the task's own tests stand from before, none of them runs; once one did, all have to. So
    it is with its contracts.
    """
    came = {proof.id: proof for proof in outcome.proofs}
    tests = {one.id for one in assignment.task.test_contracts}
    good = {id_ for id_ in tests & came.keys() if came[id_].verdict is not Verdict.FAIL}
    stand = assignment.stands and not any(proof.kind == "test" for proof in outcome.proofs)
    task = replace(assignment.task, contracts=()) if assignment.contracts_stand else assignment.task
    wanted = [check.id for check in checks_of(task, settings) if check.command]
    return [
        id_
        for id_ in wanted
        if (id_ not in good and not stand if id_ in tests else id_ not in came)
    ]


def _lay_out(assignment: Assignment, site: WorkerContext, outcome: Outcome) -> Outcome:
    """Apply the changes in the local scratch tree and compare the resulting tree."""
    site.reset(assignment.base)
    try:
        site.scratch.apply(outcome.changes)
        seen = site.scratch.snapshot()
    except RunnerError as error:
        return _refuse(outcome, error.message)
    claimed, outcome = outcome.tree, replace(outcome, tree=seen.tree, changes=seen.changes)
    if claimed != seen.tree and outcome.ending is Ending.PASSED:
        return _refuse(outcome, "the files that the worker sent are not those that it tested")
    return outcome


def _refuse(outcome: Outcome, message: str) -> Outcome:
    hint = "check the worker's version and disk, or remove it from the cluster"
    return _with_findings(outcome, (Finding(check=CHECK, message=message, hint=hint),))


# --- words ----------------------------------------------------------------------------


def _redact_outcome(outcome: Outcome, known: Collection[str]) -> Outcome:
    """Redact the secrets in all parts of an outcome that are shown or saved."""
    return replace(
        outcome,
        summary=redact(outcome.summary, known),
        findings=redact_findings(outcome.findings, known),
        proofs=redact_proofs(outcome.proofs, known),
        decisions=tuple(_decision(one, known) for one in outcome.decisions),
        plan=outcome.plan and redact_plan(outcome.plan, lambda text: redact(text, known)),
    )


def redact_findings(findings: tuple[Finding, ...], known: Collection[str]) -> tuple[Finding, ...]:
    """Return the findings with secrets redacted and texts shortened."""
    return tuple(
        replace(
            one,
            message=redact_head(one.message, _LONGEST_WORD, known),
            hint=redact_head(one.hint, _LONGEST_WORD, known),
            detail=redact_tail(one.detail, _LONGEST_DETAIL, known),
        )
        for one in findings[:_MOST_FINDINGS]
    )


def redact_proofs(proofs: tuple[Proof, ...], known: Collection[str]) -> tuple[Proof, ...]:
    """Redact the secrets in proofs."""
    return tuple(
        replace(
            one,
            command=redact(one.command, known),
            note=redact(one.note, known),
            log=one.log if _LOG.fullmatch(one.log) else "",
        )
        for one in proofs
    )


def _decision(decision: Decision, known: Collection[str]) -> Decision:
    return replace(
        decision,
        title=redact(decision.title, known),
        context=redact(decision.context, known),
        decision=redact(decision.decision, known),
        tradeoff=redact(decision.tradeoff, known),
    )
