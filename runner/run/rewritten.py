"""What a branch still has of a task's work whose commit it does not reach."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from runner.lazy_dataclass import dataclass
from runner.plan.globs import is_glob
from runner.run.reconcile import Presence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runner.repo.read import Repository
    from runner.repo.trees import TreeChange


@dataclass
class Rewritten:
    """Asks git about one head; nothing before the first question."""

    repository: Repository
    head: str
    last: str
    """The last landing that the journal knows: of files that several tasks wrote it has all."""

    def presence(self, commit: str, outputs: Sequence[str]) -> Presence:
        """What is there of a task's work; of a commit that is no more, its Output files say it."""
        if self.repository.resolve(commit) is None:
            return self._by_name([path for path in outputs if not is_glob(path)])
        wrote = self.repository.diff_trees(self.repository.resolve(f"{commit}^"), commit)
        moved = [one for one in wrote if self._has_moved(one)]
        if not moved:
            return Presence.STANDS
        now = self._now([one.path for one in moved])
        edited = all(self._was_there(one, now.get(one.path, "")) for one in moved)
        return Presence.EDITED if edited else Presence.GONE

    def _by_name(self, paths: Sequence[str]) -> Presence:
        there = bool(paths) and len(self._now(paths)) == len(paths)
        return Presence.EDITED if there else Presence.GONE

    def _has_moved(self, wrote: TreeChange) -> bool:
        """Whether the head has other bytes than the last landing, or, without it, this one."""
        if self._since_last is not None:
            return wrote.path in self._since_last
        return self._now([wrote.path]).get(wrote.path, "") != _new(wrote)

    def _was_there(self, wrote: TreeChange, now: str) -> bool:
        """Whether the head's history ever had the very bytes, and has gone on from them."""
        # As it was before the task means taken back: nothing went on from the task's bytes.
        if not now or not _new(wrote) or now == wrote.old_sha:
            return False
        path = self.repository.prefix.whole(wrote.path)
        # The last commit that put these bytes there or took them away (git-log(1), --find-object).
        words = ("log", "-1", "--format=%H", f"--find-object={wrote.new_sha}")
        return bool(self.repository.git.run(*words, "--end-of-options", self.head, "--", path))

    def _now(self, paths: Iterable[str]) -> Mapping[str, str]:
        found = self.repository.tree_entries(self.head, list(paths))
        return {path: entry.sha for path, entry in found.items()}

    @cached_property
    def _since_last(self) -> frozenset[str] | None:
        """The paths that differ from the last landing; None where that is gone."""
        if not self.last or self.repository.resolve(self.last) is None:
            return None
        return frozenset(one.path for one in self.repository.diff_trees(self.last, self.head))


def _new(wrote: TreeChange) -> str:
    """The object that a commit put there; empty for a deletion."""
    return wrote.new_sha if wrote.new_mode else ""
