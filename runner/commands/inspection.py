"""Commands that only read: plan, graph, repository, machine, settings, events and statistics.

`runner validate` has every mistake of the plan and of the files beside it at once; `graph` its
tasks as Mermaid, DOT, plain text or a picture; `doctor` what this machine offers and what is
missing, or what the repository is, read from its commit; `settings` each value and its source.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands.output import say
from runner.config.settings import list_names
from runner.errors import ExitCode, RunnerError
from runner.journal.records import encode
from runner.lazy_module import lazy_module
from runner.model import GateSpec, Resource
from runner.plan.source import render
from runner.project import Project
from runner.report.table import table
from runner.terminal.screen import patience
from runner.text.display import display
from runner.text.wording import moment, plural, seconds_of_age

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from runner.app.build import discovered_gates
    from runner.app.inspect import (
        diagnostic,
        diagnostics,
        event_log,
        repository_analysis,
        statistics,
        status_document,
        time_spent,
        view,
    )
    from runner.app.inspect.diagnostic import Diagnostic
    from runner.app.inspect.validation import Validation
    from runner.app.inspect.view import View
    from runner.config.settings import Loaded
    from runner.journal.events import Record
    from runner.report import console, documents, graph_drawing
else:
    documents = lazy_module("runner.report.documents")
    event_log = lazy_module("runner.app.inspect.event_log")
    console = lazy_module("runner.report.console")
    status_document = lazy_module("runner.app.inspect.status_document")
    graph_drawing = lazy_module("runner.report.graph_drawing")
    repository_analysis = lazy_module("runner.app.inspect.repository_analysis")
    diagnostic = lazy_module("runner.app.inspect.diagnostic")
    diagnostics = lazy_module("runner.app.inspect.diagnostics")
    discovered_gates = lazy_module("runner.app.build.discovered_gates")
    view = lazy_module("runner.app.inspect.view")
    statistics = lazy_module("runner.app.inspect.statistics")
    time_spent = lazy_module("runner.app.inspect.time_spent")


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


def _describe_repository(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print what the repository is; a plan is not needed."""
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    if given.json:
        print(repository_analysis.analysis_document(project), end="")
    else:
        lines = repository_analysis.analysis_lines(repository_analysis.analyse(project))
        print("\n".join(map(display, lines)))
    return ExitCode.OK


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


def execute_log(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print the journal's records. Raises RunnerError where the journal is damaged."""
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    after = _read_after(given.after)
    first, last = given.first, given.last
    if given.limit is not None:
        first, last = (given.limit, None) if given.after else (None, given.limit)
    which = (project, given.task, after, first, last)
    if given.follow:
        return _follow(event_log.follow_log(*which), as_json=given.json)
    records = event_log.read_log(*which)
    if given.json:
        print(_log_document(records), end="")
        return ExitCode.OK
    any_shown = False
    for record in records:
        print(_format_record(record))
        any_shown = True
    if not any_shown:
        is_part = given.task or given.after or {first, last} != {None}
        print("no matching records" if is_part else "no records yet", file=sys.stderr)
    return ExitCode.OK


def _read_after(typed: Sequence[str]) -> int:
    """Return the number behind which records are printed. Raises RunnerError."""
    if len(typed) > 1 or not all(one.isdecimal() for one in typed):
        raise RunnerError("--after needs one number", hint="runner log --after 120")
    return int(typed[0]) if typed else 0


def _log_document(records: Iterator[Record]) -> str:
    return documents.document("log", records=[json.loads(encode(record)) for record in records])


def _follow(records: Iterator[Record], *, as_json: bool) -> ExitCode:
    """Print what is there and what comes, until Ctrl-C."""
    try:
        for record in records:
            print(_raw(record) if as_json else _format_record(record), flush=True)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    return ExitCode.OK


def _raw(record: Record) -> str:
    return encode(record).decode("utf-8", "replace").rstrip("\n")


def _format_record(record: Record) -> str:
    task = display(record.task) or "-"
    line = f"{moment(record.time)}  {task:<8}  {display(record.type):<18}  {event_log.gist(record)}"
    return line.rstrip()


def execute_stats(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Count and say it. Raises RunnerError where the journal is damaged."""
    seconds = seconds_of_age(given.since, "--since") if given.since else None
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    with patience("reading the journal"):
        found = statistics.count_all(project, seconds)
    if given.time:
        say(found.tally.spent, time_spent.time_lines, time_spent.time_document, as_json=given.json)
        return ExitCode.OK
    say(found, statistics.statistics_lines, statistics.statistics_document, as_json=given.json)
    return ExitCode.OK
