"""Compare the base's test results with the proposal's by test id.

Ids are compared by what stays of them: a parametrised test is its function with a number of
cases, and addresses and counters in a name do not tell tests apart.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner.gates.result_parsers import EXAMPLE
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from runner.gates.base_result import BaseResult

_ADDRESS = regex(r"0x[0-9a-fA-F]+|\b[0-9a-f]{8}-[0-9a-f-]{27}\b")
_NUMBER = regex(r"\d{3,}")
"""A port, a time, a counter; smaller numbers distinguish tests."""
_LINE = regex(r"\(line \d+\)")
"""Line of a Rust documentation test."""
_SUBTEST = regex(r"(?P<whole>\w+(?:\.\w+){2,}) [\[(]")
"""`unittest` names a subtest by the test's ID and its parameters (`subTest`)."""
_OF_GO = regex(r"(?P<name>[\w./~-]+?\.(?:Test|Example|Fuzz|Benchmark)\w*)(?:/.*)?")
_SCRIPT = regex(r"\.[cm]?[jt]sx?\Z")
_IDLE = ("skipped", "xfailed")
_BAD = ("failed", "error")


class CaseCounts(Struct, frozen=True):
    """The results of a run, by test: the number of cases by how they ended."""

    by_test: Mapping[str, Counter[str]]
    files: Mapping[str, str] = field(default_factory=dict)
    passed: bool = True

    def count(self, test: str, *words: str) -> int:
        """Count the cases of a test with these outcomes."""
        found = self.by_test.get(test)
        return sum(found[word] for word in words) if found else 0

    def count_passing(self, test: str) -> int:
        """Count the passing cases of a test."""
        return self.count(test, "passed")

    def with_others(self, others: Iterable[CaseCounts]) -> CaseCounts:
        """Return the counts with tests that only other runs of the tree executed."""
        by_test, files = dict(self.by_test), dict(self.files)
        for other in others:
            by_test = {**other.by_test, **by_test}
            files = {**other.files, **files}
        return CaseCounts(by_test, files, self.passed)


def ran_of(seen: BaseResult, place: Callable[[str], str] = str) -> CaseCounts | None:
    """Return a run's test counts with files mapped by `place`; None if it names no tests."""
    if seen.tests is None:
        return None
    by_test: dict[str, Counter[str]] = {}
    files: dict[str, str] = {}
    for test, outcome, file in seen.tests:
        key = key_of(test, place)
        by_test.setdefault(key, Counter())[outcome] += 1
        files[key] = place(file) if file else ""
    return CaseCounts(by_test, files, seen.passed)


def key_of(test: str, place: Callable[[str], str] = str) -> str:
    """Return the part of a test id that stays the same between runs."""
    if test.startswith(EXAMPLE):
        return test  # a number in it is what is asked
    path, colons, inner = test.partition("::")
    if colons:
        # pytest appends a case's parameters in brackets to the ID of its function.
        return f"{place(path)}::{inner.partition('[')[0]}"
    if test.startswith("Test") and " " not in test:
        # Go names a subtest after the slash (`testing`, T.Run).
        return test.partition("/")[0]
    if (part := _SUBTEST.match(test)) is not None:
        test = part["whole"]
    if (named := _OF_GO.fullmatch(test)) is not None:
        return named["name"]
    path, within, inner = test.partition(" > ")
    if within and _SCRIPT.search(path):
        return f"{place(path)} > {_NUMBER.sub('#', _ADDRESS.sub('#', inner))}"
    test = _LINE.sub("(line #)", test)
    return _NUMBER.sub("#", _ADDRESS.sub("#", test))


class BaseTestFate(StrEnum):
    """The new result of a test that passed before."""

    FAILS = "fails on the new code in its earlier version"
    GONE = "is gone"
    SKIPPED = "is skipped now"
    EXPECTED = "is expected to fail now"
    FEWER = "runs fewer cases"
    BROKEN = "passed before and fails now"
    UNRUN = "could not run on the new code in its earlier version"


class Loss(Struct, frozen=True):
    """One test that passed before, and does not say the same any more."""

    test: str
    fate: BaseTestFate
    file: str = ""
    cases: tuple[int, int] = (1, 0)
    """Number of cases that passed before, and now."""
    others: int = 0
    """Further tests with the same fate and cause."""

    @property
    def text(self) -> str:
        """The sentence about it."""
        if self.fate is BaseTestFate.FEWER:
            return f"`{self.test}` {self.fate}: {self.cases[0]} before, {self.cases[1]} now"
        if self.others:
            return f"`{self.test}` and {self.others} more {self.fate}"
        return f"`{self.test}` {self.fate}"


def find_lost_tests(
    before: CaseCounts, restored: CaseCounts | None, now: CaseCounts
) -> Iterator[Loss]:
    """Yield the losses among the tests that passed `before`.

    `restored` is the run of those same tests on the proposed code, None where none of them could
    be run; `now` is the run of the proposal as it is.
    """
    for test, cases in before.by_test.items():
        count = cases["passed"]
        if not count:
            continue
        file = before.files.get(test, "")
        as_was = restored.count_passing(test) if restored else 0
        passes = now.count_passing(test)
        # First: a test rewritten to pass on this code is exactly what is searched.
        if restored and as_was < count and restored.count(test, *_BAD):
            yield Loss(test, BaseTestFate.FAILS, file, (count, as_was))
        elif passes >= count:
            if not as_was:
                yield Loss(test, BaseTestFate.UNRUN, file)
        else:
            yield Loss(test, _fate(test, passes, now), file, (count, passes))


def _fate(test: str, passes: int, now: CaseCounts) -> BaseTestFate:
    if now.count(test, *_BAD):
        return BaseTestFate.BROKEN
    if passes:
        return BaseTestFate.FEWER
    if now.count(test, "xfailed"):
        return BaseTestFate.EXPECTED
    return BaseTestFate.SKIPPED if now.count(test, *_IDLE) else BaseTestFate.GONE


def group_unrun(lost: list[Loss]) -> Iterator[Loss]:
    """Return the lost tests; those that could not run have one cause, so they are one finding."""
    unrun = [one for one in lost if one.fate is BaseTestFate.UNRUN]
    yield from (one for one in lost if one.fate is not BaseTestFate.UNRUN)
    if unrun:
        yield replace(unrun[0], others=len(unrun) - 1)


def new_tests(before: CaseCounts, now: CaseCounts) -> Iterable[str]:
    """Return the tests that pass now and did not exist before."""
    return [test for test in now.by_test if now.count_passing(test) and test not in before.by_test]
