"""The recorded, accepted bytes of what landed before: to land again without an implementer."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from runner.history.commit_log import story
from runner.lazy_dataclass import dataclass
from runner.plan.globs import is_glob, matches
from runner.repo.git import text
from runner.run.landing.lander import changes_between
from runner.run.reviewer import diff_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from runner.history.commit_log import Told
    from runner.model import Change, Task
    from runner.repo.read import Repository


@dataclass
class Records:
    """What every commit that is still at hand says of each task, asked when it is first needed.

    At hand is what HEAD reaches (what was taken back is in its past), and what a replay kept under
    `refs/runner/replay/`.
    """

    repository: Repository
    documents: Collection[str]
    """The runner's own documents, which no task writes."""
    _none: tuple[Change, ...] = field(default=(), repr=False)

    def changes(self, task: Task, base: str) -> tuple[Change, ...]:
        """What the task changed when it landed as it is written now, if that still fits on `base`.

        It does where both digests are the same, every file it changes is as it was before, and so
        are the files among its Inputs. Nothing otherwise.
        """
        spec = (task.spec.what, task.spec.proof)
        for one in self._landed.get(task.id, ()) if base else ():
            if one.spec == spec and one.parent:
                found = self._find_fitting(task, one, base)
                if found:
                    return found
        return self._none

    def diff(self, commit: str) -> str:
        """What a commit changed, as a unified diff; empty for one that is gone."""
        parent = self.repository.resolve(f"{commit}^") if commit else None
        if not commit or self.repository.resolve(commit) is None:
            return ""
        found = changes_between(self.repository, parent, commit)

        def before(path: str) -> bytes | None:
            return self.repository.blob(parent, path) if parent else None

        shown = (change for change in found if change.path not in self.documents)
        return "".join(part for change in shown for part in diff_of(change, before))

    @cached_property
    def _landed(self) -> dict[str, list[Told]]:
        found: dict[str, list[Told]] = {}
        seen: set[str] = set()
        for tip in self._tips():
            for one in story(self.repository, tip, ours=True):
                if one.task and one.commit not in seen:
                    seen.add(one.commit)
                    found.setdefault(one.task, []).append(one)
        return found

    def _tips(self) -> list[str]:
        head = self.repository.head().commit
        kept = text(
            self.repository.git.run(
                "for-each-ref",
                "--sort=-creatordate",
                "--format=%(objectname)",
                "refs/runner/replay/",
            )
        )
        return list(dict.fromkeys((*([head] if head else []), *kept.split())))

    def _find_fitting(self, task: Task, one: Told, base: str) -> tuple[Change, ...]:
        recorded = tuple(
            change
            for change in changes_between(self.repository, one.parent, one.commit)
            if change.path not in self.documents
        )
        moved = {change.path for change in self.repository.diff_trees(one.parent, base)}
        touched = {change.path for change in recorded}
        if not touched.isdisjoint(moved) or any(_reads(task, path) for path in moved):
            return self._none
        return recorded


def _reads(task: Task, path: str) -> bool:
    """Whether a path is among a task's Inputs."""
    return any(path == one or (is_glob(one) and matches(one, path)) for one in task.inputs)
