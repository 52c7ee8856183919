"""`runner secret-scan FILE…`: what in these files looks like a secret, and what to use instead."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from runner.app.write.secret_findings import (
    finding_text,
    scan_document,
    scan_files,
    scan_sarif,
    summarize,
)
from runner.commands.files.single_files import (
    add_forms,
    output_and_files,
    read_input,
    tell_unreadable,
    write_output,
)
from runner.errors import ExitCode, RunnerError
from runner.terminal.progress_notice import patience

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping


EXAMPLES = """\
exit: 0 nothing blocks, 1 something does, 2 a file could not be read

examples:
  runner secret-scan src/app.py .env
  git show HEAD:src/app.py | runner secret-scan -
  runner secret-scan --json src/app.py
  runner secret-scan --sarif findings.sarif src/app.py
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner secret-scan` takes."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="a file; - is standard input")
    add_forms(parser)


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
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
