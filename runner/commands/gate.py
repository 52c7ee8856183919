"""`runner gate`: what a pull request may break, run on what it is when it is merged.

`runner check-coverage`: how much of a task's own lines its test contracts run.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.gate import gate_report
from runner.app.gate.measure import Gate, GateRequest
from runner.app.gate.test_suite import TESTS
from runner.app.prove.measure_coverage import (
    CoverageRequest,
    check_coverage,
    coverage_document,
    coverage_lines,
)
from runner.commands.catalogue import Command
from runner.commands.output import (
    add_proof_flags,
    ask_trust,
    load_trusted_plan,
    open_with_gates,
    say,
    tell,
    type_again,
)
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.repo.read import Repository
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import finding_lines, plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.app.build import run_reports
    from runner.app.gate.measure import GateResult
    from runner.app.gate.test_suite import TestSuite
    from runner.app.prove.prove_tree import Reproven
else:
    run_reports = lazy_module("runner.app.build.run_reports")

_GATE = """\
with a plan: the tasks and contracts that the pull request may break; without one: the tests that
reach what it changes by imports, or were seen to run it (--record), or all of them, with a reason
exit: 0 nothing breaks, 1 something does, 2 settings, 3 a person has to (a conflict, trust)

examples:
  runner gate                              HEAD into the branch that CI names, else origin's
  runner gate --base origin/main --json
  runner gate --record                     on the base: what each file of tests runs
  runner gate --comment gate.md            what a comment on the pull request would say
  runner gate --head pr-12 --moved-from abc1234    only where the base's move meets its tests
"""
_FILES = ("comment", "junit", "sarif")


def gate_arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner gate` takes."""
    add = parser.add_argument
    add("--base", metavar="REV", default="", help="what it is to be merged into")
    add("--head", metavar="REV", default="HEAD", help="the pull request (default: HEAD)")
    add("--tests", metavar="COMMAND", default="", help="what runs all tests; a plan does not count")
    add("--map", metavar="FILE", help="what tests ran on the base (default: in your cache)")
    add("--record", action="store_true", help="make that map, on the base's own commit")
    add("--all", action="store_true", help="run everything, whatever the change is")
    add("--moved-from", metavar="REV", default="", help="where the base was: rerun where they meet")
    for file in _FILES:
        add(f"--{file}", metavar="FILE", help=_HELP[file])
    add_proof_flags(parser)


_HELP = {
    "comment": "write the answer as Markdown for a comment on the pull request",
    "junit": "write a JUnit report",
    "sarif": "write what breaks as SARIF 2.1.0",
}


def execute_gate(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Measure and tell. Raises RunnerError where it cannot be measured."""
    if given.record and (given.moved_from or given.all or given.base):
        why = "--record takes no --base, --all or --moved-from: it measures the base's own commit"
        raise RunnerError(why, hint="check the base out, then: runner gate --record")
    flags = {"task_graph": given.task_graph, "sandbox": given.sandbox, "jobs": given.jobs}
    said = {name: value for name, value in flags.items() if value is not None}
    project = Project.open(Path.cwd(), environ, said, plan_needed=False)

    def trust(suite: TestSuite) -> None:
        ask_trust(project, suite.as_plan(), trusted=given.trust, again=type_again(given, "--trust"))

    with Repository.open(project.root) as repository:
        gate = Gate(project, repository, _request(given), trust, tell, _tell_ran)
        if given.record:
            result, files = gate.record()
            tell(f"the map holds {plural(files, 'file')} of tests")
        else:
            _warn_of_uncommitted(repository, given.head)
            result = gate.measure()
    _write(given, result)
    _tell_github(environ, result)
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
        tell(f"note: {plural(len(dirty), 'file')} not committed: not part of what is measured")


def _tell_ran(said: Reproven) -> None:
    """How it ended, as soon as it did; what it printed only where it failed."""
    sign = "failed" if said.failed else "passed"
    who = "" if said.task == TESTS else f"{display(said.task)}  "
    line = f"{who}{display(said.contract)}  {sign}  {said.seconds:.1f} s"
    print(redact(line), file=sys.stderr, flush=True)
    for finding in said.findings if said.failed else ():
        lines = (f"  {line}" for line in finding_lines(finding))
        print(redact("\n".join(lines)), file=sys.stderr, flush=True)


def _write(given: argparse.Namespace, result: GateResult) -> None:
    """The files that were asked for."""
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


def _tell_github(environ: Mapping[str, str], result: GateResult) -> None:
    """Annotations, the step's page and outputs, where this is a step of GitHub Actions."""
    if environ.get("GITHUB_ACTIONS") != "true":
        return
    for line in gate_report.workflow_commands(result):
        print(redact(line), file=sys.stderr)
    if page := environ.get("GITHUB_STEP_SUMMARY"):
        run_reports.append_report(Path(page), redact(gate_report.as_comment(result)).encode())


# --- coverage of a task's lines -------------------------------------------------------


_CHECK_COVERAGE = """\
What the journal knows is told where the tree is still the one that was measured; else the task's
test contracts run in a scratch tree with the files as they are now.

exit codes: 0 the threshold is reached, or there is nothing to measure; 1 it is not, or a test
failed; 2 wrong usage

examples:
  runner check-coverage --task TASK-003
  runner check-coverage --threshold 70 --task TASK-003 --json
"""


def check_coverage_arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner check-coverage` takes."""
    add = parser.add_argument
    add("--task", required=True, metavar="ID", help="the task whose lines are meant")
    add("--threshold", type=_percent, metavar="PERCENT", help="default: what the plan asks for")
    add("--again", action="store_true", help="run the test contracts whatever the journal knows")
    add("--trust", action="store_true", help="let this repository's commands run")
    add("--json", action="store_true", help="one JSON document")


def _percent(text: str) -> float:
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = -1.0
    if not 0 <= number <= 100:  # noqa: PLR2004 - percent
        raise argparse.ArgumentTypeError(f"{text!r} is no percentage from 0 to 100")
    return number


def execute_check_coverage(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Look it up, or measure; then say it."""
    project = open_with_gates(environ, {})
    again = type_again(given, "--trust")
    load_trusted_plan(project, trusted=given.trust, again=again)
    found = check_coverage(project, CoverageRequest(given.task, given.threshold, given.again))
    for line in () if given.json else found.trouble:
        print(f"runner: {display(line)}", file=sys.stderr)
    say(found, coverage_lines, coverage_document, as_json=given.json)
    return ExitCode.OK if found.passed else ExitCode.FAILED


COMMANDS = {
    "gate": Command(_GATE, gate_arguments, execute_gate),
    "check-coverage": Command(_CHECK_COVERAGE, check_coverage_arguments, execute_check_coverage),
}
