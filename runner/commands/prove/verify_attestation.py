"""`runner verify-attestation FILE`: whether this repository tells what a statement says."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.prove.attest import (
    check_attestation,
    check_document,
    check_text,
    require_still_asked,
)
from runner.app.prove.verify_done import verify_task, verify_whole
from runner.commands.consent import add_proof_flags, load_trusted_plan, open_with_gates, tell
from runner.errors import ExitCode, RunnerError
from runner.secrets.redact import redact

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping


EXAMPLES = """\
examples:
  runner verify-attestation proof.json         its shape, its digests, and what its commit tells
  runner verify-attestation proof.json --run   then its proof again, on HEAD
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner verify-attestation` takes."""
    parser.add_argument("file", metavar="FILE", help="a statement, or - for standard input")
    parser.add_argument("--run", action="store_true", help="prove the same again, on HEAD")
    add_proof_flags(parser)


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Check the statement; exit 1 where it says what this repository does not."""
    data = _read(given.file)
    flags = {"task_graph": given.task_graph, "sandbox": given.sandbox, "jobs": given.jobs}
    project = open_with_gates(environ, flags)
    found = check_attestation(project, data)
    passed: bool | None = None
    if given.run and not found.faults:
        load_trusted_plan(project, trusted=given.trust)
        require_still_asked(project, found)
        again = verify_task(project, found.name, tell) if found.kind == "task" else None
        passed = again.passed if again else verify_whole(project, tell).verified.passed
    told = check_document if given.json else check_text
    sys.stdout.write(redact(told(found, passed=passed)))
    return ExitCode.FAILED if found.faults or passed is False else ExitCode.OK


def _read(path: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise RunnerError(
            f"the attestation cannot be read: {error.strerror}",
            where=path,
            hint="one is made by: runner evidence ID --format in-toto",
        ) from error
