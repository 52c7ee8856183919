"""Held work whose branch went on: carried to the commit that is there now, or given back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.journal.events import TaskApproved, TaskFailed
from runner.model import Finding
from runner.repo.git import Git
from runner.repo.merge import carry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runner.model import Change
    from runner.repo.read import Repository
    from runner.run.journal_writer import JournalWriter


def carry_held(
    held: dict[str, tuple[Change, ...]], repository: Repository, ledger: JournalWriter
) -> None:
    """Restate held changes against HEAD: a person may have committed what was in their way.

    Where both changed the same lines the task runs again, and its brief says so.
    """
    head = repository.head().commit or ""
    for id_, changes in tuple(held.items()):
        known = ledger.state.task(id_)
        if known.held is None or known.held.base == head:
            continue
        bases = (known.held.base or None, head or None)
        # in git's own folder, where the files of a merge by lines are in nobody's way
        git = Git(repository.folders.git, {"GIT_DIR": str(repository.folders.git)})
        merged = carry(git, repository.prefix, bases, changes)
        held[id_] = merged.changes
        if merged.conflicts:
            del held[id_]
            _give_back(id_, conflicts(merged.conflicts, head), ledger)


def conflicts(paths: Iterable[str], base: str) -> tuple[Finding, ...]:
    """What the next attempt is told of files that somebody else changed meanwhile."""
    return tuple(
        Finding(
            check="conflict",
            path=path,
            message=f"changed on the branch (now {base[:12]}) while the task worked on it",
            hint="build on the file as it is now",
        )
        for path in paths
    )


def _give_back(id_: str, findings: tuple[Finding, ...], ledger: JournalWriter) -> None:
    attempt = ledger.state.task(id_).last_attempt
    ledger.note(TaskFailed(findings=findings), task=id_, attempt=attempt)
    note = f"{findings[0].path} was changed since: made again"
    ledger.note(TaskApproved(by="runner", note=note), task=id_, durable=True)
