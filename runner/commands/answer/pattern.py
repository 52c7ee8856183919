"""`runner pattern`: the library listed and searched, and a decision made into a pattern of it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands.output import say
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.project import Project

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.answer import decision_record
else:
    decision_record = lazy_module("runner.app.answer.decision_record")

EXAMPLES = """\
exit: 0 well, 2 no such decision, no candidate, or no index

examples:
  runner pattern list
  runner pattern search locking sqlalchemy
  runner pattern accept DECISION-007      patterns/PATTERN-007.md, and its row in PATTERN_INDEX.md
"""
_VERBS = ("list", "search", "accept")


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner pattern` takes."""
    parser.add_argument(
        "verb", nargs="?", choices=_VERBS, default="list", help="list, search, accept"
    )
    parser.add_argument("words", nargs="*", metavar="WORD", help="words to search, or a decision")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
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
