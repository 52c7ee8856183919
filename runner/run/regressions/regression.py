"""Hold a change that breaks other tasks, mark them STALE, and ask a person.

Three kinds of records tell of it, in this order: the culprit's attempt (`held` is `regression`),
its BLOCKED with the findings that name its victims, one STALE with `culprit` for each of them. A
person's no is a fourth kind, about the digest of the change. So a crash between any two of them is
completed from the first that is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner.gates.regression import PREFIX, find_broken_tasks
from runner.journal.events import (
    REJECTION,
    TaskAdopted,
    TaskApproved,
    TaskBlocked,
    TaskFailed,
    TaskReopened,
    TaskStaled,
)
from runner.journal.task_fold import REJECTED
from runner.model import BlockKind, Ending, Reason, Status
from runner.run.permission_prompts import note_of
from runner.run.review import CHECK, open_questions, refusals, rejection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.model import Change, Finding, Outcome, Task
    from runner.run.journal_writer import JournalWriter
    from runner.run.outcome_recorder import OutcomeRecorder

    LetGo = Callable[[str], None]
    """Removes the bytes that are held for a task."""


HELD = "regression"


def victims(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the tasks that a change breaks; empty if its own proof failed, too.

    What a person may let pass is no such failure.
    """
    return find_broken_tasks(one.check for one in findings if one.refuses and not one.asks)


def hold_back(task: Task, outcome: Outcome, books: OutcomeRecorder, kept: str = "") -> None:
    """Hold a proven change that breaks other tasks, for a person's decision.

    `kept` is the draft branch that has the work already.
    """
    broken = victims(outcome.findings)
    branch = kept or books.keep_draft(task, outcome)
    # Order matters: once the bytes are held, the rest can be repeated from them; a victim made
    # STALE first would wait for a lost change.
    if not books.keep_held(task, replace(outcome, ending=Ending.PASSED), HELD, branch):
        return
    _block(task.id, outcome.findings, branch, books.journal)
    for victim in broken:
        _stale(victim, task.id, outcome.findings, books.journal)


def hold_again(culprit: str, findings: Iterable[Finding], journal: JournalWriter) -> None:
    """Block a change that is still held again, after a failed attempt."""
    known = journal.state.task(culprit)
    if is_held(known) and not _waits(known):
        _block(culprit, findings, known.draft, journal)


def _block(culprit: str, findings: Iterable[Finding], branch: str, journal: JournalWriter) -> None:
    findings = tuple(findings)
    note = f"breaks {', '.join(victims(findings))}: approve or reject this change"
    note += f"; work kept on {branch}" if branch else ""
    journal.note(
        TaskBlocked(reason=Reason.REGRESSION, note=note, draft=branch, findings=findings),
        task=culprit,
        attempt=journal.state.task(culprit).last_attempt,
        durable=True,
    )


def _stale(victim: str, culprit: str, findings: Iterable[Finding], journal: JournalWriter) -> None:
    """Mark a built task that a change breaks as STALE; one that is not built stays PENDING."""
    if not _is_built(journal.state.task(victim)):
        return
    known = journal.state.task(victim)
    note = _asks(known, culprit) if known.held else _chain(victim, culprit, findings)
    event = TaskStaled(note=note, culprit=culprit)
    attempt = journal.state.task(victim).last_attempt
    journal.note(event, task=victim, attempt=attempt, durable=True)


def _asks(victim: TaskState, culprit: str) -> str:
    """Return the note of a task that was built on the change and waits for a person's review."""
    asked = note_of(open_questions(victim))
    waits = f"built on the change of {culprit}, it waits for your review: runner review {victim.id}"
    return "; ".join(filter(None, (asked, waits)))


def _chain(victim: str, culprit: str, findings: Iterable[Finding]) -> str:
    """Return a note such as `TASK-009 changed src/db.py:41; TC-004 fails`."""
    mine = [one for one in findings if one.check.startswith(f"{PREFIX}{victim}/")]
    failed = ", ".join(dict.fromkeys(one.check.partition("/")[2] for one in mine))
    place = next((_place(one) for one in mine if one.path), "what this task uses")
    return f"{culprit} changed {place}; {failed} {'fails' if ',' not in failed else 'fail'}"


