"""What a person or an agent reads of aspects that no test looks at, and which test would do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.gates.mutation.run_mutants import Ends
from runner.gates.mutation.unrun_functions import some_of
from runner.lazy_pattern import regex
from runner.model import Finding, Severity
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.gates.mutation.aspect_run import Tried
    from runner.gates.mutation.aspects import Watched, Way

_CODE = regex(r"`[^`]+`")
_RESULTS = {
    "order": "in another order",
    "longer": "with more at its end",
    "shorter": "without its end",
    "first": "with another beginning",
    "middle": "with another middle",
    "last": "with another end",
    "more": "a little greater",
    "less": "a little smaller",
    "other": "as another one",
}
_WANTED = {
    "result": "compare all of what comes out of it with a value",
    "error": "name the error that it waits for",
    "condition": "give two values, for one of which {code} holds, and say what comes out of each",
    "comparison": "give the very value at the bound of {code}",
    "argument": "look at what is handed on, not only at what is answered",
    "value": "look at each part of what comes out",
    "loop": "give more than one {code}, of which the second makes the difference",
    "call": "give a value for which both calls differ",
}
_HINT = "give a value for which what comes out is another one"
_SMALL = frozenset({"part", "comparison"})
"""What is told and not asked alone: of two conditions one often holds wherever the other does, and
at a bound both sides may give the same."""
_EMPTY = regex(
    r"`(?:not [\w.]+|![\w.$]+|(?:len\()?[\w.$]+(?:\(\))?\)? ===? (?:0|\"\"|'')"
    r"|(?:not )?len\([\w.]+\))`"
    r" always false"
)
"""What is done first where there is nothing: the rest often comes to the same then."""
_ENCODING = regex(
    r"`[bBuUrR]{0,2}['\"](?:utf|latin|iso|ascii|us-ascii|cp\d|windows-\d|big5|gb\d|shift|euc)[\w-]*['\"]`",
    re.IGNORECASE,
)
"""A name of an encoding: most of them give the same for plain letters."""
_ENOUGH = 3
"""Of code that stood there before, so many changes that pass, and half of all, are asked about."""
_SHOWN = 3
_LISTED = 12


def tell_aspects(check: str, one: Tried) -> Iterator[Finding]:
    """A finding of the changes that every test lets pass, and one of conditions never tried.

    A question of what the task wrote anew, and of changed code of which tests notice less than
    half; else a warning.
    """
    passed = [way for way, ended in one.ways if ended is Ends.SURVIVED]
    passed.sort(key=is_small)  # what says most comes first
    many = len(passed) >= _ENOUGH and 2 * len(passed) >= len(one.ways)
    bounds = {way.mutant.line for way in passed if way.aspect == "comparison"}
    large = len(bounds) > 1 or not all(map(is_small, passed))
    asks = many or (one.is_new and large)
    if passed:
        wanted = dict.fromkeys(map(_wanted, passed))
        yield Finding(
            check=check,
            message=f"no test tells {one.function} from one {_some(say_ways(passed), '; ')}",
            path=one.path,
            line=passed[0].mutant.line,
            severity=Severity.QUESTION if asks else Severity.WARNING,
            hint=f"have a test {', or '.join([*wanted][:_SHOWN])}",
            detail="\n".join(_list_ways(passed)),
        )
    idle = [(place, side) for place, seen in one.sides if (side := _missing(seen))]
    if idle:
        yield Finding(
            check=check,
            message=f"no test comes to where {one.function} "
            + _some([f"has {code(place.code)} {side}" for place, side in idle], "; "),
            path=one.path,
            line=idle[0][0].line,
            severity=Severity.QUESTION if one.is_new else Severity.WARNING,
            hint="have a test come to it, and say what must come of it",
            detail="\n".join(_list_sides(idle)),
        )


def is_small(way: Way) -> bool:
    """Whether it may well come to the same, so that it is told and not asked alone."""
    if way.aspect == "text" and _ENCODING.search(way.says):
        return True
    return way.aspect in _SMALL or bool(way.aspect == "condition" and _EMPTY.match(way.says))


def _wanted(way: Way) -> str:
    """What a test has to do that would notice it."""
    shown = _CODE.search(way.says)
    return redact(_WANTED.get(way.aspect, _HINT).format(code=shown[0] if shown else "it"))


def tell_left(check: str, tried: Sequence[Tried]) -> Iterator[Finding]:
    """What there was no time for."""
    left = [one for one in tried if one.left]
    if left:
        many = sum(one.left for one in left)
        yield Finding(
            check=check,
            message=f"{many} changes of {some_of([one.function for one in left])} were not tried:"
            " the time for it was over",
            path=left[0].path,
            severity=Severity.WARNING,
            hint="what tests let pass of them is not known; a quicker test contract leaves time",
        )


def say_ways(ways: Sequence[Way]) -> list[str]:
    """Each way in words that fit behind "no test tells it from one"; results in one."""
    results = [_RESULTS[way.says] for way in ways if way.aspect == "result"]
    said = [f"that gives it {' or '.join(dict.fromkeys(results))}"] if results else []
    first = ways[0].mutant.line if ways else 0
    said += [f"with {way.says}{_place(way, first)}" for way in ways if way.aspect != "result"]
    return [redact(one) for one in dict.fromkeys(said)]


def _place(way: Way, first: int) -> str:
    """The line of a change, where it is not that of the finding."""
    return "" if way.mutant.line == first else f" (line {way.mutant.line})"


def code(text: str) -> str:
    """Code as a message shows it."""
    return f"`{redact(text)}`"


def _missing(seen: frozenset[str]) -> str:
    """Of a condition that came by with one answer alone the other one."""
    if len(seen) != 1:
        return ""
    return "true" if "false" in seen else "false"


def _some(said: Sequence[str], by: str) -> str:
    more = len(said) - _SHOWN
    return by.join([*said[:_SHOWN], *([f"and {more} more"] if more > 0 else [])])


def _list_ways(ways: Sequence[Way]) -> Iterator[str]:
    for way in ways[:_LISTED]:
        says = f"gives it {_RESULTS[way.says]}" if way.aspect == "result" else redact(way.says)
        yield f"line {way.mutant.line}, {way.aspect}: {says}"


def _list_sides(idle: Sequence[tuple[Watched, str]]) -> Iterator[str]:
    for place, side in idle[:_LISTED]:
        then = f", so never: {redact(place.then)}" if side == "true" and place.then else ""
        yield f"line {place.line}: {code(place.code)} is never {side}{then}"
