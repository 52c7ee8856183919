"""`runner secret-scan FILE…`: what in these files looks like a secret, and what to use instead."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from runner.app.write.secret_findings import scan_files
from runner.commands.files.single_files import (
    add_forms,
    output_and_files,
    read_input,
    tell_unreadable,
    write_output,
)
from runner.commands.progress_notice import patience
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.model import Severity
from runner.text.display import display
from runner.text.wording import plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from runner.app.write.secret_findings import Scanned
    from runner.model import Finding
    from runner.report import documents
else:
    documents = lazy_module("runner.report.documents")

_EPILOG = """\
exit: 0 nothing blocks, 1 something does, 2 a file could not be read

examples:
  runner secret-scan src/app.py .env
  git show HEAD:src/app.py | runner secret-scan -
  runner secret-scan --json src/app.py
  runner secret-scan --sarif findings.sarif src/app.py
"""


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner secret-scan` takes."""
    del name
    parser.epilog = _EPILOG
    parser.add_argument("files", nargs="*", metavar="FILE", help="a file; - is standard input")
    add_forms(parser)


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Scan and tell. Raises RunnerError without files, or where the allow-list is broken."""
    sarif, files = output_and_files(given.sarif, given.files)
    if not files:
        raise RunnerError("name at least one file", hint="runner secret-scan FILE…, - for input")
    scanned = scan_files(files, environ, read_input, patience)
    if given.json:
        sys.stdout.write(_document(scanned))
    elif sarif is not None:
        write_output(_sarif(scanned), sarif)
    else:
        sys.stdout.writelines(f"{line}\n" for one in scanned.findings for line in _lines(one))
    tell_unreadable(scanned.unreadable)
    print(_summary(scanned), file=sys.stderr)
    return scanned.code


def _lines(found: Finding) -> Iterator[str]:
    place = f"{found.path}:{found.line}:{found.column}" if found.line else found.path
    yield f"{place}: {found.severity}: {display(found.message)}"
    if found.hint:
        yield f"    hint: {display(found.hint)}"


def _summary(scanned: Scanned) -> str:
    counts = {
        kind: sum(one.severity is kind for one in scanned.findings)
        for kind in (Severity.ERROR, Severity.WARNING, Severity.NOTE)
    }
    said = ", ".join(
        f"{number} {verb}"
        for number, verb in (
            (counts[Severity.ERROR], "blocking"),
            (counts[Severity.WARNING], "to look at"),
            (counts[Severity.NOTE], "noted"),
        )
        if number
    )
    looked = len(scanned.files) - len(scanned.unreadable)
    hint = (
        '\na false positive? runner secrets allow FILE:LINE --reason "…"'
        if counts[Severity.ERROR]
        else ""
    )
    return f"{plural(looked, 'file')} scanned: {said or 'nothing found'}{hint}"


def _document(scanned: Scanned) -> str:
    return documents.document(
        "secret-scan",
        blocked=scanned.is_blocked,
        files=scanned.files,
        findings=[
            {
                "path": one.path,
                "line": one.line,
                "column": one.column,
                "severity": one.severity,
                "message": display(one.message),
                "hint": display(one.hint),
            }
            for one in scanned.findings
        ],
        unreadable=scanned.unreadable,
    )


def _sarif(scanned: Scanned) -> str:
    from runner.report.sarif import of_finding, sarif_document

    failures = [f"{one.path}: {one.message}" for one in scanned.unreadable]
    return sarif_document(map(of_finding, scanned.findings), failures=failures)
