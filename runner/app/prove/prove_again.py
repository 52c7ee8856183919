"""DONE tasks proven again on what is there: before something is built on them, or as asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.app.prove.prove_tree import worker_setup
from runner.app.prove.verified_tree import find_unverified_tasks
from runner.journal.events import TaskDone, TaskStaled
from runner.model import Status
from runner.run.landing.status_writer import why_unproven
from runner.run.proof.inspection import Inspection
from runner.run.proof.unverified_bytes import Unverified
from runner.run.proof.verification import Subject, plan_for
from runner.run.proof_required import format_unprovable, has_proof, is_by_word
from runner.run.recovery import may_be_met
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from runner.app.build.session import Session
    from runner.journal.task_state import TaskState
    from runner.model import Task
    from runner.project import Project, Reading
    from runner.repo.read import Repository
    from runner.run.landing.status_writer import StatusWriter
    from runner.run.proof.verification import Inspected

    Wakes = Callable[[Callable[[], None]], None]


def inspection_of(
    project: Project, repository: Repository, say: Callable[[str], None]
) -> Inspection:
    """What proves again on HEAD as it is. Raises RunnerError where no sandbox can be had."""
    setup = worker_setup(project, repository)
    head = repository.head().commit or ""
    return Inspection(repository, setup, project.settings, project.environ, head, say)


def prove_before(
    session: Session,
    reading: Reading,
    chosen: Collection[str],
    named: Collection[str],
    board: StatusWriter,
    *,
    say: Callable[[str], None],
    wakes: Wakes,
) -> None:
    """Prove what is named, and what the tasks to be built rest on: once for these bytes."""
    tasks, state = reading.plan.tasks, session.ledger.state
    done = {task.id for task in tasks if state.task(task.id).status is Status.DONE}
    needed = {*named, *_beneath(reading, [i for i in chosen if _may_begin(state.task(i))])}
    if not needed & done:
        return
    found = {
        id_: one
        for id_, one in find_unverified_tasks(
            session.project, tasks, state, session.repository
        ).items()
        # What is not committed is in no tree that a proof could run on.
        if id_ in needed and not one.uncommitted
    }
    words = [id_ for id_ in needed & done if is_by_word(state.task(id_))]
    by_id = {task.id: task for task in tasks}
    settings = session.project.settings
    found |= {id_: Unverified(()) for id_ in words if has_proof(by_id[id_], settings)}
    if line := format_unprovable(by_id, words, settings):
        say(line)
    if found:
        prove_again(session, tasks, found, board, say=say, wakes=wakes)


def _may_begin(known: TaskState) -> bool:
    """Whether this run may build a task, as far as its status tells."""
    return known.status in (Status.PENDING, Status.IN_PROGRESS) or (
        known.status is Status.BLOCKED and may_be_met(known)
    )


def _beneath(reading: Reading, ids: Iterable[str]) -> set[str]:
    """All that these tasks need, each looked at once: a plan of many tasks has long chains."""
    graph, found, left = reading.graph, set[str](), list(ids)
    while left:
        new = [one for one in graph.dependencies(left.pop()) if one not in found]
        found.update(new)
        left += new
    return found


def stale_what_is_gone(
    session: Session,
    found: Mapping[str, Unverified],
    board: StatusWriter,
    say: Callable[[str], None],
) -> bool:
    """Make STALE the tasks whose files do not exist; whether there are any."""
    gone = {id_: one.why for id_, one in found.items() if one.missing}
    for id_, why in gone.items():
        _stale(session, id_, why, board)
        say(f"{display(id_)} is STALE: {display(why)}")
    return bool(gone)


def prove_again(
    session: Session,
    tasks: Sequence[Task],
    found: Mapping[str, Unverified],
    board: StatusWriter,
    *,
    say: Callable[[str], None],
    wakes: Wakes | None = None,
) -> None:
    """Run the proofs of these tasks on HEAD: DONE with what they said, or STALE.

    At most once a tree: what passed is known for these bytes, what did not waits for a person.
    """
    state = session.ledger.state
    subjects = [Subject(task, state.task(task.id)) for task in tasks if task.id in found]
    for id_, one in found.items():
        say(f"{display(id_)} is proven again: {display(one.why)}")
    inspection = inspection_of(session.project, session.repository, say)
    if wakes is not None:
        wakes(inspection.crew.interrupt)
    verified = inspection.verify(plan_for(subjects, session.project.settings))
    for subject, result in zip(subjects, verified.tasks, strict=True):
        why = _falls_short(found[result.task], result)
        if why:
            _stale(session, result.task, why, board)
            say(f"{display(result.task)} is STALE: {display(why)}")
        else:
            known = state.task(result.task)
            tree = session.repository.tree_of(verified.head)
            event = make_done_event(subject.task, known, result, tree)
            session.ledger.note(event, task=known.id, attempt=known.last_attempt, durable=True)


def _falls_short(found: Unverified, one: Inspected) -> str:
    if found.missing:
        return found.why
    checks = ", ".join(one.failing)
    return f"{found.why}, and {checks} does not pass" if not one.passed else ""


def _stale(session: Session, id_: str, why: str, board: StatusWriter) -> None:
    attempt = session.ledger.state.task(id_).last_attempt
    session.ledger.note(TaskStaled(note=why), task=id_, attempt=attempt, durable=True)
    board.say(id_, Status.STALE, why)


def make_done_event(task: Task, known: TaskState, now: Inspected, tree: str) -> TaskDone:
    """What a task's DONE rests on from now: a proof of the bytes that are there."""
    return TaskDone(
        spec=task.spec,
        commit=known.commit,
        tree=tree,
        proofs=now.proofs,
        coverage=now.coverage,
        patterns=known.patterns,
        note="proven again on what is there",
        tools=dict(now.tools),
        unproven=why_unproven(task, now.proofs),
    )
