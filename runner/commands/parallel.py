"""`runner pipeline parallel`: one command for several tasks at once, its output kept per task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.commands.output import open_with_gates, tell
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.build import command_batch
    from runner.run.batch import TaskExit
else:
    command_batch = lazy_module("runner.app.build.command_batch")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
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
    """Say nothing while it runs: the document says all."""


def _say(came: TaskExit) -> None:
    print("\n".join(command_batch.end_lines(came)), flush=True)
