"""The state of a staged write: waiting, decided, landed or outdated.

A write that nobody staged, noted by hand as it stands.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.app.write.workplace import display_path
from runner.errors import RunnerError
from runner.journal.events import WriteRejected, WriteReviewed
from runner.model import Action, Change, Status, digest_of
from runner.repo.read import Repository
from runner.run import review
from runner.secrets import scan
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import did_you_mean
from runner.writes.paths import check_path
from runner.writes.safe_io import mode_below, read_below

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from runner.app.write.workplace import Workplace
    from runner.journal.state import RunState
    from runner.model import Digest
    from runner.writes.log import History, LoggedWrite
    from runner.writes.staging import Staged, Staging


BY_HAND = 0
"""Attempt number of manual writes: a run's own start at 1."""


class StagedState(StrEnum):
    """The state of one staged write."""

    WAITS = "waits"
    HELD = "held"
    """Held because of the person's own changes or a moved branch."""
    MOVED = "moved"
    """The file has changed since this was staged."""
    APPROVED = "approved"
    REJECTED = "rejected"
    LANDED = "landed"
    REPLACED = "replaced"
    """A later attempt proposes different bytes."""

    @property
    def is_open(self) -> bool:
        """Whether a person still has to do something about it."""
        return self in {StagedState.WAITS, StagedState.HELD, StagedState.MOVED}

    @property
    def reason(self) -> str:
        """Reason why the write cannot be answered."""
        return _REASONS[self]


_REASONS = {
    StagedState.WAITS: "it waits for you",
    StagedState.HELD: "its task is held until your changes, or the branch's, no longer conflict",
    StagedState.MOVED: "the file changed since it was staged",
    StagedState.APPROVED: "it is approved and lands with the next run",
    StagedState.REJECTED: "the proposal it belongs to was rejected",
    StagedState.LANDED: "it is already in the repository",
    StagedState.REPLACED: "a later attempt replaced it",
}


_DECIDED = {
    StagedState.LANDED: "it was applied",
    StagedState.REJECTED: "it was rejected",
    StagedState.REPLACED: "another proposal for the file replaced it",
}
"""Outcome of a manual proposal that is no longer in any list, as text."""


def list_decided(staging: Staging) -> tuple[tuple[Staged, StagedState], ...]:
    """Return the last decided manual proposals with their states, the latest last."""
    known = ((one, fate) for one, fate in staging.list_decided() if fate in tuple(_DECIDED))
    return tuple((one, StagedState(fate)) for one, fate in known)


def find_staged(staging: Staging, typed: str) -> Staged:
    """Return the staged write with this ID. Raises RunnerError if unknown or decided."""
    ids = [staged.id for staged in staging.list()]
    if typed in ids:
        return staging.find(typed)
    for one, standing in list_decided(staging):
        if one.id == typed:
            raise RunnerError(
                f"{typed} is already decided: {_DECIDED[standing]}",
                where=display_path(one.path),
                hint="runner pipeline staged-write list --all",
            )
    raise RunnerError(
        f'unknown staged write "{display_path(typed)}"',
        hint=did_you_mean(typed, ids) or "runner pipeline staged-write list",
    )


def describe_staged(staged: Staged) -> dict[str, object]:
    """Return one staged write as JSON data."""
    return {
        "id": staged.id,
        "task": staged.task,
        "attempt": staged.attempt,
        "path": display_path(staged.path),
        "action": staged.action,
        "mode": f"{staged.mode:06o}",
        "before": staged.before,
        "after": staged.after,
        "time": staged.time,
    }


