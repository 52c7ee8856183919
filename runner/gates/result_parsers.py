"""Results per test as tools print them: of all, or of those that failed.

What linters and type checkers complain of, line by line, without their line numbers.

A complaint is `path: text`, counted: where one more stands in a file than before, it is new. Knows
`path:line:col: text` (ruff, mypy, flake8, go vet, gcc), `path(line,col): text` (tsc), the file
with its complaints below it (eslint) and the text with its place below it (ruff, rustc).

What test tools say of how many tests they ran, read from their last lines.
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
"""Bytes of a log that are read for what it names."""
_COLOUR = regex(r"\x1b\[[0-9;]*[A-Za-z]")
_GO = regex(r"^ *--- (PASS|FAIL|SKIP): (\S+) \(([\d.]+)s\)$", re.MULTILINE)
_CARGO = regex(r"^test (\S.*?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b", re.MULTILINE)
_UNITTEST = regex(
    r"^(\w+) \(([\w.]+)\)(?:\n[^\n]*)? \.\.\. (ok|FAIL|ERROR|skipped|expected failure)",
    re.MULTILINE,
)
_UNITTEST_BAD = regex(r"^(FAIL|ERROR): (\w+) \(([\w.]+)\)", re.MULTILINE)
EXAMPLE = "doctest > "
"""Begins the name of an example of Python's doctest."""
_EXAMPLE = regex(
    r"^(?:Trying:|(?P<bad>File \"[^\"\n]*\", line \d+, in [^\n]*\nFailed example:))\n"
    r"(?P<source>(?: {4}[^\n]*\n)+)(?=Expect|Got|Exception raised)",
    re.MULTILINE,
)
"""How Python's doctest tells an example: before it is tried (`-v`), and where it failed."""
_SCRIPT_BAD = regex(
    r"^ *\u25cf (?!Console|Test suite)(?P<jest>\S.* \u203a .+)$"
    r"|^ *(?:FAIL|\u00d7) +(?P<vitest>\S+\.[cm]?[jt]sx? > .+)$"
    r"|^ *\u2716 (?!failing tests)(?P<node>\S.*?) \([\d.]+m?s\)$"
    r"|^not ok \d+ - (?P<tap>.+)$",
    re.MULTILINE,
)
_TOOK = regex(r"\d+m?s")
_OUTCOMES = {
    "pass": TestOutcome.PASSED,
    "ok": TestOutcome.PASSED,
    "fail": TestOutcome.FAILED,
    "failed": TestOutcome.FAILED,
    "error": TestOutcome.ERROR,
    "skip": TestOutcome.SKIPPED,
    "skipped": TestOutcome.SKIPPED,
    "ignored": TestOutcome.SKIPPED,
    "expected failure": TestOutcome.XFAILED,
}


def output_of(ran: Ran) -> str:
    """The output of a command as far as it is kept and bearable, else its end."""
    if ran.log is None:
        return ran.tail
    try:
        with ran.log.open("rb") as file:
            return file.read(_MOST_READ).decode("utf-8", "replace")
    except OSError:
        return ran.tail


def is_cut(ran: Ran) -> bool:
    """Whether a command printed more than `output_of` gives."""
    return ran.size > (_MOST_READ if ran.log else len(ran.tail.encode()))


def without_colours(output: str) -> str:
    """The output of a tool that colours it whoever listens (ECMA-48, SGR)."""
    return _COLOUR.sub("", output)


def parse_results(output: str) -> TestResults | None:
    """The tests that a tool names in its output; None where it names none.

    `go test -v` or `-json`, `cargo test`, `unittest -v` and `doctest -v` name all of them; go,
    unittest and doctest otherwise, jest, vitest and node's own runner (spec and TAP) those that
    failed.
    """
    output = without_colours(output)
    readers = (_go_json, _go, _cargo, _unittest, _doctest, _script)
    found = {name: outcome for read in readers for name, outcome in read(output).items()}
    tests = tuple(TestResult(name, outcome) for name, outcome in found.items())
    return TestResults(tests) if tests else None


def _go(output: str) -> dict[str, TestOutcome]:
    return {name: _OUTCOMES[word.lower()] for word, name, _ in _GO.findall(output)}


def _go_json(output: str) -> dict[str, TestOutcome]:
    """Events of `go test -json` (cmd/test2json): the last word on each test."""
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
    """Examples by what they run; one that stands there twice failed where either did."""
    found: dict[str, TestOutcome] = {}
    for match in _EXAMPLE.finditer(output):
        name = f"{EXAMPLE}{' '.join(match['source'].split())}"
        if match["bad"]:
            found[name] = TestOutcome.FAILED
        else:
            found.setdefault(name, TestOutcome.PASSED)
    return found


def _unittest(output: str) -> dict[str, TestOutcome]:
    """Python 3.11 and later print the whole name in brackets, earlier ones only the class."""
    named = _UNITTEST.findall(output)
    named += [(name, where, word) for word, name, where in _UNITTEST_BAD.findall(output)]
    return {
        where if where.endswith(f".{name}") else f"{where}.{name}": _OUTCOMES[word.lower()]
        for name, where, word in named
    }


def _script(output: str) -> dict[str, TestOutcome]:
    return {_name_of(match): TestOutcome.FAILED for match in _SCRIPT_BAD.finditer(output)}


def _name_of(match: re.Match[str]) -> str:
    """Without what stands behind it: in the pattern, many blanks would take their square."""
    name = match[match.lastgroup or 0].rstrip(" ")
    before, _, last = name.rpartition(" ")
    return before if match.lastgroup == "vitest" and _TOOK.fullmatch(last) else name


# --- lint output ----------------------------------------------------------------------


_COLON = regex(r"(?P<path>[^\s:()'\"`][^:()'\"`]*?\.\w+):\d+(?::\d+)?(?:-\d+)?:? +(?P<text>\S.*)")
_BRACKET = regex(r"(?P<path>[^\s:()][^:()]*?\.\w+)\(\d+(?:,\d+)?\): *(?P<text>\S.*)")
_ARROW = regex(r" *--> (?P<path>[^:]+):\d+(?::\d+)?\s*")
_FILE = regex(r"(?P<path>[^\s:].*\.\w{1,5})\s*")
_BELOW = regex(r"\s+\d+:\d+\s+(?P<text>(?:error|warning)\s+\S.*)")
_NUMBERED = regex(r"\b(line|lines|column|col)( |:)\d+")


def complaints(output: str, root: str = "") -> Counter[str]:
    """Every complaint in the output of a tool, with how often it stands there."""
    found: Counter[str] = Counter()
    for path, text in _parse_lines(without_colours(output).splitlines()):
        at = path.removeprefix(root).removeprefix("/") if root else path
        said = _NUMBERED.sub(r"\1\2N", " ".join(text.split()))
        found[f"{at.removeprefix('./')}: {said}"] += 1
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
    """Files and lines of which a compiler of go, cargo or TypeScript says that they are wrong."""
    found = _MISFIT.finditer(without_colours(output))
    named = ((kind, one) for one in found for kind in ("go", "rust", "ts") if one[kind])
    return frozenset((one[kind].strip(), int(one[f"{kind}_line"])) for kind, one in named)


_CRASH = regex(r'^(?:.*"Output":")?(panic: [^\n"\\]{0,160})', re.MULTILINE)


def crash_in(output: str) -> str:
    """The first line of a panic of Go, which ends all tests of its package; empty for none."""
    found = _CRASH.search(without_colours(output))
    return found[1].removesuffix(" [recovered]").strip() if found else ""


# --- counts ---------------------------------------------------------------------------


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
