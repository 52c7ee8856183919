"""`runner check-coverage`: how much of a task's own lines its test contracts run."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from runner.app.prove.measure_coverage import (
    CoverageRequest,
    check_coverage,
    coverage_document,
    coverage_lines,
)
from runner.commands.consent import load_trusted_plan, open_with_gates
from runner.commands.output import say
from runner.errors import ExitCode
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Mapping


EXAMPLES = """\
What the journal knows is told where the tree is still the one that was measured; else the task's
test contracts run in a scratch tree with the files as they are now.

exit codes: 0 the threshold is reached, or there is nothing to measure; 1 it is not, or a test
failed; 2 wrong usage

examples:
  runner check-coverage --task TASK-003
  runner check-coverage --threshold 70 --task TASK-003 --json
"""


def arguments(parser: argparse.ArgumentParser) -> None:
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


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Look it up, or measure; then say it."""
    project = open_with_gates(environ, {})
    again = f"runner check-coverage {given.task} --trust"
    load_trusted_plan(project, trusted=given.trust, again=again)
    found = check_coverage(project, CoverageRequest(given.task, given.threshold, given.again))
    for line in () if given.json else found.trouble:
        print(f"runner: {display(line)}", file=sys.stderr)
    say(found, coverage_lines, coverage_document, as_json=given.json)
    return ExitCode.OK if found.passed else ExitCode.FAILED
