"""`runner impact`: which tasks and test contracts a change may affect, and why."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from runner.app.inspect.view import View
    from runner.commands.change.reprove import Reproven
    from runner.config.settings import Settings
    from runner.impact.answer import Answer, Changed, Width
    from runner.project import Project
    from runner.repo.read import Repository

_EPILOG = """\
without a path: what differs from HEAD, staged or not
exit: 0, however many tasks are affected; with --run 1 when one of the tests fails

examples:
  runner impact
  runner impact src/booking/models.py
  runner impact --since main --format github
  runner impact --run              on HEAD with what is not committed, in a scratch tree
  runner impact --task TASK-003 --json
"""
_WIDTHS = ("transitive", "direct", "none")


@dataclass(frozen=True, slots=True)
class Asked:
    """A change as a person named it."""

    words: str
    """`src/a.py`, `since main`, `of TASK-003`."""
    changes: tuple[Changed, ...]
    task: str = ""
    """The task that made it, which it does not affect."""


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner impact` takes."""
    del name
    parser.epilog = _EPILOG
    parser.add_argument("paths", nargs="*", metavar="PATH", help="a file or folder")
    parser.add_argument("--since", metavar="REV", help="what differs from this revision")
    parser.add_argument("--task", metavar="ID", help="what this task changed when it landed")
    parser.add_argument(
        "--changed-dependents",
        choices=_WIDTHS,
        help="how far the change is followed (default: as the settings say)",
    )
    parser.add_argument(
        "--conservative", action="store_true", help="count whatever cannot be decided as affected"
    )
    parser.add_argument(
        "--run", action="store_true", help="run what is found; 1 if something fails"
    )
    parser.add_argument(
        "--trust", action="store_true", help="run this plan's commands without asking"
    )
    parser.add_argument("--all", action="store_true", help="ask about tasks that are not DONE too")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON document")
    form.add_argument(
        "--format", choices=("text", "github"), default="text", help="github: annotations"
    )
    parser.add_argument("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Answer. Raises RunnerError for a path, revision or task that there is not."""
    from runner.app.change.impact_inputs import evaluate_impact, knowledge_for, without
    from runner.app.inspect.view import View
    from runner.commands.consent import ask_trust
    from runner.project import Project
    from runner.repo.read import Repository

    _only_one(given)
    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    if given.run:
        ask_trust(project, project.plan(project.plan_bytes), trusted=given.trust)
    view = View.of(project)
    with Repository.open(project.root) as repository:
        asked = _read_question(given, project, view, repository)
        knowledge = knowledge_for(project, repository, view, everyone=given.all)
        width = _width(given, project.settings)
        answer = without(evaluate_impact(asked.changes, knowledge, width), asked.task)
        notes = (*knowledge.owners.problems, *_format_left_out(view, len(knowledge.tasks)))
        if not given.json:
            _show(given, asked, answer, notes)
        ran = _ran(project, repository, answer) if given.run else ()
    if given.json:
        print(_document(asked, answer, width, notes, ran), end="")
    return ExitCode.FAILED if any(one.failed for one in ran) else ExitCode.OK


def _ran(project: Project, repository: Repository, answer: Answer) -> tuple[Reproven, ...]:
    from runner.commands.change.reprove import reprove

    return reprove(project, repository, answer.affected)


def _show(given: argparse.Namespace, asked: Asked, answer: Answer, notes: tuple[str, ...]) -> None:
    if given.format == "github":
        from runner.app.change.affected_lines import workflow_commands

        print("".join(f"{line}\n" for line in workflow_commands(answer)), end="")
    else:
        _tell(asked, answer, notes)


def _only_one(given: argparse.Namespace) -> None:
    named = [bool(given.paths), given.since is not None, given.task is not None]
    if sum(named) > 1:
        hint = "name paths, or --since REV, or --task ID"
        raise RunnerError("these are several changes at once", hint=hint)


def _read_question(
    given: argparse.Namespace, project: Project, view: View, repository: Repository
) -> Asked:
    from runner.app.change import change_source

    if given.task:
        return _of_task(given.task, view, repository)
    if given.since is not None:
        _, changes = change_source.since(repository, given.since)
        return Asked(f"since {given.since}", changes)
    if given.paths:
        paths = [inside(project, typed) for typed in given.paths]
        return Asked(", ".join(paths), change_source.of_paths(repository, paths))
    return Asked("what differs from HEAD", change_source.of_working_tree(repository))


def inside(project: Project, typed: str) -> str:
    """A path as it was typed, relative to the project. Raises RunnerError for one outside."""
    import os

    path = os.path.normpath(os.path.join(Path.cwd(), typed))  # noqa: PTH118 - follows no link
    root = os.path.realpath(project.root)
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))  # noqa: PTH118, PTH119, PTH120 - likewise
    if not Path(real).is_relative_to(root):
        hint = f"paths are of the project in {project.root}"
        raise RunnerError("this file lies outside the project", where=display(typed), hint=hint)
    return Path(real).relative_to(root).as_posix()


