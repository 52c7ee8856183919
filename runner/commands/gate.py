"""`runner gate`: run the tests that a pull request may break on its merge result.

`runner pipeline check-coverage`: how much of a task's own lines its test contracts run.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.gate import gate_report
from runner.app.gate.measure import GateMeasurement, GateRequest
from runner.app.gate.test_suite import TESTS
from runner.app.prove.measure_coverage import (
    CoverageRequest,
    check_coverage,
    coverage_document,
    coverage_lines,
)
from runner.commands.output import (
    ask_trust,
    load_trusted_plan,
    open_with_gates,
    say,
    tell,
    with_flag,
)
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.repo.read import Repository
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import finding_lines, plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.build import run_reports
    from runner.app.gate.measure import GateResult
    from runner.app.gate.test_suite import TestSuite
    from runner.app.prove.prove_tree import Reproven
else:
    run_reports = lazy_module("runner.app.build.run_reports")
_FILES = ("comment", "junit", "sarif")


_HELP = {
    "comment": "write the result as Markdown for a pull request comment",
    "junit": "write a JUnit report",
    "sarif": "write failures as SARIF 2.1.0",
}


def execute_gate(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Measure and tell. Raises RunnerError where it cannot be measured."""
    if given.record and (given.moved_from or given.all or given.base):
        why = "--record measures the checked-out base: it takes no --base, --all or --moved-from"
        raise RunnerError(why, hint="check out the base, then: runner gate --record")
    flags = {"task_graph": given.task_graph, "sandbox": given.sandbox, "jobs": given.jobs}
    settings = {name: value for name, value in flags.items() if value is not None}
    project = Project.open(Path.cwd(), environ, settings, plan_needed=False)

    def trust(suite: TestSuite) -> None:
        ask_trust(project, suite.as_plan(), trusted=given.trust, again=with_flag(given, "--trust"))

    with Repository.open(project.root) as repository:
        gate = GateMeasurement(project, repository, _request(given), trust, tell, _print_result)
        if given.record:
            result, files = gate.record()
            tell(f"the test map covers {plural(files, 'test file')}")
        else:
            _warn_of_uncommitted(repository, given.head)
            result = gate.measure()
    _write(given, result)
    _annotate_github(environ, result)
    text = gate_report.as_document(result) if given.json else gate_report.as_text(result)
    print(redact(text), end="")
    return result.code


def _request(given: argparse.Namespace) -> GateRequest:
    return GateRequest(
        base=given.base,
        head=given.head,
        tests=given.tests,
        map_file=Path.cwd() / given.map if given.map else None,
        moved_from=given.moved_from,
        everything=given.all,
    )


def _warn_of_uncommitted(repository: Repository, head: str) -> None:
    if head == "HEAD" and (dirty := repository.state().dirty):
        tell(f"note: {plural(len(dirty), 'file')} not committed: the gate measures commits only")


def _print_result(ran: Reproven) -> None:
    """Print the result of a test as soon as it ends; its output only if it failed."""
    who = "" if ran.task == TESTS else f"{display(ran.task)}  "
    line = f"{who}{display(ran.contract)}  {ran.ending}  {ran.seconds:.1f} s"
    print(redact(line), file=sys.stderr, flush=True)
    for finding in ran.findings if ran.ending != "passed" else ():
        lines = (f"  {line}" for line in finding_lines(finding))
        print(redact("\n".join(lines)), file=sys.stderr, flush=True)


def _write(given: argparse.Namespace, result: GateResult) -> None:
    """Write the requested report files."""
    makers = {
        "comment": gate_report.as_comment,
        "junit": gate_report.as_junit,
        "sarif": gate_report.as_sarif,
    }
    for name, make in makers.items():
        if getattr(given, name):
            run_reports.write_report(
                Path.cwd() / getattr(given, name), redact(make(result)).encode()
            )


def _annotate_github(environ: Mapping[str, str], result: GateResult) -> None:
    """Print annotations and write the step's page and outputs in GitHub Actions."""
    if environ.get("GITHUB_ACTIONS") != "true":
        return
    for line in gate_report.workflow_commands(result):
        print(redact(line), file=sys.stderr)
    if page := environ.get("GITHUB_STEP_SUMMARY"):
        run_reports.append_report(Path(page), redact(gate_report.as_comment(result)).encode())


# --- coverage of a task's lines -------------------------------------------------------


def _read_percent(text: str) -> float:
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = -1.0
    if not 0 <= number <= 100:  # noqa: PLR2004 - percent
        raise RunnerError(
            f"{text!r} is not a percentage (0 to 100)", hint="runner pipeline check-coverage --help"
        )
    return number


def execute_check_coverage(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Look up or measure the coverage and print it."""
    project = open_with_gates(environ, {})
    again = with_flag(given, "--trust")
    load_trusted_plan(project, trusted=given.trust, again=again)
    threshold = None if given.threshold is None else _read_percent(given.threshold)
    found = check_coverage(project, CoverageRequest(given.task, threshold, given.again))
    for line in () if given.json else found.trouble:
        print(f"runner: {display(line)}", file=sys.stderr)
    say(found, coverage_lines, coverage_document, as_json=given.json)
    return ExitCode.OK if found.passed else ExitCode.FAILED
