"""Prove DONE tasks again on the current files, before other work builds on them or on request.

Proving the whole tree: by `verify`, before a ship, and when a run has built everything.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner import effects
from runner.app.prove.prove_tree import worker_setup
from runner.app.prove.verified_tree import (
    Moment,
    carry_known,
    find_unverified_tasks,
    find_verification,
    format_unverified,
)
from runner.errors import ExitCode, RunnerError
from runner.history.commit_log import story
from runner.journal.events import TaskDone, TaskStaled
from runner.journal.grading import grade_one, grades_of
from runner.journal.session_events import TreeVerified
from runner.journal.task_state import TaskState
from runner.model import ProvenBy, Spec, Status, Task
from runner.model.grades import find_gaps, strongest, without_proof
from runner.model.words import NOT_VERIFIED_HERE, PROVES_NOTHING
from runner.repo.git import GitError
from runner.run.landing.status_writer import why_unproven
from runner.run.limits.failure_policy import may_be_met
from runner.run.proof.same_tree import make_same_tree_test, tree_key
from runner.run.proof.unverified_bytes import Unverified
from runner.run.proof.verification import Subject, plan_for
from runner.run.proof.verification_jobs import Inspection
from runner.run.proof_sufficiency import format_unprovable, has_proof, is_by_word
from runner.run.waivers import stands
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import finding_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from runner.app.build.session import Session
    from runner.config.settings import Settings
    from runner.journal.state import RunState
    from runner.model import Digest, Graded, Proof
    from runner.project import Project, Reading
    from runner.repo.read import Repository
    from runner.run.landing.status_writer import StatusWriter
    from runner.run.proof.verification import Inspected, Verified

    Wakes = Callable[[Callable[[], None]], None]
    FindUntouched = Callable[[Iterable[TaskState], str, frozenset[str]], frozenset[str]]
    """Finds DONE tasks that no change since a commit affects, apart from runner documents."""


_NAMED = 3
"""Commits of people that are named; the rest are counted."""
_SUBJECT = 60


def inspection_of(
    project: Project, repository: Repository, say: Callable[[str], None]
) -> Inspection:
    """Create the inspection that verifies tasks on HEAD. Raises RunnerError without a sandbox."""
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
    tasks, state = reading.plan.tasks, session.journal.state
    done = {task.id for task in tasks if state.task(task.id).status is Status.DONE}
    needed = {*named, *_beneath(reading, [i for i in chosen if _may_begin(state.task(i))])}
    if not needed & done:
        return
    found = {
        id_: one
        for id_, one in find_unverified_tasks(
            session.project, tasks, state, session.repository
        ).items()
        # Uncommitted work is in no tree that a proof could run on.
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
    """Return whether the status of a task permits this run to build it."""
    return known.status in (Status.PENDING, Status.IN_PROGRESS) or (
        known.status is Status.BLOCKED and may_be_met(known)
    )


def _beneath(reading: Reading, ids: Iterable[str]) -> set[str]:
    """Return all transitive dependencies of these tasks, visiting each once."""
    graph, found, left = reading.graph, set[str](), list(ids)
    while left:
        new = [one for one in graph.dependencies(left.pop()) if one not in found]
        found.update(new)
        left += new
    return found


def mark_missing_stale(
    session: Session,
    found: Mapping[str, Unverified],
    board: StatusWriter,
    say: Callable[[str], None],
) -> bool:
    """Mark tasks with missing files as STALE; True if there are any."""
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
    """Run the proofs of these tasks on HEAD: DONE with their results, or STALE.

    At most once a tree: what passed is known for these bytes, what did not waits for a person.
    """
    state = session.journal.state
    subjects = [Subject(task, state.task(task.id)) for task in tasks if task.id in found]
    for id_, one in found.items():
        say(f"{display(id_)} is re-tested: {display(one.why)}")
    inspection = inspection_of(session.project, session.repository, say)
    if wakes is not None:
        wakes(inspection.workers.interrupt)
    verified = inspection.verify(plan_for(subjects, session.project.settings))
    for subject, result in zip(subjects, verified.tasks, strict=True):
        why = _falls_short(found[result.task], result)
        if result.unrun and not why:
            _report_unrun(result, say)
        elif why:
            _stale(session, result.task, why, board)
            say(f"{display(result.task)} is STALE: {display(why)}")
        else:
            known = state.task(result.task)
            tree = session.repository.tree_of(verified.head)
            event = make_done_event(subject.task, known, result, tree)
            session.journal.note(event, task=known.id, attempt=known.last_attempt, durable=True)


def _report_unrun(found: Inspected | Verified, say: Callable[[str], None]) -> None:
    """Report the held-out contracts that could not run here, and how to restore their files."""
    for finding in found.unrun:
        say("\n".join(finding_lines(finding)))


def _falls_short(found: Unverified, one: Inspected) -> str:
    if found.missing:
        return found.why
    checks = ", ".join(one.failing)
    return f"{found.why}, and its re-test failed: {checks}" if not one.passed else ""


def _stale(session: Session, id_: str, why: str, board: StatusWriter) -> None:
    attempt = session.journal.state.task(id_).last_attempt
    session.journal.note(TaskStaled(note=why), task=id_, attempt=attempt, durable=True)
    board.say(id_, Status.STALE, why)


def make_done_event(task: Task, known: TaskState, now: Inspected, tree: str) -> TaskDone:
    """Create the event that bases a task's DONE on a proof of the existing files."""
    return TaskDone(
        spec=task.spec,
        commit=known.commit,
        tree=tree,
        proofs=now.proofs,
        coverage=now.coverage,
        patterns=known.patterns,
        note="re-tested on the existing files",
        tools=dict(now.tools),
        unproven=why_unproven(task, now.proofs),
    )


