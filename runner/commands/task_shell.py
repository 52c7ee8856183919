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

EXAMPLES = """\
The command runs in the same tree, sandbox, environment and folder as the task's last proof. Its
exit code is that of the command. What it writes is thrown away.

The tree is the proposal that waits for you, else the draft of an attempt that did not pass, else
HEAD. --draft, --proposal and --base choose another one. One word after -- is a line for the shell,
or the id of a check (TC-001, gate:lint); several are a program with its arguments. Without a
command a shell opens.

examples:
  runner shell TASK-003                          a shell where the proof of TASK-003 ran
  runner shell TASK-003 -- 'pytest -q | tail'    one command there
  runner shell TASK-003 --base -- TC-001         a test contract on the tree before the task
  runner shell TASK-003 --held-out               with the tests that its implementer cannot read
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner shell` takes."""
    add = parser.add_argument
    add("id", metavar="TASK", help="the task: TASK-003, or 3")
    tree = parser.add_mutually_exclusive_group()
    for name, text in (
        ("draft", "the work of the last attempt that did not pass"),
        ("proposal", "the work that waits for review"),
        ("base", "the commit that the last attempt began on"),
    ):
        tree.add_argument(f"--{name}", dest="tree", action="store_const", const=name, help=text)
    add("--held-out", action="store_true", help="with the held-out files, on a terminal only")
    add("--trust", action="store_true", help="run this plan's commands without asking")
    add(
        "--sandbox",
        choices=("auto", "bubblewrap", "landlock", "seatbelt", "none"),
        help="what encloses it (default: as in a run)",
    )
    add("--no-sandbox", dest="sandbox", action="store_const", const="none", help="enclose nothing")
    add("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")
    parser.set_defaults(command=())  # all that follows `--`
    parser.usage = (
        "runner shell TASK [--draft | --proposal | --base] [--held-out] [--trust]\n"
        "                    [--sandbox NAME | --no-sandbox] [--task-graph PATH] [-- COMMAND]"
    )


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Run it; the exit code is that of the command."""
    flags = {"task_graph": given.task_graph, "sandbox": given.sandbox}
    project = open_with_gates(environ, flags)
    load_trusted_plan(project, trusted=given.trust, again=f"runner shell {given.id} --trust")
    if given.held_out and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise RunnerError(
            "held-out files are laid out on a terminal only",
            hint="run the command in a terminal of your own, or leave --held-out out",
            code=ExitCode.PERSON,
        )
    wanted = task_shell.Tree(given.tree) if given.tree else None
    ended = task_shell.run_in_tree(
        project, given.id, wanted, given.command, hear=_show, say=tell, held_out=given.held_out
    )
    if ended.why:
        tell(f"it ended with exit code 0; its proof refuses it: {ended.why}")
    return ended.exit


def _show(lines: str) -> None:
    sys.stdout.write(f"{display(lines, lines=True)}\n")
    sys.stdout.flush()
