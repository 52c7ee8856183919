"""What the tests of a Rust file claim, read by attributes and macros."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.gates.integrity import claims
from runner.gates.integrity.brace_sides import macro_sides, weakened
from runner.gates.integrity.braces import RUST, closing, line_of, masked, squeezed
from runner.gates.integrity.claims import Claim, TestBody, TestFile
from runner.gates.integrity.guards import guards_of

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
    mask = masked(source, RUST)
    tests = {}
    for match in _TEST.finditer(mask):
        attributes = source[match.start("attributes") : match.end("attributes")]
        if not _IS_TEST.search(attributes):
            continue
        begin, end = match.end() - 1, closing(mask, match.end() - 1)
        line = line_of(source, match.start("name"))
        held = [squeezed(one[0]) for one in _HELD.finditer(attributes)]
        tests[match["name"]] = TestBody(
            line=line,
            code=squeezed(source[begin:end], RUST),
            claims=tuple(_claims(source, mask, begin, end)),
            marks=tuple((mark, line) for mark in held),
            cases=tuple(squeezed(one[0]) for one in _CASE.finditer(attributes)),
            helped=bool(re.search(r"\b(?:check|verify|assert|expect)\w*\s*\(", mask[begin:end])),
        )
    return TestFile(tests)


def _claims(source: str, mask: str, begin: int, end: int) -> Iterator[Claim]:
    for match in _CLAIM.finditer(mask, begin, end):
        opening = match.end() - 1
        inside = source[opening + 1 : closing(mask, opening)]
        name = match[0].partition("!")[0]
        parts = re.split(r"\s*(?:,|[!=<>]=)\s*", squeezed(inside, RUST))
        text, sides = f"{name}!({squeezed(inside, RUST)})", macro_sides(inside, name, RUST)
        yield Claim(
            text=text,
            subject=parts[0],
            strength=weakened(_strength(name, inside), text, sides),
            sides=sides,
            line=line_of(source, match.start()),
            guards=guards_of(mask, begin, match.start()),
        )


def _strength(name: str, inside: str) -> float:
    if _CONSTANT.match(inside):
        return claims.CONSTANT
    if name.endswith("_eq") or "==" in inside or name in ("assert_matches", "panic", "unreachable"):
        return claims.EQUALS
    if "contains" in inside:
        return claims.CONTAINS
    return claims.COMPARES if re.search(r"[<>]", inside) else claims.TRUTH
