"""Read the report of each test program that a check starts.

The runner itself requests the reports. pytest, unittest and Node's own runner write JUnit; jest,
vitest and mocha write JSON. go and cargo keep their output, which names every test where that was
requested. The report of a program that another test program started does not count. A test that ran
twice in the same way counts as it ended last.

jest and vitest share one shape: `testResults`, a file each, with `assertionResults`. mocha writes
events. What cannot be read gives nothing: whatever ran may have written it.
"""

from __future__ import annotations

import json
import re
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.gates.count_parsers import read_counts
from runner.gates.coverage.instrument import files_in, text_of
from runner.gates.junit import (
    FAILED_WORDS,
    SCRIPT,
    Reports,
    TestOutcome,
    TestResult,
    TestResults,
    read_results,
)
from runner.gates.result_parsers import parse_results, without_colours
from runner.lazy_pattern import regex
from runner.text.wording import read_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path


_BY_NAME = ("pytest",)
"""Reports at a path given to a tool in its options: `pytest.xml`."""
_BY_EXIT = frozenset({"ava", "tap", "tape", "jasmine", "uvu", "qunit"})
"""Pure test tools without a report: their exit code shows whether tests failed."""
_BY_LOADING = frozenset({"unittest", "jest", "vitest", "node", "go", "cargo"})
"""Tools that name a failed test: without any name, none ran."""
_PYTEST_RAN_NONE = frozenset({2, 3, 4, 5})
"""Interrupted, internal error, usage error, no tests collected (pytest.ExitCode)."""
_ASKED = ("go", "cargo")
"""Tools that name every test only on request."""


class ProgramReport(Struct, frozen=True):
    """The report of one test program."""

    tool: str
    key: str
    """Equal for two programs of which the second repeats the first."""
    results: TestResults | None
    counts: Mapping[str, int]
    pid: int = 0
    chain: frozenset[int] = frozenset()
    """Ancestor processes that may be test programs."""
    time: int = 0
    exit: int = 0
    """Exit code as the program recorded it; 0 if unknown."""

    @property
    def ran_none(self) -> bool:
        """Whether it ran no test: nothing was collected, or what holds the tests did not load."""
        if self.results is not None and self.results.tests:
            return all(test.unloaded for test in self.results.tests)
        if self.counts.get("passed") or self.counts.get("skipped"):
            return False
        if self.tool == "pytest" and self.results is None:
            return self.exit in _PYTEST_RAN_NONE
        return self.tool in _BY_LOADING

    @property
    def failed(self) -> int:
        """Number of failed tests."""
        return sum(self.counts.get(word, 0) for word in FAILED_WORDS)


def read_reports(folder: Path, root: str = "") -> Reports:
    """Read the reports in a folder; paths below `root` become relative."""
    every = [*_reports(folder, root)]
    unnamed = any(one.results is None and one.tool in _ASKED for one in every)
    cut = tuple(file.name.partition("-")[0] for file in files_in(folder, end=".started"))
    outermost = _outermost(every)
    programs = _without_started([one for one in every if one.counts or one.pid])
    none = bool(programs) and all(one.ran_none for one in programs)
    return replace(together(outermost), unfinished=cut, unnamed=unnamed, ran_none=none)


