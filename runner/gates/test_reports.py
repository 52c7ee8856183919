"""What the test programs of one check say of their tests, each in a report of its own.

A report is asked for by the runner itself: pytest, unittest and Node's own runner write JUnit,
jest, vitest and mocha JSON; go and cargo keep what that very process printed, which names every
test where that was asked for. One of a program that another test program started does
not count. What ran twice in the same way counts as it ended the last time.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING

from runner.gates.counts import FAILED_WORDS, read_counts
from runner.gates.coverage.storage import files_in, text_of
from runner.gates.junit import TestOutcome, TestResults, read_results
from runner.gates.result_parsers import parse_results, tap_results, without_colours
from runner.gates.script_results import read_script_results

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from runner.gates.junit import TestResult

_BY_NAME = ("pytest",)
"""Reports at a path that a tool was given by its options: `pytest.xml`."""
_ASKED = ("go", "cargo")
"""Tools that name every test only where they are asked to."""


@dataclass(frozen=True, slots=True)
class Report:
    """What one test program said."""

    tool: str
    key: str
    """The same for two programs of which the second repeats the first."""
    results: TestResults | None
    counts: Mapping[str, int]
    pid: int = 0
    chain: frozenset[int] = frozenset()
    """Who started it, as far as that may be a test program."""
    time: int = 0

    @property
    def failed(self) -> int:
        """How many tests failed."""
        return sum(self.counts.get(word, 0) for word in FAILED_WORDS)


@dataclass(frozen=True, slots=True)
class Told:
    """All reports of one run of a check together."""

    results: TestResults | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    flaky: tuple[str, ...] = ()
    """What failed and then passed when it ran again."""
    unnamed: bool = False
    """Whether a tool that can name its tests was not asked to."""
    unfinished: tuple[str, ...] = ()
    """Test programs that ended before they said how."""

    @property
    def failed(self) -> int:
        """How many tests failed."""
        return sum(self.counts.get(word, 0) for word in FAILED_WORDS)

    def __bool__(self) -> bool:
        return bool(self.counts)


def read_told(folder: Path, root: str = "") -> Told:
    """What the reports in a folder say; files below `root` are named as the project does."""
    unfinished = tuple(file.name.partition("-")[0] for file in files_in(folder, end=".started"))
    every = [*_reports(folder, root)]
    unnamed = any(one.results is None and one.tool in _ASKED for one in every)
    return replace(together(_outermost(every)), unfinished=unfinished, unnamed=unnamed)


def together(reports: Iterable[Report]) -> Told:
    """What stands in the end: of runs that repeat one another the last, of each test."""
    ordered = sorted(reports, key=lambda one: (one.tool, one.key, one.time))
    tests: list[TestResult] = []
    counts: dict[str, int] = {}
    flaky: list[str] = []
    named = False
    for _, group in groupby(ordered, key=lambda one: (one.tool, one.key)):
        every = [*group]
        byid: dict[str, TestResult] = {}
        for report in every:
            for test in report.results.tests if report.results else ():
                known = byid.get(test.id)
                if known is not None and known.bad and test.outcome is TestOutcome.PASSED:
                    flaky.append(test.id)
                byid[test.id] = test
        whole = TestResults(tuple(byid.values()))
        named = named or any(report.results is not None for report in every)
        tests += byid.values()
        last = every[-1]
        counted = last.counts if last.results is None else whole.counts()
        if last.results is None and any(report.failed for report in every) and not last.failed:
            flaky.append(last.tool)
        for word, number in counted.items():
            counts[word] = counts.get(word, 0) + number
    return Told(TestResults(tuple(tests)) if named else None, counts, tuple(flaky))


def _outermost(reports: list[Report]) -> list[Report]:
    """Without those that a test program started, and those that said nothing."""
    speaking = [one for one in reports if one.counts]
    pids = {one.pid for one in speaking if one.pid}
    found = [one for one in speaking if not one.chain & (pids - {one.pid})]
    exact = {one.tool for one in found if not one.pid}
    # a tool that names its tests is heard; what it printed says no more
    return [one for one in found if not one.pid or one.tool not in exact]


def _reports(folder: Path, root: str) -> Iterable[Report]:
    yield from (_read_report(folder, name) for name in _BY_NAME)
    for file in files_in(folder, end=".json"):
        yield _read_kept(file, root)
    for file in files_in(folder, end=".about"):
        yield _of_program(file)


def _read_report(folder: Path, name: str) -> Report:
    file = folder / f"{name}.xml"
    results = read_results(file)
    return Report(name, "", results, results.counts() if results else {}, time=_time(file))


def _read_kept(file: Path, root: str) -> Report:
    """Of Python and Node: the tests that lie beside it, else what it printed."""
    try:
        about = json.loads(text_of(file) or "")
        tool, key, pid = str(about["tool"]), str(about["key"]), int(about["pid"])
        chain = _pids(str(about["chain"]))
        tail = about.get("tail")
        code = int(about.get("exit", 0))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return Report("", "", None, {})
    beside = file.with_suffix(".xml")
    named = read_results(beside)
    if named is None and tail is not None:
        named = read_script_results(file.with_suffix(".tests"), root)
    if named is None and tool == "node" and tail is not None:
        named = tap_results(str(tail))
    counts = named.counts() if named else {}
    time = _time(beside) or _time(file)
    if tail is not None:
        counts = counts or _parse_summary(str(tail), code)
    return Report(tool, key, named, counts, pid, chain, time)


def _of_program(file: Path) -> Report:
    """Of `go` and `cargo`: who it was, what it printed, how it ended."""
    about = (text_of(file) or "").splitlines()
    output = text_of(file.with_suffix(".out")) or ""
    code = (text_of(file.with_suffix(".exit")) or "").strip()
    if len(about) < 3 or not about[0].isdecimal():  # noqa: PLR2004 - its lines
        return Report("", "", None, {})
    counts = _parse_summary(output, int(code) if code.isdecimal() else 0)
    named = parse_results(output)
    tool = file.name.partition("-")[0]
    every = sum(number for word, number in counts.items() if word != "deselected")
    is_whole = named is not None and (_is_json(output) or len(named.tests) == every)
    results = named if named and is_whole else None
    some = named.counts() if named and any(not test.bad for test in named.tests) else {}
    key = " ".join(about[2:])
    return Report(tool, key, results, counts or some, int(about[0]), _pids(about[1]), _time(file))


def _is_json(output: str) -> bool:
    """Whether this is what `go test -json` prints."""
    return output.startswith('{"Time":') or '\n{"Time":' in output


def _parse_summary(output: str, code: int) -> dict[str, int]:
    """The closing summary; what failed without a count is one, where the program said so."""
    plain = without_colours(output)
    counts = dict(read_counts(plain))
    failed = sum(counts.get(word, 0) for word in FAILED_WORDS)
    if code and not failed:
        named = parse_results(plain)
        bad = len(named.failing) if named else 0
        if bad or _says_failed(plain):
            counts = {"passed": 0, **counts, "failed": max(1, bad)}
    return counts


def _says_failed(output: str) -> bool:
    """Whether the last lines tell of a package, file or suite that failed as a whole."""
    last = [line.strip() for line in output.rstrip().splitlines()[-12:]]
    suites = ("Test Suites:", "Test Files ")
    return any(line == "FAIL" or (line.startswith(suites) and " failed" in line) for line in last)


def _pids(text: str) -> frozenset[int]:
    return frozenset(int(part) for part in text.split(",") if part.strip().isdecimal())


def _time(file: Path) -> int:
    try:
        return file.lstat().st_mtime_ns
    except OSError:
        return 0
