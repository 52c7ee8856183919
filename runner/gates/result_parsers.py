"""Parse test results, test counts and linter findings from a tool's output.

Tools print the results of all tests, or of those that failed, and counts in their last lines. A
complaint is `path: text` without line number, counted: one more in a file than before is new. Knows
`path:line:col: text` (ruff, mypy, flake8, go vet, gcc), `path(line,col): text` (tsc), the file with
its complaints below it (eslint) and the text with its place below it (ruff, rustc).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from runner.gates.junit import TestOutcome, TestResult, TestResults
from runner.lazy_pattern import regex
from runner.text.foreign_documents import parse_json
from runner.text.wording import read_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.process.base import Ran


_MOST_READ = 4 * 1024 * 1024
"""Bytes of a log that are read for test names."""
_COLOUR = regex(r"\x1b\[[0-9;]*[A-Za-z]")
_GO = regex(r"^ *--- (PASS|FAIL|SKIP): (\S+) \(([\d.]+)s\)$", re.MULTILINE)
_CARGO = regex(r"^test (\S.*?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b", re.MULTILINE)
EXAMPLE = "doctest > "
"""Prefix of the name of a doctest example."""
_EXAMPLE = regex(
    r"^(?:Trying:|(?P<bad>File \"[^\"\n]*\", line \d+, in [^\n]*\nFailed example:))\n"
    r"(?P<source>(?: {4}[^\n]*\n)+)(?=Expect|Got|Exception raised)",
    re.MULTILINE,
)
"""How Python's doctest prints an example: before it is tried (`-v`), and after a failure."""
_OUTCOMES = {
    "pass": TestOutcome.PASSED,
    "ok": TestOutcome.PASSED,
    "fail": TestOutcome.FAILED,
    "failed": TestOutcome.FAILED,
    "skip": TestOutcome.SKIPPED,
    "ignored": TestOutcome.SKIPPED,
}


def output_of(ran: Ran) -> str:
    """Return the output of a command from its log up to a limit, else its tail."""
    if ran.log is None:
        return ran.tail
    try:
        with ran.log.open("rb") as file:
            return file.read(_MOST_READ).decode("utf-8", "replace")
    except OSError:
        return ran.tail


def is_cut(ran: Ran) -> bool:
    """Return whether a command printed more than `output_of` returns."""
    return ran.size > (_MOST_READ if ran.log else len(ran.tail.encode()))


def without_colours(output: str) -> str:
    """Return the output without colour codes (ECMA-48, SGR)."""
    return _COLOUR.sub("", output)


def parse_results(output: str) -> TestResults | None:
    """Parse the tests named in a tool's output; return None if there are none.

    `go test -v` or `-json`, `cargo test` and `doctest -v` name all of them; go and doctest
    otherwise those that failed.
    """
    output = without_colours(output)
    readers = (_go_json, _go, _cargo, _doctest)
    found = {name: outcome for read in readers for name, outcome in read(output).items()}
    tests = tuple(TestResult(name, outcome) for name, outcome in found.items())
    return TestResults(tests) if tests else None


def _go(output: str) -> dict[str, TestOutcome]:
    return {name: _OUTCOMES[word.lower()] for word, name, _ in _GO.findall(output)}


def _go_json(output: str) -> dict[str, TestOutcome]:
    """Parse the last event on each test of `go test -json` (cmd/test2json)."""
    found = {}
    for line in output.splitlines():
        if not line.startswith('{"') or '"Test"' not in line:
            continue
        try:
            event = parse_json(line)
        except ValueError:
            continue
        if not isinstance(event, dict):
            continue
        outcome = _OUTCOMES.get(str(event.get("Action")))
        if outcome and event.get("Test"):
            found[f"{event.get('Package', '')}.{event['Test']}".lstrip(".")] = outcome
    return found


def _cargo(output: str) -> dict[str, TestOutcome]:
    return {name: _OUTCOMES[word.lower()] for name, word in _CARGO.findall(output)}


def _doctest(output: str) -> dict[str, TestOutcome]:
    """Return examples by their source; one that appears twice fails if either does."""
    found: dict[str, TestOutcome] = {}
    for match in _EXAMPLE.finditer(output):
        name = f"{EXAMPLE}{' '.join(match['source'].split())}"
        if match["bad"]:
            found[name] = TestOutcome.FAILED
        else:
            found.setdefault(name, TestOutcome.PASSED)
    return found


# --- lint output ----------------------------------------------------------------------