_UNFIT = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""Errors for unexpected JSON of other programs: `1e999` is infinite."""


def together(reports: Iterable[ProgramReport]) -> Reports:
    """Merge reports; of repeated runs the last result of each test counts."""
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
    return Reports(TestResults(tuple(tests)) if named else None, counts, tuple(flaky))


def _outermost(reports: list[ProgramReport]) -> list[ProgramReport]:
    """Return the reports with results whose program was not started by another test program."""
    found = _without_started([one for one in reports if one.counts])
    exact = {one.tool for one in found if not one.pid}
    # if a tool names its tests, its report counts and its output adds nothing
    return [one for one in found if not one.pid or one.tool not in exact]


def _without_started(reports: list[ProgramReport]) -> list[ProgramReport]:
    """Return the reports of programs that no other reporting program started."""
    pids = {one.pid for one in reports if one.pid}
    return [one for one in reports if not one.chain & (pids - {one.pid})]


def _reports(folder: Path, root: str) -> Iterable[ProgramReport]:
    yield from (_read_report(folder, name) for name in _BY_NAME)
    for file in files_in(folder, end=".json"):
        yield _read_kept(file, root)
    for file in files_in(folder, end=".about"):
        yield _of_program(file)


def _read_report(folder: Path, name: str) -> ProgramReport:
    file = folder / f"{name}.xml"
    results = read_results(file)
    return ProgramReport(name, "", results, results.counts() if results else {}, time=_time(file))


def _read_kept(file: Path, root: str) -> ProgramReport:
    """Read a report of Python or Node: its test results, else its output."""
    try:
        about = json.loads(text_of(file) or "")
        tool, key, pid = str(about["tool"]), str(about["key"]), int(about["pid"])
        above = str(about["chain"])
        tail = about.get("tail")
        code = int(about.get("exit", 0))
    except _UNFIT:
        return ProgramReport("", "", None, {})
    beside = file.with_suffix(".xml")
    named = read_results(beside)
    if named is None and tail is not None:
        named = read_script_results(file.with_suffix(".tests"), root)
    if named is None and tool == "node" and tail is not None:
        named = tap_results(str(tail))
    counts = named.counts() if named else {}
    time = _time(beside) or _time(file)
    if tail is not None:
        counts = counts or _parse_summary(str(tail), code, by_exit=tool in _BY_EXIT)
    return ProgramReport(tool, key, named, counts, pid, _pids(above), time, code)


def _of_program(file: Path) -> ProgramReport:
    """Read a report of `go` or `cargo`: process, output and exit code."""
    about = (text_of(file) or "").splitlines()
    output = text_of(file.with_suffix(".out")) or ""
    code = (text_of(file.with_suffix(".exit")) or "").strip()
    pid = read_number(about[0]) if len(about) > 2 else -1  # noqa: PLR2004 - its lines
    if pid < 0:
        return ProgramReport("", "", None, {})
    counts = _parse_summary(output, read_number(code) if code.isdecimal() else 0)
    named = parse_results(output)
    tool = file.name.partition("-")[0]
    every = sum(number for word, number in counts.items() if word != "deselected")
    is_whole = named is not None and (_is_json(output) or len(named.tests) == every)
    results = named if named and is_whole else None
    some = named.counts() if named and any(not test.bad for test in named.tests) else {}
    key = " ".join(about[2:])
    chain = _pids(about[1])
    return ProgramReport(tool, key, results, counts or some, pid, chain, _time(file))


def _is_json(output: str) -> bool:
    """Return whether output is from `go test -json`."""
    return output.startswith('{"Time":') or '\n{"Time":' in output


def _parse_summary(output: str, code: int, *, by_exit: bool = False) -> dict[str, int]:
    """Parse the summary counts; an uncounted failure counts as one if the output shows it."""
    plain = without_colours(output)
    counts = dict(read_counts(plain))
    failed = sum(counts.get(word, 0) for word in FAILED_WORDS)
    if code and not failed:
        named = parse_results(plain)
        bad = len(named.failing) if named else 0
        if bad or by_exit or _reports_failure(plain):
            counts = {"passed": 0, **counts, "failed": max(1, bad)}
    return counts


def _reports_failure(output: str) -> bool:
    """Return whether the last lines report a package, file or suite that failed as a whole."""
    last = [line.strip() for line in output.rstrip().splitlines()[-12:]]
    suites = ("Test Suites:", "Test Files ")
    return any(line == "FAIL" or (line.startswith(suites) and " failed" in line) for line in last)


def _pids(text: str) -> frozenset[int]:
    return frozenset(pid for part in text.split(",") if (pid := read_number(part.strip())) >= 0)


def _time(file: Path) -> int:
    try:
        return file.lstat().st_mtime_ns
    except OSError:
        return 0


# --- script results -------------------------------------------------------------------


_TAP = regex(
    r"^(?P<deep> *)(?:# Subtest: (?P<begins>.+)"
    r"|(?P<bad>not )?ok \d+ - (?P<name>.+?)(?: # (?P<why>SKIP|TODO)\b.*)?)$",
    re.MULTILINE,
)
_MOST = 200_000
_MESSAGE = 4000
_OUTCOMES = {
    "passed": TestOutcome.PASSED,
    "pass": TestOutcome.PASSED,
    "failed": TestOutcome.FAILED,
    "fail": TestOutcome.FAILED,
}
"""All others (`pending`, `todo`, `disabled`, `skipped`) did not run."""


def tap_results(output: str) -> TestResults | None:
    """Parse the TAP output of Node's test runner; return None if it is incomplete."""
    above: list[str] = []
    groups: set[str] = set()
    """Names that have reported tests below them."""
    found: dict[str, TestOutcome] = {}
    for match in _TAP.finditer(without_colours(output)):
        # A subtest is indented by four spaces (testanything.org, TAP 14).
        depth = len(match["deep"]) // 4
        if match["begins"] is not None:
            above[depth:] = [match["begins"].strip()]
            continue
        groups.add(" > ".join(above[:depth]))
        name = " > ".join([*above[:depth], match["name"].strip()])
        if name not in groups:
            # With this directive `not ok` is no failure (TAP 14, directives).
            idle = TestOutcome.XFAILED if match["why"] == "TODO" else TestOutcome.SKIPPED
            ended = TestOutcome.FAILED if match["bad"] else TestOutcome.PASSED
            found[name] = idle if match["why"] else ended
    tests = tuple(
        TestResult(
            name,
            outcome,
            unloaded=outcome is TestOutcome.FAILED and SCRIPT.search(name) is not None,
        )
        for name, outcome in found.items()
    )
    return TestResults(tests) if tests and output.lstrip().startswith("TAP version") else None


