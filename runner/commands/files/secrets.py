"""`runner secret-scan` and `secrets`: what looks like a secret, and what a person lets pass."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.write.secret_findings import (
    Allow,
    allow,
    describe_allowed,
    finding_text,
    open_allow_list,
    scan_document,
    scan_files,
    scan_sarif,
    summarize,
)
from runner.app.write.workplace import STANDARD_INPUT, require_named
from runner.commands.catalogue import Command
from runner.commands.files.single_files import (
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
from runner.terminal.progress_notice import patience
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    import getpass
    from collections.abc import Mapping

    from runner.app.write.workplace import Workplace
    from runner.secrets.allowlist import Allowed
else:
    getpass = lazy_module("getpass")


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
    workplace = open_allow_list(Path.cwd(), environ)
    if given.command == "list":
        return _list(workplace, as_json=given.json)
    return _allow(given, workplace)


# --- allowing -------------------------------------------------------------------------


def _allow(given: argparse.Namespace, workplace: Workplace) -> ExitCode:
    read_value = partial(_read_value, given.value_from) if given.value_from else None
    asked = Allow(given.reason, given.place or "", read_value, given.expires)
    made = allow(workplace, asked, read_input)
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
        sys.stdout.write(document("secrets", allowed=describe_allowed(known)))
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
    scanned = scan_files(files, environ, read_input, patience)
    if given.json:
        sys.stdout.write(scan_document(scanned))
    elif sarif is not None:
        write_output(scan_sarif(scanned), sarif)
    else:
        sys.stdout.writelines(f"{line}\n" for one in scanned.findings for line in finding_text(one))
    tell_unreadable(scanned.unreadable)
    print(summarize(scanned), file=sys.stderr)
    return scanned.code


COMMANDS = {
    "secrets": Command(_SECRETS, secrets_arguments, execute_secrets),
    "secret-scan": Command(_SECRET_SCAN, secret_scan_arguments, execute_secret_scan),
}
