"""What the tests that run a function assert, read from their texts: where no mutant can say.

A mutant that crashes shows that its code ran, and not that anybody looks at what comes out. Read is
as far as it is sure: what a test hands on, or asks by a word that is not known, counts as looked
at.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from runner.gates.test_bodies import read_tests
from runner.languages.base import TRUTH
from runner.languages.c_like_lexer import mask_literals
from runner.languages.registry import code_row, is_written_in, read_code
from runner.lazy_pattern import regex
from runner.text.prose import IDENTIFIER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from runner.gates.base import GateContext
    from runner.gates.mutation.mutants import Subject
    from runner.gates.mutation.run_mutants import Executions
    from runner.languages.base import Claim, TestBody


class Looks(IntEnum):
    """How closely tests look at what a function does."""

    NEVER = 0
    """None of them asserts anything."""
    ASIDE = 1
    """At something else, or whether there is anything at all."""
    PERHAPS = 2
    """At something that may be what it did: how is not read, or they run it through another."""
    CLOSELY = 3
    """At what they get of it, by its name."""


_CALLED = regex(r"(?<![\w$])(\w+)[ \t]*\(")
_MAY_ASSERT = regex(
    r"assert|expect|should|verif|check|ensure|equal|same|match|compar|throw|reject|raise|fail"
    r"|fatal|panic|snapshot|golden",
    re.IGNORECASE,
)
# A test of Go fails by what it was handed, by a suite that it is a method of, or by ending the
# program: `v.Equal(x)` and `c.Check(v)` are the product's.
_MAY_ASSERT_IN_GO = regex(r"assert|expect|should|require|fail|fatal|panic", re.IGNORECASE)
_METHOD = regex(r"func\s+\(\w+ ")
_REFUSES = regex(r"(?m)^[ \t]*raise\b|(?<![\w.$])throw\b")
_OF_BASE = regex(r"\b(?:self|this)\.\w+\s*\(")
"""Of a class that stands elsewhere, perhaps: what it asserts is not read."""
_TARGET = regex(
    r"\s*(?:(?:const|let|var|if|switch|async\s+with|with|async\s+for|for)\b\s*\(?)?"
    r"(?P<to>[^=(]*?)\s*(?::=|(?<![=!<>+*/%|&^-])=(?![=>])|\+=|\brange\b|\bof\b|\bin\b)(?P<of>.*)"
)
_AS = regex(r"\s*(?:async\s+)?with\b(?P<of>.*)\bas\s+(?P<to>[\w, ()]+):")
_NIL = regex(r"if (?:[^:]*; ?)?[\w.]+ ?[!=]= ?nil ?: ")
_NO_NAMES = frozenset({"self", "this", "_", "t", "const", "let", "var", "for", "if", "with"})
_ROUNDS = 3
_LONGEST = 2000
"""Letters of a line that is read; a longer one may hold anything."""


class _Test(NamedTuple):
    path: str
    name: str
    body: TestBody
    head: str
    lines: tuple[str, ...]
    """Its statements, one a line as far as its language has them so; texts are empty."""


class TestClaims:
    """The tests of a proposal, read at the first function that is asked about."""

    __test__ = False

    def __init__(self, bench: GateContext, executions: Executions) -> None:
        self._bench = bench
        self._executions = executions
        self._known: dict[tuple[str, str], Looks] = {}
        self._parsed: dict[str, tuple[_Test, ...]] = {}

    def look_at(self, subject: Subject) -> Looks:
        """How closely the tests that run a function look at it."""
        key = subject.path, subject.name
        if key not in self._known:
            self._known[key] = self._look_at(subject)
        return self._known[key]

    def assert_nothing(self, subjects: Collection[Subject]) -> bool:
        """Whether no test that runs any of these functions asserts anything."""
        return bool(subjects) and all(self.look_at(one) is Looks.NEVER for one in subjects)

    def _look_at(self, subject: Subject) -> Looks:
        word = subject.name.rpartition(".")[2]
        tests = self._tests_of(subject, word)
        if not tests:
            return Looks.PERHAPS  # nobody can tell
        return max(self._look(one, word) for one in tests)

    def _tests_of(self, subject: Subject, word: str) -> list[_Test]:
        """Those that were seen to run it, else those that name it, else all of its language."""
        ran = self._executions.tests_of(subject.path, {one.line for one in subject.mutants})
        names = {_last_name(one) for one in ran}
        if names and "" not in names:
            found = [
                one for one in self._read(subject.path, names) if _last_name(one.name) in names
            ]
            return found if names <= {_last_name(one.name) for one in found} else []
        every = self._read(subject.path, ())
        if is_written_in(subject.path, "python"):
            return every  # what a fixture ran is in no test
        named = re.compile(rf"(?<![\w$]){re.escape(word)}(?![\w$])")
        return [one for one in every if any(map(named.search, one.lines))] or every

    def _read(self, path: str, names: Collection[str]) -> list[_Test]:
        """The tests of this language; with names those of files alone in which one stands."""
        row = code_row(path)
        words = [one.encode() for one in names]
        return [
            test
            for file, content in self._files
            if code_row(file) is row and (not words or any(one in content for one in words))
            for test in self._of(file, content)
        ]

    @cached_property
    def _files(self) -> tuple[tuple[str, bytes], ...]:
        return ()

    def _of(self, path: str, content: bytes) -> tuple[_Test, ...]:
        if path not in self._parsed:
            self._parsed[path] = tuple(_of(path, content))
        return self._parsed[path]

    @cached_property
    def _helpers(self) -> frozenset[str]:
        """Functions of any file of tests that assert for others."""
        return frozenset(
            _last_name(one.name)
            for path, content in self._files
            for one in self._of(path, content)
            if one.body.claims and not one.body.is_test
        )

    def _look(self, test: _Test, word: str) -> Looks:
        body = test.body
        if not body.is_test:
            return Looks.NEVER
        speaking = [one for one in body.claims if one.speaks]
        known = _follow(word, test.lines)
        strong = [one for one in speaking if not _is_weak(one)]
        if known and any(_names_of(one) & known for one in strong):
            return Looks.CLOSELY
        unread = any(known is None or one.by_helper or _is_alone(one) for one in strong)
        if unread or body.helped or self._may_assert(test, word):
            return Looks.PERHAPS
        return Looks.ASIDE if speaking else Looks.NEVER

    def _may_assert(self, test: _Test, word: str) -> bool:
        """Whether what it calls may assert something, though it is not read as such."""
        body = test.body
        called = {one for one in _CALLED.findall("\n".join(test.lines)) if one != word}
        if body.claims:
            return not called.isdisjoint(self._helpers)
        if is_written_in(test.path, "go"):
            asks = any(map(_MAY_ASSERT_IN_GO.search, called)) or bool(_METHOD.match(test.head))
            return asks or not called.isdisjoint(self._helpers)
        return bool(
            any(map(_MAY_ASSERT.search, called))
            or _REFUSES.search(body.code)
            or _OF_BASE.search(body.code)
            or not called.isdisjoint(self._helpers)
        )


def has_silent_tests(bench: GateContext) -> bool:
    """Whether a change has tests that do not assert anything, as far as they are read."""
    for change in bench.changes:
        if change.content is not None and bench.is_test(change.path):
            file = read_tests(change.path, change.content)
            for body in file.tests.values() if file else ():
                if body.is_test and not (body.helped or any(one.speaks for one in body.claims)):
                    return True
    return False


def _of(path: str, content: bytes) -> Iterator[_Test]:
    file = read_tests(path, content)
    if file is None:
        return
    text, literals = read_code(path, content) or ("", None)
    whole = mask_literals(text, literals).split("\n") if literals else []
    starts = sorted(body.line for body in file.tests.values())
    for name, body in file.tests.items():
        later = next((one for one in starts if one > body.line), len(whole) + 1)
        lines = whole[body.line : later - 1] if literals else body.code.split("\n")
        head = whole[body.line - 1] if literals else ""
        yield _Test(path, name, body, head, tuple(lines))


def _last_name(test: str) -> str:
    """Of `tests/test_a.py::TestB::test_c[1]` the last: its class may have it from another one."""
    return test.partition("[")[0].partition("|")[0].replace("::", ".").rpartition(".")[2]


def _is_weak(claim: Claim) -> bool:
    """Whether it asks no more than that something is there."""
    return claim.strength <= TRUTH or bool(_NIL.match(claim.text))


def _names_of(claim: Claim) -> set[str]:
    return {name for text in (claim.text, *claim.sides) for name in IDENTIFIER.findall(text)}


def _is_alone(claim: Claim) -> bool:
    """Whether a claim of Go stands below no condition that is read."""
    return claim.text.startswith(("t.", "tb."))


def _follow(word: str, lines: tuple[str, ...]) -> frozenset[str] | None:
    """The names that hold something of what a function gave; None where it may be anything."""
    if any(len(line) > _LONGEST for line in lines):
        return None
    pairs = [(line, _TARGET.match(line) or _AS.match(line)) for line in lines]
    targets = {name for _, found in pairs if found for name in _names(found["to"])}
    known = {word}
    named = False
    for _ in range(_ROUNDS):
        for line, found in pairs:
            names = {*IDENTIFIER.findall(line)}
            if not names & known:
                continue
            if word in names:
                named = True
                if not (found and _names(found["to"])) and not _is_claim(line):
                    return None  # it is called for what it changes, or handed on
                known |= names & targets
            if found:
                known |= _names(found["to"])
    return frozenset(known) if named else None


def _names(text: str) -> set[str]:
    return {*IDENTIFIER.findall(text)} - _NO_NAMES


def _is_claim(line: str) -> bool:
    return bool(re.match(r"\s*(?:assert|expect|self\.assert|if)\b|\s*self\.assert", line))
