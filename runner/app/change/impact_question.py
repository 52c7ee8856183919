"""Find the tasks and test contracts that a change may affect, with reasons.

What a project knows of its tasks is gathered for one question.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.app.change import change_source
from runner.app.inspect.view import View
from runner.errors import RunnerError
from runner.impact.answer import Depth, Width, judge
from runner.impact.inputs import knowledge_of
from runner.lazy_module import lazy_module
from runner.model import Status
from runner.project import Project
from runner.repo.head import OWNERSHIP_MAP
from runner.repo.read import Repository
from runner.report.documents import document
from runner.run.regressions.proof_reuse import find_reached_contracts, past_of, with_contracts
from runner.run.selection import find_id
from runner.text.display import display
from runner.text.wording import plural
from runner.writes.safe_io import read_below

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.app.prove.prove_tree import Reproven
    from runner.contracts import touched_contracts
    from runner.impact.answer import Changed, Impacted
    from runner.impact.inputs import Knowledge
    from runner.project import Project
else:
    touched_contracts = lazy_module("runner.contracts.touched_contracts")


_STANDING = frozenset({Status.DONE, Status.STALE})


def knowledge_for(
    project: Project, repository: Repository, view: View, *, everyone: bool = False
) -> Knowledge:
    """Return the knowledge at HEAD about tasks that are or were DONE, or about `everyone`."""
    tasks = project.plan(project.plan_bytes).tasks
    standing = {id_ for id_ in view.states if view.status(id_) in _STANDING}
    asked = [task for task in tasks if everyone or task.id in standing]
    return knowledge_of(
        repository,
        project.cache,
        asked,
        repository.head().commit or "",
        owners=read_below(project.root, OWNERSHIP_MAP),
        prefixes=project.settings.build.id_prefixes,
        past=past_of(view.states, asked),
    )


def evaluate_impact(changes: Sequence[Changed], knowledge: Knowledge, width: Width) -> Impacted:
    """Return the tasks and contracts that a change may affect."""
    answer, tasks = judge(changes, knowledge, width), knowledge.tasks.values()
    if width.dependents is Depth.NONE or not any(task.contracts for task in tasks):
        return answer
    return with_contracts(
        answer,
        tuple(find_reached_contracts(changes, knowledge, width, touched_contracts.Held(tasks))),
    )


def without(answer: Impacted, task: str) -> Impacted:
    """Return the answer without the task that made the change."""
    return replace(answer, affected=tuple(one for one in answer.affected if one.task != task))


class ImpactRequest(Struct, frozen=True):
    """A change, one of three ways; what differs from HEAD for none of them."""

    paths: tuple[str, ...] = ()
    """Files and folders, relative to the project."""
    since: str | None = None
    """Revision to compare with."""
    task: str = ""
    """Task whose landed changes are examined."""
    changes: tuple[Changed, ...] = ()
    """Explicit changes to examine."""
    dependents: str = ""
    """How far to follow: `transitive`, `direct`, `none`; empty: as configured."""
    conservative: bool = False
    """Count everything undecidable as affected, regardless of the settings."""
    everyone: bool = False
    """Include tasks that are not DONE."""


class Impact(Struct, frozen=True):
    """The answer, and what was asked."""

    words: str
    """Description of the change: `src/a.py`, `since main`, `of TASK-003`."""
    changes: tuple[Changed, ...]
    width: Width
    answer: Impacted
    notes: tuple[str, ...]
    """What makes the answer less certain."""


def find_impact(project: Project, request: ImpactRequest) -> Impact:
    """Answer; nothing runs. Raises RunnerError for a path, revision or task that there is not."""
    require_one(request)
    view, settings = View.of(project), project.settings
    dependents = Depth(request.dependents or settings.proof.changed_dependents)
    width = Width(dependents, request.conservative or settings.proof.conservative)
    with Repository.open(project.root) as repository:
        words, changes, task = _find_changes(request, view, repository)
        knowledge = knowledge_for(project, repository, view, everyone=request.everyone)
        answer = without(evaluate_impact(changes, knowledge, width), task)
    notes = (*knowledge.owners.problems, *_format_left_out(view, len(knowledge.tasks)))
    return Impact(words, changes, width, answer, notes)


def require_one(request: ImpactRequest) -> None:
    """Raise RunnerError where several changes are named at once."""
    named = (request.paths, request.since is not None, request.task, request.changes)
    if sum(map(bool, named)) > 1:
        hint = "give only one of: paths, --since REV, --task ID"
        raise RunnerError("more than one change given", hint=hint)


def _find_changes(
    request: ImpactRequest, view: View, repository: Repository
) -> tuple[str, tuple[Changed, ...], str]:
    """Return a description of the change, its files, and the task that made it or ""."""
    if request.changes:
        return "these changes", request.changes, ""
    if request.task:
        id_ = find_id(request.task, view.states)
        commit = _landing(id_, view, repository)
        return f"of {id_}", change_source.of_commit(repository, commit), id_
    if request.since is not None:
        _, changes = change_source.since(repository, request.since)
        return f"since {request.since}", changes, ""
    if request.paths:
        changes = change_source.of_paths(repository, request.paths)
        return ", ".join(request.paths), changes, ""
    return "what differs from HEAD", change_source.of_working_tree(repository), ""


def _landing(id_: str, view: View, repository: Repository) -> str:
    """Return the commit of a task's last landing. Raises RunnerError if it never landed."""
    commit = view.states[id_].commit
    head = repository.head().commit
    if not commit and head:
        # A clone has no journal; a check only has a record commit, which landed none of its files.
        landings = (one for one in repository.log_trailers(head) if not one.checked)
        commit = next((one.commit for one in landings if one.task == id_), "")
    if not commit or repository.resolve(commit) is None:
        raise RunnerError(f"{id_} has no commit on this branch", hint=f"runner show {id_}")
    return commit


def _format_left_out(view: View, asked: int) -> Iterator[str]:
    more = len(view.tasks) - asked
    if more:
        verb = "is" if more == 1 else "are"
        yield f"{plural(more, 'task')} that {verb} not DONE: not checked (--all includes them)"


def inside(project: Project, typed: str) -> str:
    """Return a path relative to the project. Raises RunnerError if it is outside."""
    path = os.path.normpath(os.path.join(Path.cwd(), typed))  # noqa: PTH118 - follows no link
    root = os.path.realpath(project.root)
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))  # noqa: PTH118, PTH119, PTH120 - likewise
    if not Path(real).is_relative_to(root):
        hint = f"paths must be inside the project in {project.root}"
        raise RunnerError("this file is outside the project", where=display(typed), hint=hint)
    return Path(real).relative_to(root).as_posix()


def impact_document(found: Impact, ran: Sequence[Reproven]) -> str:
    """Return the affected tasks and the tests that ran as one JSON document."""
    return document(
        "impact",
        of=found.words,
        changed_dependents=found.width.dependents,
        conservative=found.width.conservative,
        changes=[
            {"path": one.path, "action": _action(one), "origin": one.origin}
            for one in found.changes
        ],
        affected=[
            {
                "task": one.task,
                "contracts": one.contracts,
                "tests": dict(one.tests),
                "reasons": one.reasons,
            }
            for one in found.answer.affected
        ],
        doubts=found.answer.doubts,
        notes=found.notes,
        ran=[{"task": one.task, "contract": one.contract, "failed": one.failed} for one in ran],
    )


def _action(change: Changed) -> str:
    if change.is_whole:
        return "whole"
    return "create" if change.is_created else "delete" if change.is_deleted else "modify"