def _place(finding: Finding) -> str:
    return f"{finding.path}:{finding.line}" if finding.line else finding.path


# --- a person's no ----------------------------------------------------------------------


def drop(
    culprit: str, findings: tuple[Finding, ...], journal: JournalWriter, let_go: LetGo
) -> None:
    """Drop a held change: its task is PENDING with these findings, its victims are DONE again.

    The draft branch stays. What a crash leaves undone of this, `complete` does.
    """
    attempt = journal.state.task(culprit).last_attempt
    journal.note(TaskFailed(findings=findings), task=culprit, attempt=attempt, durable=True)
    refused = any(one.check == CHECK for one in findings)
    note = REJECTED if refused else "the held change was dropped: retrying"
    journal.note(TaskApproved(by="review", note=note), task=culprit, durable=True)
    give_back(culprit, journal, let_go)


def give_back(culprit: str, journal: JournalWriter, let_go: LetGo) -> None:
    """Mark the tasks that a dropped change broke as DONE again.

    The held bytes go first: while a victim is left, a crash before this is seen.
    """
    let_go(culprit)
    for victim in _find_broken(culprit, journal.state):
        if victim.held is not None:  # built on the change, and not looked at yet
            let_go(victim.id)
        restore(victim, journal)


def restore(victim: TaskState, journal: JournalWriter) -> None:
    """Mark a task that a dropped change broke as DONE again, with its evidence.

    What was taken back meanwhile is not DONE by that: it is to be built.
    """
    if not _is_built(victim):
        again = TaskReopened(note="what it built was reverted", by="review")
        journal.note(again, task=victim.id, attempt=victim.last_attempt, durable=True)
        return
    event = TaskAdopted(
        spec=victim.spec,
        commit=victim.commit,
        verified=victim.verified,
        source=REJECTION,
        note=f"DONE again: the change of {victim.culprit} does not land",
        proofs=tuple(victim.proofs),
    )
    journal.note(event, task=victim.id, attempt=victim.last_attempt, durable=True)


# --- at the start of a run --------------------------------------------------------------


def set_apart(
    held: dict[str, tuple[Change, ...]], journal: JournalWriter, let_go: LetGo
) -> dict[str, tuple[Change, ...]]:
    """Remove and return the held changes that break other tasks, which cannot land alone.

    Repairs what a crash, a rejection or an edit left half recorded.
    """
    for culprit in tuple(journal.state.tasks.values()):
        if is_held(culprit):
            _settle_culprit(culprit, held.get(culprit.id), journal, let_go)
    _complete(journal, let_go)
    return {id_: held.pop(id_) for id_ in tuple(held) if _waits(journal.state.task(id_))}


def _settle_culprit(
    culprit: TaskState, changes: tuple[Change, ...] | None, journal: JournalWriter, let_go: LetGo
) -> None:
    """Drop what a person refused or what is not there any more; else it waits."""
    if changes is None:
        drop(culprit.id, tuple(culprit.findings), journal, let_go)
    elif rejections := refusals(journal.state, culprit.id, changes):
        drop(culprit.id, tuple(rejection(one) for one in rejections), journal, let_go)
    else:  # a crash between its proof and the landing with its victims
        hold_again(culprit.id, culprit.findings, journal)


def _complete(journal: JournalWriter, let_go: LetGo) -> None:
    for culprit in tuple(journal.state.tasks.values()):
        if _waits(culprit):
            for victim in victims(culprit.findings):
                if journal.state.task(victim).status is Status.DONE:
                    _stale(victim, culprit.id, culprit.findings, journal)
    broken = (one for one in journal.state.tasks.values() if one.culprit)
    for id_ in dict.fromkeys(one.culprit for one in broken):
        _settle_victims(journal.state.task(id_), journal, let_go)


