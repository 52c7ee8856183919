"""What the tests of a Rust file claim, read by attributes and macros."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.gates.integrity import assertions
from runner.gates.integrity.assertions import Claim, TestBody, TestFile
from runner.gates.integrity.brace_sides import macro_sides, weaken
from runner.gates.integrity.c_like_lexer import (
    RUST,
    find_closing,
    line_of,
    mask_literals,
    squeeze_code,
)
from runner.gates.integrity.unreachable import guards_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_TEST = re.compile(
    r"(?P<attributes>(?:#\[[^\]]*\]\s*)+)(?:pub\s+)?(?:async\s+)?fn\s+(?P<name>\w+)\s*\([^{;]*\{"
)
_IS_TEST = re.compile(r"#\[(?:\w+::)*(?:test|rstest|test_case|tokio::test|proptest)\b")
_HELD = re.compile(r"#\[(?:ignore|should_panic|cfg)\b[^\]]*\]")
_CASE = re.compile(r"#\[(?:case|test_case)\b[^\]]*\]")
_CLAIM = re.compile(r"\b(?:debug_)?(?:assert\w*|prop_assert\w*|panic|unreachable)!\s*[(\[{]")
_CONSTANT = re.compile(r"\s*(?:true|\d+\s*,\s*\d+|\d+\s*==\s*\d+)\s*(?:,|\Z)")


def read_rust(source: str) -> TestFile:
    """The functions that are marked as tests."""
    mask = mask_literals(source, RUST)
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
            code=squeeze_code(source[begin:end], RUST),
            claims=tuple(_claims(source, mask, begin, end)),
            marks=tuple((mark, line) for mark in held),
            cases=tuple(squeeze_code(one[0]) for one in _CASE.finditer(attributes)),
            helped=bool(re.search(r"\b(?:check|verify|assert|expect)\w*\s*\(", mask[begin:end])),
        )
    return TestFile(tests)


def _claims(source: str, mask: str, begin: int, end: int) -> Iterator[Claim]:
    for match in _CLAIM.finditer(mask, begin, end):
        opening = match.end() - 1
        inside = source[opening + 1 : find_closing(mask, opening)]
        name = match[0].partition("!")[0]
        parts = re.split(r"\s*(?:,|[!=<>]=)\s*", squeeze_code(inside, RUST))
        text, sides = f"{name}!({squeeze_code(inside, RUST)})", macro_sides(inside, name, RUST)
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
        return assertions.CONSTANT
    if name.endswith("_eq") or "==" in inside or name in ("assert_matches", "panic", "unreachable"):
        return assertions.EQUALS
    if "contains" in inside:
        return assertions.CONTAINS
    return assertions.COMPARES if re.search(r"[<>]", inside) else assertions.TRUTH
