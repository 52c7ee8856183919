"""Write a task's proof or a ship as an attestation that others can check.

Made from what the commits tell, never from the journal alone: whoever has a clone can make the
same statement again, and that is how one is checked.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.app.build.run_status import SHIP
from runner.app.inspect.validation import check_sound
from runner.errors import ExitCode, RunnerError
from runner.journal.evidence import from_commit
from runner.model import digest_of
from runner.model.grades import strongest
from runner.model.task import MILESTONE
from runner.model.words import PROVES_NOTHING
from runner.repo.read import Repository
from runner.repo.trailers import parse_message
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
from runner.report.documents import document
from runner.text.display import display
from runner.text.wording import plural, short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.journal.evidence import Evidence
    from runner.model import Spec
    from runner.project import Project
    from runner.report.attestations import Object
    from runner.report.documents import Json

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
