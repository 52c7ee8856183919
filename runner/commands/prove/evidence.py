"""`runner evidence ID`: what a task's DONE rests on, from the journal or from git alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.prove.attest import attest_task
from runner.app.prove.find_evidence import (
    evidence_document,
    evidence_lines,
    find_evidence,
    no_evidence,
)
from runner.commands.one_task import add_arguments, add_verbose
from runner.errors import ExitCode
from runner.project import Project
from runner.report.attestations import encode
from runner.secrets.redact import redact

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping


EXAMPLES = """\
examples:
  runner evidence TASK-003
  runner evidence 3 -v              with commits, trees and digests in full
  runner evidence 3 --json
  runner evidence 3 --format in-toto > proof.json   for whoever has a clone, and not your word
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner evidence` takes."""
    add_arguments(parser)
    add_verbose(parser)
    parser.add_argument(
        "--format",
        choices=("text", "json", "in-toto"),
        default="text",
        help="in-toto: a statement of its proof that others can check, as its commit tells it",
    )


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Show the evidence; exit 1 for a task that has none."""
    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    found = find_evidence(project, given.id)
    if given.format == "in-toto":
        print(encode(attest_task(project, found.task.id, found.known.spec)), end="")
        return ExitCode.OK
    if given.json or given.format == "json":
        print(redact(evidence_document(found)), end="")
        return ExitCode.OK if found.evidence else ExitCode.FAILED
    if found.evidence is None:
        raise no_evidence(found.task.id, found.known)
    sys.stdout.write(
        redact("\n".join(evidence_lines(found, found.evidence, digests=given.verbose))) + "\n"
    )
    return ExitCode.OK