def find_proven_words(
    settings: Settings, subjects: Iterable[Subject], results: Iterable[Inspected], tree: str
) -> Iterator[tuple[str, int, TaskDone]]:
    """Yield unverified DONE tasks that now pass or need no proof, with attempt and event.

    With the attempt and what is to be noted of each.
    """
    passed = {one.task: one for one in results if one.passed and not one.unrun}
    for task, known in ((one.task, one.known) for one in subjects if not one.known.verified):
        if (now := passed.get(task.id)) is None:
            continue
        event = make_done_event(task, known, now, tree)
        if has_proof(task, settings) and not event.unproven:
            yield task.id, known.last_attempt, event
        elif is_by_word(known) and event.unproven == without_proof(task.no_proof, task.outputs):
            yield task.id, known.last_attempt, replace(event, note="")


# --- the whole tree -------------------------------------------------------------------


def subjects_of(tasks: Iterable[Task], states: Mapping[str, TaskState]) -> tuple[Subject, ...]:
    """Return the tasks that are DONE, in the order of the plan."""
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
    untouched: Collection[str] = (),
    wakes: Wakes | None = None,
) -> tuple[Verified, TreeVerified]:
    """Prove every task that is DONE on HEAD's tree; gives the event to note, too.

    With `known`, what a run proved on this very tree is not run again. The own checks of
    `untouched` tasks stand.
    """
    inspection = inspection_of(project, repository, say)
    if wakes is not None:
        wakes(inspection.workers.interrupt)
    head, settings = inspection.head, project.settings
    states = [one.known for one in subjects]
    if known:
        is_here = make_same_tree_test(repository, head, documents, states)
        plan = plan_for(subjects, settings, is_here, untouched)
    else:
        plan = plan_for(subjects, settings, untouched=untouched)
    began = effects.monotonic()
    verified = inspection.verify(plan)
    event = TreeVerified(
        tree=key_of_tree(project, repository, head, subjects, documents),
        head=head,
        passed=verified.passed,
        coverage=verified.coverage,
        tasks=len(subjects),
        ran=verified.ran,
        reused=verified.reused,
        seconds=round(effects.monotonic() - began, 3),
    )
    return verified, event


