"""Find the evidence for a DONE task, and write or check it as an attestation.

An attestation comes from what the commits tell, never from the journal alone: whoever has a clone
can make the same statement again, and that is how one is checked.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.app.build.done_before_run import SHIP
from runner.app.inspect.validation import check_sound
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
from runner.model import Grade, digest_of
from runner.model.grades import proof_kind, strongest
from runner.model.task import MILESTONE
from runner.model.words import PROVES_NOTHING
from runner.repo.read import Repository
from runner.repo.trailers import coverage_line, parse_message, tools_line
from runner.report.attestations import (
    RECORD,
    SUMMARY,
    Fault,
    find_differences,
    find_digest,
    find_shape_faults,
    ship_statement,
    task_statement,
)
from runner.report.cost import cost, cost_part
from runner.report.documents import document, grade_part
from runner.report.task_report import describe_table, format_table
from runner.run import worktree_include
from runner.run.proof_sufficiency import PROOF_HINT, find_unproven_dependencies, has_proof
from runner.run.selection import find_id
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import count_words, moment, plural, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from runner.gates import registry
    from runner.journal.evidence import Evidence, EvidenceState
    from runner.journal.task_state import TaskState
    from runner.model import Graded, Level, Proof, Spec, Status, Task, Usage
    from runner.project import Project
    from runner.report.attestations import Object
    from runner.report.documents import Json
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
    evidence, copied = load_evidence(project, task, known), ""
    if evidence is not None:
        copied = worktree_include.find_digest(evidence.run, project.places.state)
    return TaskEvidence(
        task=task,
        status=view.status(id_),
        known=known,
        graded=view.grades.get(id_),
        standing=evaluate_standing(known, task.spec),
        unverified=view.unverified[id_].why if id_ in view.unverified else None,
        evidence=evidence,
        built_on=find_unproven_dependencies(task.depends_on, view.states),
        included_digest=copied,
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


_AGAIN = "runner evidence --check FILE --run"
_LARGEST = 10_000_000
"""Maximum size of a statement, in bytes."""
_MAKE = "create one: runner evidence ID --format in-toto"


class Checked(Struct, frozen=True):
    """The result of checking an attestation."""

    kind: str
    """`task` or `ship`; empty if the statement names neither."""
    name: str
    """The task, or the tag."""
    commit: str
    """Commit that records the proof."""
    faults: tuple[Fault, ...]
    spec: Spec | None = None
    """Specification and proof of a task, if the statement is true."""


def attest_task(project: Project, id_: str, spec: Spec | None) -> Object:
    """Return the attestation of a task's proof for this specification. Raises RunnerError.

    Raises RunnerError (exit 1) where no commit tells a proof: nothing was run, or it is not
    committed.
    """
    with Repository.open(project.root) as repository:
        head = repository.head().commit
        evidence = _read_evidence(repository, head) if head and spec else iter(())
        found = next((one for one in evidence if (one.task, one.spec) == (id_, spec)), None)
    if found is None:
        raise RunnerError(
            f"no commit records a proof of {id_}: there is nothing to attest",
            hint=f"for details: runner evidence {id_}",
            code=ExitCode.FAILED,
        )
    if not _is_proven(found):
        raise RunnerError(
            f"no check of {id_} can fail: there is nothing to attest",
            where=f"commit {short(found.recorded_in)}",
            hint=f"add a test contract, or see runner evidence {id_}",
            code=ExitCode.FAILED,
        )
    return task_statement(found)


def attest_ship(project: Project, tag: str, commit: str, when: str) -> Object:
    """Return the attestation statement of a ship: its plan and the proofs in its commits.

    `when` is RFC 3339 in UTC.
    """
    with Repository.open(project.root) as repository:
        return _ship_of(project, repository, tag, commit, when)


def check_attestation(project: Project, data: bytes) -> Checked:
    """Check a statement against this repository. Raises RunnerError for invalid JSON."""
    statement = _read(data)
    faults = list(find_shape_faults(statement))
    if faults or not isinstance(statement, dict):
        return Checked("", "", "", tuple(faults))
    with Repository.open(project.root) as repository:
        if statement["predicateType"] == SUMMARY:
            return _check_ship(project, repository, statement)
        return _check_task(repository, statement)


def require_current(project: Project, found: Checked) -> None:
    """Raise RunnerError (exit 1) where the plan has other work, or another proof, of that task."""
    tasks = {task.id: task for task in check_sound(project).plan.tasks}
    if found.kind == "task" and (found.name not in tasks or tasks[found.name].spec != found.spec):
        raise RunnerError(
            f"{found.name} in the plan differs from what was attested",
            hint=f"check it on its own commit: git switch --detach {short(found.commit)}",
            code=ExitCode.FAILED,
        )


def _read(data: bytes) -> Json:
    try:
        found: Json = json.loads(data[: _LARGEST + 1], object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        large = len(data) > _LARGEST
        raise RunnerError(
            "not an attestation: invalid JSON",
            detail=f"it is larger than {_LARGEST} bytes" if large else str(error),
            hint=_MAKE,
            code=ExitCode.FAILED,
        ) from error
    return found


def _once(pairs: list[tuple[str, Json]]) -> Object:
    """Build an object from JSON pairs. Raises ValueError for a duplicate name."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a duplicate name")
    return found


