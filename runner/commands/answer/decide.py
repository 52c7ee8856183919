"""`runner decide`: a person's decision, written into DECISIONS.md and into the journal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode
from runner.lazy_module import lazy_module
from runner.model import Decision
from runner.project import Project

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.answer import decision_record
else:
    decision_record = lazy_module("runner.app.answer.decision_record")

EXAMPLES = """\
examples:
  runner decide "Optimistic locking" --task TASK-018 \\
    --context "Row locks deadlocked in the load test." \\
    --decision "Optimistic locking with at most 3 retries." \\
    --tradeoff "Some retries, against no deadlock."
"""


def arguments(parser: argparse.ArgumentParser) -> None:
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


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
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
