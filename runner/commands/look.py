"""Commands that only read: plan, graph, repository, machine and settings.

`runner validate` has every mistake of the plan and of the files beside it at once; `graph` its
tasks as Mermaid, DOT, plain text or a picture; `doctor` what this machine offers and what is
missing, or what the repository is, read from its commit; `settings` each value and its source.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.config.settings import list_names
from runner.errors import ExitCode
from runner.lazy_module import lazy_module
from runner.model import GateSpec, Resource
from runner.plan.source import render
from runner.project import Project
from runner.report.table import table
from runner.text.display import display
from runner.text.wording import plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from runner.app.build import discovered_gates
    from runner.app.inspect import (
        diagnostic,
        diagnostics,
        repository_analysis,
        status_document,
        view,
    )
    from runner.app.inspect.diagnostic import Diagnostic
    from runner.app.inspect.validation import Validation
    from runner.app.inspect.view import View
    from runner.config.settings import Loaded
    from runner.report import console, documents, graph_drawing
else:
    documents = lazy_module("runner.report.documents")
    console = lazy_module("runner.report.console")
    status_document = lazy_module("runner.app.inspect.status_document")
    graph_drawing = lazy_module("runner.report.graph_drawing")
    repository_analysis = lazy_module("runner.app.inspect.repository_analysis")
    diagnostic = lazy_module("runner.app.inspect.diagnostic")
    diagnostics = lazy_module("runner.app.inspect.diagnostics")
    discovered_gates = lazy_module("runner.app.build.discovered_gates")
    view = lazy_module("runner.app.inspect.view")

# --- the plan -------------------------------------------------------------------------


def execute_validate(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print every problem; exit 0 where none is a mistake, 2 otherwise."""
    from runner.app.inspect.validation import validate

    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    found = validate(project, strict=given.strict)
    if given.json:
        print(
            documents.document(
                "validation",
                plan=found.plan,
                tasks=found.tasks,
                errors=found.errors,
                warnings=len(found.problems) - found.errors,
                problems=list(found.problems),
            ),
            end="",
        )
    else:
        _print_text(found)
    return found.code


def _print_text(validation: Validation) -> None:
    plan, problems = validation.plan, validation.problems
    for problem in problems:
        print(render(problem) + "\n")
    found = {plan: [plural(validation.tasks, "task")]}
    for path in dict.fromkeys((plan, *(problem.path for problem in problems))):
        errors = [problem.is_error for problem in problems if problem.path == path]
        numbers = (errors.count(True), "mistake"), (errors.count(False), "warning")
        found.setdefault(path, []).extend(plural(*number) for number in numbers)
    for path, tasks in found.items():
        print(f"{path}: {', '.join(tasks)}")


# --- the graph ------------------------------------------------------------------------


def execute_graph(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print the graph."""
    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    seen = view.View.of(project)
    if given.json:
        print(documents.document("graph", **status_document.describe_graph(seen)), end="")
        return ExitCode.OK
    form = given.format or ("ascii" if sys.stdout.isatty() else "mermaid")
    print(_render_graph(seen, form, environ), end="")
    return ExitCode.OK


def _render_graph(seen: View, form: str, environ: Mapping[str, str]) -> str:
    """Render the graph as `dot`, `ascii`, `svg` or `mermaid`; colour only on a terminal."""
    statuses = {id_: known.status for id_, known in seen.states.items()}
    match form:
        case "dot":
            return graph_drawing.dot(seen.tasks, statuses)
        case "ascii":
            return graph_drawing.ascii_graph(
                seen.tasks, statuses, console.painter(console.wants_colour(sys.stdout, environ))
            )
        case "svg":
            return graph_drawing.svg(seen.tasks, statuses, title=seen.title)
        case _:
            return graph_drawing.mermaid(seen.tasks, statuses)


# --- the repository -------------------------------------------------------------------


def _describe_repository(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print what the repository is; a plan is not needed."""
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    if given.json:
        print(repository_analysis.analysis_document(project), end="")
    else:
        lines = repository_analysis.analysis_lines(repository_analysis.analyse(project))
        print("\n".join(map(display, lines)))
    return ExitCode.OK


# --- the machine ----------------------------------------------------------------------


def execute_doctor(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Examine everything; exit 3 if a requirement is missing or wrong."""
    if given.repository:
        return _describe_repository(given, environ)
    signs = tuple(diagnostics.examine(Path.cwd(), environ, given.task_graph, remote=given.remote))
    stops = (diagnostic.State.WRONG, diagnostic.State.MISSING)
    missing = any(sign.state in stops for sign in signs)
    whole = documents.document("doctor", healthy=not missing, signs=signs) if given.json else ""
    print(whole or _doctor_text(signs), end="")
    return ExitCode.PERSON if missing else ExitCode.OK


def _doctor_text(signs: Sequence[Diagnostic]) -> str:
    rows = [(sign.state, sign.name, sign.text) for sign in signs]
    hints = [f"{display(sign.name)}: {display(sign.hint)}" for sign in signs if sign.hint]
    advice = "".join(f"hint: {hint}\n" for hint in hints)
    return table(("STATE", "WHAT", "FOUND"), rows) + (f"\n{advice}" if advice else "")


# --- the settings ---------------------------------------------------------------------


def execute_settings(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print the settings. Raises RunnerError with every mistake in them."""
    loaded = discovered_gates.describe_settings(Path.cwd(), environ)
    print(discovered_gates.name_own_file(environ), file=sys.stderr)
    for note in loaded.notes:
        print(f"note: {note}", file=sys.stderr)
    print(_settings_document(loaded) if given.json else _settings_text(given, loaded), end="")
    return ExitCode.OK


def _settings_document(loaded: Loaded) -> str:
    return documents.document(
        "settings",
        settings={
            name: dict(zip(("value", "source", "common"), loaded.describe(name), strict=True))
            for name in list_names()
        },
        notes=loaded.notes,
    )


def _settings_text(given: argparse.Namespace, loaded: Loaded) -> str:
    names = list_names() if given.all or given.from_repository else loaded.list_given()
    rows = [
        (name, _format_value(value), source, "" if is_common else "rarely needed")
        for name in names
        for value, source, is_common in (loaded.describe(name),)
        if not given.from_repository or loaded.is_from_repository(name)
    ]
    return table(("SETTING", "VALUE", "SOURCE", ""), rows)


def _format_value(value: object) -> str:
    """Format a value for display; `—` if there is none."""
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