class Standings(Struct, frozen=True):
    """The states of staged writes, from the journal and the files."""

    root: Path
    state: RunState
    staged: Sequence[Staged]

    def of(self, one: Staged) -> StagedState:
        """Return the state of one staged write."""
        there = self._digest(one.path)
        if one.attempt == BY_HAND:
            if there == one.after:
                return StagedState.LANDED
            return StagedState.WAITS if there == one.before else StagedState.MOVED
        known = self.state.task(one.task)
        held = known.held
        # Held work without an attempt number (0) may belong to this attempt.
        if held is None or known.status is Status.DONE or held.attempt not in {0, one.attempt}:
            done = there == one.after or known.status is Status.DONE
            if not done and self._is_rejected(one):
                return StagedState.REJECTED
            return StagedState.LANDED if done else StagedState.REPLACED
        if self._is_rejected(one):
            return StagedState.REJECTED
        if isinstance(self._review(one), WriteReviewed):
            return StagedState.APPROVED
        return StagedState.WAITS if held.kind == "review" else StagedState.HELD

    def siblings(self, one: Staged) -> tuple[Staged, ...]:
        """Return all staged writes of one proposal."""
        return tuple(
            other for other in self.staged if (other.task, other.attempt) == (one.task, one.attempt)
        )

    # --- details ----------------------------------------------------------------------

    def _digest(self, path: str) -> Digest | None:
        try:
            content = read_below(self.root, path)
        except RunnerError:  # a link or a folder stands there: it is nothing that was staged
            return ""
        return None if content is None else digest_of(content)

    def _review(self, one: Staged) -> WriteReviewed | WriteRejected | None:
        return self.state.review(one.task, one.path, one.before, one.after)

    def _is_rejected(self, one: Staged) -> bool:
        """Return whether a proposal was rejected, as a whole or by one of its files."""
        family = self.siblings(one)
        changes = [Change(s.path, s.action, s.mode, s.before, s.after) for s in family]
        whole = self.state.review(one.task, review.WHOLE, None, review.proposal_digest(changes))
        answers = (whole, *(self._review(each) for each in family))
        return any(isinstance(event, WriteRejected) for event in answers)


# --- write record ---------------------------------------------------------------------


def record_write(workplace: Workplace, task: str, file: str) -> Change:
    """Record the current state of a file in the write log for a task that a person names.

    Raises RunnerError for a file that is not there, and for a path that no log should hold.
    """
    from runner.writes.log import Fate, WriteLog, WriteReview

    path = workplace.path_of(file)
    id_, _ = workplace.task(task)
    log = WriteLog(workplace.root)
    change = _change(workplace, log.show(), path)
    log.record((change,), run="", task=id_, attempt=BY_HAND, review=WriteReview.OFF)
    log.close(run="", task=id_, attempt=BY_HAND, fate=Fate.LANDED)  # it is there as it stands
    return change


def _change(workplace: Workplace, history: History, path: str) -> Change:
    """Return a file's current state as a change from its last recorded version."""
    _check(path)
    content = read_below(workplace.root, path)
    before = _last_digest(workplace, history, path)
    if content is None and before is None:
        raise RunnerError(
            "file not found",
            where=path,
            hint=f"paths are relative to {workplace.root}",
        )
    if content is None:
        return Change(path, Action.DELETE, 0, before, None)
    action = Action.CREATE if before is None else Action.MODIFY
    mode = mode_below(workplace.root, path) or 0
    return Change(path, action, mode, before, digest_of(content), content)


def _check(path: str) -> None:
    """Raise RunnerError for a path outside, in git's folder, or with a secret in its name."""
    refused = check_path(path, 0, kind="delete")
    for found in (*((refused,) if refused else ()), *scan.scan_content(b"", path)):
        if found.refuses:
            raise RunnerError(redact(found.message), hint=found.hint)


def _last_digest(workplace: Workplace, history: History, path: str) -> Digest | None:
    """Return the last logged digest of a file, else its committed one."""
    logged = [one for one in history.writes if one.path == path]
    if logged:
        return logged[-1].after or None
    if not workplace.in_git:
        return None
    with Repository.open(workplace.root) as repository:
        head = repository.head().commit
        committed = repository.blob(head, path) if head else None
    return None if committed is None else digest_of(committed)


def describe_write(one: LoggedWrite) -> dict[str, object]:
    """Return one entry of the write log as JSON data."""
    return {
        "time": display(one.time),
        "run": one.run,
        "task": one.task,
        "attempt": one.attempt,
        "path": display_path(one.path),
        "action": one.action,
        "mode": one.mode,
        "before": one.before or None,
        "after": one.after or None,
        "bytes": one.bytes,
        "review": one.review,
        "outcome": one.fate,
        "commit": one.commit or None,
    }
