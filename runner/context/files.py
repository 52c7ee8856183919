"""Which files an implementer is shown, the nearest first, within a budget of tokens."""

from __future__ import annotations

from heapq import nsmallest
from typing import TYPE_CHECKING

from runner.context.import_neighbours import around, count_shared_folders
from runner.context.visibility import CHARACTERS_A_TOKEN
from runner.impact.config_files import is_own_document
from runner.lazy_dataclass import dataclass
from runner.plan.globs import is_glob, matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runner.context.import_neighbours import Neighbours
    from runner.context.tree import Tree
    from runner.model import Task
    from runner.plan.task_types import Kind

_FRAME = 24
"""Characters that surround a file: its heading and its fence."""
_LEAST = 400
"""Fewer characters of a file say nothing."""
_MOST_OF_A_KIND = 40
_NO_CODE = frozenset({"lock", "sum", "min.js", "svg", "map", "snap"})


@dataclass(frozen=True, slots=True)
class ContextFile:
    """A file with its text, and why it is shown."""

    path: str
    text: str
    because: str
    """`task`, `plan`, `neighbour`, `pattern` or `kind`."""
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the choice rests on."""

    task: Task
    kind: Kind
    planned: tuple[str, ...] = ()
    """Files that an approved plan writes and those that it wants to read."""
    examples: tuple[str, ...] = ()
    """Files that the matched patterns name."""
    told: frozenset[str] = frozenset()
    """Files that the brief shows anyway, such as tests."""


def context_files(
    tree: Tree, neighbours: Neighbours, wanted: Wanted, tokens: int
) -> tuple[ContextFile, ...]:
    """The files that fit into so many tokens, in the order of their priority.

    Files of the plan, their direct neighbours by import, examples of patterns; without a plan the
    task's own files, their neighbours, and the nearest files of the same kind.
    """
    left = tokens * CHARACTERS_A_TOKEN
    chosen: list[ContextFile] = []
    for path, because in candidates(tree, neighbours, wanted):
        text, _ = tree.text(path)
        if path in wanted.told or not text.strip():
            continue
        room = left - len(path) - _FRAME
        if len(text) > room and (because not in ("task", "plan") or room < _LEAST):
            continue  # a smaller one may still fit
        shown = text if len(text) <= room else text[:room].rpartition("\n")[0]
        chosen.append(ContextFile(path, shown, because, len(shown) < len(text)))
        left -= len(shown) + len(path) + _FRAME
        if left < _LEAST:
            break
    return tuple(chosen)


def candidates(tree: Tree, neighbours: Neighbours, wanted: Wanted) -> Iterator[tuple[str, str]]:
    """Every file that may be shown with the reason, each once, the nearest first."""
    seen: set[str] = set()
    for because, paths in _tiers(tree, neighbours, wanted):
        for path in paths:
            if path not in seen and tree.is_file(path):
                seen.add(path)
                yield path, because


def _tiers(
    tree: Tree, neighbours: Neighbours, wanted: Wanted
) -> Iterator[tuple[str, Iterable[str]]]:
    task, kind = wanted.task, wanted.kind
    own = _own_files(tree, task)
    users_first = bool(kind.type and kind.type.users_first)
    yield "plan", wanted.planned
    yield "task", tree.match(task.inputs)
    if not wanted.planned:
        yield "task", own
    seeds = wanted.planned or (*own, *_find_missing(tree, task))
    near = around(neighbours, seeds, users_first=users_first)
    yield "neighbour", _order_by_preference(near, kind)
    yield "pattern", wanted.examples
    if not wanted.planned:
        yield "kind", _order_by_preference(_of_the_same_kind(tree, seeds), kind)


def _own_files(tree: Tree, task: Task) -> tuple[str, ...]:
    """The output files that are there already; `any` names none."""
    return () if task.writes_everything else tree.match(task.outputs)[:_MOST_OF_A_KIND]


def _find_missing(tree: Tree, task: Task) -> tuple[str, ...]:
    """The output files that are still to be made, as far as they are named."""
    paths = (path.removeprefix("./") for path in task.outputs if not is_glob(path))
    return tuple(path for path in paths if not tree.is_file(path) and path != "any")


def _order_by_preference(paths: Sequence[str], kind: Kind) -> list[str]:
    """These files, those before others that the type of the task reads first."""
    globs = kind.type.prefers if kind.type else ()
    return sorted(paths, key=lambda path: not any(matches(glob, path) for glob in globs))


def _of_the_same_kind(tree: Tree, seeds: Sequence[str]) -> list[str]:
    """Files with the endings of these, those before others that lie nearest."""
    mine: dict[str, set[str]] = {}
    for seed in seeds[:_MOST_OF_A_KIND]:
        mine.setdefault(_suffix(seed), set()).add(seed.rpartition("/")[0])
    known: dict[tuple[str, str], int] = {}
    ranked: list[tuple[int, str]] = []
    for path in tree.files:
        suffix, folder = _suffix(path), path.rpartition("/")[0]
        if suffix not in mine or not suffix or suffix in _NO_CODE:
            continue
        if _is_document(path):
            continue
        if (suffix, folder) not in known:
            far = min(_distance(f"{folder}/", f"{one}/") for one in mine[suffix])
            known[suffix, folder] = far
        ranked.append((known[suffix, folder], path))
    return [path for _, path in nsmallest(_MOST_OF_A_KIND, ranked)]


def _is_document(path: str) -> bool:
    """Whether a file is the plan, an index, a pattern or a skill: these have their own places."""
    return is_own_document(path) or path.startswith("patterns/") or path.endswith("/SKILL.md")


def _distance(one: str, other: str) -> int:
    """Folders to go up and down from one file to another."""
    return one.count("/") + other.count("/") - 2 * count_shared_folders(one, other)


def _suffix(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[2]
