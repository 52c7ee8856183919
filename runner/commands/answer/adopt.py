"""`runner adopt ID`: a branch that a person finished goes through pipeline, review and gates."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from runner.commands.consent import open_with_gates
from runner.errors import ExitCode
from runner.lazy_module import lazy_module
from runner.model import Status
from runner.report.console import NORMAL, QUIET, Console, wants_colour
from runner.report.cost import cost_part
from runner.report.documents import document
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.answer import branch_adoption
    from runner.app.answer.branch_adoption import AdoptedBranch
    from runner.terminal import terminal_review
else:
    branch_adoption = lazy_module("runner.app.answer.branch_adoption")
    terminal_review = lazy_module("runner.terminal.terminal_review")

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
    colour = wants_colour(sys.stderr, project.environ)
    with Console(level=QUIET if given.json else NORMAL, colour=colour) as console:
        came = branch_adoption.adopt_branch(
            project, asked, console, terminal_review.find_asker(console, project.environ)
        )
    _say(came, as_json=given.json)
    return came.code


def _say(came: AdoptedBranch, *, as_json: bool) -> None:
    known, found, code = came.task, came.branch, came.code
    refusals = [one for one in known.findings if one.refuses]
    if as_json:
        said = document(
            "adopt",
            task=known.id,
            branch=found.branch,
            tip=found.commit,
            paths=[change.path for change in found.changes],
            status=known.status,
            reason=known.reason,
            note=known.note,
            commit=known.commit or None,
            findings=refusals,
            exit=int(code),
            **cost_part(known.usage),
        )
        print(said, end="")
        return
    name, branch = display(known.id), display(found.branch)
    if known.status is Status.DONE:
        print(f"{name} is DONE: {branch} landed as {known.commit[:12]}")
        return
    print(f"{name} is {known.status}: {display(known.note)}")
    hint = f"mend {branch} and commit, then: runner adopt {name}"
    print(f"next: runner review {name}" if code is ExitCode.PERSON else f"next: {hint}")
