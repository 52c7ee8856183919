"""Make the test programs that a command starts report their results, and read the reports.

The command itself stays unchanged. pytest reads `PYTEST_ADDOPTS`, `report_hook` runs in unittest's
interpreter, `node_hooks` preload Node, and scripts on PATH stand before `go` and `cargo`. The hooks
of Node, go and cargo keep the end of their own process's output, and its exit, with the reports.

pytest, unittest and Node's own runner write JUnit; jest, vitest and mocha write JSON. go and cargo
keep their output, which names every test where that was requested. The report of a program that
another test program started does not count. A test that ran twice in the same way counts as it
ended last.

jest and vitest share one shape: `testResults`, a file each, with `assertionResults`. mocha writes
events. What cannot be read gives nothing: whatever ran may have written it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.gates import shim
from runner.gates.base import Fitted, file_name
from runner.gates.coverage.instrument import files_in, text_of, visible_root
from runner.gates.junit import (
    FAILED_WORDS,
    SCRIPT,
    Reports,
    TestOutcome,
    TestResult,
    TestResults,
    read_results,
)
from runner.gates.own_files import make_empty, own_folder, put
from runner.gates.result_parsers import parse_results, read_counts, without_colours
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.plan.shell.exit_status import expects_failures
from runner.process.tools import which
from runner.text.wording import read_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from runner.gates import node_hooks
    from runner.gates.base import Check, GateContext
    from runner.process.base import Place, Ran
else:
    node_hooks = lazy_module("runner.gates.node_hooks")


_STARTS_PYTEST = regex(r"(?:! *)?(?:[A-Za-z_]\w*=\S* )*(?:\S*python[\d.]* -m )?pytest(?=\s|\Z)")
_FOLDER = "reports"
_PYTEST_FILE = "pytest.xml"
_NOT_TAKEN = regex(r"unrecognized arguments: .*--junit-?xml")


class Reporting(Struct, frozen=True):
    """A command with the file in which its tool will say how each test ended."""

    fitted: Fitted
    plain: Fitted
    """The same without a reporter, for a tool that does not support one."""
    folder: Path
    """Folder in which every started test program reports its results."""
    root: str
    """The project's folder, as those programs see it."""
    expected: bool
    """Whether the tool named in the command always reports how many tests ran."""

    def clear(self) -> None:
        """Remove the reports of an earlier run."""
        make_empty(self.folder)

    def hear(self, context: GateContext) -> Reports:
        """Return what the test programs reported of a run that ended."""
        report = read_reports(self.folder, self.root)
        if context.known_secrets:
            self.clear()  # tests print values as they are
        return report


def expects(check: Check) -> bool:
    """Return whether a check expects its tests to fail, by `(unit, fails)` or a `!` prefix."""
    return check.kind == "test" and (check.fails or expects_failures(check.command))


def with_reports(check: Check, context: GateContext, plain: Fitted) -> Reporting:
    """Return the command with options that make its test tools write result reports."""
    name = file_name(check.task + check.id)
    folder = own_folder(context.place.box, _FOLDER, name)
    plain = _with_hooks(plain, context, folder)
    variables = dict(plain.variables)

    def add(name: str, words: str) -> None:
        given = variables.get(name) or context.environment.get(name, "")
        variables[name] = f"{given} {words}".strip()

    words = f"{shlex.quote(f'--junitxml={folder / _PYTEST_FILE}')} -o junit_family=xunit1"
    add("PYTEST_ADDOPTS", words)
    variables["RUNNER_REPORT_PYTEST"] = words
    if check.named:
        variables["RUNNER_REPORT_NAMES"] = "1"
    return Reporting(
        fitted=Fitted(plain.line, variables),
        plain=plain,
        folder=folder,
        root=visible_root(context),
        expected=bool(_STARTS_PYTEST.match(check.command)),
    )


def _with_hooks(plain: Fitted, context: GateContext, folder: Path) -> Fitted:
    """Add hooks for Python, Node, go and cargo to a command's environment."""
    start = shim.write_module(context.place)
    hooks = write_hooks(context.place, context.environment)
    given = {**context.environment, **plain.variables}
    preload = shim.quote_preload(hooks / "report.cjs")
    variables = {
        **plain.variables,
        "RUNNER_REPORT_OUT": str(folder),
        "PYTHONPATH": shim.search_path(start, given.get("PYTHONPATH", "")),
        "NODE_OPTIONS": f"{given.get('NODE_OPTIONS', '')} {preload}".strip(),
        "PATH": f"{hooks / 'bin'}{os.pathsep}{given.get('PATH', os.defpath)}",
    }
    is_in_front = str(start) in plain.variables.get("PYTHONPATH", "")
    return Fitted(plain.line if is_in_front else shim.in_front(plain.line, start), variables)


