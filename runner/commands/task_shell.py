"""`runner shell`: a command, or a shell, where a task's proof ran."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from runner.commands.output import load_trusted_plan, open_with_gates, tell
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.prove import task_shell
else:
    task_shell = lazy_module("runner.app.prove.task_shell")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Run it; the exit code is that of the command."""
    flags = {"task_graph": given.task_graph, "sandbox": given.sandbox}
    project = open_with_gates(environ, flags)
    load_trusted_plan(project, trusted=given.trust, again=f"runner shell {given.id} --trust")
    if given.held_out and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise RunnerError(
            "--held-out works only on a terminal",
            hint="run the command in your own terminal, or remove --held-out",
            code=ExitCode.PERSON,
        )
    wanted = task_shell.TreeChoice(given.tree) if given.tree else None
    ended = task_shell.run_in_tree(
        project, given.id, wanted, given.command, hear=_show, say=tell, held_out=given.held_out
    )
    if ended.why:
        tell(f"exit code 0, but the proof rejects it: {ended.why}")
    return ended.exit


def _show(lines: str) -> None:
    sys.stdout.write(f"{display(lines, lines=True)}\n")
    sys.stdout.flush()
