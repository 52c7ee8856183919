"""`runner brief ID`: exactly what an implementer of the task would be told by the next attempt."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from runner.commands.one_task import add_arguments, one_task
from runner.errors import ExitCode
from runner.lazy_module import lazy_module
from runner.report.table import table
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.inspect import task_inquiry
    from runner.context.brief import Brief
    from runner.report import documents
else:
    documents = lazy_module("runner.report.documents")
    task_inquiry = lazy_module("runner.app.inspect.task_inquiry")

EXAMPLES = """\
examples:
  runner brief TASK-003                 the brief; what its parts cost on standard error
  runner brief 3 --parts                only what its parts cost, in tokens
  runner brief 3 --json
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner brief` takes."""
    add_arguments(parser)
    parser.add_argument("--parts", action="store_true", help="only the tokens of each part")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print the brief, made by the very code that makes a run's."""
    asked = one_task(given, environ)
    made = task_inquiry.next_brief(asked)
    brief = made.brief
    if given.json:
        print(_document(asked.id, brief, made.mode), end="")
        return ExitCode.OK
    if given.parts:
        print(_format_sizes(brief), end="")
    else:
        sys.stdout.write(brief.text.rstrip("\n") + "\n")
        sys.stdout.flush()
        print(_format_sizes(brief), end="", file=sys.stderr)
    _warn(brief)
    return ExitCode.OK


def _document(id_: str, brief: Brief, mode: str) -> str:
    return documents.document(
        "brief",
        task=id_,
        attempt=brief.attempt,
        mode=mode,
        task_type=brief.kind,
        patterns=[pattern.id for pattern in brief.patterns],
        searched=brief.searched,
        skills=list(brief.skills),
        tokens=brief.tokens,
        parts=[part._asdict() for part in brief.parts],
        warnings=list(brief.warnings),
        text=brief.text,
    )


def _format_sizes(brief: Brief) -> str:
    """What each part costs, and the whole."""
    rows = [(part.name, str(part.tokens)) for part in brief.parts]
    return table(("PART", "TOKENS"), [*rows, ("all", str(brief.tokens))])


def _warn(brief: Brief) -> None:
    for one in brief.warnings:
        print(f"warning: {display(one.path)}:{one.line}: {display(one.message)}", file=sys.stderr)
