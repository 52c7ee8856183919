"""What a person decided or made, taken in: `runner decide` and `pattern`, `adopt`, `waive`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands.catalogue import Command
from runner.commands.output import open_console, open_with_gates, say, type_again
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.model import Decision
from runner.project import Project
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.answer import decision_record, one_task_runs, waiver
else:
    decision_record = lazy_module("runner.app.answer.decision_record")
    one_task_runs = lazy_module("runner.app.answer.one_task_runs")
    waiver = lazy_module("runner.app.answer.waiver")

# --- decisions and patterns -----------------------------------------------------------


_DECIDE = """\
examples:
  runner decide "Optimistic locking" --task TASK-018 \\
    --context "Row locks deadlocked in the load test." \\
    --decision "Optimistic locking with at most 3 retries." \\
    --tradeoff "Some retries, against no deadlock."
"""


def decide_arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner decide` takes."""
    parser.add_argument("title", help="the choice in a few words")
    parser.add_argument(
        "--context", default="", metavar="TEXT", help="what made a choice necessary"
    )
    parser.add_argument(
        "--decision", default="", metavar="TEXT", help="what was chosen (the title)"
    )
    parser.add_argument(
        "--tradeoff", default="", metavar="TEXT", help="what it costs, against what"
    )
    parser.add_argument("--pattern", default="", metavar="TEXT", help="a pattern it could become")
    parser.add_argument("--task", default="", metavar="ID", help="the task it was made for")


def execute_decide(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Append the decision, and say its number."""
    project = Project.open(Path.cwd(), environ, plan_needed=bool(given.task))
    decision = Decision(
        title=given.title,
        context=given.context,
        decision=given.decision,
        tradeoff=given.tradeoff,
        pattern=given.pattern,
    )
    number = decision_record.decide(project, decision, given.task)
    print(f"DECISION-{number:03d} written to artifacts/build/DECISIONS.md")
    return ExitCode.OK


_PATTERN = """\
exit: 0 well, 2 no such decision, no candidate, or no index

examples:
  runner pattern list
  runner pattern search locking sqlalchemy
  runner pattern accept DECISION-007      patterns/PATTERN-007.md, and its row in PATTERN_INDEX.md
"""
_VERBS = ("list", "search", "accept")


def pattern_arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner pattern` takes."""
    parser.add_argument(
        "verb", nargs="?", choices=_VERBS, default="list", help="list, search, accept"
    )
    parser.add_argument("words", nargs="*", metavar="WORD", help="words to search, or a decision")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def execute_pattern(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Do it. Raises RunnerError for what cannot become a pattern, and where there is no index."""
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    record, as_json = decision_record, given.json
    if given.verb == "accept":
        one = record.accept(project, given.words)
        say(one, record.acceptance_lines, record.acceptance_document, as_json=as_json)
    elif given.verb == "search":
        found = record.search_patterns(project, given.words)
        lines = partial(record.match_lines, words=given.words)
        say(found, lines, partial(record.match_document, words=given.words), as_json=as_json)
    elif given.words:
        raise RunnerError("list takes no words", hint=f"runner pattern search {given.words[0]}")
    else:
        known = record.load_index(project).patterns
        say(known, record.pattern_lines, record.pattern_document, as_json=as_json)
    return ExitCode.OK


# --- a branch of a person -------------------------------------------------------------


_ADOPT = """\
What the branch changes since it left this one is carried here, checked as everybody's work is, and
lands as the task's one commit, with the trailer Review: adopted. Nobody is called to work on it:
where it does not pass, the branch stays as it is and the findings are shown.

examples:
  runner adopt TASK-003                 the draft that the last attempt left
  runner adopt TASK-003 fix/bookings    a branch of your own
exit code: 0 it has landed, 1 it does not pass, 3 it waits for a review, 6 the branches collide
"""


def adopt_arguments(parser: argparse.ArgumentParser) -> None:
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


def execute_adopt(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Adopt the branch, and say what became of the task."""
    flags = {"task_graph": given.task_graph, "sandbox": given.sandbox, "review": given.review}
    project = open_with_gates(environ, flags)
    again = type_again(given, "--trust")
    asked = one_task_runs.Adopt(
        given.id, given.branch, given.yes, given.trust, given.allow_dirty, again
    )
    with open_console(project, is_quiet=given.json) as (observer, asker):
        came = one_task_runs.adopt_branch(project, asked, observer, asker)
    lines, form = one_task_runs.adoption_lines, one_task_runs.adoption_document
    say(came, lines, form, as_json=given.json)
    return came.code


# --- without a proof ------------------------------------------------------------------


_WAIVE = """\
examples:
  runner waive TASK-003 --reason "tried by hand on the printer"
  runner waive 3 --reason "a picture: looked at"

It ends by itself when the task's files change, or what the plan asks of it.
"""


def waive_arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner waive` takes."""
    parser.add_argument("id", metavar="ID", help="the task: TASK-003, or 3")
    parser.add_argument("--reason", metavar="TEXT", required=True, help="why it needs no proof")
    parser.add_argument("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")


def execute_waive(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Write it into the journal and into the plan; exit 3 where no person can have said it."""
    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    made = waiver.waive(project, waiver.Waive(given.id, given.reason))
    how = ": DONE — waived" if made.is_new else " is waived already"
    print(f"{display(made.task)}{how}: {display(made.reason)}")
    return ExitCode.OK


COMMANDS = {
    "decide": Command(_DECIDE, decide_arguments, execute_decide),
    "pattern": Command(_PATTERN, pattern_arguments, execute_pattern),
    "adopt": Command(_ADOPT, adopt_arguments, execute_adopt),
    "waive": Command(_WAIVE, waive_arguments, execute_waive),
}
