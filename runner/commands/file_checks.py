"""Single files, looked through: `runner sast-scan` and `sast`, `secret-scan` and `secrets`.

Static analysis and its history; what looks like a secret, and what a person lets pass.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.write.workplace import STANDARD_INPUT, Workplace, display_path, require_named
from runner.commands.catalogue import Command
from runner.commands.write_pipeline import (
    add_forms,
    output_and_files,
    read_input,
    tell_unreadable,
    write_output,
)
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.report.documents import document
from runner.report.table import table
from runner.secrets.allowlist import FILE_NAME, AllowList
from runner.terminal.screen import patience
from runner.text.display import display
from runner.writes.sast_report import SastReport

if TYPE_CHECKING:
    import argparse
    import getpass
    from collections.abc import Iterable, Mapping

    from runner.app.write import analysis, secret_findings
    from runner.report.documents import Json
    from runner.secrets.allowlist import Allowed
    from runner.writes.sast_report import SastFinding
else:
    getpass = lazy_module("getpass")
    analysis = lazy_module("runner.app.write.analysis")
    secret_findings = lazy_module("runner.app.write.secret_findings")

# --- static analysis ------------------------------------------------------------------


_SAST = {
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


def sast_arguments(parser: argparse.ArgumentParser) -> None:
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


def execute_sast(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Scan, or show what scans have found."""
    workplace = Workplace.of(Path.cwd(), environ)
    if given.called == "sast":
        return _show(given, workplace)
    sarif, files = output_and_files(given.sarif, given.files)
    if not files:
        raise RunnerError("name at least one file", hint="runner sast-scan FILE --task TASK-003")
    task, unknown = analysis.find_task_id(workplace, given.task) if given.task else ("", None)
    if unknown is not None:
        _tell_error("", unknown)
    came = analysis.analyse_files(workplace, files, task, read_input)
    tell_unreadable(came.unreadable)
    if came.lost is not None:
        _tell_error("the findings were not kept: ", came.lost)
    failures = [f"{one.path}: {one.message}" for one in came.unreadable]
    return _print_report(given, came.report, sarif, failures, none_seen=came.none_seen)


def _tell_error(before: str, error: RunnerError) -> None:
    said = f"runner: {before}{display(error.message)}\nhint: {display(error.hint)}"
    print(said, file=sys.stderr)


def _show(given: argparse.Namespace, workplace: Workplace) -> ExitCode:
    kept = analysis.list_kept(workplace, given.task)
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
        sys.stdout.write(
            analysis.sast_document(((one, {}) for one in told) if kept is None else kept)
        )
    elif sarif is not None:
        _write(analysis.sast_sarif(report, tuple(failures)), sarif)
    else:
        sys.stdout.writelines(f"{analysis.finding_line(one)}\n" for one in report.findings)
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


# --- secrets --------------------------------------------------------------------------


_SECRETS = """\
The entry is a salted digest with a reason and your name, in secrets-allowed.toml, which no
task may write. Commit it, so that everybody's scan passes the same values.

examples:
  runner secrets allow tests/test_api.py:12 --reason "key of the vendor's documentation"
  runner secrets allow app.py:12:9 --reason "a public key" --expires 2027-01-31
  pass show sample | runner secrets allow --value-from - --reason "sample of the tutorial"
  runner secrets list
  runner secrets log               who had which of your [secret.NAME], and when
"""


