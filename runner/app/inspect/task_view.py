"""Format one task as text: the plan's section, then the journal's facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.journal.display_status import format_status
from runner.journal.evidence import EvidenceState, evaluate_standing, evidence_of
from runner.model import Network, Severity, Status
from runner.model.grades import proof_kind
from runner.model.task import PRIORITIES
from runner.plan.task_types import classify, describe_type
from runner.report.documents import grade_part
from runner.report.event_lines import format_attempt
from runner.report.task_report import describe_table, format_table
from runner.text.display import display
from runner.text.wording import count_words, finding_lines, moment, name_attempt, plural, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.app.inspect.task_inquiry import OneTask, TaskHistory, TaskStory
    from runner.app.inspect.view import View
    from runner.journal.evidence import Evidence
    from runner.journal.task_state import TaskState
    from runner.model import Budget, Graded, Proof, Task

_NAMED = 16
"""Width of a field's name in columns."""
_STANDING = {
    EvidenceState.CURRENT: "valid for the task as it is now",
    EvidenceState.PROOF_CHANGED: "recorded before the task's proof fields changed",
    EvidenceState.WORK_CHANGED: "recorded before the task changed",
    EvidenceState.NONE: "",
}


def portrait(
    task: Task, view: View, past: TaskHistory, report: str = "", *, digests: bool = False
) -> Iterator[str]:
    """Yield the output of `runner show`; `report` is the last attempt's report file."""
    known = view.states[task.id]
    yield f"{display(task.id)}: {display(task.title)}"
    yield from _format_standing(task, view, past)
    yield from _with_heading("plan", _format_plan(task, digests=digests))
    yield from _with_heading("attempts", _attempts(past, known))
    yield from _with_heading("findings of the last failed attempt", _findings(known))
    yield from _with_heading("report of that attempt", filter(None, (display(report),)))
    evidence = evidence_of(known)
    if evidence is not None:
        yield from _with_heading(
            "evidence",
            _evidence(task, known, evidence, view.grades.get(task.id), digests=digests),
        )
        yield from _with_heading("acceptance", format_table(task, evidence.proofs))
    yield from _with_heading("work that has not landed", _format_held_work(known))
    yield from _with_heading("decisions", _decisions(past))


