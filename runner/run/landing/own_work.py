"""What of a later commit is still a task's own work: for measuring how much of it its tests run."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from runner.model import Action, Change, digest_of
from runner.repo.git import text
from runner.repo.trees import TreeChange

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runner.repo.read import Repository

_MOST_LINES = 20_000
"""Of longer files every line that was there counts as before; comparing them takes too long."""


@dataclass(frozen=True, slots=True)
class OwnWork:
    """A task's changes as they stand in a later commit, and what stands around them."""

    changes: tuple[Change, ...] = ()
    others: Mapping[str, bytes | None] = field(default_factory=dict)
    """By path the file without the task's own lines; None for a file that the task made."""


def own_work(repository: Repository, commits: Iterable[str], head: str) -> Mapping[str, OwnWork]:
    """By commit what is left of its changes in `head`; unknown commits are left out.

    Git is asked once for all of them; what this clone does not have, it passes over.
    """
    entries = _entries(repository, [commit for commit in dict.fromkeys(commits) if commit])
    return {
        commit: OwnWork(
            tuple(change for change, _ in found),
            {change.path: before for change, before in found},
        )
        for commit, some in entries.items()
        if (found := [one for entry in some if (one := _left(repository, entry, head))])
    }


def _entries(repository: Repository, commits: Sequence[str]) -> dict[str, list[TreeChange]]:
    """What each commit changed (git-diff-tree(1), --stdin and raw output format)."""
    if not commits:
        return {}
    answer = repository.git.ask(
        *("diff-tree", "--stdin", "--root", "-r", "-z", "--raw", "--no-renames"),
        *("--no-ext-diff", "--no-textconv", "--no-color"),
        stdin="".join(f"{commit}\n" for commit in commits).encode("ascii"),
    )
    found: dict[str, list[TreeChange]] = {}
    fields = iter(text(answer.out).split("\0"))
    some: list[TreeChange] = []
    for one in fields:
        if one.startswith(":"):
            old_mode, new_mode, old, new, _ = one[1:].split(" ")
            path = repository.prefix.inside(next(fields))
            some.append(TreeChange(path, int(old_mode, 8), int(new_mode, 8), old, new))
        elif one:
            some = found.setdefault(one.strip(), [])
    return found


def _left(
    repository: Repository, entry: TreeChange, head: str
) -> tuple[Change, bytes | None] | None:
    """A change as it stands now, and what stands around it; None where nothing of it is left."""
    now = repository.blob(head, entry.path)
    made = repository.content(entry.new_sha) if entry.new_mode else None
    if now is None or made is None:
        return None
    old = repository.content(entry.old_sha) if entry.old_mode else None
    before = None if old is None else _without_own(old, made, now)
    return _change(entry.path, entry.new_mode, before, now), before


def _change(path: str, mode: int, before: bytes | None, now: bytes) -> Change:
    return Change(
        path=path,
        action=Action.CREATE if before is None else Action.MODIFY,
        mode=mode,
        before=None if before is None else digest_of(before),
        after=digest_of(now),
        content=now,
    )


def _without_own(before: bytes, made: bytes, now: bytes) -> bytes:
    """The file as it is now, without the lines that the task added to what was there before it."""
    old, own, here = (text.splitlines(keepends=True) for text in (before, made, now))
    if max(len(old), len(own), len(here)) > _MOST_LINES:
        return before
    added = set(range(len(own))) - set(_kept(old, own).values())
    mine = {at for line, at in _kept(own, here).items() if line in added} if added else set()
    return b"".join(line for at, line in enumerate(here) if at not in mine)


def _kept(old: Sequence[bytes], new: Sequence[bytes]) -> dict[int, int]:
    """Lines of `old` that are in `new`, by their numbers there, from 0."""
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return {
        block.a + step: block.b + step
        for block in matcher.get_matching_blocks()
        for step in range(block.size)
    }
