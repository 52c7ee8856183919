"""Search all credential patterns: literals first, then RE2 in linear time."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

import re2
from msgspec import Struct, field

from runner.secrets.entropy import (
    is_default_password,
    is_encoded,
    is_hexadecimal,
    is_identifier,
    is_login,
    is_no_password,
    is_placeholder,
    is_reserved,
    looks_chosen,
    looks_random,
    looks_typed,
    reads_as_words,
)
from runner.secrets.load_rules import all_shapes, redacting_shapes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.secrets.load_rules import SecretShape

_MEMORY = 64 << 20
"""Bytes for one RE2 automaton; above that it is slower but still linear."""


_SHORT = 256
"""Bytes of a text below which shapes are selected faster by their first letters."""
_WORTH_GATES = 256 << 10
"""Bytes: compiling all gates takes as long as searching this many for each shape's literals."""


class _Row(NamedTuple):
    """A shape as it is looked for."""

    shape: SecretShape
    gate: str
    needles: tuple[bytes, ...]


class _Prepared(Struct):
    """All shapes that are looked for together, made ready."""

    shapes: tuple[SecretShape, ...]
    rows: tuple[_Row, ...]
    read: int = 0
    """Bytes searched without gates."""
    gates: tuple[tuple[str, Regex], ...] | None = None
    """Compiled once enough bytes were searched."""
    by_begin: dict[bytes, tuple[int, ...]] = field(default_factory=dict)
    """Rows by the first two bytes of their literal; fewer if the literal is shorter."""


_prepared: dict[int, _Prepared] = {}
"""By the id of a tuple that it keeps alive: to hash all shapes takes longer than to look for them.
"""


class RegexMatch(Protocol):
    """The part of a match that is used here."""

    def span(self, group: int = 0) -> tuple[int, int]:
        """Return start and end of the group."""
        ...


class Regex(Protocol):
    """The part of a compiled expression that is used here."""

    groups: int
    """Number of groups: none, or the one named `value`."""

    def finditer(self, text: bytes) -> Iterator[RegexMatch]:
        """Yield all matches from the left without overlaps."""
        ...

    def search(self, text: bytes, pos: int = 0) -> RegexMatch | None:
        """Return the first match from a position on."""
        ...


class ShapeMatch(Struct, frozen=True):
    """A shape found in a text, from `start` to `end` (bytes)."""

    shape: SecretShape
    start: int
    end: int


@cache
def linear(expression: str) -> Regex:
    """Compile `expression` with RE2 for bytes; imports `re2` at the first call."""
    options = re2.Options()
    # One byte is one letter: positions are bytes of the text, and non-UTF-8 bytes cannot end a
    # search.
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = _MEMORY
    options.log_errors = False
    return cast("Regex", re2.compile(expression.encode(), options))


def places(text: bytes, *, to_redact: bool = False) -> Iterator[ShapeMatch]:
    """Yield the matches of each shape in `text`; they may overlap.

    With `to_redact` only of those that may hide what a person reads.
    """
    shapes = redacting_shapes() if to_redact else all_shapes()
    known = _prepared.get(id(shapes)) or _prepare(shapes)
    lowered = text.lower()
    is_short = len(text) <= _SHORT and known.gates is None
    for row in _find_near(known, text, lowered) if is_short else _find_open(known, text):
        haystack = lowered if row.shape.ignore_case else text
        for needle in row.needles:
            if needle in haystack:
                yield from _places_of(row.shape, text)
                break


def _find_near(known: _Prepared, text: bytes, lowered: bytes) -> list[_Row]:
    """Return the rows whose literals may occur in a short text, in order."""
    pairs = {each[at : at + 2] for each in (text, lowered) for at in range(len(text))}
    # A clone's shape may contain no literal: then it is searched in every text.
    begins = pairs.union((each[:1] for each in pairs), (b"",)) & known.by_begin.keys()
    numbers = {number for begin in begins for number in known.by_begin[begin]}
    return [known.rows[number] for number in sorted(numbers)]


def _find_open(known: _Prepared, text: bytes) -> Iterable[_Row]:
    """Return the rows whose gate matches the text; all rows before gates are compiled."""
    gates = _find_gates(known, len(text))
    if gates is None:
        return known.rows
    open_gates = {gate for gate, regex in gates if regex.search(text)}
    return [row for row in known.rows if row.gate in open_gates] if open_gates else ()


