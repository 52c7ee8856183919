"""Results per test as jest, vitest and mocha say them: the JSON of jest, and mocha's events.

jest and vitest have one shape: `testResults`, a file each, with `assertionResults`. What cannot be
read gives nothing: whatever ran may have written it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from runner.gates.coverage.storage import text_of
from runner.gates.junit import TestOutcome, TestResult, TestResults

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MOST = 200_000
_MESSAGE = 4000
_OUTCOMES = {
    "passed": TestOutcome.PASSED,
    "pass": TestOutcome.PASSED,
    "failed": TestOutcome.FAILED,
    "fail": TestOutcome.FAILED,
}
"""All else (`pending`, `todo`, `disabled`, `skipped`) did not run."""


def read_script_results(file: Path, root: str) -> TestResults | None:
    """The tests in a file of such results, by paths below `root`; None where it says nothing."""
    try:
        said = json.loads(text_of(file) or "")
        rows = [*_suites(said["testResults"], root)] if "testResults" in said else None
        rows = [*_events(said["tests"], root)] if rows is None else rows
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return TestResults(tuple(_once(rows[:_MOST])))


def _suites(files: list[dict[str, object]], root: str) -> Iterator[TestResult]:
    for one in files:
        path = _short(str(one["name"]), root)
        tests = one["assertionResults"]
        if one.get("status") == "failed" and not tests:  # it could not be loaded
            message = str(one.get("message") or "")[:_MESSAGE]
            yield TestResult(path, TestOutcome.ERROR, message, file=path)
        for test in tests if isinstance(tests, list) else ():
            said = "\n".join(map(str, test.get("failureMessages") or ()))
            titles = [*map(str, test["ancestorTitles"]), str(test["title"])]
            yield _result(path, titles, str(test["status"]), said)


def _events(tests: list[dict[str, object]], root: str) -> Iterator[TestResult]:
    for one in tests:
        path = _short(str(one["file"]), root)
        titles = one["titles"]
        if isinstance(titles, list):
            said = str(one.get("message") or "")
            yield _result(path, [*map(str, titles)], str(one["status"]), said)


def _result(path: str, titles: list[str], status: str, said: str) -> TestResult:
    outcome = _OUTCOMES.get(status, TestOutcome.SKIPPED)
    name = " > ".join(filter(None, (path, *titles)))
    return TestResult(name, outcome, said[:_MESSAGE], file=path)


def _once(rows: list[TestResult]) -> Iterator[TestResult]:
    """Each id once: a second one of the same name is another test all the same."""
    seen: dict[str, int] = {}
    for row in rows:
        seen[row.id] = seen.get(row.id, 0) + 1
        again = seen[row.id]
        name = row.id if again == 1 else f"{row.id} #{again}"
        yield TestResult(name, row.outcome, row.message, row.seconds, row.file)


def _short(path: str, root: str) -> str:
    """A path as the project knows it; as it is where it lies elsewhere."""
    return path.removeprefix(f"{root}/") if path.startswith(f"{root}/") else path