def _is_proven(evidence: Evidence) -> bool:
    by = strongest(evidence.proofs)
    return by is not None and by not in PROVES_NOTHING


def _read_evidence(repository: Repository, tip: str) -> Iterator[Evidence]:
    """Yield the evidence in commit trailers, newest first."""
    found = (from_commit(commit) for commit in repository.log_trailers(tip))
    return (one for one in found if one is not None)


# --- one task -------------------------------------------------------------------------


def _check_task(repository: Repository, statement: Object) -> Checked:
    predicate = statement["predicate"]
    configuration = predicate.get("configuration") if isinstance(predicate, dict) else None
    record = find_digest(configuration, RECORD, "gitCommit")
    task = _task_of(configuration)
    head = repository.head().commit
    if not record or not task:
        lacks = Fault("predicate.configuration", "it names no commit that records the proof")
        return Checked("task", task, record, (lacks,))
    if head is None or not repository.resolve(f"{record}^{{commit}}"):
        missing = Fault("predicate.configuration", f"commit {short(record)} is not in this clone")
        return Checked("task", task, record, (missing,))
    evidence = (one for one in _read_evidence(repository, record) if one.recorded_in == record)
    found = next((one for one in evidence if one.task == task), None)
    if found is None:
        silent = Fault("predicate.configuration", f"commit {short(record)} does not mention {task}")
        return Checked("task", task, record, (silent,))
    faults = [*find_differences(statement, task_statement(found))]
    if found.commit and repository.tree_of(found.commit) != found.tree:
        faults.append(Fault("subject", "the commit's tree differs from the one in its message"))
    if not _is_proven(found):
        faults.append(Fault("predicate", "no check that can fail ran"))
    return Checked("task", task, record, tuple(faults), found.spec)


def _task_of(configuration: Json) -> str:
    for one in configuration if isinstance(configuration, list) else ():
        name = str(one.get("name") or "") if isinstance(one, dict) else ""
        if name.endswith(f"/{RECORD}"):
            return name.removesuffix(f"/{RECORD}")
    return ""


# --- a ship ---------------------------------------------------------------------------


def _ship_of(project: Project, repository: Repository, tag: str, commit: str, when: str) -> Object:
    data = repository.blob(commit, project.plan_path) or b""
    tasks = project.plan(data).tasks
    evidence: dict[tuple[str, Spec], Evidence] = {}
    for one in _read_evidence(repository, commit):
        evidence.setdefault((one.task, one.spec), one)
    found = {task.id: evidence.get((task.id, task.spec)) for task in tasks}
    statements = {id_: task_statement(one) for id_, one in found.items() if one and _is_proven(one)}
    asked = {task.id for task in tasks if task.type != MILESTONE}
    plan = (project.plan_path, digest_of(data))
    whole = asked <= statements.keys()
    tree = repository.tree_of(commit)
    return ship_statement(tag, commit, tree, plan, when, statements, whole=whole)


def _check_ship(project: Project, repository: Repository, statement: Object) -> Checked:
    subject, predicate = statement["subject"], statement["predicate"]
    first = subject[0] if isinstance(subject, list) else None
    tag = str(first.get("name") or "") if isinstance(first, dict) else ""
    commit = find_digest(subject, tag, "gitCommit")
    if not commit or not repository.resolve(f"{commit}^{{commit}}"):
        missing = Fault("subject[0]", f"commit {short(commit) or tag} is not in this clone")
        return Checked("ship", tag, commit, (missing,))
    faults = []
    declared = parse_message(repository.message(commit)).trailers.get(SHIP, ())
    if tag not in declared:
        faults.append(Fault("subject[0]", f"commit {short(commit)} does not declare this ship"))
    when = str(predicate.get("timeVerified")) if isinstance(predicate, dict) else ""
    faults += find_differences(statement, _ship_of(project, repository, tag, commit, when))
    return Checked("ship", tag, commit, tuple(faults))


# --- what a check says --------------------------------------------------------------------


def check_document(found: Checked, *, passed: bool | None) -> str:
    """Return the `verify-attestation` JSON document; `passed` is None without a new proof."""
    return document(
        "verify-attestation",
        agrees=not found.faults,
        of=found.kind or None,
        name=found.name or None,
        commit=found.commit or None,
        faults=found.faults,
        ranAgain=passed,
    )


def check_text(found: Checked, *, passed: bool | None) -> str:
    """Return the result of an attestation check as text."""
    return "".join(f"{line}\n" for line in _check_lines(found, passed=passed))


def _check_lines(found: Checked, *, passed: bool | None) -> Iterator[str]:
    if found.faults:
        yield f"NOT confirmed here: {plural(len(found.faults), 'fault')}"
        for fault in found.faults:
            yield f"  {display(fault.where or 'statement')}: {display(fault.text)}"
        return
    commit = short(found.commit)
    yield f"{display(found.name)}: it matches commit {commit}, and the commit matches its tree"
    if passed is None:
        yield f"this relies on the author of that commit; to re-test: {_AGAIN}"
    else:
        yield "re-tested on HEAD" if passed else "NOT proven on HEAD: see above"
