"""Results per test as tools print them: of all, or of those that failed."""

from __future__ import annotations

import json
import re

from runner.gates.junit import TestOutcome, TestResult, TestResults

_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_GO = re.compile(r"^ *--- (PASS|FAIL|SKIP): (\S+) \(([\d.]+)s\)$", re.MULTILINE)
_CARGO = re.compile(r"^test (\S.*?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b", re.MULTILINE)
_UNITTEST = re.compile(
    r"^(\w+) \(([\w.]+)\)(?:\n[^\n]*)? \.\.\. (ok|FAIL|ERROR|skipped|expected failure)",
    re.MULTILINE,
)
_UNITTEST_BAD = re.compile(r"^(FAIL|ERROR): (\w+) \(([\w.]+)\)", re.MULTILINE)
_SCRIPT_BAD = re.compile(
    r"^ *\u25cf (?!Console|Test suite)(?P<jest>\S.* \u203a .+?) *$"
    r"|^ *(?:FAIL|\u00d7) +(?P<vitest>\S+\.[cm]?[jt]sx? > .+?)(?: \d+m?s)? *$"
    r"|^ *\u2716 (?!failing tests)(?P<node>\S.*?) \([\d.]+m?s\)$"
    r"|^not ok \d+ - (?P<tap>.+?) *$",
    re.MULTILINE,
)
_TAP = re.compile(
    r"^(?P<deep> *)(?:# Subtest: (?P<begins>.+)"
    r"|(?P<bad>not )?ok \d+ - (?P<name>.+?)(?: # (?P<why>SKIP|TODO)\b.*)?)$",
    re.MULTILINE,
)
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


def without_colours(output: str) -> str:
    """The output of a tool that colours it whoever listens (ECMA-48, SGR)."""
    return _COLOUR.sub("", output)


def parse_results(output: str) -> TestResults | None:
    """The tests that a tool names in its output; None where it names none.

    `go test -v` or `-json`, `cargo test` and `unittest -v` name all of them; go and unittest
    otherwise, jest, vitest and node's own runner (spec and TAP) those that failed.
    """
    output = without_colours(output)
    readers = (_go_json, _go, _cargo, _unittest, _script)
    found = {name: outcome for read in readers for name, outcome in read(output).items()}
    tests = tuple(TestResult(name, outcome) for name, outcome in found.items())
    return TestResults(tests) if tests else None


def tap_results(output: str) -> TestResults | None:
    """The tests of Node's own runner as it prints them in TAP; None where it is cut."""
    above: list[str] = []
    found: dict[str, TestOutcome] = {}
    for match in _TAP.finditer(without_colours(output)):
        depth = len(match["deep"]) // 4
        if match["begins"] is not None:
            above[depth:] = [match["begins"].strip()]
            continue
        name = " > ".join([*above[:depth], match["name"].strip()])
        if not any(known.startswith(f"{name} > ") for known in found):  # else a group of tests
            idle = TestOutcome.XFAILED if match["why"] == "TODO" else TestOutcome.SKIPPED
            ended = TestOutcome.FAILED if match["bad"] else TestOutcome.PASSED
            found[name] = idle if match["why"] else ended
    tests = tuple(TestResult(name, outcome) for name, outcome in found.items())
    return TestResults(tests) if tests and output.lstrip().startswith("TAP version") else None


def _go(output: str) -> dict[str, TestOutcome]:
    return {name: _OUTCOMES[word.lower()] for word, name, _ in _GO.findall(output)}


def _go_json(output: str) -> dict[str, TestOutcome]:
    """Events of `go test -json` (cmd/test2json): the last word on each test."""
    found = {}
    for line in output.splitlines():
        if not line.startswith('{"') or '"Test"' not in line:
            continue
        try:
            event = json.loads(line)
        except ValueError:
            continue
        outcome = _OUTCOMES.get(str(event.get("Action")))
        if outcome and event.get("Test"):
            found[f"{event.get('Package', '')}.{event['Test']}".lstrip(".")] = outcome
    return found


def _cargo(output: str) -> dict[str, TestOutcome]:
    return {name: _OUTCOMES[word.lower()] for name, word in _CARGO.findall(output)}


def _unittest(output: str) -> dict[str, TestOutcome]:
    """Python 3.11 and later print the whole name in brackets, earlier ones only the class."""
    named = _UNITTEST.findall(output)
    named += [(name, where, word) for word, name, where in _UNITTEST_BAD.findall(output)]
    return {
        where if where.endswith(f".{name}") else f"{where}.{name}": _OUTCOMES[word.lower()]
        for name, where, word in named
    }


def _script(output: str) -> dict[str, TestOutcome]:
    found = (match[match.lastgroup or 0] for match in _SCRIPT_BAD.finditer(output))
    return dict.fromkeys(found, TestOutcome.FAILED)
