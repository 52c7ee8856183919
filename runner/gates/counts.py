"""What test tools say of how many tests they ran, read from their last lines."""

from __future__ import annotations

import re

_WORD = re.compile(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed|deselected)\b")
_PYTEST = re.compile(
    r"^(?:=+ )?(?:\d+ \w+(?:, )?)+ in [\d.]+s|^(?:=+ )?no tests (?:ran|collected)", re.MULTILINE
)
_UNITTEST = re.compile(r"^Ran (\d+) tests? in [\d.]+s", re.MULTILINE)
_UNITTEST_BAD = re.compile(r"\b(failures|errors|skipped)=(\d+)")
_TAP = re.compile(r"^(?:#|\u2139) (pass|fail|skipped) (\d+)$", re.MULTILINE)
_GO_PACKAGE = re.compile(r"^(ok|FAIL|\?) +\t?\S+[\t ]+(\[no test files\]|\S.*)$", re.MULTILINE)
_GO_TEST = re.compile(r"^--- (PASS|FAIL|SKIP): ", re.MULTILINE)
_GO_NONE = re.compile(r"\[no tests to run\]|\[no test files\]")
_VITEST = re.compile(r"^ *Tests +(?=\d)([^\n(]*)(?:\(\d+\))?$", re.MULTILINE)
_NO_VITEST = re.compile(r"^No test files found", re.MULTILINE)
_CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.MULTILINE)

_JEST = re.compile(r"^Tests: +((?:\d+ \w+, )*\d+ total)$", re.MULTILINE)
_MOCHA = re.compile(r"^ +(\d+) (passing|failing|pending)\b", re.MULTILINE)
_MOCHA_WORDS = {"passing": "passed", "failing": "failed", "pending": "skipped"}
FAILED_WORDS = ("failed", "failures", "error", "errors")
"""Under which tools count what failed."""

_IDLE = frozenset({"skipped", "deselected", "xfailed"})


def read_counts(output: str) -> tuple[tuple[str, int], ...]:
    """The counts a test tool printed, such as `(("passed", 3),)`; empty where none are known.

    Knows the closing lines of pytest, unittest, node's test runner (TAP and spec), cargo test, go
    test, vitest, jest and mocha.
    """
    for reader in (_pytest, _unittest, _tap, _cargo, _go, _vitest, _jest, _mocha):
        counts = reader(output)
        if counts is not None:
            return tuple(counts.items())
    return ()


def _pytest(output: str) -> dict[str, int] | None:
    summaries = list(_PYTEST.finditer(output))
    if not summaries:
        return None
    line = output[summaries[-1].start() :].splitlines()[0]
    counts = {word: int(number) for number, word in _WORD.findall(line)}
    return counts or {"passed": 0}


def _unittest(output: str) -> dict[str, int] | None:
    ran = _UNITTEST.findall(output)
    if not ran:
        return None
    bad = {word: int(number) for word, number in _UNITTEST_BAD.findall(output[-400:])}
    passed = int(ran[-1]) - sum(bad.values())
    return {"passed": max(0, passed)} | {word: number for word, number in bad.items() if number}


def _tap(output: str) -> dict[str, int] | None:
    found = {word: int(number) for word, number in _TAP.findall(output)}
    if "pass" not in found:
        return None
    return {"passed": found["pass"], "failed": found.get("fail", 0)}


def _cargo(output: str) -> dict[str, int] | None:
    rows = _CARGO.findall(output)
    if not rows:
        return None
    passed, failed, ignored = (sum(int(row[column]) for row in rows) for column in range(3))
    return {"passed": passed, "failed": failed, "skipped": ignored}


def _go(output: str) -> dict[str, int] | None:
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
    counts = {word: int(number) for number, word in _WORD.findall(found[-1])}
    return {"passed": 0} | counts if counts else None


def _jest(output: str) -> dict[str, int] | None:
    found = _JEST.findall(output)
    if not found:
        return None
    return {"passed": 0} | {word: int(number) for number, word in _WORD.findall(found[-1])}


def _mocha(output: str) -> dict[str, int] | None:
    found = {_MOCHA_WORDS[word]: int(number) for number, word in _MOCHA.findall(output)}
    return {"passed": 0} | found if "passed" in found else None


def ran_no_test(counts: tuple[tuple[str, int], ...]) -> bool:
    """Whether a tool said that it ran not a single test that can tell right from wrong.

    A test that is expected to fail tells nothing.
    """
    return bool(counts) and not any(number for word, number in counts if word not in _IDLE)
