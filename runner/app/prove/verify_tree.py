"""Proving the whole tree: by `verify`, before a ship, and when a run has built everything."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from runner.app.prove.prove_again import inspection_of, stale_what_is_gone
from runner.app.prove.verified_tree import (
    Moment,
    carry_known,
    find_unverified_tasks,
    find_verification,
    format_unverified,
)
from runner.errors import ExitCode, RunnerError
from runner.journal.events import TaskStaled
from runner.journal.grading import grade_alone, grades_of
from runner.journal.session_events import TreeVerified
from runner.journal.task_state import TaskState
from runner.model import ProvenBy, Spec, Status, Task
from runner.model.grades import strongest
from runner.run.proof.same_tree import make_same_tree_test, tree_key
from runner.run.proof.verification import Subject, plan_for
from runner.run.waivers import stands
from runner.secrets.redact import redact
from runner.text.wording import finding_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from runner.app.build.session import Session
    from runner.app.prove.prove_again import Wakes
    from runner.journal.state import RunState
    from runner.model import Digest, Graded
    from runner.project import Project
    from runner.repo.read import Repository
    from runner.run.landing.status_writer import StatusWriter
    from runner.run.proof.verification import Inspected, Verified


def subjects_of(tasks: Iterable[Task], states: Mapping[str, TaskState]) -> tuple[Subject, ...]:
    """The tasks that are DONE, in the order of the plan."""
    found = (Subject(task, states[task.id]) for task in tasks if task.id in states)
    return tuple(one for one in found if one.known.status is Status.DONE)


def verify_all(
    project: Project,
    repository: Repository,
    subjects: Sequence[Subject],
    documents: frozenset[str],
    *,
    say: Callable[[str], None],
    known: bool = False,
    wakes: Wakes | None = None,
) -> tuple[Verified, TreeVerified]:
    """Prove every task that is DONE on HEAD's tree; gives the event to note, too.

    With `known`, what a run proved on this very tree is not run again.
    """
    inspection = inspection_of(project, repository, say)
    if wakes is not None:
        wakes(inspection.crew.interrupt)
    head, settings = inspection.head, project.settings
    states = [one.known for one in subjects]
    if known:
        plan = plan_for(
            subjects, settings, make_same_tree_test(repository, head, documents, states)
        )
    else:
        plan = plan_for(subjects, settings)
    verified = inspection.verify(plan)
    event = TreeVerified(
        tree=key_of_tree(project, repository, head, subjects, documents),
        head=head,
        passed=verified.passed,
        coverage=verified.coverage,
        tasks=len(subjects),
        ran=verified.ran,
    )
    return verified, event


def gates_alone(
    project: Project,
    repository: Repository,
    documents: frozenset[str],
    say: Callable[[str], None],
) -> tuple[Verified, TreeVerified]:
    """Nothing is DONE: the gates of the project hold all the same, and nobody notes that.

    Raises RunnerError (exit 3) without gates: where nothing was proven nothing is verified.
    """
    if not project.settings.gates:
        raise RunnerError(
            "nothing is DONE yet, so there is nothing to verify",
            hint="runner status",
            code=ExitCode.PERSON,
        )
    say("note: nothing is DONE yet: the project's gates are run, and nothing else")
    whole = Task(id="PROJECT", title="its gates", line=0, spec=Spec("", ""))
    subjects = (Subject(whole, TaskState(whole.id)),)
    return verify_all(project, repository, subjects, documents, say=say)


def grades_after(
    project: Project,
    tasks: Sequence[Task],
    states: Mapping[str, TaskState],
    verified: Verified,
) -> dict[str, Graded]:
    """What each DONE task is worth, now that its proof has run on these bytes."""
    fails = {one.task: "its proof fails on these bytes" for one in verified.tasks if not one.passed}
    by = {one.task: strongest(one.proofs) for one in verified.tasks if one.passed}
    now = {id_: _with_proof(known, by.get(id_)) for id_, known in states.items()}
    return grades_of(tasks, now, partial(stands, project.root), fails)


def _with_proof(known: TaskState, by: ProvenBy | None) -> TaskState:
    """The task as proven by what ran now, where that is a proof and nothing weaker was known."""
    if by is None or by is ProvenBy.STATIC or (known.verified and grade_alone(known).is_proven):
        return known
    return known._replace(proven=by, verified=True)


def key_of_tree(
    project: Project,
    repository: Repository,
    head: str,
    subjects: Sequence[Subject],
    documents: frozenset[str],
) -> Digest:
    """Under what a verification of these tasks on this commit is known."""
    tasks = [one.task for one in subjects]
    return tree_key(repository, head, documents, tasks, project.settings)


# --- at the end of a run --------------------------------------------------------------


def verify_at_end(
    session: Session,
    tasks: Sequence[Task],
    board: StatusWriter,
    *,
    say: Callable[[str], None],
    wakes: Wakes,
    owed: bool = False,
    merged: bool = False,
) -> frozenset[ExitCode]:
    """Prove together what was accepted one by one; what fails only there becomes STALE.

    Only where all is DONE, and this run did some of it or one before `owed` it still; else what is
    known of the tree is told. What others did is `merged` with it: then whatever is DONE is proven.
    Gives the exit codes that then hold.
    """
    project, state = session.project, session.ledger.state
    subjects = subjects_of(tasks, {task.id: state.task(task.id) for task in tasks})
    found = find_unverified_tasks(project, tasks, state, session.repository)
    at_end = merged or (project.settings.verify_at_end and len(subjects) == len(tasks))
    if found and (not at_end or all(one.uncommitted for one in found.values())):
        say(format_unverified(found))
    if not at_end:
        return frozenset()
    if stale_what_is_gone(session, found, board, say):
        board.publish(session.ledger.note, head=session.head().commit or "")
        return frozenset({ExitCode.PERSON})
    by_hand = any(not one.uncommitted for one in found.values())
    if not (session.landed or session.checked or owed or by_hand or merged):
        known = find_verification(project, state, session.head().commit or "", session.repository)
        if known.said:
            say(known.said)
        return frozenset() if known.code is ExitCode.OK else frozenset({known.code})
    verified, event = verify_all(
        project,
        session.repository,
        [one for one in subjects if one.known.verified],  # a person's word is kept as it is
        session.own_documents,
        say=say,
        known=True,
        wakes=wakes,
    )
    before = Moment.of(event.head, session.ledger)
    session.ledger.note(event)
    if verified.passed:
        carry_known(project, before, Moment.of(event.head, session.ledger))
        return frozenset()
    say("\n".join(["the whole tree, proven together, falls short:", *_format_shortfalls(verified)]))
    return _mark_stale(session, verified, state, board) or frozenset({ExitCode.FAILED})


def _format_shortfalls(verified: Verified) -> Iterator[str]:
    """Every shortfall, then why each check failed."""
    yield from (f"  {line}" for line in verified.shortfalls)
    for one in verified.tasks:
        for finding in one.findings:
            if finding.refuses and finding.check in one.to_answer_for:
                yield from (f"    {redact(line)}" for line in finding_lines(finding))


def _mark_stale(
    session: Session, verified: Verified, state: RunState, board: StatusWriter
) -> frozenset[ExitCode]:
    """Make STALE what has to answer for a failure; the halt of a regression where any has."""
    owners = [one for one in verified.tasks if one.to_answer_for]
    last = _last_landing(verified, state)
    for one in owners:
        note = why_stale(one, "on the whole tree") + (f", last landed {last}" if last else "")
        session.ledger.note(TaskStaled(note=note), task=one.task, durable=True)
        board.say(one.task, Status.STALE, note)
    # On another branch, where a person may be by now, the plan's file is that branch's.
    if owners and session.project.head().ref == session.branch.ref:
        board.publish(session.ledger.note, head=verified.head)
    return frozenset({ExitCode.REGRESSION}) if owners else frozenset()


def why_stale(one: Inspected, where: str) -> str:
    """What fails of a task, and where: `TC-001 fails on the whole tree`."""
    checks = ", ".join(one.to_answer_for)
    return f"{checks} {'fails' if len(one.to_answer_for) == 1 else 'fail'} {where}"


def _last_landing(verified: Verified, state: RunState) -> str:
    """`TASK-005 (3f2a1b…)`: what landed last."""
    commit = state.last_landing_head
    task = next((one.task for one in verified.tasks if state.task(one.task).commit == commit), "")
    return f"{task} ({commit[:12]})" if task and commit else ""
