"""The commits of tasks, read back from history by their trailers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from runner.repo.git import text
from runner.repo.trailers import parse_message

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.repo.git import Git

_FORMAT = "--format=%H%n%T%n%P%n%ct%n%B"


@dataclass(frozen=True, slots=True)
class LandedCommit:
    """A commit of a task, as its message and headers say."""

    commit: str
    tree: str
    parent: str
    """First parent; empty for a root commit."""
    time: datetime
    subject: str
    task: str
    attempt: int
    """0 when the message does not say."""
    spec_what: str
    spec_proof: str
    trailers: Mapping[str, tuple[str, ...]]


def landed_commits(git: Git, tips: tuple[str, ...], limit: int = 0) -> Iterator[LandedCommit]:
    """Commits with a Task trailer, newest first; `limit` counts all commits looked at."""
    many = (f"--max-count={limit}",) if limit else ("--fixed-strings", "--grep=Task: ")
    out = git.run(
        *("log", "-z", "--no-color", "--no-decorate", "--no-show-signature", "--no-notes"),
        *(*many, _FORMAT, "--end-of-options", *tips, "--"),
    )
    for entry in out.split(b"\0"):
        if b"\nTask:" in entry:
            found = _landed(text(entry))
            if found is not None:
                yield found


def _landed(entry: str) -> LandedCommit | None:
    commit, tree, parents, seconds, message = entry.split("\n", 4)
    said = parse_message(message)
    task = said.trailers.get("Task", ("",))[-1]
    if not task:
        return None
    spec = said.trailers.get("Spec", ("",))[-1].split()
    attempt = said.trailers.get("Attempt", ("",))[-1]
    return LandedCommit(
        commit=commit,
        tree=tree,
        parent=parents.partition(" ")[0],
        time=datetime.fromtimestamp(int(seconds), UTC),
        subject=said.subject,
        task=task,
        attempt=int(attempt) if attempt.isdecimal() else 0,
        spec_what=spec[0] if spec else "",
        spec_proof=spec[1] if len(spec) > 1 else "",
        trailers=said.trailers,
    )
