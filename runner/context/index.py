"""The file index of a brief: `path | exported names | lines` of the files that matter for it."""

from __future__ import annotations

import re
from heapq import nsmallest
from typing import TYPE_CHECKING

from runner.context.import_neighbours import count_shared_folders
from runner.context.visibility import CHARACTERS_A_TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runner.context.outline_cache import Outline
    from runner.model import Task

MOST_TOKENS = 800
_MOST_NAMES = 8
_SHORTEST_LINE = 8
_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SHORTEST = 4
_MOST_SEEDS = 8
_IN_PATH, _IN_NAMES, _SEED, _TOGETHER = 3, 2, 8, 5


def file_index(
    outlines: Mapping[str, Outline],
    task: Task,
    *,
    seeds: Iterable[str] = (),
    near: Iterable[str] = (),
    tokens: int = MOST_TOKENS,
) -> tuple[str, ...]:
    """The lines of the index within so many tokens, cut by relevance, then in order of the paths.

    What counts is the words that a task has in common with a path and its exported names, the
    folders it shares with `seeds` (the files in question), and whether it is `near`: imported.
    """
    given = tuple(dict.fromkeys(seeds))
    # Of no words at all the expression would be empty, and found at every place.
    said = re.compile("|".join(sorted(words_of(task))) or r"(?!)")
    neighbours = frozenset(near)
    folders: dict[str, int] = {}

    def relevance(path: str) -> int:
        folder, _, name = path.rpartition("/")
        if folder not in folders:
            folders[folder] = _IN_PATH * len({*said.findall(folder.casefold())}) + max(
                (count_shared_folders(path, seed) for seed in given[:_MOST_SEEDS]), default=0
            )
        score = folders[folder] + _IN_PATH * len({*said.findall(name.casefold())})
        score += _IN_NAMES * len({*said.findall(outlines[path].names.casefold())})
        return score + (_SEED if path in given else 0) + (_TOGETHER if path in neighbours else 0)

    most = tokens * CHARACTERS_A_TOKEN
    scored = ((-relevance(path), path) for path in outlines)
    ranked = nsmallest(most // _SHORTEST_LINE, scored)
    return _fit_lines([path for _, path in ranked], outlines, most)


def _fit_lines(
    ranked: Sequence[str], outlines: Mapping[str, Outline], most: int
) -> tuple[str, ...]:
    lines: dict[str, str] = {}
    left = most
    for path in ranked:
        line = _line(path, outlines[path])
        if len(line) + 1 > left:
            break
        lines[path] = line
        left -= len(line) + 1
    return tuple(lines[path] for path in sorted(lines))


def _line(path: str, outline: Outline) -> str:
    names = outline.names.split()
    shown = ", ".join(names[:_MOST_NAMES])
    more = ", …" if len(names) > _MOST_NAMES else ""
    return f"{path} | {shown}{more} | {outline.lines}"


def words_of(task: Task) -> frozenset[str]:
    """The words a task is about: of its title, keywords, files, acceptance and prose.

    Names are taken apart: `BookingModel` says booking and model.
    """
    said = (task.title, *task.keywords, *task.outputs, *task.acceptance, task.prose[:4000])
    return _words_in(" ".join(said)) - _COMMON


def _words_in(text: str) -> frozenset[str]:
    return frozenset(
        _singular(piece.casefold()) for piece in _PIECES.findall(text) if len(piece) >= _SHORTEST
    )


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


_COMMON_WORDS = """
with that this from must what when which each every have only file files test tests into then than
will should task they them their there here where does done your code function class value values
name names data type types line lines uses used
"""
_COMMON = frozenset(map(_singular, _COMMON_WORDS.split()))
