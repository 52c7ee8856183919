"""What a dry run proposed, as a file: `--apply` lands exactly these bytes, or refuses (exit 6)."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner import __version__, effects
from runner.errors import ExitCode, RunnerError
from runner.model import Action, Change, Status, digest_of
from runner.report.documents import SCHEMA_VERSION, document
from runner.run.review import proposal_digest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.app.build.session import Session
    from runner.project import Project, Reading
    from runner.report.documents import Json
    from runner.run.adopt import Adopted
    from runner.run.planned.dry_run import Trial

KIND = "proposal"
_LAND_FROM = (Status.PENDING, Status.BLOCKED, Status.IN_PROGRESS)
_MODES = (0, 0o100644, 0o100755)


@dataclass(frozen=True, slots=True)
class SavedProposal:
    """The bytes that a task is to land, and what they were made from."""

    file: str
    task: str
    plan: str
    """TASK-GRAPH.md, relative to the project."""
    branch: str
    base: str
    what: str
    proof: str
    changes: tuple[Change, ...]


def save_proposal(file: Path, project: Project, trial: Trial) -> None:
    """Write the document. Raises RunnerError where nothing can come of it."""
    task, head = trial.task, project.head()
    if not trial.outcome.changes:
        raise RunnerError(f"{task.id} would change nothing: there is nothing to save")
    text = document(
        KIND,
        runner=__version__,
        task=task.id,
        branch=head.shown,
        base=trial.base,
        plan=project.plan_path,
        spec={"what": task.spec.what, "proof": task.spec.proof},
        digest=proposal_digest(trial.outcome.changes),
        changes=[_as_data(change) for change in trial.outcome.changes],
    )
    try:
        effects.write_file(file, text.encode("ascii"))
    except OSError as error:
        raise RunnerError(
            f"the proposal cannot be saved: {error.strerror}",
            where=str(file),
            hint="name a file in a folder that is there",
        ) from error


def _as_data(change: Change) -> dict[str, object]:
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


def is_proposal(file: Path) -> bool:
    """Whether a file is such a document; whether it is a sound one is said when it is read."""
    try:
        content = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and content.get("kind") == KIND


def read_proposal(file: Path) -> SavedProposal:
    """The document that `save_proposal` wrote. Raises RunnerError for anything else."""
    try:
        return _of(str(file), json.loads(file.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, RecursionError, binascii.Error) as error:
        raise RunnerError(
            "this is no proposal that this runner saved, or it was changed",
            where=str(file),
            hint=f"runner run ID --dry-run --with-implementer --plan-out {file.name}",
        ) from error


def _of(file: str, content: Json) -> SavedProposal:
    if not isinstance(content, dict) or content["kind"] != KIND:
        raise ValueError(file)
    if content["schemaVersion"] != SCHEMA_VERSION:
        raise ValueError(file)
    spec, listed = content["spec"], content["changes"]
    if not isinstance(spec, dict) or not isinstance(listed, list):
        raise TypeError(file)
    changes = tuple(map(_change, listed))
    if not changes or proposal_digest(changes) != content["digest"]:
        raise ValueError(file)
    return SavedProposal(
        file=file,
        task=_text(content["task"]),
        plan=_text(content["plan"]),
        branch=_text(content["branch"]),
        base=_text(content["base"]),
        what=_text(spec["what"]),
        proof=_text(spec["proof"]),
        changes=changes,
    )


def _change(value: Json) -> Change:
    if not isinstance(value, dict):
        raise TypeError(type(value))
    told, mode = value["content"], value["mode"]
    content = None if told is None else base64.b64decode(_text(told), validate=True)
    after = None if content is None else digest_of(content)
    if after != value["after"] or mode not in _MODES or not isinstance(mode, int):
        raise ValueError(value["path"])
    before = value["before"]
    return Change(
        path=_text(value["path"]),
        action=Action(_text(value["action"])),
        mode=mode,
        before=None if before is None else _text(before),
        after=after,
        content=content,
    )


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError(type(value))
    return value


# --- does it still fit? ---------------------------------------------------------------


def require_unmoved(saved: SavedProposal, project: Project, reading: Reading) -> None:
    """Raise RunnerError (exit 6) where anything it was made from is another by now."""
    moved = list(_list_differences(saved, project, reading))
    if moved:
        raise RunnerError(
            "what the proposal was made from has moved; nothing has run",
            where=saved.file,
            detail="\n".join(f"  {line}" for line in moved),
            hint=f"runner run {saved.task} --dry-run --with-implementer --plan-out {saved.file}",
            code=ExitCode.CONFLICT,
        )


def _list_differences(saved: SavedProposal, project: Project, reading: Reading) -> Iterator[str]:
    head = project.head()
    if (head.commit or "") != saved.base:
        yield f"HEAD was {_commit(saved.base)} and is {_commit(head.commit or '')}"
    if head.shown != saved.branch:
        yield f"the branch was {saved.branch} and is {head.shown}"
    if project.plan_path != saved.plan:
        yield f"the plan was {saved.plan} and is {project.plan_path}"
    task = next((one for one in reading.plan.tasks if one.id == saved.task), None)
    if task is None:
        yield f"{saved.task}: is no longer in the plan"
    elif task.spec.what != saved.what:
        yield f"{saved.task}: what is to be built has changed"
    elif task.spec.proof != saved.proof:
        yield f"{saved.task}: how it is proven has changed"
    status = project.state().task(saved.task).status
    if status not in _LAND_FROM:
        yield f"{saved.task}: is {status}"


def _commit(commit: str) -> str:
    return commit[:12] or "no commit"


# --- landing it -----------------------------------------------------------------------


def make_adopted(saved: SavedProposal, session: Session) -> dict[str, Adopted]:
    """What the run is to prove and land, instead of having the task built.

    Who applies these bytes approves them, each by its digest.
    """
    from runner.journal.events import WriteReviewed
    from runner.run.adopt import Adopted

    attempt = session.ledger.state.task(saved.task).last_attempt
    for one in saved.changes:
        event = WriteReviewed(one.path, one.before, one.after, "applied", "person")
        session.ledger.note(event, task=saved.task, attempt=attempt, durable=True)
    return {saved.task: Adopted(saved.file, saved.base, saved.changes)}
