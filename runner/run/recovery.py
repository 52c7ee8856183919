"""The first thing of a run: finish what a crash left, read file, journal and git together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.journal.events import TaskApproved, TaskDone, TaskReopened, WriteRejected
from runner.model import Reason, Spec, Status
from runner.run import drafts
from runner.run.lander import complete_landing
from runner.run.reconcile import Facts, Landed, Planned, readings
from runner.writes.landing import in_the_way

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from runner.journal.state import RunState
    from runner.model import Change, Task
    from runner.repo.read import Repository
    from runner.run.lander import Lander
    from runner.run.ledger import Ledger


def recover(lander: Lander, ledger: Ledger) -> str:
    """Finish a landing that a crash interrupted, before anything else; gives a line to show."""
    record = ledger.state.landing
    if record is None:
        return ""
    landed = complete_landing(lander, record)
    if landed is None:
        return f"{record.task} had not landed when the last run ended: it runs again"
    known = ledger.state.task(record.task)
    if known.tried is not None:
        ledger.note(
            TaskDone(
                spec=known.tried,
                commit=landed.commit,
                tree=landed.tree,
                proofs=known.passed.proofs if known.passed else (),
                note=f"kept your own {', '.join(landed.late)}" if landed.late else "",
            ),
            task=record.task,
            attempt=record.attempt,
            durable=True,
        )
    return f"{record.task} had landed when the last run ended: finished as {landed.commit[:12]}"


def finish_landed(ledger: Ledger) -> None:
    """Say DONE of tasks whose commit is on the branch and whose DONE a crash cut off."""
    for id_, known in tuple(ledger.state.tasks.items()):
        if known.landed is not None and known.status is Status.IN_PROGRESS and known.tried:
            ledger.note(
                TaskDone(
                    spec=known.tried,
                    commit=known.landed.commit,
                    tree=known.landed.tree,
                    proofs=known.passed.proofs if known.passed else (),
                ),
                task=id_,
                attempt=known.landed.attempt,
                durable=True,
            )


def reconcile(tasks: Iterable[Planned], ledger: Ledger, facts: Facts) -> frozenset[str]:
    """Note every reading as an event of its own; gives the tasks that are only proven again."""
    prove_first = set()
    for id_, attempt, event in tuple(readings(tasks, ledger.state, facts)):
        ledger.note(event, task=id_, attempt=attempt)
        if isinstance(event, TaskReopened) and event.by == "proof":
            prove_first.add(id_)
    return frozenset(prove_first)


def gather_facts(repository: Repository, state: RunState, tasks: Iterable[Planned]) -> Facts:
    """What git says; its history is read only where the journal does not speak of this head."""
    head = repository.head().commit
    last = state.last_landing_head
    fresh = not state.seq
    wanted = {task.id for task in tasks if task.status is Status.DONE}
    if head is None or (fresh and not wanted):
        return Facts(descends=True, landed={})
    if not fresh and (not last or last == head or _reaches(repository, head, last)):
        return Facts(descends=True, landed={})
    return Facts(descends=False, landed=_landings(repository, head, wanted) if wanted else {})


def _reaches(repository: Repository, head: str, commit: str) -> bool:
    return repository.resolve(commit) is not None and repository.is_ancestor(commit, head)


def _landings(repository: Repository, head: str, wanted: set[str]) -> Mapping[str, Landed]:
    """The newest landing of each wanted task within reach of `head`."""
    found: dict[str, Landed] = {}
    for commit in repository.log_trailers(head):
        if commit.task in wanted and commit.task not in found:
            spec = (
                Spec(commit.spec_what, commit.spec_proof)
                if commit.spec_what and commit.spec_proof
                else None
            )
            found[commit.task] = Landed(commit.commit, commit.attempt, spec)
        if len(found) == len(wanted):
            break
    return found


def resumable(
    repository: Repository, state: RunState, tasks: Iterable[Task]
) -> Mapping[str, tuple[Change, ...]]:
    """Held work of tasks as they are specified now: proven before, and not yet landed."""
    found = {}
    for task in tasks:
        known = state.task(task.id)
        if known.held is None or known.held.spec != task.spec:
            continue
        changes = drafts.held_changes(repository, known.held)
        if changes is not None:
            found[task.id] = changes
    return found


_MET_AGAIN = (Reason.TOOL, Reason.SECRET, Reason.ROOT, Reason.POLICY)
"""Reasons that may be gone by themselves: what was missing is looked for again."""


def reopen(
    tasks: Iterable[Task],
    ledger: Ledger,
    *,
    named: frozenset[str],
    missing: Callable[[Task], object],
) -> None:
    """Let BLOCKED tasks run again that a person named, or whose missing thing is there now."""
    for task in tasks:
        known = ledger.state.task(task.id)
        if known.status is not Status.BLOCKED or known.held is not None:
            continue
        if task.id in named:
            note = "named on the command line"
            ledger.note(TaskApproved(by="person", note=note), task=task.id, durable=True)
        elif known.reason in _MET_AGAIN and missing(task) is None:
            note = "what it needed is there now"
            ledger.note(TaskApproved(by="runner", note=note), task=task.id)


def release_held(
    held: Mapping[str, tuple[Change, ...]], ledger: Ledger, root: Path, *, terminal: bool
) -> None:
    """Let held work go on to its landing where what held it is over."""
    for id_, changes in held.items():
        known = ledger.state.task(id_)
        if known.held is None or known.status is not Status.BLOCKED:
            continue
        if known.held.kind == "review":
            said = [ledger.state.review(id_, one.path, one.before, one.after) for one in changes]
            ready = terminal or all(said) or any(isinstance(one, WriteRejected) for one in said)
        else:
            ready = not in_the_way(root, changes)
        if ready:
            ledger.note(TaskApproved(by="runner", note="it may land now"), task=id_)