def _of_task(typed: str, view: View, repository: Repository) -> Asked:
    """What a task's last landing changed. Raises RunnerError for one that never landed."""
    from runner.app.change.change_source import of_commit
    from runner.run.selection import find_id

    id_ = find_id(typed, view.states)
    commit = view.states[id_].commit
    head = repository.head().commit
    if not commit and head:
        landings = (one for one in repository.log_trailers(head) if not one.checked)
        commit = next((one.commit for one in landings if one.task == id_), "")
    if not commit or repository.resolve(commit) is None:
        hint = f"runner show {id_}"
        raise RunnerError(f"{id_} has no commit on this branch", hint=hint)
    return Asked(f"of {id_}", of_commit(repository, commit), id_)


def _width(given: argparse.Namespace, settings: Settings) -> Width:
    """As the flags say, else the settings."""
    from runner.impact.answer import Dependents, Width

    dependents = given.changed_dependents or settings.changed_dependents
    return Width(Dependents(dependents), given.conservative or settings.conservative)


def _format_left_out(view: View, asked: int) -> Iterator[str]:
    from runner.text.wording import plural

    more = len(view.tasks) - asked
    if more:
        verb = "is" if more == 1 else "are"
        yield f"{plural(more, 'task')} that {verb} not DONE: not asked about (--all does)"


# --- shown ------------------------------------------------------------------------------


def _tell(asked: Asked, answer: Answer, notes: tuple[str, ...]) -> None:
    from runner.app.change.affected_lines import format_affected
    from runner.commands.change.reprove import CONTRACT
    from runner.text.wording import plural

    for one in answer.affected:
        print("\n".join(format_affected(one)))
    names = [name for one in answer.affected for name in one.contracts]
    contracts = sum(name.startswith(CONTRACT) for name in names)
    tasks, tests = plural(len(answer.affected), "task"), len(names) - contracts
    said = f"{tasks} and {plural(tests, 'test contract')}"
    if contracts:
        said = f"{tasks}, {plural(tests, 'test contract')} and {plural(contracts, 'contract')}"
    files = plural(len(asked.changes), "changed file")
    for note in notes:
        print(f"note: {display(note)}", file=sys.stderr)
    for doubt in answer.doubts:
        print(f"not decided: {display(doubt.text)}", file=sys.stderr)
    if answer.doubts:
        print("hint: --conservative counts what is not decided as affected", file=sys.stderr)
    print(f"{files}: {said} may change result", file=sys.stderr)


def _document(
    asked: Asked, answer: Answer, width: Width, notes: tuple[str, ...], ran: tuple[Reproven, ...]
) -> str:
    from runner.report.documents import document

    return document(
        "impact",
        of=asked.words,
        changed_dependents=width.dependents,
        conservative=width.conservative,
        changes=[
            {"path": one.path, "action": _action(one), "origin": one.origin}
            for one in asked.changes
        ],
        affected=[
            {
                "task": one.task,
                "contracts": one.contracts,
                "tests": dict(one.tests),
                "reasons": one.reasons,
            }
            for one in answer.affected
        ],
        doubts=answer.doubts,
        notes=notes,
        ran=[{"task": one.task, "contract": one.contract, "failed": one.failed} for one in ran],
    )


def _action(change: Changed) -> str:
    if change.is_whole:
        return "whole"
    return "create" if change.is_created else "delete" if change.is_deleted else "modify"
