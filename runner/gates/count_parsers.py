"""Parse the number of tests from the last lines of a test tool's output."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex
from runner.text.wording import read_number

if TYPE_CHECKING:
    from collections.abc import Iterable

_WORD = regex(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed|deselected)\b")
_PYTEST = regex(
    r"^(?:=+ )?(?:\d+ \w+(?:, )?)+ in [\d.]+s|^(?:=+ )?no tests (?:ran|collected)", re.MULTILINE
)
_UNITTEST_COUNT = regex(r"^Ran (\d+) tests? in [\d.]+s", re.MULTILINE)
_UNITTEST_COUNTS = regex(
    r"\b(expected failures|unexpected successes|failures|errors|skipped)=(\d+)"
)
_UNITTEST_WORDS = {"expected failures": "xfailed", "unexpected successes": "failures"}
"""unittest's own words for outcomes: the second fails a run (`unittest/result.py`)."""
_TAP_COUNT = regex(r"^(?:#|\u2139) (pass|fail|skipped) +(\d+)$", re.MULTILINE)
_GO_PACKAGE = regex(r"^(ok|FAIL|\?) +\t?\S+[\t ]+(\[no test files\]|\S.*)$", re.MULTILINE)
_GO_TEST = regex(r"^--- (PASS|FAIL|SKIP): ", re.MULTILINE)
_GO_NONE = regex(r"\[no tests to run\]|\[no test files\]")
_VITEST = regex(r"^ *Tests +(?=\d)([^\n(]*)(?:\(\d+\))?$", re.MULTILINE)
_NO_VITEST = regex(r"^No test files found", re.MULTILINE)
_CARGO_COUNT = regex(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.MULTILINE)

_JEST = regex(r"^Tests: +((?:\d+ \w+, )*\d+ total)$", re.MULTILINE)
_MOCHA = regex(r"^ +(\d+) (passing|failing|pending)\b", re.MULTILINE)
_MOCHA_WORDS = {"passing": "passed", "failing": "failed", "pending": "skipped"}

_IDLE = frozenset({"skipped", "deselected", "xfailed"})
CLOSING = 3
"""Lines of a closing summary."""


def read_counts(output: str) -> tuple[tuple[str, int], ...]:
    """Parse the test counts in a tool's output, such as `(("passed", 3),)`; empty if unknown.

    Knows the closing lines of pytest, unittest, node's test runner (TAP and spec), cargo test, go
    test, vitest, jest, mocha and tape.
    """
    for reader in _READERS:
        counts = reader(output)
        if counts is not None:
            return tuple(counts.items())
    return ()


_MOST = 10**12
"""More tests than any project has; the sum of a whole log still fits the journal."""


def _count_words(pairs: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Return the counts by word; ignore numbers above the limit."""
    return {word: count for word, number in pairs if 0 <= (count := read_number(number)) <= _MOST}


def _add(numbers: Iterable[str]) -> int:
    return sum(count for number in numbers if 0 <= (count := read_number(number)) <= _MOST)


def _pytest(output: str) -> dict[str, int] | None:
    summaries = list(_PYTEST.finditer(output))
    if not summaries:
        return None
    line = output[summaries[-1].start() :].splitlines()[0]
    counts = _count_words((word, number) for number, word in _WORD.findall(line))
    return counts or {"passed": 0}


def _count_unittest(output: str) -> dict[str, int] | None:
    ran = _UNITTEST_COUNT.findall(output)
    if not ran:
        return None
    # Only the end of the output: a test may print `errors=2` itself.
    pairs = _UNITTEST_COUNTS.findall(output[-400:])
    others: dict[str, int] = {}
    for word, number in _count_words(pairs).items():
        name = _UNITTEST_WORDS.get(word, word)
        others[name] = others.get(name, 0) + number
    passed = read_number(ran[-1]) - sum(others.values())
    return {"passed": max(0, passed)} | {word: number for word, number in others.items() if number}


def _tap(output: str) -> dict[str, int] | None:
    found = _count_words(_TAP_COUNT.findall(output))
    if "pass" not in found:
        return None
    return {"passed": found["pass"], "failed": found.get("fail", 0)}


def _count_cargo(output: str) -> dict[str, int] | None:
    rows = _CARGO_COUNT.findall(output)
    if not rows:
        return None
    passed, failed, ignored = (_add(row[column] for row in rows) for column in range(3))
    return {"passed": passed, "failed": failed, "skipped": ignored}


def _count_go(output: str) -> dict[str, int] | None:
    """Count go tests; without `-v` only the absence of tests is certain."""
    packages = _GO_PACKAGE.findall(output)
    if not packages:
        return None
    tests = _GO_TEST.findall(output)
    if not tests:
        idle = all(_GO_NONE.search(rest) for _, rest in packages)
        return {"passed": 0} if idle else None
    words = (("passed", "PASS"), ("failed", "FAIL"), ("skipped", "SKIP"))
    return {word: tests.count(mark) for word, mark in words}


def _vitest(output: str) -> dict[str, int] | None:
    found = _VITEST.findall(output)
    if not found:
        return {"passed": 0} if _NO_VITEST.search(output) else None
    counts = _count_words((word, number) for number, word in _WORD.findall(found[-1]))
    return {"passed": 0} | counts if counts else None


def _jest(output: str) -> dict[str, int] | None:
    found = _JEST.findall(output)
    if not found:
        return None
    return {"passed": 0} | _count_words((word, number) for number, word in _WORD.findall(found[-1]))


def _mocha(output: str) -> dict[str, int] | None:
    found = _count_words((_MOCHA_WORDS[word], number) for number, word in _MOCHA.findall(output))
    return {"passed": 0} | found if "passed" in found else None


_READERS = (_pytest, _count_unittest, _tap, _count_cargo, _count_go, _vitest, _jest, _mocha)


def ran_no_test(counts: tuple[tuple[str, int], ...]) -> bool:
    """Return whether a tool reported that it ran no test, or only ones expected to fail.

    A test that is expected to fail tells nothing.
    """
    return bool(counts) and not any(number for word, number in counts if word not in _IDLE)
