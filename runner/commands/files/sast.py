"""`runner sast-scan` and `runner sast`: static analysis of a file, and its history."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.write.workplace import Workplace, display_path
from runner.commands.files.single_files import (
    STANDARD_INPUT,
    Unreadable,
    output_and_files,
    read_named,
    tell_unreadable,
    unique,
    write_output,
)
from runner.errors import ExitCode, RunnerError
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping

    from runner.report.documents import Json
    from runner.writes.sast_report import SastFinding, SastReport

_EPILOGS = {
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
BY_HAND = 0
"""The attempt of what no run scanned."""


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner sast-scan` and `runner sast show` take."""
    parser.epilog = _EPILOGS[name]
    parser.set_defaults(family=name)
    if name == "sast-scan":
        parser.add_argument("files", nargs="*", metavar="FILE", help="a file of the project")
        parser.add_argument("--task", default="", metavar="ID", help="the task it was written for")
        _add_forms(parser)
        return
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    show = commands.add_parser("show", help="every finding so far", allow_abbrev=False)
    show.add_argument("--task", default="", metavar="ID", help="only what is of this task")
    _add_forms(show)


def _add_forms(parser: argparse.ArgumentParser) -> None:
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON document")
    form.add_argument(
        "--sarif",
        nargs="?",
        const=STANDARD_INPUT,
        metavar="OUT.sarif",
        help="a SARIF 2.1.0 log, to standard output or into this file",
    )


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Scan, or show what scans have found."""
    workplace = Workplace.of(Path.cwd(), environ)
    if given.family == "sast":
        return _show(given, workplace)
    sarif, files = output_and_files(given.sarif, given.files)
    if not files:
        raise RunnerError("name at least one file", hint="runner sast-scan FILE --task TASK-003")
    task = _task(workplace, given.task) if given.task else ""
    return _scan(given, workplace, task, tuple(unique(files)), sarif)


def _task(workplace: Workplace, typed: str) -> str:
    """The id that is meant; one that the plan does not know is no reason not to scan."""
    from runner.plan.task_ids import task_id

    try:
        return workplace.task(typed)[0]
    except RunnerError as error:
        named = task_id(typed)
        if named is None:
            raise
        print(f"runner: {display(error.message)}\nhint: {display(error.hint)}", file=sys.stderr)
        return named


# --- scanning -------------------------------------------------------------------------


def _scan(
    given: argparse.Namespace,
    workplace: Workplace,
    task: str,
    files: tuple[str, ...],
    sarif: str | None,
) -> ExitCode:
    from runner.writes.sast_report import SastReport, make_unscanned

    report = SastReport()
    unreadable, unseen = [], []
    for name in files:
        content = read_named(name)
        if isinstance(content, Unreadable):
            unreadable.append(content)
        elif (scanned := _scan_file(workplace, name, content)) is not None:
            report = report.join(scanned)
        else:
            unseen.append(
                make_unscanned(name, "no analyser that is installed reads this", tool="sast")
            )
    tell_unreadable(unreadable)
    _keep(workplace, report, task)
    failures = [f"{one.path}: {one.message}" for one in unreadable]
    none_seen = len(unreadable) + len(unseen) == len(files)
    shown = report.join(SastReport(notes=tuple(unseen)))
    return _print_report(given, shown, sarif, failures, none_seen=none_seen)


def _scan_file(workplace: Workplace, name: str, content: bytes) -> SastReport | None:
    """One file by bandit where it is Python, and by the installed tools of its language."""
    from runner.app.write.analysis import by_tools
    from runner.writes.compile_check import language_of
    from runner.writes.sast import scan_file

    path = display_path(workplace.near(Path(name)))
    python = language_of(path, content) == "python"
    report = scan_file(content, path) if python else None
    others = by_tools(workplace, path, content)
    return report.join(others) if report and others else report or others


def _keep(workplace: Workplace, report: SastReport, task: str) -> None:
    """Append to the history; where that cannot be done it is said, and nothing more."""
    from runner.writes.sast import record_findings

    try:
        record_findings(workplace.root, report, task=task, attempt=BY_HAND)
    except RunnerError as error:
        print(
            f"runner: the findings were not kept: {display(error.message)}\n"
            f"hint: {display(error.hint)}",
            file=sys.stderr,
        )


# --- showing --------------------------------------------------------------------------


def _show(given: argparse.Namespace, workplace: Workplace) -> ExitCode:
    from runner.writes.sast import load_findings
    from runner.writes.sast_report import SastReport

    task = workplace.task(given.task)[0] if given.task else ""
    records = load_findings(workplace.root, task)
    found = tuple(map(_finding, records))
    notes = tuple(one for one in found if one.severity == "note")
    report = SastReport(tuple(one for one in found if one.severity != "note"), notes)
    kept = [_with_history(record, one) for record, one in zip(records, found, strict=True)]
    sarif, files = output_and_files(given.sarif, [])
    if files:
        raise RunnerError(
            "the file of a SARIF log ends in .sarif",
            hint="--sarif findings.sarif, or --sarif alone",
        )
    return _print_report(given, report, sarif, (), kept=kept)


def _with_history(
    record: Mapping[str, object], found: SastFinding
) -> tuple[SastFinding, dict[str, Json]]:
    """A finding with what the history knows of it: when, and of which task and attempt."""
    time, task, attempt = record.get("time"), record.get("task"), record.get("attempt")
    return found, {
        "time": display(time) if isinstance(time, str) else "",
        "task": display(task) if isinstance(task, str) else "",
        "attempt": attempt if isinstance(attempt, int) else 0,
    }


def load_findings(root: Path, attempts: Mapping[str, int]) -> tuple[SastFinding, ...]:
    """What was found, and not looked at, in one attempt of each of these tasks: each once."""
    from runner.writes.sast import load_findings

    kept = (
        _finding(record)
        for record in load_findings(root)
        if attempts.get(str(record.get("task"))) == record.get("attempt")
    )
    return tuple(dict.fromkeys(kept))


def _finding(record: Mapping[str, object]) -> SastFinding:
    """A record of the history; what is no text or number there is left empty."""
    from runner.writes.sast_report import SastFinding

    texts = {
        name: value if isinstance(value := record.get(name), str) else ""
        for name in ("path", "rule", "severity", "confidence", "message", "tool", "digest")
    }
    line, column = (
        value if isinstance(value := record.get(name), int) else 0 for name in ("line", "column")
    )
    return SastFinding(line=line, column=column, **texts)


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
        sys.stdout.write(_document(((one, {}) for one in told) if kept is None else kept))
    elif sarif is not None:
        _write(_sarif(report, tuple(failures)), sarif)
    else:
        sys.stdout.writelines(f"{_line(one)}\n" for one in report.findings)
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


def _line(one: SastFinding) -> str:
    place = f"{display_path(one.path)}:{one.line}:{one.column}"
    return f"{place}: {display(one.severity)}: {display(one.rule)} {display(one.message)}"


def _document(told: Iterable[tuple[SastFinding, dict[str, Json]]]) -> str:
    from runner.report.documents import document

    findings: list[Json] = []
    notes: list[Json] = []
    for one, whose in told:
        if one.severity == "note":
            notes.append({**whose, **_note(one)})
        else:
            findings.append({**whose, **_as_data(one)})
    return document("sast", findings=findings, notes=notes)


def _as_data(one: SastFinding) -> dict[str, Json]:
    return {
        "path": display_path(one.path),
        "line": one.line,
        "column": one.column,
        "rule": display(one.rule),
        "severity": one.severity,
        "confidence": one.confidence,
        "message": display(one.message),
        "tool": display(one.tool),
        "digest": one.digest,
    }


def _note(one: SastFinding) -> dict[str, Json]:
    message = display(one.message)
    return {"path": display_path(one.path), "tool": display(one.tool), "message": message}


def _sarif(report: SastReport, failures: tuple[str, ...]) -> str:
    from runner.report.sarif import of_sast, sarif_document

    results = map(of_sast, (*report.findings, *report.notes))
    return sarif_document(results, tools=("bandit",), failures=failures)
