"""Find the evidence for a DONE task in the journal, or in git alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.app.inspect.view import View
from runner.errors import ExitCode, RunnerError
from runner.journal.evidence import (
    WANTED,
    evaluate_standing,
    evidence_of,
    from_commit,
    from_journal,
    with_commands,
)
from runner.journal.grading import grade_one
from runner.journal.journal_cache import select_records
from runner.lazy_module import lazy_module
from runner.model import Grade
from runner.model.grades import proof_kind
from runner.repo.read import Repository
from runner.repo.trailers import coverage_line, tools_line
from runner.report.acceptance_table import describe_table, format_table
from runner.report.cost import cost, cost_part
from runner.report.documents import document, grade_part
from runner.run.proof_sufficiency import PROOF_HINT, find_unproven_dependencies, has_proof
from runner.run.selection import find_id
from runner.run.worktree_include import find_digest
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import count_words, moment, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from runner.gates import registry
    from runner.journal.evidence import Evidence, EvidenceState
    from runner.journal.task_state import TaskState
    from runner.model import Graded, Level, Proof, Status, Task, Usage
    from runner.project import Project
else:
    registry = lazy_module("runner.gates.registry")

_NO_COMMIT = "none: the task changed no file"
_STANDING = {
    "current": "the evidence matches the task in the plan",
    "proof-changed": "how the task is proven has changed since",
    "work-changed": "the task has changed since",
}


class TaskEvidence(Struct, frozen=True):
    """The evidence of one task, and what it is worth for the task as it is written now."""

    task: Task
    status: Status
    known: TaskState
    graded: Graded | None
    """None for a task that is not DONE."""
    standing: EvidenceState
    unverified: str | None
    """Why its files differ from those of the proof; None if they don't."""
    evidence: Evidence | None
    built_on: Mapping[str, str]
    """Unproven dependencies, with the reason."""
    included_digest: str = ""
    """Digest of the ignored files that its run copied, as known on this machine."""


def find_evidence(project: Project, typed: str) -> TaskEvidence:
    """Return the evidence of a DONE task. Raises RunnerError for an unknown ID."""
    view = View.of(project)
    id_ = find_id(typed, view.states)
    task = next(one for one in project.plan(project.plan_bytes).tasks if one.id == id_)
    known = view.states[id_]
    evidence = load_evidence(project, task, known)
    return TaskEvidence(
        task=task,
        status=view.status(id_),
        known=known,
        graded=view.grades.get(id_),
        standing=evaluate_standing(known, task.spec),
        unverified=view.unverified[id_].why if id_ in view.unverified else None,
        evidence=evidence,
        built_on=find_unproven_dependencies(task.depends_on, view.states),
        included_digest=find_digest(evidence.run, project.places.state) if evidence else "",
    )


def load_evidence(project: Project, task: Task, known: TaskState) -> Evidence | None:
    """Load the evidence of a DONE task from the journal, or else from its commits."""
    if known.spec is None:
        return None
    where = (project.journal_path, project.cache)
    records = select_records(*where, types=WANTED, tasks=(known.id, ""))  # runs are of no task
    recorded = from_journal(known, records)
    return recorded or _from_git(project, task, known) or evidence_of(known)


def _from_git(project: Project, task: Task, known: TaskState) -> Evidence | None:
    """Return the evidence in the newest commit of the task with this specification, or None."""
    with Repository.open(project.root) as repository:
        head = repository.head().commit
        for commit in repository.log_trailers(head) if head else ():
            found = from_commit(commit) if commit.task == task.id else None
            if found is not None and found.spec == known.spec:
                return with_commands(found, _own_commands(project, task, found))
    return None


def _own_commands(
    project: Project, task: Task, evidence: Evidence
) -> dict[str, tuple[str, Level | None]]:
    """Return the task's own commands by check ID; empty if its proof specification changed."""
    if evidence.spec.proof != task.spec.proof:
        return {}
    bare = replace(project.settings, gates=(), gates_by_type=())
    return {
        check.id: (redact(check.command), check.level) for check in registry.checks_of(task, bare)
    }


def no_evidence(project: Project, found: TaskEvidence) -> RunnerError:
    """Return the error that explains why there is no evidence, and how to get some."""
    id_, status, graded = found.task.id, found.known.status, found.graded
    is_waived = graded is not None and graded.grade is Grade.WAIVED
    word, hint = f"it is {status}", f"runner why {id_}"
    if graded is not None:
        basis = f", {display(graded.words)}" if is_waived else " without a proof"
        word = f"it is DONE{basis}"
        # A waiver is also recorded where the plan states that no proof exists.
        lines = PROOF_HINT.partition(";")[0] if is_waived else PROOF_HINT
        hint = f"{lines}; then runner verify {id_}"
    if status == "PENDING" or (graded is not None and has_proof(found.task, project.settings)):
        hint = f"to prove it: runner run {id_}"
    return RunnerError(f"no evidence for {id_}: {word}", hint=hint, code=ExitCode.FAILED)


