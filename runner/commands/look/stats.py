"""`runner stats`: what a build came to, from its journal and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.inspect.statistics import count_all, describe_statistics
from runner.errors import ExitCode
from runner.project import Project
from runner.report.cost import cost, dollars
from runner.report.documents import document
from runner.report.summary import duration
from runner.terminal.progress_notice import patience
from runner.text.ages import seconds_of_age
from runner.text.display import display
from runner.text.wording import moment, plural

if TYPE_CHECKING:
    import argparse
    from collections import Counter
    from collections.abc import Iterator, Mapping

    from runner.app.inspect.statistics import Statistics

EXAMPLES = """\
examples:
  runner stats                      since the journal began
  runner stats --since 30d          the last thirty days; also 90m, 12h, 2w
  runner stats --json               the same for a program
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner stats` takes."""
    parser.add_argument("--since", default="", metavar="AGE", help="only the last 30d, 12h, …")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Count and say it. Raises RunnerError where the journal is damaged."""
    seconds = seconds_of_age(given.since, "--since") if given.since else None
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    with patience("reading the journal"):
        found = count_all(project, seconds)
    if given.json:
        print(document("stats", **describe_statistics(found)), end="")
    else:
        print("\n".join(_lines(found)))
    return ExitCode.OK


def _lines(found: Statistics) -> Iterator[str]:
    tally = found.tally
    yield _covers(found)
    if not tally.records:
        return
    yield f"builds:     {_counted(tally.builds)}{_recoveries(tally.recoveries)}"
    yield f"tasks:      {_counted(found.tasks)}"
    yield f"attempts:   {_counted(tally.attempts)}"
    if tally.failures:
        yield f"failures:   {_counted(tally.failures)}"
    if tally.checks:
        yield f"refused by: {_counted(tally.checks)}"
    if tally.blocked:
        yield f"blocked by: {_counted(tally.blocked)}"
    for kind, one in sorted(tally.waited.items(), key=lambda item: -item[1].seconds):
        longest = f", the longest {duration(one.longest)}" if one.count > 1 else ""
        yield f"waited:     {display(kind)} {one.count}, {duration(one.seconds)}{longest}"
    if waiting := sorted(one.task for one in tally.waits.open.values()):
        yield f"waiting:    {len(waiting)} ({', '.join(map(display, waiting[:5]))})"
    if used := cost(tally.usage):
        per = found.dollars_per_proven
        yield f"used:       {used}{f', {dollars(per)} a proven task' if per else ''}"
    for kind, ran, spent, stood in tally.proofs.rows():
        more = f", {stood} stood" if stood != "0" else ""
        yield f"proofs:     {display(kind)} {ran}, {spent}{more}"


def _covers(found: Statistics) -> str:
    tally = found.tally
    if not tally.records:
        since = f" since {moment(tally.since)}" if tally.since else " yet"
        return f"nothing has happened{since}"
    of_all = f" since {moment(tally.since)}" if tally.since else ""
    times = f"{moment(tally.first)} to {moment(tally.last)}"
    return f"{plural(tally.records, 'record')}{of_all}, from {times}"


def _recoveries(number: int) -> str:
    return f"; {number} {'recovery' if number == 1 else 'recoveries'}" if number else ""


def _counted(counted: Counter[str]) -> str:
    said = ", ".join(f"{number} {display(word)}" for word, number in counted.most_common())
    return said or "none"