def _with_heading(heading: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield lines below their heading; nothing if there are no lines."""
    lines = list(lines)
    if lines:
        yield ""
        yield f"{heading}:"
        yield from (f"  {line}" for line in lines)


def _field(name: str, value: str) -> Iterator[str]:
    if value:
        yield f"{name:<{_NAMED}}{value}"


def _fields(name: str, values: Iterable[str]) -> Iterator[str]:
    """Yield one value a line, with the name before the first."""
    for value in values:
        yield from _field(name, value)
        name = ""


# --- how it stands --------------------------------------------------------------------


def _format_standing(task: Task, view: View, past: TaskHistory) -> Iterator[str]:
    known = view.states[task.id]
    outlined = next(one for one in view.tasks if one.id == task.id)
    text = format_status(known)
    if worth := view.worth(task.id):
        text += f" ({worth})"
    note = display(view.remark(outlined))
    yield f"{text} — {note}" if note else text
    if known.cause in past.times:
        yield f"since {moment(past.times[known.cause])}"
    waits = view.waits_for(outlined)
    if waits:
        yield f"waits for {', '.join(map(display, waits))}"
    elif view.is_ready(outlined):
        yield "ready: `runner` starts it"
    if task.id in view.read_now:
        yield "(read from the plan and git just now; the next run writes it to the journal)"


# --- what the plan asks ---------------------------------------------------------------


def _format_plan(task: Task, *, digests: bool) -> Iterator[str]:
    yield from _field("Line", str(task.line))
    yield from _field("Type", display(describe_type(task.type, classify(task))))
    yield from _field("Depends on", ", ".join(map(display, task.depends_on)))
    yield from _fields("Output files", map(display, task.outputs))
    yield from _fields("Inputs", map(display, task.inputs))
    yield from _fields("Acceptance", map(display, task.acceptance))
    yield from _fields("Changes tests", map(display, task.changes_tests))
    tests = (f"{one.id} ({one.shown_level}): {one.command}" for one in task.test_contracts)
    yield from _fields("Test contracts", map(display, tests))
    files = (f"{one.path} {one.digest}" for one in task.held_out_files)
    yield from _fields("Held-out files", map(display, files))
    yield from _field("Test author", display(task.test_author))
    yield from _field("Assurance", task.assurance)
    yield from _fields("Contracts", (display(f"{one.kind}: {one.value}") for one in task.contracts))
    why = display(task.no_contracts)
    yield from _field("Contracts", f"none — {why}" if why else "")
    yield from _fields("Gates", (display(f"{one.name}: {one.command}") for one in task.gates))
    yield from _field("Coverage", "" if task.coverage is None else f"{task.coverage:g}%")
    yield from _field("Implementer", display(task.implementer))
    yield from _field("Command", display(task.command))
    yield from _rest(task)
    blocks = (f"{one.kind} {one.path}".rstrip() for one in task.blocks)
    yield from _fields("Blocks", map(display, blocks))
    yield from _fields("Changes", map(display, task.changes))
    if digests:
        yield from _field("Digest, what", task.spec.what)
        yield from _field("Digest, proof", task.spec.proof)


def _rest(task: Task) -> Iterator[str]:
    if task.red_first is not None:
        yield from _field("Red first", "yes" if task.red_first else "no")
    yield from _field("Uses", ", ".join(display(f"{one.name} {one.amount}") for one in task.uses))
    yield from _field("Network", "" if task.network is Network.NO else str(task.network))
    yield from _field("Timeout", "" if task.timeout is None else f"{task.timeout:g} s")
    yield from _field("Keywords", ", ".join(map(display, task.keywords)))
    yield from _field("Stack", ", ".join(map(display, task.stack)))
    yield from _field("Patterns", ", ".join(map(display, task.patterns)))
    needs = (display(f"{one.kind} {one.name}".rstrip()) for one in task.requires)
    yield from _field("Requires", ", ".join(needs))
    yield from _field("Budget", _budget(task.budget))
    yield from _field("Review", str(task.review or ""))
    yield from _field("Model", display(task.model))
    yield from _field("Priority", "" if task.priority is None else PRIORITIES[task.priority])
    yield from _field("Source", display(task.source))
    yield from _field("Proof", f"none — {display(task.no_proof)}" if task.no_proof else "")


def _budget(budget: Budget) -> str:
    parts = (
        "" if budget.attempts is None else plural(budget.attempts, "attempt"),
        "" if budget.minutes is None else f"{budget.minutes:g} minutes",
        "" if budget.tokens is None else f"{budget.tokens} tokens",
        "" if budget.dollars is None else f"${budget.dollars:g}",
    )
    return ", ".join(filter(None, parts))


# --- what happened --------------------------------------------------------------------


def _attempts(past: TaskHistory, known: TaskState) -> Iterator[str]:
    for one in past.attempts:
        how = format_attempt(one.mode, one.implementer)
        number = name_attempt(one.number).removeprefix("attempt ")
        text = f"{number}  {moment(one.began)}  {display(how)}  {one.ending or 'open'}"
        if one.ending:
            text += f" in {one.seconds:.2f} s"
        if one.refusals:
            text += f", {plural(one.refusals, 'finding')}"
        kept = one.draft if known.status is not Status.DONE else ""
        yield text + (f", saved on {display(kept)}" if kept else "")


def _findings(known: TaskState) -> Iterator[str]:
    """Yield what refused or waits first, then notes and warnings, marked as such."""
    for finding in sorted(known.findings, key=lambda one: one.severity in _TOLD):
        word = f"{finding.severity.value}: " if finding.severity in _TOLD else ""
        first, *rest = finding_lines(finding)
        yield from (word + first, *rest)


_TOLD = frozenset({Severity.WARNING, Severity.NOTE})


def _evidence(
    task: Task,
    known: TaskState,
    evidence: Evidence,
    graded: Graded | None,
    *,
    digests: bool,
) -> Iterator[str]:
    worth = f"{display(graded.words)}; " if graded is not None else ""
    yield f"{worth}{_STANDING[evaluate_standing(known, task.spec)]}"
    proofs = [one for one in evidence.proofs if one.row is None]
    ran = [display(one.id) for one in proofs if proof_kind(one) is not None]
    yield from _field("By the runner", ", ".join(ran))
    yield from _field("Done at", moment(evidence.done_at) if evidence.done_at else "")
    commit = display(evidence.commit) if digests else short(evidence.commit)
    yield from _field("Commit", commit or "none: the task changed no file")
    if digests:
        yield from _field("Tree", display(evidence.tree))
        yield from _field("Digest, what", evidence.spec.what)
        yield from _field("Digest, proof", evidence.spec.proof)
    for proof in proofs:
        yield from _proof(proof, digests=digests)
    cover = evidence.coverage
    if cover is not None:
        text = f"{cover.shown} (threshold {cover.threshold:g}%)"
        yield from _field("Coverage", text)
    yield from _field("Patterns", ", ".join(map(display, evidence.patterns)))


def _proof(proof: Proof, *, digests: bool) -> Iterator[str]:
    counts = ", ".join(count_words(number, display(name)) for name, number in proof.counts)
    result = f"{proof.verdict}, exit {proof.exit}, {proof.seconds:.2f} s"
    yield f"{display(proof.id)}: {result}" + (f", {counts}" if counts else "")
    if proof.command:
        yield f"  $ {display(proof.command)}"
    if digests:
        yield f"  output {proof.output}"
    if proof.log:
        yield f"  log {display(proof.log)}"


def _format_held_work(known: TaskState) -> Iterator[str]:
    if known.draft:
        yield f"{display(known.draft)} (git diff HEAD...{display(known.draft)})"
    if known.held is not None:
        held = known.held
        yield f"{held.kind}: {display(held.ref)}, proven on {short(held.base) or 'nothing'}"


def _decisions(past: TaskHistory) -> Iterator[str]:
    for one in past.decisions:
        yield f"DECISION-{one.number:03d}: {display(one.decision.title)}"


def describe_task_whole(asked: OneTask, story: TaskStory) -> dict[str, object]:
    """Return the content of the `task` JSON document."""
    task, view = asked.task, asked.view
    known, work = view.states[task.id], classify(task)
    outlined = next(one for one in view.tasks if one.id == task.id)
    return {
        "task": task,
        "detectedType": str(work) or None,
        "detectedKind": work.kind.type.name if work.kind.type else None,
        "detectedDomain": work.domain.type.name if work.domain.type else None,
        "status": known.status,
        "note": view.note(outlined),
        "reason": known.reason,
        "ready": view.is_ready(outlined),
        "waitsFor": view.waits_for(outlined),
        "attempts": story.past.attempts,
        "attemptsInRow": known.attempts_in_row,
        "findings": list(known.findings),
        "evidence": _describe_evidence(view, task),
        **grade_part(view.grades.get(task.id)),
        "draft": known.draft,
        "held": known.held,
        "report": story.report or None,
        "decisions": story.past.decisions,
    }


def _describe_evidence(view: View, task: Task) -> dict[str, object] | None:
    """Return a DONE task's evidence and whether it fits the specification, or None."""
    known = view.states[task.id]
    evidence = evidence_of(known)
    if evidence is None:
        return None
    return {
        "standing": evaluate_standing(known, task.spec),
        "verified": evidence.verified,
        "commit": evidence.commit,
        "tree": evidence.tree,
        "spec": evidence.spec,
        "doneAt": evidence.done_at,
        "proofs": [one for one in evidence.proofs if one.row is None],
        "acceptance": describe_table(task, evidence.proofs),
        "coverage": evidence.coverage,
        "patterns": evidence.patterns,
        "record": evidence.record,
    }
