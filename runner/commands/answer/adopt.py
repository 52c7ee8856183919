"""`runner adopt ID`: a branch that a person finished goes through pipeline, review and gates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.commands.consent import open_with_gates
from runner.commands.output import open_console, say
from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.answer import branch_adoption
    from runner.errors import ExitCode
else:
    branch_adoption = lazy_module("runner.app.answer.branch_adoption")

EXAMPLES = """\
What the branch changes since it left this one is carried here, checked as everybody's work is, and
lands as the task's one commit, with the trailer Review: adopted. Nobody is called to work on it:
where it does not pass, the branch stays as it is and the findings are shown.

examples:
  runner adopt TASK-003                 the draft that the last attempt left
  runner adopt TASK-003 fix/bookings    a branch of your own
exit code: 0 it has landed, 1 it does not pass, 3 it waits for a review, 6 the branches collide
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner adopt` takes."""
    add = parser.add_argument
    add("id", metavar="ID", help="the task: TASK-003, or 3")
    add("branch", metavar="BRANCH", nargs="?", default="", help="default: the task's draft")
    add("--yes", action="store_true", help="approve what a review would ask about")
    add("--trust", action="store_true", help="run this plan's commands without asking")
    add("--allow-dirty", action="store_true", help="adopt beside uncommitted changes")
    add("--review", choices=("prompt", "auto", "off"), help="who approves writes")
    add(
        "--sandbox",
        choices=("auto", "bubblewrap", "landlock", "seatbelt", "none"),
        help="what encloses commands",
    )
    add("--json", action="store_true", help="one JSON document")
    add("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Adopt the branch, and say what became of the task."""
    flags = {"task_graph": given.task_graph, "sandbox": given.sandbox, "review": given.review}
    project = open_with_gates(environ, flags)
    asked = branch_adoption.Adopt(given.id, given.branch, given.yes, given.trust, given.allow_dirty)
    with open_console(project, is_quiet=given.json) as (observer, asker):
        came = branch_adoption.adopt_branch(project, asked, observer, asker)
    lines, form = branch_adoption.adoption_lines, branch_adoption.adoption_document
    say(came, lines, form, as_json=given.json)
    return came.code
