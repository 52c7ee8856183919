"""`runner pipeline sast-scan`, `secret-scan`, `secrets`: check single files.

Static analysis and its history; what looks like a secret, and what a person lets pass.
`pipeline parallel` runs one command for several tasks and keeps the output of each.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from runner import effects
from runner.app.write.workplace import STANDARD_INPUT, Workplace, display_path, require_named
from runner.commands.output import open_with_gates, read_input, tell
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.report.documents import document
from runner.report.table import table
from runner.secrets.allowlist import FILE_NAME, AllowList
from runner.terminal.screen import patience
from runner.text.display import display
from runner.writes import safe_io
from runner.writes.sast_report import SastReport

if TYPE_CHECKING:
    import argparse
    import getpass
    from collections.abc import Iterable, Mapping

    from runner.app.build import command_batch
    from runner.app.build.command_batch import TaskExit
    from runner.app.write import secret_findings, static_checks
    from runner.app.write.workplace import Unreadable
    from runner.report.documents import Json
    from runner.secrets.allowlist import Allowed
    from runner.writes.sast_report import SastFinding
else:
    getpass = lazy_module("getpass")
    static_checks = lazy_module("runner.app.write.static_checks")
    secret_findings = lazy_module("runner.app.write.secret_findings")
    command_batch = lazy_module("runner.app.build.command_batch")


# --- static analysis ------------------------------------------------------------------


def scan_code(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Analyse files; findings never block."""
    workplace = Workplace.of(Path.cwd(), environ)
    sarif, files = _output_and_files(given.sarif, given.files)
    if not files:
        raise RunnerError(
            "name at least one file", hint="runner pipeline sast-scan FILE --task TASK-003"
        )
    task, unknown = static_checks.find_task_id(workplace, given.task) if given.task else ("", None)
    if unknown is not None:
        _print_error("", unknown)
    came = static_checks.analyse_files(workplace, files, task, read_input)
    _print_unreadable(came.unreadable)
    if came.lost is not None:
        _print_error("the findings were not saved: ", came.lost)
    failures = [f"{one.path}: {one.message}" for one in came.unreadable]
    return _print_report(given, came.report, sarif, failures, none_seen=came.none_seen)


def _print_error(before: str, error: RunnerError) -> None:
    text = f"runner: {before}{display(error.message)}\nhint: {display(error.hint)}"
    print(text, file=sys.stderr)


