"""`runner pattern`: the library listed and searched, and a decision made into a pattern of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.report.documents import document
from runner.report.table import table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from runner.app.answer import decision_record
    from runner.app.answer.decision_record import Accepted
    from runner.plan.patterns import Match, Pattern
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
    if given.verb == "accept":
        _tell_accepted(decision_record.accept(project, given.words), as_json=given.json)
    elif given.verb == "search":
        found = decision_record.search_patterns(project, given.words)
        _tell_found(found, given.words, as_json=given.json)
    elif given.words:
        raise RunnerError("list takes no words", hint=f"runner pattern search {given.words[0]}")
    else:
        _tell_patterns(decision_record.load_index(project).patterns, as_json=given.json)
    return ExitCode.OK


def _tell_patterns(patterns: Sequence[Pattern], *, as_json: bool) -> None:
    if as_json:
        print(document("patterns", patterns=list(patterns)), end="")
        return
    rows = [
        (one.id, one.title, one.domain, ", ".join(one.stack), ", ".join(one.keywords))
        for one in patterns
    ]
    print(table(("PATTERN", "TITLE", "DOMAIN", "STACK", "KEYWORDS"), rows), end="")


def _tell_found(found: Sequence[Match], words: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        rows = [
            {"score": one.score, "because": one.because, "pattern": one.pattern} for one in found
        ]
        print(document("pattern-search", words=list(words), patterns=rows), end="")
    elif found:
        told = [(one.pattern.id, one.pattern.title, ", ".join(one.because)) for one in found]
        print(table(("PATTERN", "TITLE", "BECAUSE"), told), end="")
    else:
        print(f"no pattern fits {' '.join(words)}")


def _tell_accepted(one: Accepted, *, as_json: bool) -> None:
    from runner.context.patterns import INDEX

    if as_json:
        facts = {"decision": one.decision, "pattern": one.pattern, "file": one.file}
        print(document("pattern-accepted", **facts, written=one.is_new), end="")
    elif one.is_new:
        print(f"{one.decision} is {one.pattern} now: {one.file}, and a row of {INDEX}")
    else:
        print(f"{one.decision} is {one.pattern} already: {one.file}")
