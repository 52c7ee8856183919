"""Prove everything together, record SHIP in CHECKPOINT.md, and tag the commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from runner import effects
from runner.app.build.done_before_run import SHIP, last_ship_tag
from runner.app.build.preconditions import require_suitable
from runner.app.build.session import Session
from runner.app.inspect.validation import check_sound
from runner.app.prove.prove_again import (
    find_proven_words,
    grades_after,
    key_of_tree,
    subjects_of,
    verify_all,
)
from runner.app.prove.publish import last_verification
from runner.app.prove.task_evidence import attest_ship
from runner.app.prove.verified_tree import find_unverified_tasks, grades_in
from runner.app.prove.verify_done import mark_failing_stale
from runner.errors import ExitCode, RunnerError
from runner.gates.base import MUTATION
from runner.journal.session_events import ShipDeclared
from runner.lazy_module import lazy_module
from runner.model import Grade, ProvenBy, Verdict, digest_of
from runner.model.grades import is_code
from runner.project import BUILD
from runner.repo.refs import free_tag, make_tag, require_free, slug
from runner.report import checkpoint
from runner.report.attestations import encode
from runner.report.decisions_file import append_text
from runner.report.ship import find_explained, find_unproven, ship_text, tag_message
from runner.run.journal_writer import begin, finish
from runner.run.landing.record_commit import record
from runner.run.landing.status_writer import PlanDocument, StatusWriter, find_differing, statuses_of
from runner.run.proof.unverified_bytes import find_never_landed
from runner.text.display import display
from runner.text.wording import join_few, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from runner.app.artifacts import artifact_export
    from runner.journal.session_events import TreeVerified
    from runner.model import Graded, Proof, Task
    from runner.project import Project, Reading
    from runner.repo.read import Repository
    from runner.run.proof.verification import Subject, Verified
else:
    artifact_export = lazy_module("runner.app.artifacts.artifact_export")


class ShipRequest(Struct, frozen=True):
    """The options of a ship."""

    tag: str = ""
    """Name of the tag; empty: `runner-ship-<date>`."""
    unproven: bool = False
    """Also ship tasks that are DONE and unproven."""
    strict: bool = False
    """Require tests or a contract for tasks that wrote code."""
    independent: bool = False
    """Require the grade `independent` for each task."""


class Shipped(Struct, frozen=True):
    """The shipped plan; without a tag nothing was shipped."""

    verified: TreeVerified
    tag: str = ""
    commit: str = ""
    shortfall: Verified | None = None
    """What the whole tree lacks for the ship; None if nothing."""
    unproven: tuple[str, ...] = ()
    """By ID, tasks shipped without a proof: requested, or the plan gives the reason."""
    attestation: str = ""
    """Path of the ship's attestation, relative to the repository root."""


def ship(project: Project, request: ShipRequest, say: Callable[[str], None]) -> Shipped:
    """Ship all DONE tasks. Raises RunnerError for any obstacle except a failing proof."""
    reading = check_sound(project)
    _refuse_twice(project)
    with Session(project, reading.plan.tasks) as session:
        # Check again under the lock: the plan may have been shipped or saved meanwhile.
        _refuse_twice(project)
        reading = reading if project.plan_bytes == reading.data else check_sound(project)
        _refuse_uncommitted(session)
        for line in require_suitable(session.repository, session.own_documents, allow_dirty=False):
            for part in f"note: {line}".split("\n"):  # of many paths it is more than one
                say(part)
        _begin(session, reading)
        subjects = _all_done(session, reading.plan.tasks)
        verified, grades, shortfall = _verify_tree(session, subjects, say)
        if shortfall is not None:
            _finish(session, subjects, ExitCode.FAILED)
        else:
            _refuse_unproven(session, subjects, grades, request)
            tag, commit = _declare(session, reading, verified, grades, request.tag)
            _finish(session, subjects, ExitCode.OK)
    if shortfall is not None:
        # After the lock is released: this is a short run of its own.
        mark_failing_stale(project, shortfall, say)
        return Shipped(verified, shortfall=shortfall)
    report = _attest(project, tag, commit)
    if project.settings.artifacts.store:
        say(artifact_export.begin_export(project))
    return Shipped(verified, tag, commit, unproven=tuple(find_unproven(grades)), attestation=report)


def _attest(project: Project, tag: str, commit: str) -> str:
    """Leave the statement of the ship beside its logs; the path."""
    path = f"{BUILD}/reports/{slug(tag)}.attestation.json"
    statement = attest_ship(project, tag, commit, effects.timestamp())
    effects.make_folder((project.root / path).parent)
    effects.write_file(project.root / path, encode(statement).encode())
    return path


def _refuse_twice(project: Project) -> None:
    """Raise RunnerError where nothing happened since the last ship."""
    tag = last_ship_tag(project, project.state())
    if tag:
        raise RunnerError(
            f"this plan was already shipped as {display(tag)}",
            hint="to continue it: runner run --reopen",
        )


