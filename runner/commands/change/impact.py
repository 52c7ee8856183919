"""`runner impact`: which tasks and test contracts a change may affect, and why."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.change.impact_question import (
    ImpactRequest,
    find_impact,
    impact_document,
    inside,
    require_one,
)
from runner.commands.consent import ask_trust
from runner.errors import ExitCode
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.report.affected_lines import format_affected, workflow_commands
from runner.text.display import display
from runner.text.wording import finding_lines, plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.change.impact_question import Impact
    from runner.app.prove import prove_tree
    from runner.app.prove.prove_tree import Reproven
else:
    prove_tree = lazy_module("runner.app.prove.prove_tree")

_CONTRACT = "contract:"
"""What the id of an entry under Contracts begins with."""
EXAMPLES = """\
without a path: what differs from HEAD, staged or not
exit: 0, however many tasks are affected; with --run 1 when one of the tests fails

examples:
  runner impact
  runner impact src/booking/models.py
  runner impact --since main --format github
  runner impact --run              on HEAD with what is not committed, in a scratch tree
  runner impact --task TASK-003 --json
"""
_WIDTHS = ("transitive", "direct", "none")


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner impact` takes."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="a file or folder")
    parser.add_argument("--since", metavar="REV", help="what differs from this revision")
    parser.add_argument("--task", metavar="ID", help="what this task changed when it landed")
    parser.add_argument(
        "--changed-dependents",
        choices=_WIDTHS,
        help="how far the change is followed (default: as the settings say)",
    )
    parser.add_argument(
        "--conservative", action="store_true", help="count whatever cannot be decided as affected"
    )
    parser.add_argument(
        "--run", action="store_true", help="run what is found; 1 if something fails"
    )
    parser.add_argument(
        "--trust", action="store_true", help="run this plan's commands without asking"
    )
    parser.add_argument("--all", action="store_true", help="ask about tasks that are not DONE too")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON document")
    form.add_argument(
        "--format", choices=("text", "github"), default="text", help="github: annotations"
    )
    parser.add_argument("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Answer. Raises RunnerError for a path, revision or task that there is not."""
    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    request = ImpactRequest(
        paths=tuple(inside(project, typed) for typed in given.paths),
        since=given.since,
        task=given.task or "",
        dependents=given.changed_dependents or "",
        conservative=given.conservative,
        everyone=given.all,
    )
    require_one(request)
    if given.run:
        again = "the same command with --trust"
        ask_trust(project, project.plan(project.plan_bytes), trusted=given.trust, again=again)
    found = find_impact(project, request)
    if not given.json:
        _show(found, github=given.format == "github")
    ran: tuple[Reproven, ...] = ()
    if given.run:
        ran = prove_tree.reprove(project, found.answer.affected, _tell_ran)
    if given.json:
        print(impact_document(found, ran), end="")
    return ExitCode.FAILED if any(one.failed for one in ran) else ExitCode.OK


# --- shown ------------------------------------------------------------------------------


def _show(found: Impact, *, github: bool) -> None:
    if github:
        print("".join(f"{line}\n" for line in workflow_commands(found.answer)), end="")
        return
    answer = found.answer
    for one in answer.affected:
        print("\n".join(format_affected(one)))
    names = [name for one in answer.affected for name in one.contracts]
    contracts = sum(name.startswith(_CONTRACT) for name in names)
    tasks, tests = plural(len(answer.affected), "task"), len(names) - contracts
    said = f"{tasks} and {plural(tests, 'test contract')}"
    if contracts:
        said = f"{tasks}, {plural(tests, 'test contract')} and {plural(contracts, 'contract')}"
    files = plural(len(found.changes), "changed file")
    for note in found.notes:
        print(f"note: {display(note)}", file=sys.stderr)
    for doubt in answer.doubts:
        print(f"not decided: {display(doubt.text)}", file=sys.stderr)
    if answer.doubts:
        print("hint: --conservative counts what is not decided as affected", file=sys.stderr)
    print(f"{files}: {said} may change result", file=sys.stderr)


def _tell_ran(said: Reproven) -> None:
    """How it ended, as soon as it did; what it printed only where it failed."""
    sign = "failed" if said.failed else "passed"
    print(f"{display(said.task)}  {display(said.contract)}  {sign}", file=sys.stderr, flush=True)
    for finding in said.findings if said.failed else ():
        print("\n".join(f"  {line}" for line in finding_lines(finding)), file=sys.stderr)
