"""Locks of running tasks, so that two tasks never write the same file."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner.config.sizes import amount_of, format_size
from runner.implementers.registry import choose
from runner.model import Finding
from runner.plan.globs import folders_of, is_glob, matches, may_overlap
from runner.plan.ownership import OwnershipMap
from runner.repo.head import OWNERSHIP_MAP
from runner.writes.safe_io import read_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.model import Resource, Task

__all__ = [
    "Agents",
    "ResourceLocks",
    "capacities",
    "find_collision",
    "is_glob",
    "load_owned_paths",
    "may_meet",
    "too_much",
    "too_much_of",
]


@lru_cache(maxsize=65536, typed=True)  # a literal path equals the glob it looks like
def may_meet(one: str, other: str) -> bool:
    """Return whether two paths or globs may match one file; never False if they can."""
    return any(_meet(left, right) for left in _forms(one) for right in _forms(other))


def _meet(left: str, right: str) -> bool:
    if is_glob(left):
        return may_overlap(left, right) if is_glob(right) else matches(left, right)
    if is_glob(right):
        return matches(right, left)
    return left == right or left.startswith(f"{right}/") or right.startswith(f"{left}/")


def _forms(pattern: str) -> tuple[str, ...]:
    """Return a pattern, and one for the content of a matched folder, as gitignore(5) has it."""
    plain = _root_pattern(pattern)
    return (plain, f"{plain}/**") if is_glob(plain) and not plain.endswith("**") else (plain,)


def _root_pattern(pattern: str) -> str:
    """Return a pattern for `may_overlap`; a leading `/` is removed."""
    if "\\" in pattern:
        return "**"  # an escaped wildcard: rather kept apart than read wrongly
    plain = pattern.removeprefix("./").removeprefix("/")
    return f"{plain}**" if plain.endswith("/") else plain


def load_owned_paths(root: Path, prefixes: tuple[str, ...] = ()) -> dict[str, tuple[str, ...]]:
    """Return by task the paths that it owns in FILE_OWNERSHIP_MAP.md, with folders ending in `/`.

    Raises RunnerError for a map with conflict markers: what it lacks would be taken for nobody's.
    """
    owners = OwnershipMap.read(read_below(root, OWNERSHIP_MAP) or b"", OWNERSHIP_MAP, prefixes)
    owners.require_whole()
    found: dict[str, list[str]] = {}
    for file, ids in owners.rows:
        path = f"{file}/" if not is_glob(file) and (root / file).is_dir() else file
        for id_ in ids:
            found.setdefault(id_, []).append(path)
    return {id_: tuple(paths) for id_, paths in found.items()}


def find_collision(
    one: Task, other: Task, owned: Mapping[str, tuple[str, ...]] | None = None
) -> tuple[str, str] | None:
    """Return the overlapping output patterns of two tasks, as (first, second), or None."""
    if not (one.writes_anything and other.writes_anything):
        return None
    if one.writes_everything or other.writes_everything:
        return one.outputs[0], other.outputs[0]
    pairs = (
        (mine, theirs)
        for mine in _paths(one, owned or {})
        for theirs in _paths(other, owned or {})
        if may_meet(mine, theirs)
    )
    return next(pairs, None)


class Agents(Struct, frozen=True):
    """The number of agents and models that may work in parallel, and the tasks that use them."""

    most: int
    works_on: Callable[[Task], bool]

    @classmethod
    def of(cls, settings: Settings) -> Agents:
        """Create the limits of agents from the settings and the implementer of each task."""
        known: dict[str, bool] = {}

        def works_on(task: Task) -> bool:
            if task.id not in known:
                chosen = choose(task, settings)
                known[task.id] = not isinstance(chosen, Finding) and chosen.is_agent
            return known[task.id]

        return cls(settings.build.agents, works_on)


class ResourceLocks(Struct):
    """The output files and scarce things of the tasks that run now, and the places of agents.

    Exact paths are held in a dict, so that asking takes constant time; globs are compared each.
    """

    capacity: dict[str, float] = field(default_factory=dict)
    owned: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By task, the paths and globs it owns in addition to its Output files."""
    agents: Agents = field(default_factory=lambda: Agents(0, lambda _task: False))
    _working: set[str] = field(default_factory=set)
    """Tasks that occupy an agent slot."""
    _exact: Counter[str] = field(default_factory=Counter)
    _folders: Counter[str] = field(default_factory=Counter)
    _globs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _writers: dict[str, Task] = field(default_factory=dict)
    _resources: dict[str, float] = field(default_factory=dict)
    _alone: str = ""

    def free_for(self, task: Task) -> bool:
        """Return whether `task` may start with the present locks; excessive requests pass, too.

        One that asks for more than there is may come out too: whoever starts it refuses it.
        """
        if too_much(task, self.capacity):
            return True
        if self.agents.works_on(task) and len(self._working) >= self.agents.most:
            return False
        # Resources not in the settings exist once; a task that requests more uses them alone.
        return self._files_free(task) and all(
            self._resources.get(name, 0.0) + amount <= self.capacity.get(name, max(1.0, amount))
            for name, amount in _needs(task)
        )

    def _files_free(self, task: Task) -> bool:
        if not task.writes_anything or not self._writers:
            return True
        if self._alone or task.writes_everything:
            return False
        exact, globs = self._split_paths(task)
        held_globs = [glob for patterns in self._globs.values() for glob in patterns]
        return (
            not any(map(self._is_held, exact))
            and not any(may_meet(path, glob) for path in (*exact, *globs) for glob in held_globs)
            and not any(may_meet(glob, path) for glob in globs for path in self._exact)
        )

    def _is_held(self, path: str) -> bool:
        """Return whether a path, a folder of it or a path in it is locked."""
        return (
            path in self._exact
            or path in self._folders
            or any(folder in self._exact for folder in folders_of(path))
        )

    def _split_paths(self, task: Task) -> tuple[list[str], tuple[str, ...]]:
        """Return exact paths and globs separately."""
        paths = tuple(map(_root_pattern, _paths(task, self.owned)))
        return [one for one in paths if not is_glob(one)], tuple(filter(is_glob, paths))

    def hold(self, task: Task) -> None:
        """Acquire the locks of `task`."""
        if self.agents.works_on(task):
            self._working.add(task.id)
        for name, amount in _needs(task):
            self._resources[name] = self._resources.get(name, 0.0) + amount
        if not task.writes_anything:
            return
        self._writers[task.id] = task
        if task.writes_everything:
            self._alone = task.id
            return
        exact, self._globs[task.id] = self._split_paths(task)
        self._exact.update(exact)
        self._folders.update(folder for path in exact for folder in folders_of(path))

    def rest(self, task: Task) -> None:
        """Release the agent of `task`; its output files stay locked until it has landed."""
        self._working.discard(task.id)

    def release(self, task: Task) -> None:
        """Release the locks of `task`."""
        self._working.discard(task.id)
        for name, amount in _needs(task):
            self._resources[name] = self._resources.get(name, 0.0) - amount
        if self._writers.pop(task.id, None) is None:
            return
        if self._alone == task.id:
            self._alone = ""
            return
        exact, _ = self._split_paths(task)
        self._globs.pop(task.id, None)
        for held, paths in (
            (self._exact, exact),
            (self._folders, [folder for path in exact for folder in folders_of(path)]),
        ):
            # A Counter keeps names with a count of zero, and `in` would still find them.
            held.subtract(paths)
            for path in paths:
                if held[path] <= 0:
                    del held[path]