def secrets_arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner secrets` takes."""
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    allow = commands.add_parser("allow", help="let one value pass", allow_abbrev=False)
    allow.add_argument("place", nargs="?", metavar="FILE:LINE", help="where the scan found it")
    allow.add_argument("--value-from", metavar="FILE", help="the value itself; - is standard input")
    allow.add_argument("--reason", default="", metavar="TEXT", help="why it is no secret")
    allow.add_argument("--expires", default="", metavar="DATE", help="last day, as 2027-01-31")
    listing = commands.add_parser("list", help="what passes, and until when", allow_abbrev=False)
    listing.add_argument("--json", action="store_true", help="one JSON document")
    log = commands.add_parser(
        "log", help="which task had which leased secret, from when to when", allow_abbrev=False
    )
    log.add_argument("--json", action="store_true", help="one JSON document")


def execute_secrets(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Allow or list. Raises RunnerError outside a repository and for what cannot be allowed."""
    if given.command == "log":
        return _show_uses(environ, as_json=given.json)
    workplace = secret_findings.open_allow_list(Path.cwd(), environ)
    if given.command == "list":
        return _list(workplace, as_json=given.json)
    return _allow(given, workplace)


# --- allowing -------------------------------------------------------------------------


def _allow(given: argparse.Namespace, workplace: Workplace) -> ExitCode:
    read_value = partial(_read_value, given.value_from) if given.value_from else None
    asked = secret_findings.Allow(given.reason, given.place or "", read_value, given.expires)
    made = secret_findings.allow(workplace, asked, read_input)
    if not made.entries:
        print("this is allowed already; runner secrets list", file=sys.stderr)
        return ExitCode.OK
    until = f" until {made.expires}" if made.expires else ""
    print(f"allowed{until} by {display(made.author)}; now commit {FILE_NAME}", file=sys.stderr)
    return ExitCode.OK


def _read_value(name: str) -> str:
    """A value that is never an argument: arguments are seen by every process."""
    if name == STANDARD_INPUT and sys.stdin.isatty():
        return getpass.getpass("value: ")
    content = require_named(name, read_input)
    return content.decode("utf-8", "surrogateescape").strip("\r\n")


# --- leased ---------------------------------------------------------------------------


def _show_uses(environ: Mapping[str, str], *, as_json: bool) -> ExitCode:
    from runner.app.inspect.event_log import list_secret_uses
    from runner.project import Project

    uses = list_secret_uses(Project.open(Path.cwd(), environ, plan_needed=False))
    if as_json:
        sys.stdout.write(document("secret-uses", uses=uses))
        return ExitCode.OK
    if not uses:
        print("no task was lent a secret here", file=sys.stderr)
        return ExitCode.OK
    rows = [
        (display(one.name), one.task, str(one.attempt or ""), display(one.source), *one.span)
        for one in uses
    ]
    sys.stdout.write(table(("Name", "Task", "Attempt", "Source", "From", "Until"), rows))
    return ExitCode.OK


# --- listing --------------------------------------------------------------------------


def _list(workplace: Workplace, *, as_json: bool) -> ExitCode:
    known = workplace.load_allow_list() or AllowList()
    gone = known.list_expired()
    if as_json:
        sys.stdout.write(document("secrets", allowed=secret_findings.describe_allowed(known)))
        return ExitCode.OK
    if not known.entries:
        print("nothing is allowed here", file=sys.stderr)
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
    return f"{one.expires} (passed)" if expired else str(one.expires)


_SECRET_SCAN = """\
exit: 0 nothing blocks, 1 something does, 2 a file could not be read

examples:
  runner secret-scan src/app.py .env
  git show HEAD:src/app.py | runner secret-scan -
  runner secret-scan --json src/app.py
  runner secret-scan --sarif findings.sarif src/app.py
"""


def secret_scan_arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner secret-scan` takes."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="a file; - is standard input")
    add_forms(parser)


def execute_secret_scan(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Scan and tell. Raises RunnerError without files, or where the allow-list is broken."""
    sarif, files = output_and_files(given.sarif, given.files)
    if not files:
        raise RunnerError("name at least one file", hint="runner secret-scan FILE…, - for input")
    scanned = secret_findings.scan_files(files, environ, read_input, patience)
    if given.json:
        sys.stdout.write(secret_findings.scan_document(scanned))
    elif sarif is not None:
        write_output(secret_findings.scan_sarif(scanned), sarif)
    else:
        sys.stdout.writelines(
            f"{line}\n" for one in scanned.findings for line in secret_findings.finding_text(one)
        )
    tell_unreadable(scanned.unreadable)
    print(secret_findings.summarize(scanned), file=sys.stderr)
    return scanned.code


COMMANDS = {
    **{name: Command(examples, sast_arguments, execute_sast) for name, examples in _SAST.items()},
    "secrets": Command(_SECRETS, secrets_arguments, execute_secrets),
    "secret-scan": Command(_SECRET_SCAN, secret_scan_arguments, execute_secret_scan),
}
