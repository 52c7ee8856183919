"""What running tasks hold, so that two never write the same file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.model import Resource, Task

_WILD = frozenset("*?[")


def is_glob(pattern: str) -> bool:
    """Whether a path of the plan stands for many files."""
    return pattern.endswith("/") or not _WILD.isdisjoint(pattern)


def literal_prefix(pattern: str) -> str:
    """The part of a glob that is the same for every file it stands for."""
    ends = [at for at, letter in enumerate(pattern) if letter in _WILD]
    return pattern[: ends[0]] if ends else pattern


def may_meet(one: str, other: str) -> bool:
    """Whether two paths or globs can name the same file; two globs are judged by their prefixes."""
    if not is_glob(one) and not is_glob(other):
        return one == other
    left, right = literal_prefix(one), literal_prefix(other)
    if "/" not in one.rstrip("/") and is_glob(one) and not left:
        return True
    return left.startswith(right) or right.startswith(left)


@dataclass(slots=True)
class Claims:
    """The output files and scarce things of the tasks that run now.

    Exact paths are held in a dict, so that asking takes constant time; globs are compared each.
    """

    capacity: dict[str, float] = field(default_factory=dict)
    _owners: dict[str, str] = field(default_factory=dict)
    _globs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _writers: dict[str, Task] = field(default_factory=dict)
    _resources: dict[str, float] = field(default_factory=dict)
    _alone: str = ""

    def free_for(self, task: Task) -> bool:
        """Whether `task` may start beside the tasks that hold claims now.

        One that asks for more than there is may come out too: whoever starts it refuses it.
        """
        if too_much(task, self.capacity):
            return True
        return self._files_free(task) and all(
            self._resources.get(name, 0.0) + amount <= self.capacity.get(name, max(1.0, amount))
            for name, amount in _needs(task)
        )

    def _files_free(self, task: Task) -> bool:
        if not task.writes_anything:
            return True
        if self._alone or (task.writes_everything and self._writers):
            return False
        exact = [path for path in task.outputs if not is_glob(path)]
        globs = [path for path in task.outputs if is_glob(path)]
        held_globs = [glob for patterns in self._globs.values() for glob in patterns]
        return (
            all(path not in self._owners for path in exact)
            and not any(may_meet(path, glob) for path in task.outputs for glob in held_globs)
            and not any(may_meet(glob, path) for glob in globs for path in self._owners)
        )

    def hold(self, task: Task) -> None:
        """Take what `task` claims."""
        for name, amount in _needs(task):
            self._resources[name] = self._resources.get(name, 0.0) + amount
        if not task.writes_anything:
            return
        self._writers[task.id] = task
        if task.writes_everything:
            self._alone = task.id
            return
        self._owners.update({path: task.id for path in task.outputs if not is_glob(path)})
        self._globs[task.id] = tuple(path for path in task.outputs if is_glob(path))

    def release(self, task: Task) -> None:
        """Give back what `task` held."""
        for name, amount in _needs(task):
            self._resources[name] = self._resources.get(name, 0.0) - amount
        if self._writers.pop(task.id, None) is None:
            return
        if self._alone == task.id:
            self._alone = ""
        for path in task.outputs:
            self._owners.pop(path, None)
        self._globs.pop(task.id, None)


def capacities(resources: Iterable[Resource]) -> dict[str, float]:
    """How much there is of each scarce thing, by the settings."""
    return dict(_held(resource) for resource in resources)


def too_much(task: Task, capacity: Mapping[str, float]) -> str:
    """Why a task could never start: it uses more of something than there is; else empty."""
    for name, amount in _needs(task):
        there = capacity.get(name)
        if there is not None and amount > there:
            return f"uses {amount:g} {name}, and the settings have {there:g}"
    return ""


def _needs(task: Task) -> Iterable[tuple[str, float]]:
    return (_held(resource) for resource in task.uses)


def _held(resource: Resource) -> tuple[str, float]:
    """Name and amount of a scarce thing; a port is a thing of its own, `gpu 2` two of one."""
    try:
        if resource.name != "port":
            return resource.name, _amount(resource.amount)
    except ValueError:
        pass
    return f"{resource.name} {resource.amount}", 1.0


_UNITS = {"KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


def _amount(text: str) -> float:
    upper = text.strip().upper()
    for unit, factor in _UNITS.items():
        if upper.endswith(unit):
            return float(upper.removesuffix(unit)) * factor
    return float(upper or 1)