def show_code_findings(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Show what scans have found."""
    workplace = Workplace.of(Path.cwd(), environ)
    kept = static_checks.list_kept(workplace, given.task)
    found = [one.finding for one in kept]
    notes = tuple(one for one in found if one.severity == "note")
    report = SastReport(tuple(one for one in found if one.severity != "note"), notes)
    whose: list[dict[str, Json]] = [
        {"time": display(one.time), "task": display(one.task), "attempt": one.attempt}
        for one in kept
    ]
    sarif, files = _output_and_files(given.sarif, [])
    if files:
        raise RunnerError(
            "the name of a SARIF file must end in .sarif",
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
        findings = (*report.findings, *report.notes)
        sys.stdout.write(
            static_checks.sast_document(((one, {}) for one in findings) if kept is None else kept)
        )
    elif sarif is not None:
        _write(static_checks.sast_sarif(report, tuple(failures)), sarif)
    else:
        sys.stdout.writelines(f"{static_checks.finding_line(one)}\n" for one in report.findings)
    for note in report.notes:
        print(f"{display_path(note.path)}: note: {display(note.message)}", file=sys.stderr)
    summary = "no files were checked" if none_seen else report.summary
    print(f"SAST: {summary}", file=sys.stderr)
    return ExitCode.OK


def _write(sarif: str, target: str) -> None:
    """Write the log; where it cannot be written, that is no mistake in the options."""
    try:
        _write_output(sarif, target)
    except RunnerError as error:
        code = ExitCode.FAILED
        raise RunnerError(error.message, where=error.where, hint=error.hint, code=code) from error


# --- secrets --------------------------------------------------------------------------


# --- allowing -------------------------------------------------------------------------


def allow_secret(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Allow one secret value. Raises RunnerError for a value that cannot be allowed."""
    workplace = secret_findings.open_allow_list(Path.cwd(), environ)
    read_value = partial(_read_value, given.value_from) if given.value_from else None
    asked = secret_findings.Allow(given.reason, given.place or "", read_value, given.expires)
    made = secret_findings.allow(workplace, asked, read_input)
    if not made.entries:
        print("already allowed; to list all: runner pipeline secrets list", file=sys.stderr)
        return ExitCode.OK
    until = f" until {made.expires}" if made.expires else ""
    print(f"allowed{until} by {display(made.author)}; now commit {FILE_NAME}", file=sys.stderr)
    return ExitCode.OK


def _read_value(name: str) -> str:
    """Read a value from a file or the input; arguments are visible to other processes."""
    if name == STANDARD_INPUT and sys.stdin.isatty():
        return getpass.getpass("value: ")
    content = require_named(name, read_input)
    return content.decode("utf-8", "surrogateescape").strip("\r\n")


# --- leased ---------------------------------------------------------------------------


def show_secret_uses(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Show which task had which leased secret."""
    from runner.app.inspect.event_log import list_secret_uses
    from runner.project import Project

    uses = list_secret_uses(Project.open(Path.cwd(), environ, plan_needed=False))
    if given.json:
        sys.stdout.write(document("secret-uses", uses=uses))
        return ExitCode.OK
    if not uses:
        print("no task has used a secret", file=sys.stderr)
        return ExitCode.OK
    rows = [
        (display(one.name), one.task, str(one.attempt or ""), display(one.source), *one.span)
        for one in uses
    ]
    sys.stdout.write(table(("Name", "Task", "Attempt", "Source", "From", "Until"), rows))
    return ExitCode.OK


# --- listing --------------------------------------------------------------------------


def list_allowed(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Show what passes the scan, and until when."""
    workplace = secret_findings.open_allow_list(Path.cwd(), environ)
    known = workplace.load_allow_list() or AllowList()
    gone = known.list_expired()
    if given.json:
        sys.stdout.write(document("secrets", allowed=secret_findings.describe_allowed(known)))
        return ExitCode.OK
    if not known.entries:
        print("no exceptions are recorded", file=sys.stderr)
        return ExitCode.OK
    shown = [
        (str(number), _until(one, expired=one in gone), one.author, one.reason)
        for number, one in enumerate(known.entries, start=1)
    ]
    sys.stdout.write(table(("No", "Until", "By", "Reason"), shown))
    return ExitCode.OK


def _until(one: Allowed, *, expired: bool) -> str:
    if one.expires is None:
        return "always"
    return f"{one.expires} (expired)" if expired else str(one.expires)


def execute_secret_scan(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Scan and tell. Raises RunnerError without files, or where the allow-list is broken."""
    sarif, files = _output_and_files(given.sarif, given.files)
    if not files:
        raise RunnerError(
            "name at least one file", hint="runner pipeline secret-scan FILE…, - for input"
        )
    scanned = secret_findings.scan_files(files, environ, read_input, patience)
    if given.json:
        sys.stdout.write(secret_findings.scan_document(scanned))
    elif sarif is not None:
        _write_output(secret_findings.scan_sarif(scanned), sarif)
    else:
        sys.stdout.writelines(
            f"{line}\n" for one in scanned.findings for line in secret_findings.finding_text(one)
        )
    _print_unreadable(scanned.unreadable)
    print(secret_findings.summarize(scanned), file=sys.stderr)
    return scanned.code


def execute_parallel(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Run it for every task; exit 1 where it failed for one."""
    if not (given.tasks.strip(" ,") and given.cmd.strip()):
        hint = 'runner pipeline parallel --tasks TASK-001,TASK-002 --cmd "pnpm test"'
        raise RunnerError("--tasks and --cmd are required", hint=hint)
    flags = {"task_graph": given.task_graph, "sandbox": given.sandbox, "jobs": given.jobs}
    project = open_with_gates(environ, flags)
    typed = [word for word in given.tasks.replace(",", " ").split() if word]
    hear = _quiet if given.json else _say
    done = command_batch.run_for_tasks(project, typed, given.cmd, hear, tell, split=given.split)
    if given.json:
        print(command_batch.batch_document(given.cmd, done), end="")
    else:
        print(command_batch.total_line(done.came, done.seconds))
    return done.code


# --- in words -------------------------------------------------------------------------


def _quiet(_came: TaskExit) -> None:
    """Print nothing during the scan; the document has all results."""


def _say(came: TaskExit) -> None:
    print("\n".join(command_batch.end_lines(came)), flush=True)


def _print_unreadable(found: Iterable[Unreadable]) -> None:
    """Print the files that could not be read to standard error."""
    for one in found:
        print(f"runner: {one.path}: {one.message}\nhint: {one.hint}", file=sys.stderr)


def _output_and_files(option: str | None, files: list[str]) -> tuple[str | None, list[str]]:
    """Return the `--sarif` target and the files; a name without `.sarif` is an input file.

    So `--sarif app.py` never writes over app.py.
    """
    if option is None or option == STANDARD_INPUT or option.endswith((".sarif", ".sarif.json")):
        return option, files
    return STANDARD_INPUT, [option, *files]


def _write_output(text: str, target: str) -> None:
    """Write a document to standard output for `-`, else atomically to a file.

    Raises RunnerError where the file cannot be written.
    """
    if target == STANDARD_INPUT:
        sys.stdout.write(text)
        return
    with safe_io.explain_errors(display_path(target)):
        effects.write_file(Path(target), text.encode())
