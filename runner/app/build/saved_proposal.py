"""Save a run or a proposal with `--plan-out`, and apply or refuse it with `--apply` (exit 6)."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

from msgspec import Struct

from runner import __version__, effects
from runner.errors import ExitCode, RunnerError
from runner.journal.events import WriteReviewed
from runner.model import Action, Change, Status, digest_of
from runner.report.documents import SCHEMA_VERSION, document, plain
from runner.run.landing.drafts import Adopted
from runner.run.review import proposal_digest
from runner.run.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import TypeAlias

    from runner.app.build.forecast import Foresight
    from runner.app.build.session import Session
    from runner.model import Task
    from runner.project import Project, Reading
    from runner.report.documents import Json
    from runner.run.planned.dry_run import Trial

    Saved: TypeAlias = "SavedPlan | SavedProposal"

PLAN, PROPOSAL = "plan", "proposal"
_NOT_THE_WORK = ("line", "note")
"""Fields of a task that don't change its work: they depend on the text around it."""
_LAND_FROM = (Status.PENDING, Status.BLOCKED, Status.IN_PROGRESS)
_MODES = (0, 0o100644, 0o100755)


class _Origin(Struct, frozen=True):
    """The state of the repository when a file was saved; the file fits no other state."""

    file: str
    path: str
    """Path of TASK-GRAPH.md, relative to the project."""
    branch: str
    base: str
    """Commit of HEAD; empty before the first commit."""

    def list_moved(self, project: Project) -> Iterator[str]:
        """Yield a line for each fact that has changed since the file was saved."""
        head = project.head()
        if (head.commit or "") != self.base:
            yield f"HEAD was {_commit(self.base)} and is {_commit(head.commit or '')}"
        if head.shown != self.branch:
            yield f"the branch was {self.branch} and is {head.shown}"
        if project.plan_path != self.path:
            yield f"the plan was {self.path} and is {project.plan_path}"


class SavedTask(Struct, frozen=True):
    """A task as it stood when the plan was saved."""

    what: str
    proof: str
    status: str
    section: str
    """Digest of all fields, including those in neither of the other two."""


class SavedPlan(Struct, frozen=True):
    """A saved run, and the inputs that it was computed from."""

    origin: _Origin
    digest: str
    """Digest of all bytes of TASK-GRAPH.md."""
    jobs: int
    selection: Selection
    order: tuple[str, ...]
    tasks: Mapping[str, SavedTask]
    commands: Mapping[str, tuple[str, ...]]


class SavedProposal(Struct, frozen=True):
    """The bytes that a task is to land, and what they were made from."""

    origin: _Origin
    task: str
    what: str
    proof: str
    changes: tuple[Change, ...]

    @property
    def selection(self) -> Selection:
        """The one task that it is about."""
        return Selection(only=(self.task,))


# --- saving ---------------------------------------------------------------------------


def save_plan(
    file: Path, project: Project, reading: Reading, selection: Selection, seen: Foresight
) -> None:
    """Write what a run would do. Raises RunnerError when the file cannot be written."""
    head = project.head()
    text = document(
        PLAN,
        runner=__version__,
        branch=head.shown,
        head=head.commit,
        base=head.commit,
        plan={"path": project.plan_path, "digest": digest_of(reading.data)},
        jobs=project.settings.build.jobs,
        selection=selection,
        order=seen.forecast.order,
        batches=seen.forecast.batches,
        waiting=seen.forecast.waiting,
        seconds=round(seen.forecast.seconds, 3),
        tasks={task.id: _make_saved_task(task) for task in reading.plan.tasks},
        commands=seen.commands,
    )
    _write(file, text, PLAN)


def save_proposal(file: Path, project: Project, trial: Trial) -> None:
    """Write what a task proposed. Raises RunnerError where nothing can come of it."""
    task = trial.task
    if not trial.passed:
        raise RunnerError(
            "the proposal failed its checks, so it was not saved",
            hint="read the findings above",
            code=ExitCode.FAILED,
        )
    if not trial.outcome.changes:
        raise RunnerError(f"{task.id} would change no file: there is nothing to save")
    text = document(
        PROPOSAL,
        runner=__version__,
        task=task.id,
        branch=project.head().shown,
        base=trial.base,
        plan=project.plan_path,
        spec={"what": task.spec.what, "proof": task.spec.proof},
        digest=proposal_digest(trial.outcome.changes),
        changes=[_encode_change(change) for change in trial.outcome.changes],
    )
    _write(file, text, PROPOSAL)


