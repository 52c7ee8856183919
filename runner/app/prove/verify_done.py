"""Prove one DONE task or all of them again on HEAD."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner import effects
from runner.app.build.discovered_gates import apply_default_gates
from runner.app.change.impact_question import knowledge_for
from runner.app.change.transaction import open_transaction
from runner.app.inspect.validation import check_sound
from runner.app.inspect.view import View
from runner.app.prove.prove_again import (
    find_proven_words,
    grades_after,
    inspection_of,
    make_done_event,
    run_gates_only,
    subjects_of,
    verify_all,
    why_stale,
)
from runner.app.prove.task_evidence import load_evidence
from runner.errors import ExitCode, RunnerError
from runner.journal.events import TaskStaled
from runner.journal.lock import RunLock
from runner.journal.log import Journal
from runner.model import Status
from runner.model.grades import strongest
from runner.model.words import PROVES_NOTHING
from runner.project import BUILD
from runner.repo.read import Repository
from runner.report.documents import document, grade_part
from runner.report.ship import grade_lines
from runner.run.proof.verification import Subject, plan_for
from runner.run.proof.verification_jobs import differences
from runner.run.regressions.proof_reuse import find_untouched
from runner.run.selection import find_id
from runner.run.waivers import stands
from runner.text.display import display
from runner.text.wording import finding_lines, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runner.journal.events import TaskDone
    from runner.journal.evidence import Evidence
    from runner.journal.session_events import TreeVerified
    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.model import Digest, Graded
    from runner.project import Project
    from runner.run.proof.verification import Inspected, Verified
    from runner.run.proof.verification_jobs import Difference

    Say = Callable[[str], None]
    from collections.abc import Iterator, Sequence

_MARKS = {"pass": "✓", "fail": "✗", "flaky": "⚠", "known": "⚠", "skipped": "—"}

_SHOWN = 3
"""Files shown in one line."""


class VerifiedTask(Struct, frozen=True):
    """The result of proving one task again."""

    verified: Verified
    now: Inspected
    evidence: Evidence | None
    differences: tuple[Difference, ...]
    """Differences from its evidence."""
    unseen: tuple[str, ...]
    """Files that were not checked because they are uncommitted."""
    stale: tuple[str, ...] = ()
    """Tasks that were DONE before."""
    unproven: str = ""
    """Previous grade of a DONE without proof: a passing proof may improve it."""
    was_stale: bool = False
    """Whether it was STALE before: a passing proof does not change that."""

    @property
    def code(self) -> ExitCode:
        """1 where a check fails or is worse than what was promised; else that of the tree."""
        if not self.now.passed or any(one.worse for one in self.differences):
            return ExitCode.FAILED
        return ExitCode.PERSON if self.now.unrun else ExitCode.OK

    @property
    def passed(self) -> bool:
        """Whether all ran and passes, and nothing is worse than what was promised."""
        return self.code is ExitCode.OK


class VerifiedWhole(Struct, frozen=True):
    """The result of proving everything again."""

    verified: Verified
    tree: Digest
    """Digest of the tree under which this verification is stored."""
    grades: Mapping[str, Graded]
    not_done: tuple[str, ...]
    unseen: tuple[str, ...]
    stale: tuple[str, ...] = ()


def verify_task(project: Project, typed: str, say: Say) -> VerifiedTask:
    """Verify a task on HEAD with its tests, contracts, gates and coverage; compare its evidence.

    What a person changed by hand and passes is known as proven from then on; what does not pass
    is STALE.
    """
    apply_default_gates(project)
    tasks, view = check_sound(project).plan.tasks, View.of(project)
    with Repository.open(project.root) as repository:
        unseen = _list_unseen_files(project, repository, say)
        id_ = find_id(typed, view.states)
        task, known = next(one for one in tasks if one.id == id_), view.states[id_]
        evidence = load_evidence(project, task, known)
        inspection = inspection_of(project, repository, say)
        subject = Subject(task, known)
        verified = inspection.verify(plan_for([subject], project.settings))
        (now,) = verified.tasks
        differing: tuple[Difference, ...] = ()
        if evidence is not None:
            covered = (evidence.coverage, now.coverage)
            differing = differences(evidence.proofs, now.proofs, covered)
        worth = view.grades.get(id_)
        found = VerifiedTask(
            *(verified, now, evidence, differing, unseen),
            unproven="" if worth is None or worth.is_proven else worth.words,
            was_stale=known.status is Status.STALE,
        )
        by_hand = view.unverified.get(id_)
        if found.passed and by_hand is not None and not (by_hand.uncommitted or by_hand.missing):
            event = make_done_event(task, known, now, repository.tree_of(verified.head))
            _remember(project, event, say, id_, known.last_attempt)
        tree = repository.tree_of(verified.head)
    _prove_words(project, verified, [subject], tree, say)
    return replace(found, stale=mark_failing_stale(project, verified, say))


def verify_whole(project: Project, say: Say, *, changed_only: bool = False) -> VerifiedWhole:
    """Verify all DONE tasks on HEAD, each command once, and mark failed ones as STALE.

    With `changed_only`, the own checks of tasks that nothing landed since can change stand.
    Raises RunnerError (exit 3) where nothing is DONE and no gate is set.
    """
    apply_default_gates(project)
    tasks, view = check_sound(project).plan.tasks, View.of(project)
    words: Mapping[str, TaskState] = {}
    subjects, documents = subjects_of(tasks, view.states), project.documents
    done = {one.task.id for one in subjects}
    with Repository.open(project.root) as repository:
        unseen = _list_unseen_files(project, repository, say)
        if subjects:
            untouched: frozenset[str] = frozenset()
            if changed_only:
                head = repository.head().commit or ""
                standing = [(one.task, one.known) for one in subjects]
                knowledge = knowledge_for(project, repository, view)
                untouched = find_untouched(repository, head, standing, knowledge, documents)
            verified, event = verify_all(
                project, repository, subjects, documents, say=say, untouched=untouched
            )
            tree = repository.tree_of(verified.head)
            words = _prove_words(project, verified, subjects, tree, say)
            if verified.code is not ExitCode.PERSON:
                _remember(project, event, say)
        else:
            verified, event = run_gates_only(project, repository, documents, say)
    states = {**view.states, **words}
    grades = grades_after(project, tasks, states, verified) if subjects else {}
    not_done = tuple(task.id for task in tasks if task.id not in done)
    stale = mark_failing_stale(project, verified, say)
    return VerifiedWhole(verified, event.tree, grades, not_done, unseen, stale)


def mark_failing_stale(project: Project, verified: Verified, say: Say) -> tuple[str, ...]:
    """Mark DONE tasks that fail on HEAD as STALE, as the end of a run does; returns their ids.

    A short run of its own. Nothing is written where there is no journal, as in a fresh clone, and
    where a run is going on: its end proves the whole itself. What a person waived stays.
    """
    failing = [one for one in verified.tasks if one.to_answer_for]
    if not failing or not project.journal_path.exists():
        return ()
    try:
        with open_transaction(project) as transaction:
            now = [
                one for one in failing if _is_proven_by_runner(project, transaction.state, one.task)
            ]
            # Checked under the lock: a failure belongs to the commit on which it failed.
            if now and project.head().commit == verified.head:
                transaction.begin("verify")
                for one in now:
                    event = TaskStaled(note=why_stale(one, f"on {verified.head[:12]}"))
                    transaction.session.journal.note(event, task=one.task, durable=True)
                    say(f"{display(one.task)} is STALE: {display(event.note)}")
                transaction.finish()
                return tuple(one.task for one in now)
    except RunnerError as error:
        say(f"note: the result is not recorded: {error.message}")
    return ()


def _prove_words(
    project: Project, verified: Verified, subjects: Sequence[Subject], tree: str, say: Say
) -> Mapping[str, TaskState]:
    """Record passing tasks that only a person had marked DONE as proven; returns their new states.

    As before something is built on it, a run of its own; where there is no journal, of nothing.
    """
    found = tuple(find_proven_words(project.settings, subjects, verified.tasks, tree))
    if not found or not project.journal_path.exists():
        return {}
    try:
        with open_transaction(project) as transaction:
            states = ((one, transaction.state.task(one[0])) for one in found)
            now = [one for one, it in states if it.status is Status.DONE and not it.verified]
            if not now or project.head().commit != verified.head:
                return {}
            transaction.begin("verify")
            for id_, attempt, event in now:
                transaction.session.journal.note(event, task=id_, attempt=attempt, durable=True)
            transaction.finish()
            return {id_: transaction.state.task(id_) for id_, *_ in now}
    except RunnerError as error:
        say(f"note: the result is not recorded: {error.message}")
    return {}


def _is_proven_by_runner(project: Project, state: RunState, id_: str) -> bool:
    """Return whether a task is DONE without a waiver in effect."""
    known = state.task(id_)
    waived = known.waived is not None and stands(project.root, known.waived)
    return known.status is Status.DONE and not waived


def _list_unseen_files(project: Project, repository: Repository, say: Say) -> tuple[str, ...]:
    """Return uncommitted files of the working tree, which the verification of HEAD ignores."""
    own = project.documents
    facts = repository.state()
    paths = [*(file.path for file in facts.dirty), *facts.untracked]
    found = tuple(path for path in paths if path not in own)
    if found:
        shown = ", ".join(found[:_SHOWN]) + (" …" if len(found) > _SHOWN else "")
        say(f"note: HEAD is tested, without uncommitted changes: {shown}")
    return found


def _remember(
    project: Project, event: TreeVerified | TaskDone, say: Say, task: str = "", attempt: int = 0
) -> None:
    """Record an event in the journal, unless there is none or a run holds it."""
    if not project.journal_path.exists():
        return
    try:
        with (
            RunLock(project.root / BUILD),
            Journal.open(project.journal_path, run=effects.new_id()) as journal,
        ):
            journal.append(event, task=task, attempt=attempt, durable=True)
    except RunnerError as error:
        say(f"note: the result is not recorded: {error.message}")


def task_document(found: VerifiedTask) -> str:
    """Return the verification of one task as a JSON document."""
    return document(
        "verify",
        task=found.now.task,
        head=found.verified.head,
        passed=found.passed,
        evidence=found.evidence.source if found.evidence else None,
        proofs=found.now.proofs,
        coverage=found.now.coverage,
        findings=found.now.findings,
        differences=found.differences,
        notLookedAt=found.unseen,
        stale=found.stale,
        seconds=found.verified.seconds,
    )


def whole_document(found: VerifiedWhole) -> str:
    """Return the verification of all tasks as a JSON document."""
    verified, grades = found.verified, found.grades
    return document(
        "verify",
        head=verified.head,
        tree=found.tree,
        passed=verified.code is ExitCode.OK,
        proven=sum(one.is_proven for one in grades.values()),
        grades={id_: grade_part(one) for id_, one in grades.items()},
        tasks=verified.tasks,
        coverage=verified.coverage,
        threshold=verified.threshold,
        shortfalls=verified.shortfalls,
        notDone=found.not_done,
        notLookedAt=found.unseen,
        stale=found.stale,
        ran=verified.ran,
        reused=verified.reused,
        seconds=verified.seconds,
    )


def task_lines(found: VerifiedTask) -> Iterator[str]:
    """Yield the result of verifying one task, and its differences from the evidence."""
    yield from _inspected_lines(found.now)
    if found.differences:
        yield "the result differs from the evidence:"
        yield from (f"  {one.check}: {one.text}" for one in found.differences)
    elif found.evidence is None:
        yield "there is no evidence to compare with"
    elif found.unproven and strongest(found.now.proofs) in (None, *PROVES_NOTHING):
        yield f"as before, no check ran that could prove it: {display(found.unproven)}"
    else:
        yield "the result agrees with the evidence"
    yield _verdict(found.verified, passed=found.passed)
    if found.was_stale and found.passed:
        how = f"runner approve {display(found.now.task)} --reuse"
        yield f"the task stays STALE until you accept the existing code: {how}"


def whole_lines(
    verified: Verified, missing: Sequence[str] = (), grades: Mapping[str, Graded] | None = None
) -> Iterator[str]:
    """Yield one line a task with its checks, findings of failed ones, then the total."""
    for one in verified.tasks:
        yield from _inspected_lines(one) if not one.passed or one.unrun else [_task_line(one)]
    if missing:
        yield f"not DONE, so not proven: {', '.join(map(display, missing))}"
    whole = verified.coverage
    if whole is not None:
        sign = "✓" if whole.percent >= whole.threshold else "✗"
        yield f"{sign} coverage of the project: {whole.shown} (threshold {whole.threshold:g}%)"
    yield from grade_lines(grades or {})
    yield _verdict(verified, passed=verified.code is ExitCode.OK)


def _verdict(verified: Verified, *, passed: bool) -> str:
    word = "verified" if passed else "NOT verified"
    head = verified.head[:12] or "nothing committed"
    commands = plural(verified.ran, "command")
    if verified.reused:
        commands += f", {plural(verified.reused, 'task')} untouched since proven"
    return f"{word}: {head}, {commands}, {verified.seconds:.1f} s"


def _task_line(one: Inspected) -> str:
    sign = ("✓" if one.proofs else "-") if one.passed else "✗"
    checks = " ".join(f"{_MARKS[proof.verdict]} {display(proof.id)}" for proof in one.proofs)
    cover = f" · {one.coverage.shown}" if one.coverage else ""
    before = " (cached for this tree)" if one.proofs and not one.ran else ""
    if one.stands_since:
        before = f" (not run again: nothing it needs has changed since {one.stands_since[:12]})"
    checks = checks or "nothing to run"
    return f"{sign} {display(one.task)} {display(one.title)}: {checks}{cover}{before}"


def _inspected_lines(one: Inspected) -> Iterator[str]:
    yield _task_line(one)
    for finding in one.findings:
        yield from (f"    {line}" for line in finding_lines(finding))