def run_gates_only(
    project: Project,
    repository: Repository,
    documents: frozenset[str],
    say: Callable[[str], None],
) -> tuple[Verified, TreeVerified]:
    """Run only the project's gates if no task is DONE; nothing is recorded.

    Raises RunnerError (exit 3) without gates: where nothing was proven nothing is verified.
    """
    if not project.settings.gates:
        raise RunnerError(
            "nothing is DONE yet, so there is nothing to verify",
            hint="runner status",
            code=ExitCode.PERSON,
        )
    say("note: nothing is DONE yet: only the project's gates are run")
    whole = Task(id="PROJECT", title="its gates", line=0, spec=Spec("", ""))
    subjects = (Subject(whole, TaskState(whole.id)),)
    return verify_all(project, repository, subjects, documents, say=say)


def grades_after(
    project: Project,
    tasks: Sequence[Task],
    states: Mapping[str, TaskState],
    verified: Verified,
) -> dict[str, Graded]:
    """Return the grade of each DONE task after its proof ran on these files."""
    fails = {one.task: "its proof fails on this commit" for one in verified.tasks if not one.passed}
    passed = {one.task: one.proofs for one in verified.tasks if one.passed}
    now = {id_: _with_proof(known, passed.get(id_, ())) for id_, known in states.items()}
    return grades_of(tasks, now, partial(stands, project.root), fails)


def _with_proof(known: TaskState, proofs: Sequence[Proof]) -> TaskState:
    """Return the task state with the new proofs, if they are stronger than the known ones."""
    by = strongest(proofs)
    if any(one.kind == "coverage" or one.note == NOT_VERIFIED_HERE for one in proofs):
        known = replace(known, gaps=find_gaps(proofs))
    if known.verified and known.proven is ProvenBy.PASSED:
        return known  # it passes once more, which does not show that it can fail
    if by is None or by in PROVES_NOTHING or (known.verified and grade_one(known).is_proven):
        return known
    return replace(known, proven=by, verified=True)


def key_of_tree(
    project: Project,
    repository: Repository,
    head: str,
    subjects: Sequence[Subject],
    documents: frozenset[str],
) -> Digest:
    """Return the cache key for a verification of these tasks on this commit."""
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
    find_untouched: FindUntouched,
    owed: bool = False,
    merged: bool = False,
) -> frozenset[ExitCode]:
    """Prove together what was accepted one by one; what fails only there becomes STALE.

    Only where all is DONE, and this run did some of it or one before `owed` it still; else what is
    known of the tree is shown. With others' work `merged`, whatever is DONE is proven.
    Gives the exit codes that then hold.
    """
    project, state = session.project, session.journal.state
    subjects = subjects_of(tasks, state.states_of(task.id for task in tasks))
    found = find_unverified_tasks(project, tasks, state, session.repository)
    when = project.settings.proof.verify_at_end
    at_end = merged or (when != "never" and len(subjects) == len(tasks))
    if found and (not at_end or all(one.uncommitted for one in found.values())):
        say(format_unverified(found))
    if not at_end:
        return frozenset()
    if mark_missing_stale(session, found, board, say):
        board.publish(session.journal.note, head=session.head().commit or "")
        return frozenset({ExitCode.PERSON})
    by_hand = any(not one.uncommitted for one in found.values())
    if not (session.landed or session.checked or owed or by_hand or merged):
        last = find_verification(project, state, session.head().commit or "", session.repository)
        if last.note:
            say(last.note)
        return frozenset() if last.code is ExitCode.OK else frozenset({last.code})
    subjects = tuple(one for one in subjects if one.known.verified)  # a person's word is kept
    documents, untouched = session.own_documents, frozenset[str]()
    if when != "all":
        known = [one.known for one in subjects]
        untouched = find_untouched(known, session.head().commit or "", documents)
    verified, event = verify_all(
        project,
        session.repository,
        subjects,
        documents,
        say=say,
        known=True,
        untouched=untouched,
        wakes=wakes,
    )
    if verified.code is ExitCode.PERSON:
        _report_unrun(verified, say)
        return frozenset()
    before = Moment.of(event.head, session.journal)
    session.journal.note(event)
    if verified.passed:
        carry_known(project, before, Moment.of(event.head, session.journal))
        return frozenset()
    say("\n".join(["the whole tree failed its verification:", *_format_shortfalls(verified)]))
    return _mark_stale(session, verified, state, board) or frozenset({ExitCode.FAILED})