def _refuse_uncommitted(session: Session) -> None:
    """Raise RunnerError where the branch does not have what the tag would be put on."""
    if session.branch.beneath is not None:
        waits = bool(session.shadow.paths)
        raise RunnerError(
            "the landed files are not committed"
            if waits
            else "a ship is a commit, and git.commit is manual",
            hint="runner pipeline commit-by-task"
            if waits
            else 'set git.commit = "task" for it: RUNNER_GIT_COMMIT=task runner ship',
            code=ExitCode.PERSON,
        )


def _begin(session: Session, reading: Reading) -> None:
    """Record the start of a ship like that of a run, and reconcile plan, journal and git."""
    branch = session.branch
    plan = digest_of(reading.data)
    begin(session.journal, head=branch.commit or "", branch=branch.shown, plan=plan, settings={})
    session.take_in(reading.plan.tasks)


def _finish(session: Session, subjects: Sequence[Subject], code: ExitCode) -> None:
    finish(
        session.journal,
        exit_code=code,
        head=session.repository.head().commit or "",
        began=session.began,
        ids=[one.task.id for one in subjects],
    )


def _refuse(
    session: Session, subjects: Sequence[Subject], why: str, *, hint: str = "", detail: str = ""
) -> RunnerError:
    """Record the end of the ship and return the error (exit 3) with the reason."""
    _finish(session, subjects, ExitCode.PERSON)
    why = f"nothing was shipped: {why}"
    return RunnerError(why, detail=detail, hint=hint, code=ExitCode.PERSON)


def _all_done(session: Session, tasks: Sequence[Task]) -> tuple[Subject, ...]:
    """Return all tasks with their states. Raises RunnerError (exit 3) if one is not DONE."""
    state = session.journal.state
    subjects = subjects_of(tasks, state.states_of(task.id for task in tasks))
    done = {one.task.id for one in subjects}
    missing = [task.id for task in tasks if task.id not in done]
    if missing or not tasks:
        lacking = f"{join_few(missing)} {'is' if len(missing) == 1 else 'are'} not DONE"
        why = lacking if tasks else "the plan has no tasks"
        raise _refuse(session, subjects, why, hint="runner status")
    if session.repository.head().commit is None:
        raise _refuse(session, subjects, "there is no commit yet")
    _refuse_missing_files(session, tasks, subjects)
    return subjects


def _refuse_missing_files(
    session: Session, tasks: Sequence[Task], subjects: Sequence[Subject]
) -> None:
    """Raise RunnerError (exit 3) where the file of a DONE task does not exist."""
    repository, state = session.repository, session.journal.state
    head = repository.head().commit or ""
    found = find_unverified_tasks(session.project, tasks, state, repository)
    gone = {id_: one.why for id_, one in found.items() if one.missing}
    for id_, path in find_never_landed(repository, head, tasks, state).items():
        gone[id_] = f"{path} is not in any commit"
    if gone:
        raise _refuse(
            *(session, subjects, f"files of DONE tasks are missing: {join_few(list(gone))}"),
            detail="\n".join(f"  {display(id_)}: {display(why)}" for id_, why in gone.items()),
            hint="restore the files and commit them, or rebuild the task: "
            f"runner change {next(iter(gone))} ...",
        )


def _verify_tree(
    session: Session, subjects: Sequence[Subject], say: Callable[[str], None]
) -> tuple[TreeVerified, dict[str, Graded], Verified | None]:
    """Return the proof of this tree, the grades of its tasks, and the checks run if it failed.

    With it, what was run where it falls short.
    """
    tasks = [one.task for one in subjects]
    states = {one.task.id: one.known for one in subjects}
    project, known = session.project, session.journal.state.verified_tree
    if _is_verified(project, session.repository, subjects, known):
        say("this tree was already verified")
        grades = grades_in(project, tasks, session.journal.state, found={})
        return last_verification(project), grades, None
    verified, event = verify_all(
        project, session.repository, subjects, session.own_documents, say=say
    )
    if verified.code is ExitCode.PERSON:
        first = verified.unrun[0]
        raise _refuse(session, subjects, first.message, hint=first.hint)
    session.journal.note(event, durable=True)
    if not verified.passed:
        return event, {}, verified
    tree = session.repository.tree_of(verified.head)
    for id_, attempt, done in find_proven_words(project.settings, subjects, verified.tasks, tree):
        session.journal.note(done, task=id_, attempt=attempt, durable=True)
        states[id_] = session.journal.state.task(id_)
    return event, grades_after(project, tasks, states, verified), None


def _is_verified(
    project: Project, repository: Repository, subjects: Sequence[Subject], verified_tree: str
) -> bool:
    """Return whether this tree has already passed a full verification."""
    if not verified_tree:
        return False
    head = repository.head().commit or ""
    documents = project.documents
    return key_of_tree(project, repository, head, subjects, documents) == verified_tree


