"""What a task offers to others, now and in the tree that one of them was proven on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner.plan.globs import is_glob, matches
from runner.repo.git import GitError

if TYPE_CHECKING:
    from runner.impact.change import Changed
    from runner.impact.cutoff import CutOff
    from runner.journal.task_state import TaskState
    from runner.model import Task
    from runner.repo.read import Repository


@dataclass
class TaskExports:
    """Asks the commits: the history is read once a run, and follows each landing."""

    repository: Repository
    documents: frozenset[str]
    """The runner's own documents."""
    _commits: dict[str, list[str]] | None = None
    _paths: dict[str, frozenset[str]] = field(default_factory=dict)

    def record_landed(self, task: str, commit: str) -> None:
        """A task has landed once more; `commit` is empty where it changed nothing."""
        if commit and self._commits is not None:
            self._commits.setdefault(task, []).append(commit)

    def compare(self, task: Task, user: TaskState) -> CutOff:
        """What a task offers on HEAD, beside the tree that its user was DONE in."""
        from runner.gates.contracts.compatibility import is_breaking
        from runner.impact.cutoff import CutOff, cut_off

        then = user.tree or user.commit
        if not then:
            return CutOff(same=False, text="there is no commit to compare it with")
        documents = _documents(task)
        try:
            changed = self._find_changed(self._all_paths(task, documents), then)
        except GitError:
            return CutOff(same=False, text="the commit to compare it with is gone")
        contracts = {
            one.path: is_breaking(one.path, one.before, one.after)
            for one in changed
            if any(matches(glob, one.path) for glob in documents)
        }
        broken = [path for path, breaks in contracts.items() if breaks is not False]
        grown = [path for path, breaks in contracts.items() if breaks is False]
        for one in changed:
            if contracts.get(one.path):
                return CutOff(same=False, text=f"{one.path} is another contract: {_break(one)}")
        found = cut_off([one for one in changed if one.path not in grown], broken)
        if found.same and grown:
            return CutOff(same=True, text=f"the contract {grown[0]} only allows more")
        return found

    def _find_changed(self, paths: frozenset[str], then: str) -> list[Changed]:
        from runner.impact.change import Changed

        listed = sorted(paths - self.documents)
        if not listed:
            return []
        head = self.repository.head().commit
        old = self.repository.tree_entries(then, listed)
        new = self.repository.tree_entries(head, listed)
        found = []
        for path in listed:
            one, other = old.get(path), new.get(path)
            if one != other:
                before = self.repository.content(one.sha) if one else None
                after = self.repository.content(other.sha) if other else None
                found.append(Changed(path, before, after))
        return found

    def _all_paths(self, task: Task, documents: tuple[str, ...]) -> frozenset[str]:
        """Every file that the task ever wrote, and its contracts."""
        found = {path for path in documents if not is_glob(path)}
        for commit in self._landings.get(task.id, ()):
            if commit not in self._paths:
                parent = self.repository.resolve(f"{commit}^")
                changes = self.repository.diff_trees(parent, commit)
                self._paths[commit] = frozenset(one.path for one in changes)
            found |= self._paths[commit]
        return frozenset(found)

    @property
    def _landings(self) -> dict[str, list[str]]:
        if self._commits is None:
            self._commits = {}
            head = self.repository.head().commit
            for one in self.repository.log_trailers(head) if head else ():
                if not one.checked:
                    self._commits.setdefault(one.task, []).append(one.commit)
        return self._commits


def _documents(task: Task) -> tuple[str, ...]:
    """The contract files of a task."""
    from runner.gates.contracts.entries import documents

    return tuple(path for contract in task.contracts for path in documents(contract))


def _break(change: Changed) -> str:
    """The first thing that a changed contract breaks."""
    from runner.gates.contracts.compatibility import compare, kind_of
    from runner.gates.contracts.document import bundle_document

    if change.before is None or change.after is None:
        return "it is gone"
    old = change.before
    kind = kind_of(bundle_document(change.path, lambda path: old if path == change.path else b"{}"))
    found = [one for one in compare(kind, old, change.after) if one.breaking]
    return f"{found[0].path} {found[0].text}".strip() if found else "it breaks its users"