def _write(file: Path, text: str, kind: str) -> None:
    try:
        effects.write_file(file, text.encode("ascii"))
    except OSError as error:
        raise RunnerError(
            f"the {kind} cannot be saved: {error.strerror}",
            where=str(file),
            hint="name a file in an existing folder",
        ) from error


def _make_saved_task(task: Task) -> SavedTask:
    fields = json.dumps(_without(plain(task), _NOT_THE_WORK), sort_keys=True)
    return SavedTask(task.spec.what, task.spec.proof, task.status, digest_of(fields.encode()))


def _without(value: Json, names: tuple[str, ...]) -> Json:
    if isinstance(value, dict):
        return {name: _without(one, names) for name, one in value.items() if name not in names}
    return [_without(one, names) for one in value] if isinstance(value, list) else value


def _encode_change(change: Change) -> dict[str, object]:
    content = change.content
    return {
        "path": change.path,
        "action": change.action,
        "mode": change.mode,
        "before": change.before,
        "after": change.after,
        "content": None if content is None else base64.b64encode(content).decode("ascii"),
    }


# --- reading it again -----------------------------------------------------------------


def read_saved(file: Path) -> Saved:
    """Parse a file written by `--plan-out`. Raises RunnerError for anything else."""
    kind, again = PLAN, f"runner --plan-out {file}"
    try:
        content = _read_document(file)
        if content["kind"] == PROPOSAL:
            kind = PROPOSAL
            again = f"runner run ID --dry-run --with-implementer --plan-out {file.name}"
        if kind == PROPOSAL:
            return _read_proposal(str(file), content)
        return _read_plan(str(file), content)
    except OSError as error:
        raise RunnerError(
            f"the saved plan cannot be read: {error.strerror}", where=str(file), hint=again
        ) from error
    # The file is untrusted: json raises RecursionError for deeply nested lists.
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        changed = ", or it was edited" if kind == PROPOSAL else ""
        raise RunnerError(
            f"this file is not a {kind} saved by this runner{changed}", where=str(file), hint=again
        ) from error


def _read_document(file: Path) -> dict[str, Json]:
    content = _object(json.loads(file.read_bytes()))
    if content["kind"] not in (PLAN, PROPOSAL) or content["schemaVersion"] != SCHEMA_VERSION:
        raise ValueError(file)
    return content


def _read_plan(file: str, content: Mapping[str, Json]) -> SavedPlan:
    """Parse a saved plan. Raises TypeError, KeyError or ValueError if it is malformed."""
    plan, selection = _object(content["plan"]), _object(content["selection"])
    branch, base = _text(content["branch"]), _text(content["base"] or "")
    return SavedPlan(
        origin=_Origin(file, _text(plan["path"]), branch, base),
        digest=_text(plan["digest"]),
        jobs=max(1, int(_text(str(content["jobs"])))),
        selection=Selection(
            ids=_texts(selection["ids"]),
            only=_texts(selection["only"]),
            start=_text(selection["start"]),
            until=_text(selection["until"]),
            with_dependents=selection["withDependents"] is True,
        ),
        order=_texts(content["order"]),
        tasks={id_: _read_task(one) for id_, one in _object(content["tasks"]).items()},
        commands={id_: _texts(one) for id_, one in _object(content["commands"]).items()},
    )


def _read_task(value: Json) -> SavedTask:
    fields = _object(value)
    return SavedTask(*(_text(fields[name]) for name in ("what", "proof", "status", "section")))


def _read_proposal(file: str, content: Mapping[str, Json]) -> SavedProposal:
    spec, listed = _object(content["spec"]), content["changes"]
    changes = tuple(map(_read_change, listed)) if isinstance(listed, list) else ()
    if not changes or proposal_digest(changes) != content["digest"]:
        raise ValueError(file)
    path, branch, base = (_text(content[name]) for name in ("plan", "branch", "base"))
    return SavedProposal(
        origin=_Origin(file, path, branch, base),
        task=_text(content["task"]),
        what=_text(spec["what"]),
        proof=_text(spec["proof"]),
        changes=changes,
    )


