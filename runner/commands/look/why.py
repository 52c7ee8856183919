"""`runner why [ID]`: the chain of causes why a task would run, waits, is blocked, stale or done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands.one_task import add_arguments, one_task
from runner.errors import ExitCode
from runner.lazy_module import lazy_module
from runner.project import Project

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from runner.app.inspect import task_inquiry
    from runner.app.inspect.causes import Cause
    from runner.report import documents
else:
    documents = lazy_module("runner.report.documents")
    task_inquiry = lazy_module("runner.app.inspect.task_inquiry")

EXAMPLES = """\
examples:
  runner why TASK-003
  runner why 3 --json
  runner why                everything that does not go on by itself
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner why` takes."""
    add_arguments(parser, needed=False)


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Say why. Raises RunnerError for an id that no task has."""
    from runner.app.inspect.causes import format_cause

    if given.id is None:
        return _explain_all(given, environ)
    asked = one_task(given, environ)
    cause = task_inquiry.explain(asked)
    if given.json:
        said = documents.document(
            "why",
            task=asked.id,
            status=asked.view.status(asked.id),
            reason=asked.view.states[asked.id].reason,
            cause=cause,
            roots=list(dict.fromkeys(root.task for root in cause.roots)),
        )
        print(said, end="")
    else:
        print("\n".join((*format_cause(cause), *_advice(cause))))
    return ExitCode.OK


def _explain_all(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    from runner.app.inspect.causes import format_cause

    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    causes = task_inquiry.explain_all(project)
    if given.json:
        print(documents.document("why", causes=causes), end="")
        return ExitCode.OK
    for cause in causes:
        print("\n".join((*format_cause(cause), *_advice(cause))), end="\n\n")
    if not causes:
        print("nothing stands in the way: runner status says what is next")
    return ExitCode.OK


def _advice(cause: Cause) -> Iterator[str]:
    """What a person can do, said once for each thing to do."""
    by_advice: dict[str, list[str]] = {}
    for root in cause.roots:
        if root.next:
            by_advice.setdefault(root.next, []).append(root.task)
    if by_advice:
        yield ""
    for advice, tasks in by_advice.items():
        about = f"  ({', '.join(tasks)})" if tasks != [cause.task] else ""
        yield f"next: {advice}{about}"
