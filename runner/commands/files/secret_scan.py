"""`runner secret-scan FILE…`: what in these files looks like a secret, and what to use instead."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
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
from runner.commands.progress_notice import patience
from runner.errors import ExitCode, RunnerError, worst
from runner.model import Severity
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from runner.model import Finding
    from runner.secrets.allowlist import AllowList

_EPILOG = """\
exit: 0 nothing blocks, 1 something does, 2 a file could not be read

examples:
  runner secret-scan src/app.py .env
  git show HEAD:src/app.py | runner secret-scan -
  runner secret-scan --json src/app.py
  runner secret-scan --sarif findings.sarif src/app.py
"""
_STDIN = "(standard input)"


@dataclass(frozen=True, slots=True)
class Scanned:
    """What the scan of all named files came to."""

    files: tuple[str, ...]
    findings: tuple[Finding, ...]
    unreadable: tuple[Unreadable, ...]

    @property
    def code(self) -> ExitCode:
        """The exit code."""
        codes = {ExitCode.FAILED} if any(one.refuses for one in self.findings) else set()
        return worst(codes | ({ExitCode.USAGE} if self.unreadable else set()))


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner secret-scan` takes."""
    del name
    parser.epilog = _EPILOG
    parser.add_argument("files", nargs="*", metavar="FILE", help="a file; - is standard input")
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
    """Scan and tell. Raises RunnerError without files, or where the allow-list is broken."""
    sarif, files = output_and_files(given.sarif, given.files)
    if not files:
        raise RunnerError("name at least one file", hint="runner secret-scan FILE…, - for input")
    scanned = scan_files(tuple(unique(files)), environ)
    if given.json:
        sys.stdout.write(_document(scanned))
    elif sarif is not None:
        write_output(_sarif(scanned), sarif)
    else:
        sys.stdout.writelines(f"{line}\n" for one in scanned.findings for line in _lines(one))
    tell_unreadable(scanned.unreadable)
    print(_summary(scanned), file=sys.stderr)
    return scanned.code


def scan_files(files: tuple[str, ...], environ: Mapping[str, str]) -> Scanned:
    """Every file, each by the allow-list of the project it lies in."""
    findings: list[Finding] = []
    unreadable: list[Unreadable] = []
    lists: dict[Path, AllowList | None] = {}
    for name in files:
        content = read_named(name)
        if isinstance(content, Unreadable):
            unreadable.append(content)
            continue
        folder = Path() if name == STANDARD_INPUT else Path(name).parent
        folder = folder.resolve()
        if folder not in lists:
            lists[folder] = Workplace.of(folder, environ).load_allow_list()
        with patience(f"scanning {_display_name(name)} ({len(content) >> 20} MB)"):
            findings += scan_named(content, name, lists[folder])
    return Scanned(tuple(map(_display_name, files)), tuple(findings), tuple(unreadable))


def scan_named(content: bytes, name: str, allowed: AllowList | None) -> Iterator[Finding]:
    """The findings of one content, fit to be shown: no value is in them, not in the name either."""
    from runner.secrets.redact import redact
    from runner.secrets.scan import scan_content

    path = _STDIN if name == STANDARD_INPUT else name
    for found in scan_content(content, path, allowed=allowed):
        message, hint = redact(found.message), redact(found.hint)
        yield replace(found, path=_display_name(name), message=message, hint=hint)


def _display_name(name: str) -> str:
    return _STDIN if name == STANDARD_INPUT else display_path(name)


def _lines(found: Finding) -> Iterator[str]:
    place = f"{found.path}:{found.line}:{found.column}" if found.line else found.path
    yield f"{place}: {found.severity}: {display(found.message)}"
    if found.hint:
        yield f"    hint: {display(found.hint)}"


def _summary(scanned: Scanned) -> str:
    from runner.text.wording import plural

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
    from runner.report.documents import document

    return document(
        "secret-scan",
        blocked=any(one.refuses for one in scanned.findings),
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
