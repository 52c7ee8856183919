"""A run's intention as a file: `--plan-out` saves it, `--apply` does it or refuses."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner import __version__, effects
from runner.errors import ExitCode, RunnerError
from runner.model import digest_of
from runner.report.documents import SCHEMA_VERSION, document, plain
from runner.run.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from runner.app.build.outlook import Foresight
    from runner.model import Task
    from runner.project import Project, Reading
    from runner.report.documents import Json

KIND = "plan"
_NOT_THE_WORK = ("line", "note")
"""Fields of a task that change nothing of what is run: they follow from what stands around it."""


@dataclass(frozen=True, slots=True)
class SavedTask:
    """A task as it stood when the plan was saved."""

    what: str
    proof: str
    status: str
    section: str
    """Digest of all its fields, those too that are in neither of the two."""


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """What a run is to do, and what it was worked out from."""

    file: str
    path: str
    """TASK-GRAPH.md, relative to the project."""
    digest: str
    """Of all its bytes."""
    branch: str
    base: str
    """The commit HEAD stood on; empty before the first."""
    jobs: int
    selection: Selection
    order: tuple[str, ...]
    tasks: Mapping[str, SavedTask]
    commands: Mapping[str, tuple[str, ...]]


def save_plan(
    file: Path, project: Project, reading: Reading, selection: Selection, seen: Foresight
) -> None:
    """Write the plan document. Raises RunnerError when the file cannot be written."""
    head = project.head()
    text = document(
        KIND,
        runner=__version__,
        branch=head.shown,
        head=head.commit,
        base=head.commit,
        plan={"path": project.plan_path, "digest": digest_of(reading.data)},
        jobs=project.settings.jobs,
        selection=selection,
        order=seen.forecast.order,
        batches=seen.forecast.batches,
        waiting=seen.forecast.waiting,
        seconds=round(seen.forecast.seconds, 3),
        tasks={task.id: _make_saved_task(task) for task in reading.plan.tasks},
        commands=seen.commands,
    )
    try:
        effects.write_file(file, text.encode("ascii"))
    except OSError as error:
        raise RunnerError(
            f"the plan cannot be saved: {error.strerror}",
            where=str(file),
            hint="name a file in a folder that is there",
        ) from error


def _make_saved_task(task: Task) -> SavedTask:
    fields = json.dumps(_without(plain(task), _NOT_THE_WORK), sort_keys=True)
    return SavedTask(task.spec.what, task.spec.proof, task.status, digest_of(fields.encode()))


def _without(value: Json, names: tuple[str, ...]) -> Json:
    if isinstance(value, dict):
        return {name: _without(one, names) for name, one in value.items() if name not in names}
    return [_without(one, names) for one in value] if isinstance(value, list) else value


# --- reading it again -----------------------------------------------------------------


def read_saved_plan(file: Path) -> SavedPlan:
    """The document that `--plan-out` wrote. Raises RunnerError for anything else."""
    try:
        content = json.loads(file.read_bytes())
        return _of(str(file), content)
    except OSError as error:
        raise RunnerError(
            f"the saved plan cannot be read: {error.strerror}",
            where=str(file),
            hint=f"runner --plan-out {file}",
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RunnerError(
            "this is no plan that this runner saved",
            where=str(file),
            hint=f"runner --plan-out {file}",
        ) from error


def _of(file: str, content: Json) -> SavedPlan:
    """Read the document; a TypeError, KeyError or ValueError says that it is none."""
    if not isinstance(content, dict) or content["kind"] != KIND:
        raise ValueError(file)
    if content["schemaVersion"] != SCHEMA_VERSION:
        raise ValueError(file)
    plan, selection = _object(content["plan"]), _object(content["selection"])
    return SavedPlan(
        file=file,
        path=_text(plan["path"]),
        digest=_text(plan["digest"]),
        branch=_text(content["branch"]),
        base=_text(content["base"] or ""),
        jobs=max(1, int(_text(str(content["jobs"])))),
        selection=Selection(
            ids=_texts(selection["ids"]),
            only=_texts(selection["only"]),
            start=_text(selection["start"]),
            until=_text(selection["until"]),
            with_dependents=selection["withDependents"] is True,
        ),
        order=_texts(content["order"]),
        tasks={id_: _task(one) for id_, one in _object(content["tasks"]).items()},
        commands={id_: _texts(one) for id_, one in _object(content["commands"]).items()},
    )


def _task(value: Json) -> SavedTask:
    said = _object(value)
    return SavedTask(*(_text(said[name]) for name in ("what", "proof", "status", "section")))


def _object(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise TypeError(type(value))
    return value


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError(type(value))
    return value


def _texts(value: Json) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(type(value))
    return tuple(map(_text, value))


# --- does it still fit? ---------------------------------------------------------------


def require_unmoved(saved: SavedPlan, project: Project, reading: Reading, seen: Foresight) -> None:
    """Raise RunnerError (exit 6) where anything the plan was worked out from is another by now."""
    moved = list(_list_differences(saved, project, reading, seen))
    if moved:
        raise RunnerError(
            "what the plan was made from has moved; nothing has run",
            where=saved.file,
            detail="\n".join(f"  {line}" for line in moved),
            hint=f"look at it anew: runner --plan-out {saved.file}",
            code=ExitCode.CONFLICT,
        )


def _list_differences(
    saved: SavedPlan, project: Project, reading: Reading, seen: Foresight
) -> Iterator[str]:
    head = project.head()
    if (head.commit or "") != saved.base:
        yield f"HEAD was {_commit(saved.base)} and is {_commit(head.commit or '')}"
    if head.shown != saved.branch:
        yield f"the branch was {saved.branch} and is {head.shown}"
    if project.plan_path != saved.path:
        yield f"the plan was {saved.path} and is {project.plan_path}"
    found = list(_list_task_differences(saved.tasks, reading.plan.tasks))
    if not found and digest_of(reading.data) != saved.digest:
        found = [f"{saved.path}: its text around the tasks' own words has changed"]
    yield from found
    if found:
        return
    for id_, commands in seen.commands.items():
        if id_ in saved.commands and saved.commands[id_] != commands:
            yield f"{id_}: the settings name other commands"
    if set(seen.forecast.order) != set(saved.order):
        yield f"the journal: {_difference(saved.order, seen.forecast.order)}"


def _list_task_differences(saved: Mapping[str, SavedTask], tasks: Iterable[Task]) -> Iterator[str]:
    now = {task.id: _make_saved_task(task) for task in tasks}
    yield from (f"{id_}: is no longer in the plan" for id_ in saved if id_ not in now)
    for id_, task in now.items():
        before = saved.get(id_)
        if before is None:
            yield f"{id_}: is new"
        elif before.what != task.what:
            yield f"{id_}: what is to be built has changed"
        elif before.proof != task.proof:
            yield f"{id_}: how it is proven has changed"
        elif before.status != task.status:
            yield f"{id_}: was {before.status} and is {task.status}"
        elif before.section != task.section:
            yield f"{id_}: its fields have changed"


def _difference(saved: Iterable[str], now: Iterable[str]) -> str:
    gone = [id_ for id_ in saved if id_ not in set(now)]
    new = [id_ for id_ in now if id_ not in set(saved)]
    parts = [f"{', '.join(gone)} would not run any more"] if gone else []
    parts += [f"{', '.join(new)} would run, too"] if new else []
    return "; ".join(parts)


def _commit(commit: str) -> str:
    return commit[:12] or "no commit"
