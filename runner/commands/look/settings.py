"""`runner settings`: every setting, the value that holds here, and where it came from."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.inspect.known_settings import describe_settings, name_own_file
from runner.config.settings import NAMES, SETTABLE
from runner.errors import ExitCode
from runner.lazy_module import lazy_module
from runner.model import GateSpec, Resource
from runner.report.table import table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.config.settings import Loaded
    from runner.report import documents
else:
    documents = lazy_module("runner.report.documents")

EXAMPLES = """\
examples:
  runner settings
  RUNNER_JOBS=2 runner settings --json
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner settings` takes."""
    parser.add_argument("--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print the settings. Raises RunnerError with every mistake in them."""
    loaded = describe_settings(Path.cwd(), environ)
    print(name_own_file(environ), file=sys.stderr)
    for note in loaded.notes:
        print(f"note: {note}", file=sys.stderr)
    print(_document(loaded) if given.json else _text(loaded), end="")
    return ExitCode.OK


def _document(loaded: Loaded) -> str:
    return documents.document(
        "settings",
        settings={
            name: {"value": getattr(loaded.settings, name), "source": loaded.sources[name]}
            for name in NAMES
        },
        notes=loaded.notes,
    )


def _text(loaded: Loaded) -> str:
    rows = [
        (name, _format_value(getattr(loaded.settings, name)), loaded.sources[name])
        for name in NAMES
        if name in SETTABLE or getattr(loaded.settings, name)
    ]
    return table(("SETTING", "VALUE", "SOURCE"), rows)


def _format_value(value: object) -> str:
    """A value as a person would write it; `—` where there is none."""
    match value:
        case None | "" | ():
            return "—"
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:g}"
        case GateSpec():
            return f"{value.name}: {value.command}"
        case Resource():
            return f"{value.name} {value.amount}"
        case (str(kind), tuple(gates)):
            return f"{kind} ({_format_value(gates)})"
        case tuple():
            return ", ".join(map(_format_value, value))
    return str(value)