def _prepare(shapes: tuple[SecretShape, ...]) -> _Prepared:
    rows = tuple(
        _Row(shape, _gate_of(shape), tuple(needle.encode() for needle in shape.needles))
        for shape in shapes
    )
    begins: dict[bytes, dict[int, None]] = {}
    for number, row in enumerate(rows):
        for needle in row.needles:
            begins.setdefault(needle[:2], {})[number] = None
    by_begin = {begin: tuple(numbers) for begin, numbers in begins.items()}
    made = _prepared[id(shapes)] = _Prepared(shapes, rows, by_begin=by_begin)
    return made


def _places_of(shape: SecretShape, text: bytes) -> Iterator[ShapeMatch]:
    for start, end in _find_nested(shape, text) if shape.nested else _values(shape, text):
        value = text[start:end].decode("latin-1")
        if not value or not _counts(shape, value):
            continue
        if shape.reserved and is_reserved(text, end, value):
            continue
        if shape.named or not is_identifier(text, start, value):
            yield ShapeMatch(shape, start, end)


def _values(shape: SecretShape, text: bytes) -> Iterator[tuple[int, int]]:
    regex = linear(_open_boundary(shape.regex))
    for match in regex.finditer(text):
        start, end = match.span(regex.groups)
        # Without it another alternative matched: the whole match is the secret.
        start, end = (start, end) if start >= 0 else match.span()
        # The underscore belongs to the name before: `_open_boundary` accepts it as a boundary.
        yield start + text.startswith(b"_", start), end


def _find_nested(shape: SecretShape, text: bytes) -> Iterator[tuple[int, int]]:
    """Yield the ranges of values, including those that start within another one.

    Linear as long as no value may hold what ends it.
    """
    regex = linear(shape.regex)
    match = regex.search(text)
    while match is not None:
        start, end = match.span(regex.groups)
        yield start, end
        match = regex.search(text, start + 1)


@cache
def _open_boundary(expression: str) -> str:
    """Return an expression that also matches after `_` where it requires a word boundary."""
    return re.sub(r"(\A|\|)\\b", r"\1(?:\\b|_)", expression)


def _is_hinted(shape: SecretShape) -> bool:
    """Return whether a format is found by its hint, which is case sensitive."""
    return shape.named and "(?i" not in shape.regex


def _gate_of(shape: SecretShape) -> str:
    if _is_hinted(shape):
        return "named"
    return shape.name if shape.name in ("assigned", "password") else "other"


def _find_gates(known: _Prepared, more: int) -> tuple[tuple[str, Regex], ...] | None:
    """Return the gates, compiled once enough text was read; None before.

    A gate is only a quicker no: without it the literals of each shape are looked for.
    """
    known.read += more  # of two threads one may be forgotten: both count on
    if known.gates is None and known.read > _WORTH_GATES:
        found = _gates(known.shapes).items()
        known.gates = tuple((gate, linear(expression)) for gate, expression in found)
    return known.gates


def _gates(shapes: tuple[SecretShape, ...]) -> dict[str, str]:
    """Return one expression per group of formats, as a quick test that rarely matches.

    For named shapes it is made of their hints, for all others of the expressions themselves: RE2
    reads a text once for twenty of them as fast as for one.
    """
    parts: dict[str, list[str]] = {}
    for shape in shapes:
        expression = shape.regex
        if _is_hinted(shape):
            expression = shape.hint or "|".join(re.escape(needle) for needle in shape.needles)
        # An expression may define a group name only once.
        bare = expression.replace("(?P<value>", "(?:").replace("(?i)", "")
        parts.setdefault(_gate_of(shape), []).append(f"(?:{_open_boundary(bare)})")
    return {
        gate: ("" if gate == "named" else "(?i)") + "|".join(expressions)
        for gate, expressions in parts.items()
    }


def _counts(shape: SecretShape, value: str) -> bool:
    """Return whether a match of a format may be a real secret."""
    if shape.random and not looks_random(value):
        return False
    if shape.unlike_digest and is_hexadecimal(value):
        return False
    if shape.unlike_words and reads_as_words(value):
        return False
    if shape.login:
        return is_login(value)
    if shape.encoded:
        return is_encoded(value)
    if shape.password:
        return looks_chosen(value)
    if shape.typed:
        return looks_typed(value)
    if shape.chosen:
        return not is_default_password(value)
    if shape.name == "url-password":
        return not is_no_password(value)
    return not is_placeholder(value)
