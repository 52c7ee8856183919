"""`runner parallel`: one command for several tasks at once, its output kept per task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.commands.output import open_with_gates, tell
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.build import command_batch
    from runner.run.batch import Came
else:
    command_batch = lazy_module("runner.app.build.command_batch")

EXAMPLES = """\
The command runs once for each task, in the sandbox, in a scratch tree that shows HEAD: what it
writes is kept nowhere, and what is not committed is not seen. Each gets RUNNER_TASK, RUNNER_SLOT,
RUNNER_PORT_BASE and TMPDIR of its own, the network that its task asks for, and the secrets that
its task requires. Two tasks that may write one file, by their Output files or by
FILE_OWNERSHIP_MAP.md, are refused together (exit 2); with --split they run one after the other.
What two tasks use of one scarce thing keeps them apart in any case.

Exit code: 0 where it passed for all, 1 where it failed for one.

examples:
  runner parallel --tasks TASK-001,TASK-002 --cmd "pnpm test"
  python scripts/parallel_runner.py -tasks TASK-001,TASK-002 -cmd "pnpm test" \\
      -task-graph artifacts/build/TASK-GRAPH.md
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner parallel` takes; every word also with one dash."""
    add = parser.add_argument
    add("-tasks", "--tasks", default="", metavar="IDS", help="ids with commas between them")
    add("-cmd", "--cmd", default="", metavar="COMMAND", help="what to run, by /bin/sh -c")
    add("-task-graph", "--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")
    add("-split", "--split", action="store_true", help="sequence tasks that may write one file")
    add("-j", "-jobs", "--jobs", type=int, metavar="N", help="tasks at once (default: cores)")
    add(
        "-sandbox",
        "--sandbox",
        choices=("auto", "bubblewrap", "landlock", "seatbelt", "none"),
        help="what encloses it",
    )
    add("-json", "--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Run it for every task; exit 1 where it failed for one."""
    if not (given.tasks.strip(" ,") and given.cmd.strip()):
        hint = 'runner parallel --tasks TASK-001,TASK-002 --cmd "pnpm test"'
        raise RunnerError("name tasks and a command", hint=hint)
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


def _quiet(_came: Came) -> None:
    """Say nothing while it runs: the document says all."""


def _say(came: Came) -> None:
    print("\n".join(command_batch.end_lines(came)), flush=True)
