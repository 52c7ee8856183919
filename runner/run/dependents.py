"""Find how a task was edited, and which dependents the edit affects.

A task is compared with how a commit's plan has it. A change of it reaches those who depend on it,
read its files, or share its contracts.
"""

from __future__ import annotations

from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

from runner.lazy_module import lazy_module
from runner.model import Task
from runner.plan.globs import is_glob, may_overlap
from runner.repo.head import PLANS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runner.model import Contract, Digest
    from runner.plan import document
    from runner.repo.read import Repository
    from runner.run.outdated_plan import PlanFile
else:
    document = lazy_module("runner.plan.document")


UNKNOWN = ("what",)
"""Result if the old text no longer exists."""
_OLDER = 10
"""Commits of the plan that are searched for the old text."""
_WHAT = (
    ("Title", "title"),
    ("prose", "prose"),
    ("blocks", "blocks"),
    ("Acceptance", "acceptance"),
    ("Output files", "outputs"),
    ("Changes tests", "changes_tests"),
    ("Depends on", "depends_on"),
    ("Implementer", "implementer"),
    ("Command", "command"),
)
"""Parts of a task in its first digest, as named in FORMATS and in the model."""


def find_changed_fields(old: Task, new: Task) -> tuple[str, ...]:
    """Return the names of the changed fields that define the work of a task."""
    found = [name for name, field in _WHAT if _value(old, field) != _value(new, field)]
    return tuple(found) or UNKNOWN


def _value(task: Task, field: str) -> object:
    value: object = getattr(task, field)
    if field == "blocks":
        # Ignore the line number: moving a block does not change the specification.
        return tuple((block.kind, block.path, block.text) for block in task.blocks)
    return " ".join(value.split()) if field in ("title", "prose") else value  # type: ignore[attr-defined]  # both are texts


def fields_since(
    repository: Repository, plan: PlanFile, task: object, proven: Digest, landed: str
) -> tuple[str, ...]:
    """Return the fields of a task that were edited since it was built with the digest `proven`.

    Its old text is looked for in the plans of HEAD, of the commit that landed it, and of some
    commits before.
    """
    if not isinstance(task, Task):
        return UNKNOWN
    for data in _texts(repository, plan, landed):
        old = _task_in(data, task.id, plan)
        if old is not None and old.spec.what == proven:
            return find_changed_fields(old, task)
    return UNKNOWN


def _task_in(data: bytes, id_: str, plan: PlanFile) -> Task | None:
    tasks = document.read_plan(data, plan.path, prefixes=plan.prefixes).tasks
    return next((one for one in tasks if one.id == id_), None)


def _texts(repository: Repository, plan: PlanFile, landed: str) -> Iterator[bytes]:
    """Yield the older texts of the plan without duplicates, likeliest first."""
    seen: set[bytes] = set()
    paths = tuple(dict.fromkeys((plan.path, *PLANS)))
    for commit in _commits(repository, landed, paths):
        for path in paths:
            data = repository.blob(commit, path)
            if data and data not in seen:
                seen.add(data)
                yield data


def _commits(repository: Repository, landed: str, places: Sequence[str]) -> Iterator[str]:
    head = repository.head().commit
    if head is None:
        return
    yield head
    if landed and repository.resolve(landed):
        yield landed
    paths = [repository.prefix.whole(path) for path in places]
    words = ("log", f"--max-count={_OLDER}", "--format=%H", "--end-of-options", head, "--", *paths)
    yield from repository.git.run(*words).decode().split()


class Placed(Protocol):
    """The part of a task that is needed here: of the plan, or of its outline."""

    @property
    def id(self) -> str:
        """The task's id."""

    @property
    def depends_on(self) -> tuple[str, ...]:
        """Dependencies of the task."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """Files that the task may write."""


class ReachedTask(NamedTuple):
    """The reason why a task is reached."""

    via: str
    """Next task on the path."""
    reason: str
    """Text after the task's name: `depends on TASK-005`."""


def find_reached(tasks: Iterable[Placed], changed: Iterable[str]) -> dict[str, ReachedTask]:
    """Return all dependents of the changed tasks, nearest first, without the changed ones.

    Pure. A task reaches those that depend on it, that name a file it writes among their Inputs, or
    a contract of its own among their Contracts; what it needs itself is behind nobody.
    """
    roads = _Roads(tasks)
    first = {id_: None for id_ in changed if id_ in roads.tasks}
    found: dict[str, ReachedTask] = {}
    waiting = deque(first)
    while waiting:
        via = waiting.popleft()
        for id_, reason in roads.next(via):
            if id_ not in found and id_ not in first and not roads.needs(via, id_):
                found[id_] = ReachedTask(via, reason)
                waiting.append(id_)
    return found


