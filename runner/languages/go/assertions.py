"""What a Go test file claims, read by its functions and calls."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from runner.languages import base
from runner.languages.base import Claim, TestBody, TestFile
from runner.languages.brace_assertions import go_sides, guards_of, is_helped, weaken
from runner.languages.c_like_lexer import (
    find_closing,
    line_of,
    mask_literals,
    squeeze_code,
    statement_end,
)
from runner.languages.go import LITERALS

if TYPE_CHECKING:
    from collections.abc import Iterator

_FUNCTION = re.compile(r"^func\s+(?:\([^)]*\)\s*)?(\w+)\s*\([^{]*\)[^{\n]*\{", re.MULTILINE)
_RUNS_ALL = re.compile(r"\*\s*(?:\w+\.)?M\b")
"""What `TestMain` is given: it runs the tests, and is none."""
_TESTING = re.compile(r"\((\w+)\s+\*?testing\.\w+\)")
"""What the framework gives a test: who is handed it may let the test fail."""
# `Testing` is no test: what follows the word begins with no small letter (go help testfunc).
_TEST = re.compile(r"\A(?:Test|Benchmark|Fuzz|Example)(?![a-z])")
# What an example prints is compared with this comment (package testing, Examples).
_PRINTED = re.compile(r"//[ \t]*(?i:(?:unordered )?output):")
_SKIP = re.compile(r"\b\w+\.(?:Skip|SkipNow|Skipf)\s*\(")
_RUN = re.compile(r"\b\w+\.Run\s*\(\s*(\"[^\"]*\")")
_CLAIM = re.compile(
    r"\b(?!\w*[eE]rr\w*\.Error\(\))(?:\w+\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)|(?:assert|require|is|qt)\.\w+)\s*\("
)
_PREPARES = re.compile(
    r"(?:=|\A)\s*(?:os\.(?:Setenv|Unsetenv|Chdir|Mkdir(?:All|Temp)?|CreateTemp)|ioutil\.Temp(?:Dir|File))\("
)
"""What makes ready for a test: that it fails says nothing of the product."""
_TABLE = re.compile(r"\[\]\s*(?:struct\s*(?=\{)|\w+\s*(?=\{))")
# `+build` is the form before Go 1.17 (go help buildconstraint).
_BUILD = re.compile(r"^//\s*(?:go:build|\+build)\s+(.+)$", re.MULTILINE)
_WEAK_WORDS = """
NotNil True False NotEmpty NotEqual NoError Error NotPanics NotZero
"""
_WEAK = frozenset(_WEAK_WORDS.split())
_PART_WORDS = """
Contains Subset Regexp InDelta InEpsilon Greater Less Len ErrorContains
"""
_PART = frozenset(_PART_WORDS.split())


def tests_of(source: str) -> TestFile:
    """The tests of a file, their subtests and table rows as cases."""
    mask = mask_literals(source, LITERALS)
    tests = {}
    for match in _FUNCTION.finditer(mask):
        begin, end = match.end() - 1, find_closing(mask, match.end() - 1)
        is_test = bool(_TEST.match(match[1])) and not _RUNS_ALL.search(match[0])
        found = tuple(_claims(source, mask, begin, end))
        if is_test or found:
            tests[match[1]] = TestBody(
                line=line_of(source, match.start()),
                code=squeeze_code(source[begin:end], LITERALS),
                claims=found,
                marks=tuple(
                    (squeeze_code(skip[0]) + ")", line_of(source, skip.start()))
                    for skip in _SKIP.finditer(mask, begin, end)
                ),
                cases=tuple(_cases(source, mask, begin, end)),
                is_test=is_test,
                helped=is_helped(mask, begin, end)
                or _is_handed_on(mask, match[0], begin, end)
                or (match[1].startswith("Example") and bool(_PRINTED.search(source, begin, end))),
            )
    marks = (
        (f"//go:build {one[1]}", line_of(source, one.start())) for one in _BUILD.finditer(source)
    )
    return TestFile(tests, tuple(marks))


def _is_handed_on(mask: str, head: str, begin: int, end: int) -> bool:
    """Whether a test gives another function what lets it fail: `rows.validate(t)`."""
    given = _TESTING.search(head)
    return bool(given and re.search(rf"[(,]\s*{given[1]}\s*[,)]", mask[begin:end]))


def _cases(source: str, mask: str, begin: int, end: int) -> Iterator[str]:
    """Names of subtests, and rows of tables of tests."""
    for match in _RUN.finditer(source, begin, end):
        yield f"t.Run({match[1]})"
    for match in _TABLE.finditer(mask, begin, end):
        opening = match.end()
        if match[0].lstrip("[] ").startswith("struct"):
            opening = mask.find("{", find_closing(mask, match.end()) + 1, end)
        if opening >= 0:
            yield from _rows(source, mask, opening)


def _rows(source: str, mask: str, opening: int) -> Iterator[str]:
    last = find_closing(mask, opening)
    at = opening + 1
    while at < last:
        if mask[at] == "{":
            stop = find_closing(mask, at)
            yield squeeze_code(source[at : stop + 1], LITERALS)
            at = stop
        at += 1


def _claims(source: str, mask: str, begin: int, end: int) -> Iterator[Claim]:
    for match in _CLAIM.finditer(mask, begin, end):
        last = min(statement_end(mask, match.start()), end)
        text = squeeze_code(source[match.start() : last], LITERALS)
        text = f"{_condition(source, mask, begin, match.start())}{text}"
        if _prepares(mask, begin, match.start()):
            continue
        word = match[0].rpartition(".")[2].rstrip("( \t\n")
        sides = go_sides(text, LITERALS)
        yield Claim(
            text=text,
            subject=_subject(text, word),
            strength=weaken(_strength(word), text, sides),
            sides=sides,
            line=line_of(source, match.start()),
            guards=guards_of(mask, begin, match.start()),
        )


def _condition(source: str, mask: str, begin: int, at: int) -> str:
    """The `if` that an error of `testing` stands below: it is what is asserted."""
    opening = mask.rfind("{", begin, at)
    start = mask.rfind("\n", begin, opening) + 1
    head = squeeze_code(source[start:opening])
    inside = opening > begin and head.startswith("if ") and find_closing(mask, opening) > at
    return f"{head}: " if inside else ""


def _prepares(mask: str, begin: int, at: int) -> bool:
    """Whether it stands below the `if` of an error that making ready for the test gave."""
    opening = mask.rfind("{", begin, at)
    start = mask.rfind("\n", begin, opening) + 1
    head = mask[start:opening].strip()
    if opening <= begin or not head.startswith("if ") or find_closing(mask, opening) < at:
        return False
    before = mask[mask.rfind("\n", begin, max(start - 1, begin)) + 1 : start]
    said = head if ";" in head else before if re.fullmatch(r"if err\w* != nil", head) else ""
    return bool(_PREPARES.search(said))


def _subject(text: str, word: str) -> str:
    if text.startswith("if "):
        return re.split(r"\s*(?:[!=<>]=|[<>])\s*", text.partition(":")[0])[0]
    inside = text.partition("(")[2].removesuffix(")")
    about = [part.strip() for part in inside.split(",")][1:]
    return "".join(about[1:2] if len(about) > 1 and word not in _WEAK else about[:1])


def _strength(word: str) -> float:
    if word in _WEAK:
        return base.EQUALS if word in ("Error", "NoError") else base.TRUTH
    return base.CONTAINS if word in _PART else base.EQUALS


def test_command(paths: tuple[str, ...], text: bytes, known: str) -> str:
    """A command that runs the packages of these files of tests."""
    del text, known
    # With `./`, as a bare path is one of an import (go help packages); and no files, as one that
    # is named alone is compiled without those beside it.
    folders = sorted({f"./{path.rpartition('/')[0]}".rstrip("/") for path in paths})
    return f"go test -v {' '.join(map(shlex.quote, folders))}"