def read_script_results(file: Path, root: str) -> TestResults | None:
    """Parse a JSON result file with paths relative to `root`; return None if it is invalid."""
    try:
        document = json.loads(text_of(file) or "")
        rows = [*_suites(document["testResults"], root)] if "testResults" in document else None
        rows = [*_events(document["tests"], root)] if rows is None else rows
    except _UNFIT:
        return None
    return TestResults(tuple(_once(rows[:_MOST])))


def _suites(files: list[dict[str, object]], root: str) -> Iterator[TestResult]:
    for one in files:
        path = _short(str(one["name"]), root)
        tests = one["assertionResults"]
        message = str(one.get("message") or "")[:_MESSAGE]
        # The file could not be loaded; vitest 1 reports it as passed, and why it could not.
        if not tests and (message or one.get("status") == "failed"):
            yield TestResult(path, TestOutcome.ERROR, message, file=path, unloaded=True)
        for test in tests if isinstance(tests, list) else ():
            failure = "\n".join(map(str, test.get("failureMessages") or ()))
            titles = [*map(str, test["ancestorTitles"]), str(test["title"])]
            yield _result(path, titles, str(test["status"]), failure)


def _events(tests: list[dict[str, object]], root: str) -> Iterator[TestResult]:
    for one in tests:
        path = _short(str(one["file"]), root)
        titles = one["titles"]
        if isinstance(titles, list):
            message = str(one.get("message") or "")
            yield _result(path, [*map(str, titles)], str(one["status"]), message)


def _result(path: str, titles: list[str], status: str, message: str) -> TestResult:
    outcome = _OUTCOMES.get(status, TestOutcome.SKIPPED)
    name = " > ".join(filter(None, (path, *titles)))
    return TestResult(name, outcome, message[:_MESSAGE], file=path)


def _once(rows: list[TestResult]) -> Iterator[TestResult]:
    """Yield the results with unique IDs; repeated ones get a number."""
    seen: dict[str, int] = {}
    for row in rows:
        seen[row.id] = seen.get(row.id, 0) + 1
        again = seen[row.id]
        name = row.id if again == 1 else f"{row.id} #{again}"
        yield replace(row, id=name)


def _short(path: str, root: str) -> str:
    """Return a path relative to the root, or unchanged if it is outside."""
    return path.removeprefix(f"{root}/") if path.startswith(f"{root}/") else path