def behind_whom(tasks: Iterable[Placed], ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the direct predecessors of these tasks, by dependencies and shared files."""
    roads = _Roads(tasks)
    needs = {id_: roads.tasks[id_].depends_on for id_ in ids}
    found = {
        id_: dict.fromkeys(one for one in needed if one in roads.tasks)
        for id_, needed in needs.items()
    }
    for via in roads.tasks if found else ():
        for id_, _ in roads.next(via):
            if id_ in found and via not in found[id_] and not roads.needs(via, id_):
                found[id_][via] = None
    return {id_: tuple(before) for id_, before in found.items()}


class _Roads:
    """The neighbours of each task, indexed."""

    def __init__(self, tasks: Iterable[Placed]) -> None:
        self.tasks: dict[str, Placed] = {}
        for task in tasks:
            self.tasks.setdefault(task.id, task)
        self._needed_by: dict[str, list[str]] = {}
        self._read_by: dict[str, list[str]] = {}
        self._globs: list[tuple[str, str]] = []
        self._written = {path for task in self.tasks.values() for path in task.outputs}
        for task in self.tasks.values():
            for need in task.depends_on:
                self._needed_by.setdefault(need, []).append(task.id)
            for path in (*_inputs(task), *_contracts(task)):
                if is_glob(path):
                    self._globs.append((path, task.id))
                else:
                    self._read_by.setdefault(path, []).append(task.id)

    def needs(self, id_: str, other: str) -> bool:
        """Return whether a task equals another one or depends on it."""
        # Only tasks on a higher level can need it: checking each task of a long chain down to its
        # start would take quadratic time.
        levels, found, waiting = self._levels, {id_}, [id_]
        while waiting:
            one = waiting.pop()
            if one == other:
                return True
            for need in self.tasks[one].depends_on if one in self.tasks else ():
                if need not in found and levels.get(need, 0) >= levels.get(other, 0):
                    found.add(need)
                    waiting.append(need)
        return False

    @cached_property
    def _levels(self) -> dict[str, int]:
        """Length of the longest dependency chain below each task; cycles are cut."""
        levels: dict[str, int] = {}
        begun: set[str] = set()
        waiting = list(self.tasks)
        while waiting:
            id_ = waiting[-1]
            needs = [one for one in self.tasks[id_].depends_on if one in self.tasks]
            open_ones = [one for one in needs if one not in levels and one not in begun]
            if id_ not in levels and id_ not in begun and open_ones:
                begun.add(id_)
                waiting += open_ones
                continue
            waiting.pop()
            if id_ not in levels:
                levels[id_] = 1 + max((levels.get(one, 0) for one in needs), default=0)
        return levels

    def next(self, id_: str) -> Iterator[tuple[str, str]]:
        """Yield the direct dependents of a task with the reason; one can occur twice."""
        task = self.tasks[id_]
        for other in self._needed_by.get(id_, ()):
            yield other, f"depends on {id_}"
        for path in task.outputs:
            for other in self._readers(path):
                yield other, f"reads {path} of {id_}"
        for path in _contracts(task):
            if path not in self._written:
                for other in self._readers(path):
                    yield other, f"shares the contract {path} with {id_}"

    def _readers(self, path: str) -> Iterator[str]:
        path = "**" if path == "any" else path
        if is_glob(path):
            for read, readers in self._read_by.items():
                if may_overlap(path, read):
                    yield from readers
        else:
            yield from self._read_by.get(path, ())
        yield from (reader for glob, reader in self._globs if may_overlap(glob, path))


def _inputs(task: Placed) -> Sequence[str]:
    found: tuple[str, ...] = getattr(task, "inputs", ())  # an outline does not know them
    return found


def _contracts(task: Placed) -> tuple[str, ...]:
    """Return the documents of a task's contracts."""
    entries: tuple[Contract, ...] = getattr(task, "contracts", ())  # the same
    words = (entry.value.partition("=")[0].strip().strip("`") for entry in entries)
    kinds = (entry.kind for entry in entries)
    pairs = zip(kinds, words, strict=True)
    return tuple(word for kind, word in pairs if kind != "command" and word and " " not in word)
