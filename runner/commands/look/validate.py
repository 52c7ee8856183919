"""`runner validate`: every mistake of the plan and of the files beside it at once; runs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.inspect.resource_check import too_much_used
from runner.errors import ExitCode
from runner.text.wording import plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from runner.plan.diagnostic import Problem
    from runner.project import Project, Reading

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
    parser.add_argument(
        "--strict", action="store_true", help="what a run would only block is a mistake"
    )
    parser.add_argument("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print every problem; exit 0 where none is a mistake, 2 otherwise."""
    from runner.app.build.discovered_gates import take_up_default_gates
    from runner.app.inspect.plan_warnings import unready
    from runner.project import Project

    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    take_up_default_gates(project)
    reading = project.check()
    problems = (
        *reading.problems,
        *find_unknown_implementers(reading),
        *unready(reading, project.settings, strict=given.strict),
        *too_much_used(reading, project.settings),
        *_beside(project),
    )
    errors = sum(problem.is_error for problem in problems)
    if given.json:
        _print_document(project, problems, errors, len(reading.plan.tasks))
    else:
        _print_text(project, problems, len(reading.plan.tasks))
    return ExitCode.USAGE if errors else ExitCode.OK


def _print_text(project: Project, problems: Sequence[Problem], tasks: int) -> None:
    from runner.plan.diagnostic import render

    for problem in problems:
        print(render(problem) + "\n")
    found = {project.plan_path: [plural(tasks, "task")]}
    for path in dict.fromkeys((project.plan_path, *(problem.path for problem in problems))):
        errors = [problem.is_error for problem in problems if problem.path == path]
        numbers = (errors.count(True), "mistake"), (errors.count(False), "warning")
        found.setdefault(path, []).extend(plural(*number) for number in numbers)
    for path, said in found.items():
        print(f"{path}: {', '.join(said)}")


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


def find_unknown_implementers(reading: Reading) -> Iterator[Problem]:
    """An error for each task that names nobody there is: a run would only block it."""
    named = [task for task in reading.plan.tasks if task.implementer]
    if not named:
        return
    from runner.implementers.registry import IMPLEMENTERS
    from runner.plan.diagnostic import Problem
    from runner.plan.spans import Places
    from runner.text.hints import did_you_mean

    places = Places(reading.data, reading.plan.path)
    for task in named:
        name = task.implementer
        if name.casefold() not in IMPLEMENTERS:
            at = places.find(task, "implementer", name)
            hint = did_you_mean(name, IMPLEMENTERS) or f"one of {', '.join(IMPLEMENTERS)}"
            said = f'there is no implementer "{name}"'
            yield Problem(
                said,
                places.path,
                at.line,
                at.column,
                hint,
                source_line=at.source_line,
                width=at.width,
            )


def _beside(project: Project) -> Iterator[Problem]:
    """What is wrong with the ownership map, the pattern index and skills, where they are."""
    from runner.plan.ownership import OwnershipMap
    from runner.plan.patterns import PatternIndex
    from runner.project import PATTERNS
    from runner.run.landing.plan_documents import MAP

    owners = project.root / MAP
    if owners.is_file():
        prefixes = project.settings.id_prefixes
        yield from OwnershipMap.read(owners.read_bytes(), MAP, prefixes).problems
    index = project.root / PATTERNS
    if index.is_file():
        for pattern in PatternIndex.read(index.read_bytes()).patterns:
            if pattern.file and not (project.root / pattern.file).is_file():
                yield _no_file(index.read_bytes(), pattern.id, pattern.file)
    yield from _bad_skills(project)


def _bad_skills(project: Project) -> Iterator[Problem]:
    """A warning for each skill of the last commit that no brief can list."""
    commit = project.head().commit
    if not commit or not any((project.root / one).is_dir() for one in _skill_folders(project)):
        return
    from runner.context.skills import skills_of
    from runner.context.tree import Tree
    from runner.plan.diagnostic import Problem
    from runner.plan.task_types import Kind
    from runner.repo.read import Repository

    with Repository.open(project.root) as repository:
        tree = Tree.of(repository, commit, project.settings)
        for one in skills_of(tree, project.settings, Kind()).warnings:
            lines = tree.text(one.path)[0].splitlines()
            said = lines[one.line - 1] if one.line <= len(lines) else ""
            place = (one.path, one.line, 1)
            yield Problem(one.message, *place, one.hint, one.severity, said, max(len(said), 1))


def _skill_folders(project: Project) -> tuple[str, ...]:
    settings = project.settings
    return settings.skills_folders if settings.skills_auto_discover else ()


def _no_file(data: bytes, id_: str, file: str) -> Problem:
    """A warning at the row that names a file which is not there."""
    from runner.model import Severity
    from runner.plan.diagnostic import Problem
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