def _format_shortfalls(verified: Verified) -> Iterator[str]:
    """Yield every shortfall, then the findings of failed checks."""
    yield from (f"  {line}" for line in verified.shortfalls)
    for one in verified.tasks:
        for finding in one.findings:
            if finding.refuses and finding.check in one.to_answer_for:
                yield from (f"    {redact(line)}" for line in finding_lines(finding))


def _mark_stale(
    session: Session, verified: Verified, state: RunState, board: StatusWriter
) -> frozenset[ExitCode]:
    """Mark tasks with failures of their own as STALE; return the regression exit code if any."""
    owners = [one for one in verified.tasks if one.to_answer_for]
    for one in owners:
        causes = name_causes(one.task, verified, state, session.repository)
        note = why_stale(one, "on the whole tree") + (f", {causes}" if causes else "")
        session.journal.note(TaskStaled(note=note), task=one.task, durable=True)
        board.say(one.task, Status.STALE, note)
    # If the person switched branches, the plan file is that branch's.
    if owners and session.project.head().ref == session.branch.ref:
        board.publish(session.journal.note, head=verified.head)
    return frozenset({ExitCode.REGRESSION}) if owners else frozenset()


def why_stale(one: Inspected, where: str) -> str:
    """Return the failing checks of a task and where: `TC-001 fails on the whole tree`."""
    checks = ", ".join(one.to_answer_for)
    return f"{checks} {'fails' if len(one.to_answer_for) == 1 else 'fail'} {where}"


def name_causes(task: str, verified: Verified, state: RunState, repository: Repository) -> str:
    """Return `last landed TASK-005 (3f2a1b…)` and people's commits since the task last passed.

    That is the last tree that was proven as a whole, or its own landing behind that. A landing
    that the tree held already is no cause.
    """
    whole = "" if state.failed_tree else state.whole_head
    own, last = state.task(task).commit, state.last_landing_head
    good = whole if whole and (not own or repository.is_ancestor(own, whole)) else own
    found: list[str] = []
    if not (last and good == whole and repository.is_ancestor(last, good)):
        found += _last_landing(verified, state)
    if good and repository.resolve(good):
        found += _find_manual_commits(repository, verified.head, good)
    return ", ".join(found)


def _last_landing(verified: Verified, state: RunState) -> Iterator[str]:
    commit = state.last_landing_head
    task = next((one.task for one in verified.tasks if state.task(one.task).commit == commit), "")
    if task and commit:
        yield f"last landed {task} ({commit[:12]})"


def _find_manual_commits(repository: Repository, head: str, since: str) -> Iterator[str]:
    """Yield the commits that the runner did not make, newest first."""
    try:
        every = [one for one in story(repository, head, since=since) if not one.by_runner]
    except GitError:
        return  # git cannot read this history
    names = [
        f"{one.commit[:12]} ({display(redact(one.subject))[:_SUBJECT]})" for one in every[:_NAMED]
    ]
    more = f" and {len(every) - _NAMED} more" if len(every) > _NAMED else ""
    if names:
        yield f"committed outside runner: {', '.join(names)}{more}"
