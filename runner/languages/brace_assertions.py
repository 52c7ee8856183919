"""What a test asserts in languages with braces: both sides, how firmly, what keeps it silent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.languages.base import AFTER_RETURN, NEVER, RUNS, SWALLOWED, same_on_both
from runner.languages.c_like_lexer import find_closing, mask_literals, squeeze_code

if TYPE_CHECKING:
    from collections.abc import Iterator

_TWO = 2
_EQUALITY = re.compile(r"\s*(===?|!==?)\s*")
_SCRIPT_EQUAL = re.compile(
    r"\)\s*\.\s*(?:(?:resolves|rejects|to|be|deep)\s*\.\s*)*"
    r"(?:toBe|toEqual|toStrictEqual|equals?|eql|eq|strictEqual|deepEqual)\s*(?=\()"
)
_ASSERT_EQUAL = re.compile(r"\.\w*(?:[eE]quals?|Same)\w*\Z|_eq\Z")
_ANYTHING = re.compile(r"expect\.(?:anything|any)\(|(?:sinon\.)?match\.any\b")
_MATCHES_ALL = re.compile(
    r"toMatch\w*\(\s*(?:/\^?(?:\.\*|\(\?:\)|\[\\s\\S\]\*)\$?/\w*|''|\"\")\s*\)"
)
_NEGATED = re.compile(
    r"\A!\s*(?:reflect\.DeepEqual|bytes\.Equal|cmp\.Equal|slices\.Equal)\s*(?=\()"
)
_HELPS = re.compile(r"\b(?:check|verify|assert|expect)\w*\s*\(")
_NEVER = re.compile(r"\b(?:if|while)\s*\(?\s*(?:false|0)\s*\)?\s*(?=\{)")
_TRY = re.compile(r"\btry\s*(?=\{)")
_CATCH = re.compile(r"\s*catch\s*(?:\([^)]*\))?\s*(?=\{)")
_RETURN = re.compile(r"(?:\A|[;{}\n])\s*return\b[ \t]*;?[ \t]*(?=\n|\})")
_RAISED = re.compile(r"\bthrow\b|\bfail\s*\(|\bexpect\b|\bassert\b|\bdone\s*\(")


def script_sides(text: str, tokens: re.Pattern[str]) -> tuple[str, ...]:
    """Of `expect(a).toBe(b)`, `assert.equal(a, b)` or `assert(a === b)`."""
    mask = mask_literals(text, tokens)
    opening = mask.find("(")
    if opening < 0:
        return ()
    inside = arguments(text, mask, opening)
    if text.startswith("expect"):
        match = _SCRIPT_EQUAL.match(mask, find_closing(mask, opening))
        return (*inside[:1], *arguments(text, mask, match.end())[:1]) if match else ()
    if _ASSERT_EQUAL.search(text[:opening]) and "ot" not in text[:opening].rpartition(".")[2][:2]:
        return inside[:_TWO] if len(inside) >= _TWO else ()
    return split_at_equality(inside[0], tokens) if inside and "." not in text[:opening] else ()


def go_sides(text: str, tokens: re.Pattern[str]) -> tuple[str, ...]:
    """Of `if a != b: t.Errorf(…)`, `if !reflect.DeepEqual(a, b): …` or `assert.Equal(t, a, b)`."""
    if text.startswith("if "):
        head = text.removeprefix("if ").rpartition(": t.")[0].rpartition(";")[2].strip()
        mask = mask_literals(head, tokens)
        if match := _NEGATED.match(mask):
            found = arguments(head, mask, match.end())
            return found if len(found) == _TWO else ()
        return split_at_equality(head, tokens)
    mask = mask_literals(text, tokens)
    opening = mask.find("(")
    if opening >= 0 and _ASSERT_EQUAL.search(text[:opening]) and "Not" not in text[:opening]:
        return arguments(text, mask, opening)[1:3]
    return ()


def macro_sides(inside: str, name: str, tokens: re.Pattern[str]) -> tuple[str, ...]:
    """Of `assert_eq!(a, b)` or `assert!(a == b)`."""
    mask = mask_literals(inside, tokens)
    found = arguments(f"({inside})", f"({mask})", 0)
    if name.endswith("_eq"):
        return found[:_TWO] if len(found) >= _TWO else ()
    return split_at_equality(found[0], tokens) if found and not name.endswith("_ne") else ()


def arguments(text: str, mask: str, opening: int) -> tuple[str, ...]:
    """What stands between brackets, at commas that are in no others."""
    return tuple(_pieces(text, mask, opening))


def _pieces(text: str, mask: str, opening: int) -> Iterator[str]:
    last = find_closing(mask, opening)
    start = at = opening + 1
    while at < last:
        if mask[at] in "([{":
            at = find_closing(mask, at)
        elif mask[at] == ",":
            yield squeeze_code(text[start:at])
            start = at + 1
        at += 1
    if text[start:last].strip():
        yield squeeze_code(text[start:last])


def split_at_equality(text: str, tokens: re.Pattern[str]) -> tuple[str, ...]:
    """Both sides of a comparison that is the whole of a condition."""
    mask = mask_literals(text, tokens)
    if "&&" in mask or "||" in mask:
        return ()
    found = list(_EQUALITY.finditer(mask))
    if len(found) != 1:
        return ()
    sides = text[: found[0].start(1)].strip(), text[found[0].end(1) :].strip()
    return sides if all(sides) else ()


def weaken(strength: float, text: str, sides: tuple[str, ...]) -> float:
    """How much a claim says, once it is known what its sides are."""
    anything = any(map(_ANYTHING.match, sides[1:])) or _MATCHES_ALL.search(text)
    return min(strength, RUNS) if anything or same_on_both(sides) else strength


# --- what keeps it silent -----------------------------------------------------------------


def is_helped(mask: str, begin: int, end: int) -> bool:
    """Whether a test calls what asserts for it, by its name."""
    return bool(_HELPS.search(mask, begin, end))


def guards_of(mask: str, start: int, at: int) -> frozenset[str]:
    """What stands before the place `at` in a body that begins at `start`."""
    found = set()
    if any(at < end for _, end in _blocks(mask, _NEVER, start, at)):
        found.add(NEVER)
    for _, end in _blocks(mask, _TRY, start, at):
        handler = _CATCH.match(mask, end + 1)
        if at < end and handler:
            caught = mask[handler.end() : find_closing(mask, handler.end())]
            if not _RAISED.search(caught):
                found.add(SWALLOWED)
    if _RETURN.search(mask, start, at):
        found.add(AFTER_RETURN)
    return frozenset(found)


def _blocks(mask: str, opening: re.Pattern[str], start: int, at: int) -> list[tuple[int, int]]:
    found = (match.end() for match in opening.finditer(mask, start, at))
    return [(begin, find_closing(mask, begin)) for begin in found]