_COLON = regex(r"(?P<path>[^\s:()'\"`][^:()'\"`]*?\.\w+):\d+(?::\d+)?(?:-\d+)?:? +(?P<text>\S.*)")
_BRACKET = regex(r"(?P<path>[^\s:()][^:()]*?\.\w+)\(\d+(?:,\d+)?\): *(?P<text>\S.*)")
_ARROW = regex(r" *--> (?P<path>[^:]+):\d+(?::\d+)?\s*")
_FILE = regex(r"(?P<path>[^\s:].*\.\w{1,5})\s*")
_BELOW = regex(r"\s+\d+:\d+\s+(?P<text>(?:error|warning)\s+\S.*)")
_NUMBERED = regex(r"\b(line|lines|column|col)( |:)\d+")


def complaints(output: str, root: str = "") -> Counter[str]:
    """Return every complaint in a tool's output with its count."""
    found: Counter[str] = Counter()
    for path, text in _parse_lines(without_colours(output).splitlines()):
        at = path.removeprefix(root).removeprefix("/") if root else path
        shown = _NUMBERED.sub(r"\1\2N", " ".join(text.split()))
        found[f"{at.removeprefix('./')}: {shown}"] += 1
    return found


def _parse_lines(lines: list[str]) -> Iterator[tuple[str, str]]:
    file = above = ""
    for line in lines:
        match = _COLON.fullmatch(line) or _BRACKET.fullmatch(line)
        if match:
            yield match["path"], match["text"]
        elif (match := _ARROW.fullmatch(line)) and above.strip():
            yield match["path"], above
        elif file and (match := _BELOW.fullmatch(line)):
            yield file, match["text"]
        elif match := _FILE.fullmatch(line):
            file = match["path"]
        above = line


_MISFIT = regex(
    r"^(?:vet: |.*\"Output\":\")?(?P<go>[\w./@+~-]+\.go):(?P<go_line>\d+):\d+: "
    r"|^error[^\n]*\n *--> (?P<rust>[^\n:]+\.rs):(?P<rust_line>\d+):\d+"
    r"|(?P<ts>[\w./@+~()\[\]-]+\.[cm]?tsx?)[(:](?P<ts_line>\d+)[,:]\d+\)?(?: -|:) error",
    re.MULTILINE,
)


def misfits(output: str) -> frozenset[tuple[str, int]]:
    """Return the files and lines of compiler errors of go, cargo or TypeScript."""
    found = _MISFIT.finditer(without_colours(output))
    named = ((kind, one) for one in found for kind in ("go", "rust", "ts") if one[kind])
    return frozenset((one[kind].strip(), int(one[f"{kind}_line"])) for kind, one in named)


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
_GO_TEST_LINE = regex(r"^--- (PASS|FAIL|SKIP): ", re.MULTILINE)
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


def _count_pytest(output: str) -> dict[str, int] | None:
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


def _count_tap(output: str) -> dict[str, int] | None:
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
    tests = _GO_TEST_LINE.findall(output)
    if not tests:
        idle = all(_GO_NONE.search(rest) for _, rest in packages)
        return {"passed": 0} if idle else None
    words = (("passed", "PASS"), ("failed", "FAIL"), ("skipped", "SKIP"))
    return {word: tests.count(mark) for word, mark in words}


def _count_vitest(output: str) -> dict[str, int] | None:
    found = _VITEST.findall(output)
    if not found:
        return {"passed": 0} if _NO_VITEST.search(output) else None
    counts = _count_words((word, number) for number, word in _WORD.findall(found[-1]))
    return {"passed": 0} | counts if counts else None


def _count_jest(output: str) -> dict[str, int] | None:
    found = _JEST.findall(output)
    if not found:
        return None
    return {"passed": 0} | _count_words((word, number) for number, word in _WORD.findall(found[-1]))


def _count_mocha(output: str) -> dict[str, int] | None:
    found = _count_words((_MOCHA_WORDS[word], number) for number, word in _MOCHA.findall(output))
    return {"passed": 0} | found if "passed" in found else None


_READERS = (
    _count_pytest,
    _count_unittest,
    _count_tap,
    _count_cargo,
    _count_go,
    _count_vitest,
    _count_jest,
    _count_mocha,
)


def ran_no_test(counts: tuple[tuple[str, int], ...]) -> bool:
    """Return whether a tool reported that it ran no test, or only ones expected to fail.

    A test that is expected to fail tells nothing.
    """
    return bool(counts) and not any(number for word, number in counts if word not in _IDLE)
