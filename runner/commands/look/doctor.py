"""`runner doctor`: what this machine and this repository offer, and what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode
from runner.lazy_module import lazy_module
from runner.report.table import table
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from runner.app.inspect import diagnostic, diagnostics
    from runner.app.inspect.diagnostic import Diagnostic
    from runner.report import documents
else:
    diagnostic = lazy_module("runner.app.inspect.diagnostic")
    diagnostics = lazy_module("runner.app.inspect.diagnostics")
    documents = lazy_module("runner.report.documents")

EXAMPLES = """\
examples:
  runner doctor            exit 0, or 3 where something that is needed is missing
  runner doctor --remote   also whether the remote can be published to (`publish`)
  runner doctor --json
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner doctor` takes."""
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--remote", action="store_true", help="also ask the remote of `publish`")
    parser.add_argument("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Look at everything; exit 3 where something that is needed is missing."""
    signs = tuple(diagnostics.examine(Path.cwd(), environ, given.task_graph, remote=given.remote))
    missing = any(sign.state is diagnostic.State.MISSING for sign in signs)
    print(_document(signs, missing=missing) if given.json else _text(signs), end="")
    return ExitCode.PERSON if missing else ExitCode.OK


def _document(signs: Sequence[Diagnostic], *, missing: bool) -> str:
    return documents.document("doctor", healthy=not missing, signs=signs)


def _text(signs: Sequence[Diagnostic]) -> str:
    rows = [(sign.state, sign.name, sign.text) for sign in signs]
    hints = [f"{display(sign.name)}: {display(sign.hint)}" for sign in signs if sign.hint]
    advice = "".join(f"hint: {hint}\n" for hint in hints)
    return table(("STATE", "WHAT", "FOUND"), rows) + (f"\n{advice}" if advice else "")
