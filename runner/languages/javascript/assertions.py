"""What a JavaScript or TypeScript test file claims, read by its calls."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from runner.languages import base
from runner.languages.base import Claim, TestBody, TestFile
from runner.languages.brace_assertions import arguments, guards_of, script_sides, weaken
from runner.languages.c_like_lexer import (
    find_closing,
    line_of,
    mask_literals,
    squeeze_code,
    statement_end,
    string_at,
)
from runner.languages.javascript import LITERALS
from runner.languages.javascript.loops import put_in, rows_around

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# `xit` and `fit` are jasmine's; jest knows both, mocha the first.
_CALL = re.compile(
    r"(?<![\w.$])(?P<word>x|f)?(?P<kind>it|test|describe|suite|context|specify)"
    r"(?P<how>(?:\.(?:skip|only|todo|failing|fails|concurrent|sequential|serial|each|skipIf|runIf))*)"
    r"\s*\("
)
_GROUPS = frozenset({"describe", "suite", "context"})
_HELD = re.compile(r"skip|only|todo|failing|fails|runIf")
# `test("…", { skip: true }, () => …)` of Node's runner, and of vitest in the same place.
_OPTION = re.compile(r"\b(?:skip|todo|only)\s*:\s*(?!false\b)")
_IN_BODY = re.compile(r"(?<![\w$])(?:\w+\.(?:skip|todo)|this\.skip|pending)\s*\(")
_EXPECT = re.compile(r"(?<![\w.$])(?:expect|assert|should)(?:\.\w+)*\s*\(|(?<=\.)should\b(?=\.)")
_MATCHER = re.compile(r"\.(\w+)\s*\(")
_WEAK_WORDS = """
toBeDefined toBeTruthy toBeFalsy toBeNull toBeUndefined ok isOk exists isDefined isNotNull
notEqual notStrictEqual notDeepEqual isTrue toHaveBeenCalled called
"""
_WEAK = frozenset(_WEAK_WORDS.split())
_PART_WORDS = """
toContain toMatch toMatchObject toContainEqual include match toHaveProperty toBeInstanceOf
contains includes toBeGreaterThan toBeLessThan toBeCloseTo instanceOf isAbove isBelow
toBeGreaterThanOrEqual toBeLessThanOrEqual
"""
_PART = frozenset(_PART_WORDS.split())
_LITERAL = re.compile(r"\s*(?:true|false|\d[\d.]*|null)\s*(?:,\s*(?:true|\d[\d.]*|null)\s*)?\Z")
_EMPTY_CATCH = re.compile(r"\bcatch\s*(?:\([^)]*\))?\s*\{\s*\}")
_HEAD = 200
_QUOTED = re.compile(r"""\s*(["'`])[^"'`]*\1\s*\Z""")


def tests_of(source: str) -> TestFile:
    """The tests of a file by the names of their groups and their own."""
    mask = mask_literals(source, LITERALS)
    asserting = _asserting_names(source)
    found = list(_calls(source, mask))
    tests: dict[str, TestBody] = {}
    marks: list[tuple[str, int]] = []
    rows = rows_around(source, mask, [(begin, end) for begin, end, _ in found])
    for begin, end, match in found:
        outer = [one for one in found if one[0] < begin and end <= one[1]]
        name = " > ".join(_name(source, mask, one) for one in (*outer, (begin, end, match)))
        held = tuple(_marks(source, mask, begin, end, match))
        if match["kind"] in _GROUPS:
            marks += held
            continue
        name = _fresh(name, tests)
        own = TestBody(
            line=line_of(source, begin),
            code=_code(source[begin:end]),
            claims=tuple(_claims(source, mask, match.end(), end)),
            marks=held,
            cases=tuple(_cases(source, mask, begin, match)),
            helped=_is_helped(mask, match.end(), end, asserting),
        )
        said = _spell_out(source, mask, (begin, end), own)
        if (turns := rows.get((begin, end))) and len(said) * len(turns) <= _MOST_SPELLED:
            said = frozenset(put_in(one, row) for one in said for row in turns)
        tests[name] = replace(own, spelled_out=said)
    return TestFile(tests, tuple(marks))


def _calls(source: str, mask: str) -> Iterator[tuple[int, int, re.Match[str]]]:
    """Begin and end of every test and group, with the match of its call."""
    for match in _CALL.finditer(mask):
        end = find_closing(mask, match.end() - 1)
        if ".each" in match["how"] and mask[end + 1 : end + 2] == "(":
            end = find_closing(mask, end + 1)
        is_test = string_at(source, match.end(), LITERALS) or "each" in match["how"]
        if is_test or match["how"] or match["word"]:
            yield match.start(), end, match


class MakingCall(NamedTuple):
    """A call that makes a test or a group of them."""

    start: int
    end: int
    name: str
    is_group: bool
    held: bool
    """Whether it is marked so that it does not run, or may fail."""


def test_calls(source: str, mask: str) -> tuple[MakingCall, ...]:
    """Every such call of a file, the outer before the inner."""
    return tuple(
        MakingCall(
            begin,
            end,
            _name(source, mask, (begin, end, match)),
            match["kind"] in _GROUPS,
            any(_marks(source, mask, begin, end, match)),
        )
        for begin, end, match in _calls(source, mask)
    )


def _name(source: str, mask: str, call: tuple[int, int, re.Match[str]]) -> str:
    _, _, match = call
    at = match.end()
    if ".each" in match["how"]:
        at = find_closing(mask, match.end() - 1) + 2
    return string_at(source, at, LITERALS)


_HELPS = re.compile(r"\b(?:check|verify|assert|expect|ensure)\w+\s*\(")
_BEGINS = re.compile(r"=>|\bfunction\b[ \w*]*\(\s*(?P<name>\w*)")
_BEFORE_ARROW = re.compile(r"(?:\(\s*(?P<first>\w+)[^(){}]*\)|(?<![\w$.])(?P<one>\w+))[ \n]*\Z")
_TELLS_WORDS = """
after afterEach before beforeEach comment context diagnostic end log mock name on pass plan runOnly
signal skip teardown test timeout timeoutAfter todo
"""
_TELLS = frozenset(_TELLS_WORDS.split())
"""What tape, tap, ava and node:test have a test do that is no assertion."""


_FROM = re.compile(
    r"(?:\b(?:const|let|var)\s{1,9}(?P<cjs>\{[^{}]{0,400}\}|[\w$]{1,80})\s{0,9}=\s{0,9}"
    r"require\(\s{0,9}"
    r"|\bimport\s{1,9}(?P<esm>[\w$\s{},*]{1,400}?)\s{1,9}from\s{1,9})[\"'](?:node:)?"
    r"(?:assert(?:/strict)?|chai|power-assert|expect|should|must|unexpected|uvu/assert)[\"']"
)
"""How a file takes in what asserts, under whatever name: `const a = require('assert')`."""


def _asserting_names(source: str) -> re.Pattern[str] | None:
    """A call of what a file took in from a library that asserts; None where it took none."""
    found = (one["cjs"] or one["esm"] for one in _FROM.finditer(source))
    names = {name for one in found for name in re.findall(r"[\w$]+", one)} - {"as", "type"}
    listed = "|".join(map(re.escape, sorted(names)))
    return re.compile(rf"(?<![\w.$])(?:{listed})(?:\.\w+)*\s*\(") if names else None


def _is_helped(mask: str, start: int, end: int, asserting: re.Pattern[str] | None) -> bool:
    """Whether a test calls what asserts for it: by its name, or of what its tool gave it."""
    if _HELPS.search(mask, start, end) or (asserting and asserting.search(mask, start, end)):
        return True
    begins = _BEGINS.search(mask, start, end)
    if begins is None:
        return False
    before = _BEFORE_ARROW.search(mask[max(start, begins.start() - _HEAD) : begins.start()])
    name = begins["name"] or (before and (before["first"] or before["one"]))
    if not name:
        return False
    called = re.compile(rf"(?<![\w.$]){name}\.(\w+)(?:\.\w+)*\(").finditer(mask, start, end)
    return any(one[1] not in _TELLS for one in called)


def _fresh(name: str, known: dict[str, TestBody]) -> str:
    number, fresh = 2, name
    while fresh in known:
        fresh, number = f"{name} #{number}", number + 1
    return fresh


def _code(text: str) -> str:
    """What a test does, without its name."""
    _, _, body = text.partition(",")
    return squeeze_code(body, LITERALS)


def _marks(
    source: str, mask: str, begin: int, end: int, match: re.Match[str]
) -> Iterator[tuple[str, int]]:
    line = line_of(source, begin)
    if match["word"] or _HELD.search(match["how"]):
        yield squeeze_code(match[0].rstrip("( ")), line
    function = re.compile(r"=>|\bfunction\b").search(mask, match.end(), end)
    head = mask[match.end() : function.start() if function else end]
    if option := _OPTION.search(head):
        yield squeeze_code(option[0]) + " …", line
    if match["kind"] not in _GROUPS:
        for inner in _IN_BODY.finditer(mask, match.end(), end):
            yield squeeze_code(inner[0]) + ")", line_of(source, inner.start())


def _cases(source: str, mask: str, begin: int, match: re.Match[str]) -> Iterator[str]:
    """Rows of `it.each([...])`."""
    if ".each" not in match["how"]:
        return
    opening = mask.find("[", begin)
    if opening < 0 or opening > find_closing(mask, match.end() - 1):
        return
    yield from arguments(source, mask, opening)


_FUNCTION = re.compile(
    r"(?:async\s+)?(?:function\b\s*\w*\s*\((?P<old>[^()]*)\)|\((?P<new>[^()]*)\)\s*=>|(?P<one>\w+)\s*=>)"
    r"\s*\{"
)
_MOST_SPELLED = 500
_WORD = re.compile(r"(?<![\w$.])[A-Za-z_$][\w$]*")


def _spell_out(source: str, mask: str, place: tuple[int, int], body: TestBody) -> frozenset[str]:
    """The claims of a test in each of its cases; empty where it does anything beside."""
    head = _FUNCTION.search(mask, *place)
    if head is None or len(body.claims) * max(1, len(body.cases)) > _MOST_SPELLED:
        return frozenset()
    said = squeeze_code(source[head.end() : find_closing(mask, head.end() - 1)], LITERALS)
    for claim in body.claims:
        said = said.replace(claim.text, "", 1)
    given = head["old"] or head["new"] or head["one"] or ""
    names = [name.strip() for name in given.split(",") if name.strip()]
    rows = [_values(case, len(names)) for case in body.cases] if names else [()]
    if said.strip("; ") or not rows or any(len(row) != len(names) for row in rows):
        return frozenset()
    return frozenset(
        f"{claim.strength:g} {_put_in(claim, dict(zip(names, row, strict=True)))}"
        for claim in body.claims
        for row in rows
        if claim.speaks
    )


def _values(case: str, count: int) -> tuple[str, ...]:
    found = arguments(case, mask_literals(case, LITERALS), 0) if case.startswith("[") else (case,)
    return found[:count]


def _put_in(claim: Claim, row: dict[str, str]) -> str:
    """A claim with values in the place of names, where these are no part of a string."""
    text = " == ".join(f"({side})" for side in claim.sides) or claim.text
    mask = mask_literals(text, LITERALS)
    for match in reversed(list(_WORD.finditer(mask))):
        if match[0] in row:
            text = text[: match.start()] + row[match[0]] + text[match.end() :]
    return text


def _claims(source: str, mask: str, start: int, end: int) -> Iterator[Claim]:
    for match in _EXPECT.finditer(mask, start, end):
        last = min(statement_end(mask, match.start()), end)
        text = squeeze_code(source[match.start() : last], LITERALS)
        opening = mask.find("(", match.start())
        about = source[opening + 1 : find_closing(mask, opening)] if opening >= 0 else ""
        sides = script_sides(text, LITERALS)
        yield Claim(
            text=text,
            subject=_subject(about, match[0]),
            strength=weaken(_strength(text, match[0], about), text, sides),
            sides=sides,
            line=line_of(source, match.start()),
            guards=guards_of(mask, start, match.start()),
        )


def _subject(about: str, call: str) -> str:
    """What is asserted about; of `assert.equal(a, 1)` the first argument."""
    if call.startswith("assert"):
        mask = mask_literals(about, LITERALS)
        at = 0
        while at < len(mask) and mask[at] != ",":
            at = find_closing(mask, at) + 1 if mask[at] in "([{" else at + 1
        return re.split(r"\s*[!=]==?\s*", squeeze_code(about[:at]))[0]
    return squeeze_code(about)


def _strength(text: str, call: str, about: str) -> float:
    words = set(re.findall(r"\.(\w+)", mask_literals(text, LITERALS)))
    if call.startswith("expect") and not _MATCHER.search(mask_literals(text, LITERALS)):
        return base.CONSTANT  # expect(x) alone checks nothing
    if _LITERAL.match(about) or _QUOTED.match(about):
        return base.CONSTANT
    if "not" in words or words & _WEAK:
        return base.TRUTH
    if words & _PART:
        return base.CONTAINS
    if call.startswith("assert") and "." not in call:
        return base.EQUALS if re.search(r"===?", about) else base.TRUTH
    return base.EQUALS


def find_swallowed(source: str) -> list[tuple[str, int]]:
    """Handlers that catch everything and do nothing about it."""
    mask = mask_literals(source, LITERALS)
    return [("catch {}", line_of(source, match.start())) for match in _EMPTY_CATCH.finditer(mask)]


def test_command(paths: tuple[str, ...], text: bytes, known: str) -> str:
    """A command that runs these files of tests; only where Node itself runs them."""
    del known
    if paths[0].endswith((".js", ".mjs", ".cjs")) and b"node:test" in text:
        return f"node --test {' '.join(map(shlex.quote, paths))}"
    return ""


# --- tests of before that do not compile with code of now -----------------------------------

_UNTYPED = "// @ts-nocheck\n"
# Behind a docblock: jest reads its own only where a file begins with it.
_DOCBLOCK = re.compile(r"(?:#![^\n]*\n)?(?:\s*/\*.*?\*/[ \t]*\n?)?", re.DOTALL)


def loosen_tests(
    tests: Mapping[str, str], product: Mapping[str, str], errors: Mapping[str, frozenset[int]]
) -> dict[str, str]:
    """Tests in which TypeScript met errors with their types unlooked at: they run as JavaScript."""
    del product
    return {
        path: f"{head[0]}{_UNTYPED}{source[head.end() :]}"
        for path in errors
        if (source := tests.get(path, ""))
        and _UNTYPED not in source
        and (head := _DOCBLOCK.match(source))
    }