def _settle_victims(culprit: TaskState, journal: JournalWriter, let_go: LetGo) -> None:
    """Update the tasks that a change breaks to its current state."""
    if culprit.status is not Status.DONE and not _waits(culprit):
        give_back(culprit.id, journal, let_go)
        return
    for victim in _find_broken(culprit.id, journal.state):
        if culprit.status is Status.DONE:  # it landed: what changed no file is proven on it anew
            note = f"{culprit.id} landed: re-testing"
            event = TaskApproved(by="runner", note=note, reuse=True)
            journal.note(event, task=victim.id, durable=True)
        elif victim.status is Status.PENDING:  # a build on it had failed
            _stale(victim.id, culprit.id, culprit.findings, journal)


def is_held(task: TaskState) -> bool:
    """Return whether a task's change is held because it breaks others."""
    return task.held is not None and task.held.kind == HELD and task.status is not Status.DONE


def _waits(task: TaskState) -> bool:
    return is_held(task) and task.status is Status.BLOCKED and task.reason is Reason.REGRESSION


def _find_broken(culprit: str, state: RunState) -> tuple[TaskState, ...]:
    open_ones = (Status.STALE, Status.PENDING)
    tasks = tuple(state.tasks.values())
    found = (one for one in tasks if one.culprit == culprit and one.status in open_ones)
    return tuple(sorted(found, key=lambda one: one.id))


def victims_of(culprit: str, state: RunState) -> tuple[str, ...]:
    """Return the STALE tasks that wait for a decision about this change."""
    found = _find_broken(culprit, state)
    return tuple(task.id for task in found if task.status is Status.STALE)


def find_approved_groups(
    tasks: Mapping[str, Task], held: Iterable[str], state: RunState
) -> tuple[tuple[Task, ...], ...]:
    """Return the held changes all of whose victims are approved: culprit first, then plan order.

    A victim that is not in the plan any more is asked about no more.
    """
    groups = []
    order = {id_: number for number, id_ in enumerate(tasks)}
    for id_ in sorted(held, key=order.__getitem__):
        broken = [one for one in victims(state.task(id_).findings) if one in tasks]
        if not find_unapproved(broken, state):
            in_order = sorted(broken, key=order.__getitem__)
            groups.append(tuple(tasks[one] for one in (id_, *in_order)))
    return tuple(groups)


def find_unapproved(broken: Iterable[str], state: RunState) -> tuple[str, ...]:
    """Return the broken tasks that are not yet approved for a rebuild."""
    known = (state.task(one) for one in broken)
    return tuple(one.id for one in known if not _is_approved(one))


def _is_approved(victim: TaskState) -> bool:
    """Return whether a person approved the rebuild; editing a DONE task counts, too."""
    return victim.approved or (victim.status is Status.PENDING and _is_built(victim))


def _is_built(task: TaskState) -> bool:
    """Return whether a task was DONE and was not undone since."""
    return bool(task.done_at)


def find_taken_back(task: Task, changes: Iterable[Change]) -> str:
    """Return a file of a change that the task's own blocks would revert; else empty.

    Blocks say the same whenever they are built: such a task cannot be built on the change.
    """
    if task.implementer.casefold() not in ("", "blocks"):
        return ""
    wrote = {one.path: one.content for one in changes}
    for block in task.blocks:
        whole = block.kind is BlockKind.FILE and _differs(block.text, wrote.get(block.path))
        gone = block.kind is BlockKind.DELETE and wrote.get(block.path) is not None
        if block.path in wrote and (whole or gone):
            return block.path
    return ""


def _differs(text: str, content: bytes | None) -> bool:
    return content is None or text.rstrip("\n") != content.decode("utf-8", "replace").rstrip("\n")


def which_to_edit(culprit: str, paths: Mapping[str, str]) -> str:
    """Return which blocks to edit if victims cannot be built on a held change."""
    victim, path = next(iter(paths.items()))
    return (
        f"{victim} cannot be built on this change: its own blocks write {path}; "
        f"edit the blocks of {victim} or of {culprit}"
    )
