"""All named patterns, and the search for them: literals first, then RE2 in linear time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol, cast

from runner.secrets.entropy import is_no_password, is_placeholder, looks_random
from runner.secrets.shapes_business import SHAPES as _BUSINESS
from runner.secrets.shapes_cloud import SHAPES as _CLOUD
from runner.secrets.shapes_forge import SHAPES as _FORGE
from runner.secrets.shapes_general import SHAPES as _GENERAL
from runner.secrets.shapes_models import SHAPES as _MODELS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.secrets.shape import Shape

SHAPES: tuple[Shape, ...] = (*_MODELS, *_CLOUD, *_FORGE, *_BUSINESS, *_GENERAL)
"""Ordered: where two shapes fit one place, the earlier one names it."""

_MEMORY = 64 << 20
"""Bytes RE2 may use for one automaton; beyond it, it goes on more slowly but still linearly."""


class Match(Protocol):
    """What is used of a match."""

    def span(self, group: int = 0) -> tuple[int, int]:
        """Where the group stands."""
        ...


class Regex(Protocol):
    """What is used of a compiled expression."""

    groups: int
    """How many groups it has: none, or the one called `value`."""

    def finditer(self, text: bytes) -> Iterator[Match]:
        """All matches that do not overlap, from the left."""
        ...

    def search(self, text: bytes) -> Match | None:
        """The first match."""
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """A shape found in a text, from `start` to `end` (bytes)."""

    shape: Shape
    start: int
    end: int


@cache
def linear(expression: str) -> Regex:
    """`expression` compiled by RE2 for bytes; costs the import of `re2` the first time."""
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = _MEMORY
    options.log_errors = False
    return cast("Regex", re2.compile(expression.encode(), options))


def places(text: bytes, *, named_only: bool = False) -> Iterator[Place]:
    """Where the shapes stand in `text`, shape by shape; they may overlap.

    `named_only` leaves out the shapes that lean on a variable's name.
    """
    hinted = linear(_all_hints()).search(text) is not None
    lowered = b"" if named_only else text.lower()
    for shape in SHAPES:
        if not (hinted if shape.named else not named_only):
            continue
        haystack = lowered if shape.ignore_case else text
        if any(needle in haystack for needle in _needles(shape)):
            yield from _places_of(shape, text)


def _places_of(shape: Shape, text: bytes) -> Iterator[Place]:
    regex = linear(shape.regex)
    for match in regex.finditer(text):
        start, end = match.span(regex.groups)
        if start < 0:  # another alternative of the expression matched: all of it is the secret
            start, end = match.span()
        if _counts(shape, text[start:end].decode("latin-1")):
            yield Place(shape, start, end)


@cache
def _needles(shape: Shape) -> tuple[bytes, ...]:
    return tuple(needle.encode() for needle in shape.needles)


@cache
def _all_hints() -> str:
    """One expression for the hints of all named shapes; in most texts it finds nothing."""
    import re

    hints = [
        shape.hint or "|".join(re.escape(needle) for needle in shape.needles)
        for shape in SHAPES
        if shape.named
    ]
    return "|".join(f"(?:{hint})" for hint in hints)


def _counts(shape: Shape, value: str) -> bool:
    """Whether what fits the shape may be real."""
    if shape.random and not looks_random(value):
        return False
    if shape.name == "url-password":
        return not is_no_password(value)
    return not is_placeholder(value)