def _read_change(value: Json) -> Change:
    fields = _object(value)
    encoded, mode, before = fields["content"], fields["mode"], fields["before"]
    content = None if encoded is None else base64.b64decode(_text(encoded), validate=True)
    after = None if content is None else digest_of(content)
    # The file is untrusted: allow no link, no submodule and no bytes with a wrong digest.
    if after != fields["after"] or mode not in _MODES or not isinstance(mode, int):
        raise ValueError(fields["path"])
    return Change(
        path=_text(fields["path"]),
        action=Action(_text(fields["action"])),
        mode=mode,
        before=None if before is None else _text(before),
        after=after,
        content=content,
    )


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


def require_unmoved(
    saved: Saved, project: Project, reading: Reading, foresee: Callable[[], Foresight]
) -> None:
    """Raise RunnerError (exit 6) where anything it was made from is another by now.

    `foresee` says what a run would do; it is asked for a saved plan alone.
    """
    moved, file = list(saved.origin.list_moved(project)), saved.origin.file
    if isinstance(saved, SavedPlan):
        moved += _list_plan_moved(saved, reading, foresee())
        kind, hint = PLAN, f"save a new one: runner --plan-out {file}"
    else:
        moved += _list_proposal_moved(saved, project, reading)
        kind = PROPOSAL
        hint = f"runner run {saved.task} --dry-run --with-implementer --plan-out {file}"
    if moved:
        raise RunnerError(
            f"the saved {kind} is out of date; nothing has run",
            where=file,
            detail="\n".join(f"  {line}" for line in moved),
            hint=hint,
            code=ExitCode.CONFLICT,
        )


def _list_plan_moved(saved: SavedPlan, reading: Reading, seen: Foresight) -> Iterator[str]:
    found = list(_list_task_differences(saved.tasks, reading.plan.tasks))
    if not found and digest_of(reading.data) != saved.digest:
        found = [f"{saved.origin.path}: its text outside the tasks' fields has changed"]
    yield from found
    if found:
        return
    for id_, commands in seen.commands.items():
        if id_ in saved.commands and saved.commands[id_] != commands:
            yield f"{id_}: its commands in the settings have changed"
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
            yield f"{id_}: what to build has changed"
        elif before.proof != task.proof:
            yield f"{id_}: how it is proven has changed"
        elif before.status != task.status:
            yield f"{id_}: was {before.status} and is {task.status}"
        elif before.section != task.section:
            yield f"{id_}: its fields have changed"


def _list_proposal_moved(saved: SavedProposal, project: Project, reading: Reading) -> Iterator[str]:
    task = next((one for one in reading.plan.tasks if one.id == saved.task), None)
    if task is None:
        yield f"{saved.task}: is no longer in the plan"
    elif task.spec.what != saved.what:
        yield f"{saved.task}: what to build has changed"
    elif task.spec.proof != saved.proof:
        yield f"{saved.task}: how it is proven has changed"
    status = project.state().task(saved.task).status
    if status not in _LAND_FROM:
        yield f"{saved.task}: is {status}"


def _difference(saved: Iterable[str], now: Iterable[str]) -> str:
    gone = [id_ for id_ in saved if id_ not in set(now)]
    new = [id_ for id_ in now if id_ not in set(saved)]
    parts = [f"{', '.join(gone)} would no longer run"] if gone else []
    parts += [f"{', '.join(new)} would also run"] if new else []
    return "; ".join(parts)


def _commit(commit: str) -> str:
    return commit[:12] or "no commit"


# --- landing it -----------------------------------------------------------------------


def make_adopted(saved: SavedProposal, session: Session) -> dict[str, Adopted]:
    """Return the saved changes that the run proves and lands instead of building the task.

    Who applies these bytes approves them, each by its digest.
    """
    attempt = session.journal.state.task(saved.task).last_attempt
    for one in saved.changes:
        event = WriteReviewed(one.path, one.before, one.after, "applied", "person")
        session.journal.note(event, task=saved.task, attempt=attempt, durable=True)
    return {saved.task: Adopted(saved.origin.file, saved.origin.base, saved.changes)}