def evidence_document(found: TaskEvidence) -> str:
    """Return the evidence of one task as a JSON document."""
    return document(
        "evidence",
        task=found.task.id,
        status=found.status,
        **grade_part(found.graded),
        standing=found.standing,
        unverified=found.unverified,
        evidence=_describe_evidence(found.task, found.evidence, found.known.usage),
    )


def _describe_evidence(
    task: Task, evidence: Evidence | None, usage: Usage
) -> dict[str, object] | None:
    if evidence is None:
        return None
    return {
        "source": evidence.source,
        "toldIn": evidence.recorded_in,
        "verified": evidence.verified,
        "attempt": evidence.attempt,
        "commit": evidence.commit,
        "tree": evidence.tree,
        "spec": evidence.spec,
        "doneAt": evidence.done_at,
        "proofs": [one for one in evidence.proofs if one.row is None],
        "acceptance": describe_table(task, evidence.proofs),
        "regression": evidence.regression or None,
        "coverage": evidence.coverage,
        "review": evidence.review,
        "tools": dict(evidence.tools),
        "included": evidence.included,
        "decisions": [{"number": number, "title": title} for number, title in evidence.decisions],
        "patterns": evidence.patterns,
        **cost_part(usage),
        "record": evidence.record,
        "lacks": evidence.lacks,
    }


def evidence_lines(found: TaskEvidence, evidence: Evidence, *, digests: bool) -> Iterator[str]:
    """Yield the evidence of one task as text lines."""
    task = found.task
    yield f"{display(task.id)}: {display(task.title)}"
    graded = found.graded or grade_one(found.known, task.outputs)
    yield f"{found.status}, {display(graded.words)}; {_STANDING[found.standing]}"
    if found.unverified is not None:
        yield f"to test the committed files: runner verify {display(task.id)}"
    elif ran := _list_ran(evidence.proofs):
        how = "proven" if graded.is_proven else "run"
        yield f"{how} by the runner: {ran}"
    for need, why in found.built_on.items():
        yield f"it was built on {display(need)}, {display(why)}"
    where = f"commit {short(evidence.recorded_in)}" if evidence.recorded_in else "the journal"
    yield f"recorded in {where}"
    yield ""
    yield from _fields(evidence, found.known.usage, digests=digests)
    if evidence.included:
        yield f"{'Copied files':<16}{display(', '.join(evidence.included))}"
        if digests and found.included_digest:  # in this text alone, which stays on this machine
            yield f"{'Digest, copied':<16}{found.included_digest}"
    proofs = [one for one in evidence.proofs if one.row is None]
    yield "Proofs" if proofs else "Proofs          none"
    for proof in proofs:
        yield from _proof(proof, digests=digests)
    table = [f"  {line}" for line in format_table(task, evidence.proofs)]
    yield from ("Acceptance", *table) if table else ()
    if evidence.lacks:
        yield ""
        yield "missing from the commit's trailers:"
        yield from (f"  {display(one)}" for one in evidence.lacks)


def _list_ran(proofs: Iterable[Proof]) -> str:
    """Return the IDs of the checks that ran and passed, separated by commas."""
    ran = (one.id for one in proofs if one.row is None and proof_kind(one) is not None)
    return ", ".join(map(display, ran))


def _fields(evidence: Evidence, usage: Usage, *, digests: bool) -> Iterator[str]:
    decisions = (f"DECISION-{number:03d} {title}" for number, title in evidence.decisions)
    named = (
        ("Tree", evidence.tree),
        ("Digest, what", evidence.spec.what),
        ("Digest, proof", evidence.spec.proof),
    )
    fields = (
        ("Done at", moment(evidence.done_at) if evidence.done_at else ""),
        ("Attempt", str(evidence.attempt or "")),
        ("Commit", (evidence.commit if digests else short(evidence.commit)) or _NO_COMMIT),
        *(named if digests else ()),
        ("Regression", evidence.regression or "—"),
        ("Coverage", coverage_line(evidence.coverage) or "—"),
        ("Review", evidence.review),
        ("Cost", cost(usage)),
        ("Tools", tools_line(evidence.tools)),
        ("Patterns", ", ".join(evidence.patterns)),
        ("Decisions", "; ".join(decisions)),
    )
    yield from (f"{name:<16}{display(value)}" for name, value in fields if value)


def _proof(proof: Proof, *, digests: bool) -> Iterator[str]:
    counts = ", ".join(count_words(number, display(name)) for name, number in proof.counts)
    level = f" ({proof.level})" if proof.level else ""
    result = f"{proof.verdict}, exit {proof.exit}, {proof.seconds:.2f} s"
    yield f"  {display(proof.id)}{level}: {result}" + (f", {counts}" if counts else "")
    if proof.command:
        yield f"    $ {display(proof.command)}"
    if digests:
        yield f"    output {proof.output}"
    yield from (f"    {display(word)}" for word in (proof.shown_note, proof.log) if word)
