"""Tasks that a later commit took back: `Undoes:` trailers tell it to every clone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.repo.git import text
from runner.repo.projects import is_unnamed, make_own_test
from runner.repo.trailers import parse_message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.repo.read import Repository

UNDOES = "Undoes"
"""`Undoes: TASK-009`: the code of this task is gone with this commit."""
RESTORES = "Restores"
"""`Restores: TASK-005`: this commit brought back what was there when that task had landed."""
CHECKPOINT = "Checkpoint"
"""The commit whose bytes a restoring one has."""


def find_reverts(repository: Repository, head: str) -> Mapping[str, tuple[str, ...]]:
    """For each task the commits that took it back, as far as `head` reaches them."""
    out = repository.git.run(
        *("log", "-z", "--no-color", "--no-show-signature", "--no-notes", "--format=%H%n%B"),
        *("--fixed-strings", f"--grep={UNDOES}: ", "--end-of-options", head, "--"),
    )
    found: dict[str, tuple[str, ...]] = {}
    entries = out.split(b"\0")
    unnamed = (text(one.partition(b"\n")[0]) for one in entries if one and is_unnamed(one))
    is_own = make_own_test(repository.git, repository.prefix, unnamed)
    for entry in map(text, entries):
        commit, _, message = entry.partition("\n")
        said = parse_message(message).trailers
        # --grep finds the words anywhere in a message (git-log(1)); only a trailer takes back.
        for line in said.get(UNDOES, ()) if is_own(commit, said) else ():
            task = line.split(" ")[0]
            found[task] = (*found.get(task, ()), commit)
    return found


def is_undone(
    repository: Repository, told: Mapping[str, tuple[str, ...]], task: str, commit: str
) -> bool:
    """Whether a landing of a task was taken back later: by a commit that descends from it."""
    return any(repository.is_ancestor(commit, later) for later in told.get(task, ()))
