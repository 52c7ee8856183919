"""`runner verify`: proves again what is DONE, on HEAD as it is, and says what differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.app.prove.verify_done import (
    task_document,
    task_lines,
    verify_task,
    verify_whole,
    whole_document,
    whole_tree_lines,
)
from runner.commands.consent import add_proof_flags, load_trusted_plan, open_with_gates, tell
from runner.errors import ExitCode, RunnerError
from runner.secrets.redact import redact

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping


EXAMPLES = """\
examples:
  runner verify TASK-003   its tests, contracts, gates and coverage, against its evidence
  runner verify --all      every check of everything that is DONE, each command once
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner verify` takes."""
    add = parser.add_argument
    add("id", metavar="ID", nargs="?", default="", help="the task: TASK-003, or 3")
    add("--all", action="store_true", help="everything that is DONE, and the project's coverage")
    add_proof_flags(parser)


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Prove again; exit 1 where anything falls short of what was promised."""
    if bool(given.id) == given.all:
        raise RunnerError(
            "one task or --all, not both" if given.all else "nothing says what to prove",
            hint="runner verify --all proves everything, runner verify TASK-001 one task",
        )
    flags = {"task_graph": given.task_graph, "sandbox": given.sandbox, "jobs": given.jobs}
    project = open_with_gates(environ, flags)
    load_trusted_plan(project, trusted=given.trust)
    if given.all:
        whole = verify_whole(project, tell)
        said = whole_document(whole) if given.json else "\n".join(whole_tree_lines(whole)) + "\n"
        passed = whole.verified.passed
    else:
        one = verify_task(project, given.id, tell)
        said = task_document(one) if given.json else "\n".join(task_lines(one)) + "\n"
        passed = one.passed
    print(redact(said), end="")
    return ExitCode.OK if passed else ExitCode.FAILED


# --- as JSON --------------------------------------------------------------------------


# --- in words -------------------------------------------------------------------------
