"""`runner validate`: every mistake of the plan and of the files beside it at once; runs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands.wording import counted
from runner.errors import ExitCode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from runner.plan.problem import Problem
    from runner.project import Project

_EXAMPLES = """\
examples:
  runner validate                            exit 0, or 2 with every mistake
  runner validate --task-graph plans/two.md
"""


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner validate` takes."""
    del name
    parser.epilog = _EXAMPLES
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print every problem; exit 0 where none is a mistake, 2 otherwise."""
    from runner.project import Project

    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    reading = project.checked()
    problems = (*reading.problems, *_beside(project))
    errors = sum(problem.is_error for problem in problems)
    if given.json:
        _print_document(project, problems, errors, len(reading.plan.tasks))
    else:
        _print_text(project, problems, errors, len(reading.plan.tasks))
    return ExitCode.USAGE if errors else ExitCode.OK


def _print_text(project: Project, problems: Sequence[Problem], errors: int, tasks: int) -> None:
    from runner.plan.problem import render

    for problem in problems:
        print(render(problem) + "\n")
    warnings = len(problems) - errors
    said = f"{counted(tasks, 'task')}, {counted(errors, 'mistake')}, {counted(warnings, 'warning')}"
    print(f"{project.plan_path}: {said}")


def _print_document(project: Project, problems: Sequence[Problem], errors: int, tasks: int) -> None:
    from runner.report.documents import document

    print(
        document(
            "validation",
            plan=project.plan_path,
            tasks=tasks,
            errors=errors,
            warnings=len(problems) - errors,
            problems=list(problems),
        ),
        end="",
    )


def _beside(project: Project) -> Iterator[Problem]:
    """What is wrong with the ownership map and the pattern index, where they are."""
    from runner.plan.ownership import OwnershipMap
    from runner.plan.patterns import PatternIndex
    from runner.project import PATTERNS
    from runner.run.documents import MAP

    owners = project.root / MAP
    if owners.is_file():
        prefixes = project.settings.id_prefixes
        yield from OwnershipMap.read(owners.read_bytes(), MAP, prefixes).problems
    index = project.root / PATTERNS
    if index.is_file():
        for pattern in PatternIndex.read(index.read_bytes()).patterns:
            if pattern.file and not (project.root / pattern.file).is_file():
                yield _no_file(index.read_bytes(), pattern.id, pattern.file)


def _no_file(data: bytes, id_: str, file: str) -> Problem:
    """A warning at the row that names a file which is not there."""
    from runner.model import Severity
    from runner.plan.problem import Problem
    from runner.project import PATTERNS

    lines = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").splitlines()
    at = next((n for n, line in enumerate(lines) if file in line), 0)
    line = lines[at] if lines else ""
    return Problem(
        f'{id_} is in "{file}", which is not there',
        PATTERNS,
        at + 1,
        line.find(file) + 1 or 1,
        "write the file, or take the row out",
        Severity.WARNING,
        line,
        len(file),
    )