def _refuse_unproven(
    session: Session,
    subjects: Sequence[Subject],
    grades: Mapping[str, Graded],
    request: ShipRequest,
) -> None:
    """Raise RunnerError (exit 3) for tasks whose DONE is worth less than is asked for."""
    explained = find_explained([one.task for one in subjects], grades)
    lacking = {} if request.unproven else find_unproven(grades).keys() - explained
    weak = [
        one.task.id
        for one in subjects
        if (request.strict and _is_weak(one, grades))
        or (request.independent and not grades[one.task.id].is_independent)
    ]
    named = [id_ for id_ in grades if id_ in lacking or id_ in weak]
    if not named:
        return
    lines = "\n".join(f"  {id_}: {_explain(id_, subjects, grades, request)}" for id_ in named)
    asked, lacks = _describe_unfinished(request)
    # a waiver replaces a proof, so a task with a proof below the required grade can have none
    to_waive = [id_ for id_ in named if not grades[id_].is_proven and not request.independent]
    ways = [f"runner waive {id_} --reason …" for id_ in to_waive[:1]]
    ways += [] if request.strict or request.independent else ["runner ship --unproven"]
    raise _refuse(
        *(session, subjects),
        f"{plural(len(named), 'task')} {'is' if len(named) == 1 else 'are'} {asked}",
        detail=lines,
        hint=f"add {lacks} for these tasks"
        f" and run again{'; ' if ways else ''}{', or '.join(f'`{one}`' for one in ways)}",
    )


def _describe_unfinished(request: ShipRequest) -> tuple[str, str]:
    """Return what the named tasks are, and what each of them needs."""
    if request.independent:
        return "not independent", "held-out tests or a review for each acceptance item"
    if request.strict:
        return "code without tests or a contract", "tests or a contract"
    return "unproven", "a proof"


def _explain(
    id_: str, subjects: Sequence[Subject], grades: Mapping[str, Graded], request: ShipRequest
) -> str:
    """Return the grade of a task, and that its tests notice nothing where they were tried."""
    [one] = [one for one in subjects if one.task.id == id_]
    more = ", and its tests detect no change to its code"
    return grades[id_].words + (
        more if request.strict and notices_nothing(one.known.proofs) else ""
    )


def _is_weak(one: Subject, grades: Mapping[str, Graded]) -> bool:
    """Return whether a task wrote code without a waiver or a proof by tests or a contract."""
    graded = grades.get(one.task.id)
    if graded is None or graded.grade is Grade.WAIVED or not any(map(is_code, one.task.outputs)):
        return False
    strong = (ProvenBy.INDEPENDENT, ProvenBy.TESTS, ProvenBy.CONTRACT)
    return graded.by not in strong or not graded.is_proven or notices_nothing(one.known.proofs)


def notices_nothing(proofs: Iterable[Proof]) -> bool:
    """Return whether the tests noticed no stub or none of the mutants that ran."""
    ran = [proof for proof in proofs if proof.kind == MUTATION]
    counts = [(proof.verdict is not Verdict.SKIPPED, dict(proof.counts)) for proof in ran]
    return any(
        (measured and row.get("stub") == 0) or (row.get("survived") and not row.get("noticed"))
        for measured, row in counts
    )


def _declare(
    session: Session,
    reading: Reading,
    verified: TreeVerified,
    grades: Mapping[str, Graded],
    wanted: str,
) -> tuple[str, str]:
    """Declare SHIP in CHECKPOINT.md, commit and tag it, then record it in the journal.

    What a crash leaves out, the next ship makes up for: until the journal knows, nothing is
    shipped.
    """
    date = effects.timestamp()[:10]
    # Check before writing: otherwise an existing tag would be found only after the commit.
    if wanted:
        require_free(session.repository, wanted)
    tag = wanted or free_tag(session.repository, f"runner-ship-{date}")
    file = session.project.root / session.checkpoint.path
    session.checkpoint.close(session.journal)
    append_text(file, ship_text(tag, date, verified, grades), head=checkpoint.HEAD)
    commit = _commit_declaration(session, reading, tag)
    message = tag_message(reading.plan.title, verified, grades)
    make_tag(session.repository, tag, commit, message)
    event = ShipDeclared(tag=tag, commit=commit, tasks=verified.tasks)
    session.journal.note(event, durable=True)
    return tag, commit


def _commit_declaration(session: Session, reading: Reading, tag: str) -> str:
    """Commit the declaration and return the commit. Raises RunnerError if the branch has moved."""
    project = session.project
    board = StatusWriter(project.root / project.plan_path, project.settings.build.id_prefixes)
    for id_, row in find_differing(reading.plan.tasks, session.journal).items():
        board.say(id_, *row)
    if board.due(now=True):
        board.publish(session.journal.note, head=session.head().commit or "")
    known = statuses_of(reading.plan.tasks, session.journal)
    plan = PlanDocument(project.plan_path, lambda: known, board.edit)
    documents = (plan, session.ownership, session.checkpoint, session.decisions, session.ignore)
    trailers = [("Checked", line) for line in session.checked]
    commit = record(
        session.repository, project.root, session.branch, documents, [*trailers, (SHIP, tag)]
    )
    if commit is None:
        raise RunnerError(
            "nothing was shipped: the branch moved during the ship",
            hint="runner ship",
            code=ExitCode.CONFLICT,
        )
    return commit
