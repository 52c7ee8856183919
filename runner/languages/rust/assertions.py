"""What the tests of a Rust file claim, read by attributes and macros."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.languages import base
from runner.languages.base import Claim, TestBody, TestFile
from runner.languages.brace_assertions import guards_of, is_helped, macro_sides, weaken
from runner.languages.c_like_lexer import (
    find_closing,
    line_of,
    mask_literals,
    squeeze_code,
)
from runner.languages.rust import LITERALS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TEST = re.compile(
    r"(?P<attributes>(?:#\[[^\]]*\]\s*)+)(?:pub\s+)?(?:async\s+)?fn\s+(?P<name>\w+)\s*\([^{;]*\{"
)
_IS_TEST = re.compile(r"#\[(?:\w+::)*(?:test|rstest|test_case|tokio::test|proptest)\b")
_HELD = re.compile(r"#\[(?:ignore|should_panic|cfg)\b[^\]]*\]")
_CASE = re.compile(r"#\[(?:case|test_case)\b[^\]]*\]")
_CLAIM = re.compile(r"\b(?:debug_)?(?:assert\w*|prop_assert\w*|panic|unreachable)!\s*[(\[{]")
_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\s+)?mod\s+(?P<name>\w+)\s*\{")
_FN = re.compile(
    r"(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?(?:(?:async|const|unsafe)\s+)*"
    r"fn\s+\w+[^{;]*\{"
)
_USE = re.compile(r"^[ \t]*(?:pub\s+)?use\s[^;]*;", re.MULTILINE)
_CONSTANT = re.compile(r"\s*(?:true|\d+\s*,\s*\d+|\d+\s*==\s*\d+)\s*(?:,|\Z)")


def tests_of(source: str) -> TestFile:
    """The functions that are marked as tests."""
    mask = mask_literals(source, LITERALS)
    tests = {}
    for match in _TEST.finditer(mask):
        attributes = source[match.start("attributes") : match.end("attributes")]
        if not _IS_TEST.search(attributes):
            continue
        begin, end = match.end() - 1, find_closing(mask, match.end() - 1)
        line = line_of(source, match.start("name"))
        held = [squeeze_code(one[0]) for one in _HELD.finditer(attributes)]
        tests[match["name"]] = TestBody(
            line=line,
            code=squeeze_code(source[begin:end], LITERALS),
            claims=tuple(_claims(source, mask, begin, end)),
            marks=tuple((mark, line) for mark in held),
            cases=tuple(squeeze_code(one[0]) for one in _CASE.finditer(attributes)),
            helped=is_helped(mask, begin, end),
        )
    return TestFile(tests)


def _claims(source: str, mask: str, begin: int, end: int) -> Iterator[Claim]:
    for match in _CLAIM.finditer(mask, begin, end):
        opening = match.end() - 1
        inside = source[opening + 1 : find_closing(mask, opening)]
        name = match[0].partition("!")[0]
        parts = re.split(r"\s*(?:,|[!=<>]=)\s*", squeeze_code(inside, LITERALS))
        text, sides = (
            f"{name}!({squeeze_code(inside, LITERALS)})",
            macro_sides(inside, name, LITERALS),
        )
        yield Claim(
            text=text,
            subject=parts[0],
            strength=weaken(_strength(name, inside), text, sides),
            sides=sides,
            line=line_of(source, match.start()),
            guards=guards_of(mask, begin, match.start()),
        )


def _strength(name: str, inside: str) -> float:
    if _CONSTANT.match(inside):
        return base.CONSTANT
    if name.endswith("_eq") or "==" in inside or name in ("assert_matches", "panic", "unreachable"):
        return base.EQUALS
    if "contains" in inside:
        return base.CONTAINS
    return base.COMPARES if re.search(r"[<>]", inside) else base.TRUTH


def find_inner_tests(source: str) -> list[tuple[int, int]]:
    """Where modules of tests in a file of the product begin and end, in their order."""
    mask = mask_literals(source, LITERALS)
    found = (match for match in _MODULE.finditer(mask))
    return [(one.start(), find_closing(mask, one.end() - 1) + 1) for one in found]


# --- tests of before that do not compile with code of now -----------------------------------


def loosen_tests(
    tests: Mapping[str, str], product: Mapping[str, str], errors: Mapping[str, frozenset[int]]
) -> dict[str, str]:
    """Tests without the functions and the `use` in which the compiler met errors.

    What used those does not compile in its turn, and goes next. In a file of the product only its
    modules of tests are touched.
    """
    del product
    found = {}
    for path, lines in errors.items():
        source = tests.get(path, "")
        kept = source
        for start, end in sorted(_wrong(source, lines), reverse=True):
            kept = kept[:start] + kept[end:]
        if kept != source:
            found[path] = kept
    return found


def _wrong(source: str, lines: frozenset[int]) -> Iterator[tuple[int, int]]:
    mask = mask_literals(source, LITERALS)
    ours = find_inner_tests(source) or [(0, len(source))]
    past = 0
    for match in re.finditer(f"{_FN.pattern}|(?P<use>{_USE.pattern})", mask, re.MULTILINE):
        if match.start() < past or not any(a <= match.start() < b for a, b in ours):
            continue
        end = match.end() if match["use"] else find_closing(mask, match.end() - 1) + 1
        past = end
        first, last = line_of(source, match.start()), line_of(source, end)
        if any(first <= line <= last for line in lines):
            yield match.start(), end
