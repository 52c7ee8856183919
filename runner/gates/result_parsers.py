"""Parse test results and linter findings from a tool's output.

Tools print the results of all tests, or of those that failed. A complaint is `path: text` without
line number, counted: one more in a file than before is new. Knows `path:line:col: text` (ruff,
mypy, flake8, go vet, gcc), `path(line,col): text` (tsc), the file with its complaints below it
(eslint) and the text with its place below it (ruff, rustc).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from runner.gates.junit import TestOutcome, TestResult, TestResults
from runner.lazy_pattern import regex
from runner.text.foreign_documents import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator

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
