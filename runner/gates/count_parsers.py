"""What test tools say of how many tests they ran, read from their last lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.gates.result_parsers import without_colours
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
"""What unittest says otherwise than the rest: the second fails a run (`unittest/result.py`)."""
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

_AVA = regex(
    r"^ *(\d+) (?:(?:test|hook)s? (passed|failed|skipped)|(uncaught|unhandled) \w+)$", re.MULTILINE
)
_UVU = regex(r"^ *Total: +(\d+)\n *Passed: +(\d+)\n *Skipped: +(\d+)$", re.MULTILINE)
_JASMINE = regex(r"^(\d+) specs?, (\d+) failures?(?:, (\d+) pending specs?)?$", re.MULTILINE)
_NODE_TAP = regex(r"^# \{ total: \d+(?:, \w+: \d+)* \}$", re.MULTILINE)
_NODE_TAP_WORD = regex(r"(pass|fail|skip): (\d+)")
_WORDS = {"pass": "passed", "fail": "failed", "skip": "skipped"}

_IDLE = frozenset({"skipped", "deselected", "xfailed"})
CLOSING = 3
"""Lines of a closing summary."""
_FAILED = regex(
    r"(?i)\b(\d+) (?:(?:test|check|case|assertion)s? )?fail(?:ed|ing|ures?)\b"
    r"|\bfail(?:ed|ing|ures?) *[:=] *(\d+)\b"
)
_FAIL = regex(r"(?:FAIL(?:ED|URES?)?|not ok)\b")


def read_counts(output: str) -> tuple[tuple[str, int], ...]:
    """The counts a test tool printed, such as `(("passed", 3),)`; empty where none are known.

    Knows the closing lines of pytest, unittest, node's test runner (TAP and spec), cargo test, go
    test, vitest, jest, mocha, ava, uvu, jasmine, tap and tape.
    """
    for reader in _READERS:
        counts = reader(output)
        if counts is not None:
            return tuple(counts.items())
    return ()


_MOST = 10**12
"""More tests than anybody has; the sum of what a whole log says of them fits the journal."""


def _count_words(said: Iterable[tuple[str, str]]) -> dict[str, int]:
    """The counts of words; what no tool counts to is no count."""
    return {word: count for word, number in said if 0 <= (count := read_number(number)) <= _MOST}


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
    # Of the end alone: a test may print `errors=2` itself.
    said = _UNITTEST_COUNTS.findall(output[-400:])
    others: dict[str, int] = {}
    for word, number in _count_words(said).items():
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
    """Without `-v` go names no passing test: only that there was none is sure."""
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


def _ava(output: str) -> dict[str, int] | None:
    found = _AVA.findall(output[-400:])  # a test may print such a line itself
    counts: dict[str, int] = {}
    for number, word, thrown in found:
        name = "failed" if thrown else word
        counts[name] = counts.get(name, 0) + _add([number])
    return {"passed": 0} | counts if counts else None


def _totals(output: str) -> dict[str, int] | None:
    """Of uvu, where what is left of all failed, and of jasmine, where it passed."""
    rows = _UVU.findall(without_colours(output))
    if rows:
        every, passed, skipped = map(read_number, rows[-1])
        return {"passed": passed, "failed": every - passed - skipped, "skipped": skipped}
    rows = _JASMINE.findall(output)
    if not rows:
        return None
    every, failed, skipped = (read_number(one or "0") for one in rows[-1])
    return {"passed": every - failed - skipped, "failed": failed, "skipped": skipped}


def _node_tap(output: str) -> dict[str, int] | None:
    rows = _NODE_TAP.findall(output)
    found = _NODE_TAP_WORD.findall(rows[-1]) if rows else []
    return {"passed": 0} | _count_words((_WORDS[w], n) for w, n in found) if rows else None


def count_told_failures(output: str) -> int:
    """Failures of which the last lines tell in nobody's format, as a script's own count does."""
    lines = map(str.strip, without_colours(output).splitlines())
    last = [line for line in lines if line][-CLOSING:]
    told = [_add(filter(None, pair)) for line in last for pair in _FAILED.findall(line)]
    return max(told) if told else sum(bool(_FAIL.match(line)) for line in last)


_READERS = (
    *(_pytest, _count_unittest, _tap, _count_cargo, _count_go, _vitest, _jest, _mocha),
    *(_ava, _totals, _node_tap),
)


def ran_no_test(counts: tuple[tuple[str, int], ...]) -> bool:
    """Whether a tool said that it ran not a single test that can tell right from wrong.

    A test that is expected to fail tells nothing.
    """
    return bool(counts) and not any(number for word, number in counts if word not in _IDLE)
