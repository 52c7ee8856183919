"""`runner sast-scan` and `runner sast`: static analysis of a file, and its history."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.write.analysis import (
    analyse_files,
    find_task_id,
    finding_line,
    list_kept,
    sast_document,
    sast_sarif,
)
from runner.app.write.workplace import Workplace, display_path
from runner.commands.files.single_files import (
    add_forms,
    output_and_files,
    read_input,
    tell_unreadable,
    write_output,
)
from runner.errors import ExitCode, RunnerError
from runner.text.display import display
from runner.writes.sast_report import SastReport

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping

    from runner.report.documents import Json
    from runner.writes.sast_report import SastFinding

EXAMPLES = {
    "sast-scan": """\
Static analysis informs and never blocks: the exit code is 0 whatever it finds, and for a file
that cannot be read, too; 1 where OUT.sarif cannot be written, 2 only for wrong options.

examples:
  runner sast-scan src/app.py --task TASK-003
  runner sast-scan src/app.py --task TASK-003 --sarif findings.sarif
""",
    "sast": """\
examples:
  runner sast show --task TASK-003
  runner sast show --sarif findings.sarif
""",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner sast-scan` and `runner sast show` take."""
    name = parser.get_default("called")
    if name == "sast-scan":
        parser.add_argument("files", nargs="*", metavar="FILE", help="a file of the project")
        parser.add_argument("--task", default="", metavar="ID", help="the task it was written for")
        add_forms(parser)
        return
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    show = commands.add_parser("show", help="every finding so far", allow_abbrev=False)
    show.add_argument("--task", default="", metavar="ID", help="only what is of this task")
    add_forms(show)


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Scan, or show what scans have found."""
    workplace = Workplace.of(Path.cwd(), environ)
    if given.called == "sast":
        return _show(given, workplace)
    sarif, files = output_and_files(given.sarif, given.files)
    if not files:
        raise RunnerError("name at least one file", hint="runner sast-scan FILE --task TASK-003")
    task, unknown = find_task_id(workplace, given.task) if given.task else ("", None)
    if unknown is not None:
        _tell_error("", unknown)
    came = analyse_files(workplace, files, task, read_input)
    tell_unreadable(came.unreadable)
    if came.lost is not None:
        _tell_error("the findings were not kept: ", came.lost)
    failures = [f"{one.path}: {one.message}" for one in came.unreadable]
    return _print_report(given, came.report, sarif, failures, none_seen=came.none_seen)


def _tell_error(before: str, error: RunnerError) -> None:
    said = f"runner: {before}{display(error.message)}\nhint: {display(error.hint)}"
    print(said, file=sys.stderr)


def _show(given: argparse.Namespace, workplace: Workplace) -> ExitCode:
    kept = list_kept(workplace, given.task)
    found = [one.finding for one in kept]
    notes = tuple(one for one in found if one.severity == "note")
    report = SastReport(tuple(one for one in found if one.severity != "note"), notes)
    whose: list[dict[str, Json]] = [
        {"time": display(one.time), "task": display(one.task), "attempt": one.attempt}
        for one in kept
    ]
    sarif, files = output_and_files(given.sarif, [])
    if files:
        raise RunnerError(
            "the file of a SARIF log ends in .sarif",
            hint="--sarif findings.sarif, or --sarif alone",
        )
    return _print_report(given, report, sarif, (), kept=zip(found, whose, strict=True))


def _print_report(
    given: argparse.Namespace,
    report: SastReport,
    sarif: str | None,
    failures: Iterable[str],
    *,
    kept: Iterable[tuple[SastFinding, dict[str, Json]]] | None = None,
    none_seen: bool = False,
) -> ExitCode:
    if given.json:
        told = (*report.findings, *report.notes)
        sys.stdout.write(sast_document(((one, {}) for one in told) if kept is None else kept))
    elif sarif is not None:
        _write(sast_sarif(report, tuple(failures)), sarif)
    else:
        sys.stdout.writelines(f"{finding_line(one)}\n" for one in report.findings)
    for note in report.notes:
        print(f"{display_path(note.path)}: note: {display(note.message)}", file=sys.stderr)
    summary = "nothing was looked at" if none_seen else report.summary
    print(f"SAST: {summary}", file=sys.stderr)
    return ExitCode.OK


def _write(sarif: str, target: str) -> None:
    """Write the log; where it cannot be written, that is no mistake in the options."""
    try:
        write_output(sarif, target)
    except RunnerError as error:
        code = ExitCode.FAILED
        raise RunnerError(error.message, where=error.where, hint=error.hint, code=code) from error
