"""`runner decide` and `runner pattern`: a decision recorded, and made into a pattern."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands.catalogue import Command
from runner.commands.output import say
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.model import Decision
from runner.project import Project

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.answer import decision_record
else:
    decision_record = lazy_module("runner.app.answer.decision_record")


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


COMMANDS = {
    "decide": Command(_DECIDE, decide_arguments, execute_decide),
    "pattern": Command(_PATTERN, pattern_arguments, execute_pattern),
}
