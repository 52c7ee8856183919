"""`runner validate`: every mistake of the plan and of the files beside it at once; runs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.lazy_module import lazy_module
from runner.plan.diagnostic import render
from runner.project import Project
from runner.text.wording import plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.inspect.validation import Validation
    from runner.errors import ExitCode
    from runner.report import documents
else:
    documents = lazy_module("runner.report.documents")

EXAMPLES = """\
examples:
  runner validate                            exit 0, or 2 with every mistake
  runner validate --task-graph plans/two.md
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner validate` takes."""
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument(
        "--strict", action="store_true", help="what a run would only block is a mistake"
    )
    parser.add_argument("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print every problem; exit 0 where none is a mistake, 2 otherwise."""
    from runner.app.inspect.validation import validate

    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    found = validate(project, strict=given.strict)
    if given.json:
        _print_document(found)
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
    for path, said in found.items():
        print(f"{path}: {', '.join(said)}")


def _print_document(found: Validation) -> None:
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
