"""That a person answers what they were shown: its digest goes out with it and comes back."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from runner import effects
from runner.app.answer.waiting import list_waiting
from runner.app.answer.waiting_document import describe_waiting
from runner.errors import ExitCode, RunnerError
from runner.model import digest_of
from runner.repo.read import Repository
from runner.report.documents import document_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.app.answer.waiting import Waiting
    from runner.journal.state import RunState
    from runner.project import Project


@contextmanager
def take_turn(project: Project) -> Iterator[None]:
    """One answer after the other, of whoever answers here from elsewhere than a terminal."""
    effects.make_folder(project.cache)
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(project.cache / "answers.lock", flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


class MovedError(RunnerError):
    """What waits is no more what a person was shown."""


def digest_shown(project: Project, state: RunState, one: Waiting) -> str:
    """The digest of all that is shown of what waits, and of what was said to it so far."""
    said = document_line(
        "shown",
        what=describe_waiting(project, state, one),
        answered=one.answered,
        # What another attempt proposes is another question, be it the same bytes.
        attempt=state.task(one.task).last_attempt,
    )
    return digest_of(said.encode())


def require_unmoved(
    project: Project, state: RunState, chosen: Sequence[Waiting], seen: str
) -> None:
    """Raise MovedError where what is answered is not what was `seen`; empty asks nothing."""
    if not seen:
        return
    now = [digest_shown(project, state, one) for one in chosen]
    if now == [seen]:
        return
    names = ", ".join(one.task for one in chosen)
    answered = any(one.answered for one in chosen)
    raise MovedError(
        f"{names} was answered meanwhile" if answered else f"{names} is not what you were shown",
        hint="look at it as it is now, then answer",
        code=ExitCode.CONFLICT,
    )


def require_shown(project: Project, item: str, seen: str) -> None:
    """The same of one item, by its id. Raises RunnerError where it does not wait any more."""
    if not seen:
        return
    with Repository.open(project.root) as repository:
        state = project.state()
        known = list_waiting(project, repository, state)
    chosen = [one for one in known if one.task == item.upper()]
    if not chosen:
        raise RunnerError(f"{item} does not wait for you", code=ExitCode.CONFLICT)
    require_unmoved(project, state, chosen, seen)
