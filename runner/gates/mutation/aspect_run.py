"""Which aspects of a function no test looks at: asked with `strict` alone, by running."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from runner import effects
from runner.gates.coverage.instrument import text_of
from runner.gates.mutation import brace_aspects, python_aspects
from runner.gates.mutation.aspects import SIDE, Watched, WatchedFile, Way
from runner.gates.mutation.languages import language_of
from runner.gates.mutation.mutants import Mutant, is_left_out
from runner.gates.mutation.run_mutants import Ends, Executions, MutantRunner
from runner.gates.mutation.written_again import own_functions
from runner.gates.own_files import own_folder
from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from runner.gates.base import GateContext

_CHANGED = "changed"
_SAYS_SO = frozenset({"result", "error", "argument", "value"})
"""Aspects whose mutants write down that they changed something."""
_RANKS = (
    *("result", "error", "condition", "loop", "statement", "raise", "call", "comparison"),
    *("constant", "arithmetic", "operand", "argument", "value", "text", "part"),
)
"""The order of trying, over all functions of a file: what says most comes first."""


@dataclass(slots=True)
class Tried:
    """What became of the aspects of one function."""

    path: str
    function: str
    is_new: bool
    """Whether the task wrote most of it, as nothing that was there before."""
    sides: list[tuple[Watched, frozenset[str]]] = field(default_factory=list)
    """Each condition, and which of `true` and `false` came by."""
    ways: list[tuple[Way, Ends]] = field(default_factory=list)
    left: int = 0
    """Mutants that there was no time for."""


class _File(NamedTuple):
    """A file of the task, with what is known of it."""

    path: str
    content: bytes
    own: frozenset[int]
    ran: frozenset[int]
    fresh: frozenset[int]
    out: Path


def try_aspects(
    bench: GateContext,
    executions: Executions,
    own: Mapping[str, frozenset[int]],
    laboratory: MutantRunner,
    told: Collection[tuple[str, str]] = (),
) -> list[Tried]:
    """Each function of the task with what tests let pass of it, but for those that are `told`."""
    out = own_folder(bench.place.box, "probes") / "aspects.txt"
    fresh = _fresh_lines(bench, own)
    found: list[Tried] = []
    for path, lines in sorted(own.items()):
        content, ran = bench.after(path), executions.lines(path)
        if content is None or not ran or bench.is_test(path) or is_left_out(path, content):
            continue
        file = _File(path, content, lines, ran, fresh.get(path, frozenset()), out)
        found += _of_file(file, laboratory, told)
    return found


def _fresh_lines(
    bench: GateContext, own: Mapping[str, frozenset[int]]
) -> dict[str, frozenset[int]]:
    """The lines of functions that the task wrote, and did not only move."""
    former = b"\n".join(bench.before(one.path) or b"" for one in bench.changes)
    found: dict[str, frozenset[int]] = {}
    for one in own_functions(bench, own):
        if one.body.strip().encode() not in former:
            lines = found.get(one.path, frozenset())
            found[one.path] = lines | frozenset(range(one.line, one.last + 1))
    return found


def _of_file(
    file: _File, laboratory: MutantRunner, told: Collection[tuple[str, str]]
) -> list[Tried]:
    watched, ways = _read(file)
    known: dict[str, Tried] = {}

    def of(name: str, line: int) -> Tried:
        return known.setdefault(name, Tried(file.path, name, is_new=line in file.fresh))

    keys = _watch(file, watched, laboratory) if watched else frozenset()
    for one in watched.places if watched and keys else ():
        if one.kind == SIDE and (file.path, one.function) not in told:
            sides = frozenset(side for side in ("true", "false") if f"{one.key}.{side}" in keys)
            of(one.function, one.line).sides.append((one, sides))
    implied = {
        (one.function, f"{side} {one.code}")
        for tried in known.values()
        for one, sides in tried.sides
        for side in (sides if len(sides) == 1 else ())
    }
    for way in sorted(ways, key=lambda one: _RANKS.index(one.aspect)):
        name = way.mutant.function
        if (file.path, name) in told or (name, way.key) in implied:
            continue
        if way.aspect == "result" and way.key not in keys:
            continue
        tried = of(name, way.mutant.line)
        if laboratory.is_over:
            tried.left += 1
            continue
        effects.unlink(file.out)
        ended = laboratory.run(way.mutant)
        idle = ended is Ends.SURVIVED and way.aspect in _SAYS_SO and way.says_so
        if idle and _CHANGED not in _keys(file.out):
            continue
        if ended is Ends.SURVIVED and not _all_pass(way, laboratory):
            ended = Ends.NOTICED  # tests look at it, and this change may be none that counts
        tried.ways.append((way, ended))
    return [*known.values()]


def _all_pass(way: Way, laboratory: MutantRunner) -> bool:
    """Whether tests let every other change of the same place pass, too, as far as time allows."""
    passes = (Ends.SURVIVED, Ends.NOT_MADE, Ends.NO_TIME)
    return all(laboratory.is_over or laboratory.run(one) in passes for one in way.further)


def _read(file: _File) -> tuple[WatchedFile | None, Iterator[Way]]:
    language = language_of(file.path)
    about = file.path, file.content, file.own, file.ran, str(file.out)
    if language == "py":
        return python_aspects.put_watches(*about), python_aspects.ways_of(*about)
    return brace_aspects.put_watches(*about, language), brace_aspects.ways_of(*about, language)


def _watch(file: _File, watched: WatchedFile, laboratory: MutantRunner) -> frozenset[str]:
    """What came by the places while the tests ran; nothing where that could not be seen."""
    lines = tuple({one.line for one in watched.places})
    size = len(file.content)
    whole = Mutant(file.path, "", "watched", min(lines), 0, size, watched.text, lines=lines)
    effects.unlink(file.out)
    ended = Ends.NO_TIME if laboratory.is_over else laboratory.run(whole)
    return _keys(file.out) if ended is Ends.SURVIVED else frozenset()


def _keys(out: Path) -> frozenset[str]:
    return frozenset((text_of(out) or "").split())