def _paths(task: Task, owned: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return every path that a task may write, by its outputs and the ownership map."""
    return tuple(dict.fromkeys((*task.outputs, *owned.get(task.id, ()))))


def capacities(resources: Iterable[Resource]) -> dict[str, float]:
    """Return the configured capacity of each limited resource; sizes in bytes."""
    return dict(_resource_amount(resource) for resource in resources)


def too_much(task: Task, capacity: Mapping[str, float]) -> str:
    """Return why a task can never start: it uses more of a resource than exists; else empty."""
    over = too_much_of(task, capacity)
    return over[1] if over else ""


def too_much_of(task: Task, capacity: Mapping[str, float]) -> tuple[str, str] | None:
    """Return the first resource that a task uses beyond capacity, with a message, or None."""
    for name, amount in _needs(task):
        there = capacity.get(name)
        if there is not None and amount > there:
            return (
                name,
                f"uses {format_size(amount)} {name}, but the settings have {format_size(there)}",
            )
    return None


def _needs(task: Task) -> Iterable[tuple[str, float]]:
    """Return each resource that a task uses with its total amount."""
    needs: dict[str, float] = {}
    for name, amount in map(_resource_amount, task.uses):
        needs[name] = needs.get(name, 0.0) + amount
    return needs.items()


def _resource_amount(resource: Resource) -> tuple[str, float]:
    """Name and amount of a scarce thing; a port is a thing of its own, `gpu 2` two of one."""
    name, amount = resource.name.casefold(), amount_of(resource.amount)
    if name == "port" or amount is None:
        return f"{name} {resource.amount}", 1.0
    return name, amount