def not_taken(ran: Ran) -> bool:
    """Return whether the tool ended because it does not support the reporter."""
    return ran.exit != 0 and bool(_NOT_TAKEN.search(ran.tail))


# --- tool hooks -----------------------------------------------------------------------


_HOOKS = "hooks"
_TOOLS = ("go", "cargo")

# The exit code goes through a file: a pipeline's is that of its last command, here `tee`, and not
# every sh has `pipefail` (POSIX 2018, XCU 2.9.2).
_SHELL = """\
#!/bin/sh
# Runs before {tool} in a proof: keeps what its tests say, and passes on its exit.
real={real}
if [ -n "$RUNNER_WATCH_OUT" ] && [ -n "$RUNNER_WATCH_ROOT" ]; then
  case " $1 $2 $3 " in
    *" test "* | *" t "* | *" nextest "* | *" build "* | *" run "*)
      {{ {packages} ; }} 2> /dev/null | grep -F "$RUNNER_WATCH_ROOT/" |
        grep -v '/pkg/mod/\\|/registry/src/\\|/git/checkouts/' >> "$RUNNER_WATCH_OUT" ;;
  esac
fi
case " $1 $2 $3 " in
  *" test "* | *" t "* | *" nextest "*) ;;
  *) exec "$real" "$@" ;;
esac
if [ -z "$RUNNER_REPORT_OUT" ] || [ -n "$RUNNER_REPORT_WITHIN" ]; then exec "$real" "$@"; fi
export RUNNER_REPORT_WITHIN=$$
file=$RUNNER_REPORT_OUT/{tool}-$$
if [ -n "$RUNNER_REPORT_NAMES" ]; then
{named}
fi
about() {{ env | grep -v '^RUNNER_\\|^_=\\|^SHLVL=\\|PWD=' | sort; pwd; printf '%s\\n' "$@"; }}
key=$(about "$@" | cksum | tr ' ' -)
printf '%s\\n%s\\n%s\\n' "$$" "$RUNNER_REPORT_CHAIN" "$key" > "$file.about"
run() {{ if [ -n "$RUNNER_REPORT_NAMES" ]; then "$real" "$@" 2>&1; else "$real" "$@"; fi; }}
{{ run "$@"; echo $? > "$file.exit"; }} | tee "$file.out"
code=1
read -r code < "$file.exit"
exit "$code"
"""
_NAMED = {
    "go": """\
  given=
  for word do
    shift
    set -- "$@" "$word"
    if [ -z "$given" ] && [ "$word" = test ]; then given=1; set -- "$@" -json; fi
  done""",
    # `cargo test` stops at the first failing binary, and the tests of the others have no result.
    "cargo": """\
  given=
  for word do
    shift
    case $word in -q | --quiet | --no-fail-fast) continue ;; esac
    set -- "$@" "$word"
    case $given$word in test | t) given=1; set -- "$@" --no-fail-fast ;; esac
  done""",
}
"""Options that make a tool name every test."""
_PACKAGES = {
    "go": """"$real" list -deps -test -f '{{.Dir}}' ./...""",
    "cargo": (
        '"$real" metadata --offline --format-version 1 | tr , "\\n" |'
        """ sed -n 's/^"manifest_path":"\\(.*\\)"$/\\1/p'"""
    ),
}
"""Commands that list the folders of all packages that are built."""


def write_hooks(place: Place, environment: Mapping[str, str]) -> Path:
    """Write the report hooks and return their folder; `bin` wraps `go` and `cargo`.

    Commands may write there, so all of it is made right again each time.
    """
    folder = own_folder(place.box, _HOOKS)
    programs = own_folder(place.box, _HOOKS, "bin")
    put(folder / "report.cjs", node_hooks.PRELOAD.encode())
    put(folder / "vitest.mjs", node_hooks.PROVIDER.encode())
    for tool in _TOOLS:
        real = which(tool, environment)
        # If PATH already has the runner's programs, it would start itself endlessly.
        if real is not None and not real.is_relative_to(programs):
            text = _SHELL.format(
                tool=tool,
                real=shlex.quote(str(real)),
                named=_NAMED[tool],
                packages=_PACKAGES[tool],
            )
            put(programs / tool, text.encode(), mode=0o755)
    return folder


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
    is_whole = named is not None and ('\n{"Time":' in f"\n{output}" or len(named.tests) == every)
    results = named if named and is_whole else None
    some = named.counts() if named and any(not test.bad for test in named.tests) else {}
    key = " ".join(about[2:])
    chain = _pids(about[1])
    return ProgramReport(tool, key, results, counts or some, pid, chain, _time(file))


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
