"""Return to a task's checkpoint: the code right after that task landed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.errors import ExitCode, RunnerError
from runner.history.commit_log import LogEntry, find_standing, story
from runner.history.revert import Back, find_held_after, find_held_on, format_list
from runner.model import Status, Usage
from runner.repo.landed_commits import name_project
from runner.repo.trailers import CHECKPOINT, PROJECT, RESTORES, UNDOES, build_message
from runner.run.landing.lander import changes_between

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from runner.journal.state import RunState
    from runner.model import Change
    from runner.repo.read import Repository


class Replay(Struct, frozen=True):
    """A replay, simulated without effect."""

    checkpoint: str
    """Commit whose bytes are restored."""
    back: Back
    by_hand: tuple[LogEntry, ...]
    """People's commits since then, which are kept."""
    seconds: float = 0.0
    """Seconds that its tasks took, to estimate a rebuild; 0 if unknown."""
    usage: Usage = Usage()
    """Tokens and dollars that they used."""

    @property
    def nothing(self) -> bool:
        """Whether all is as it was at the checkpoint."""
        return not self.back.changes and not self.back.tasks


def plan_replay(
    repository: Repository, state: RunState, id_: str, documents: Collection[str]
) -> Replay:
    """Plan the replay of a task's checkpoint; `documents` are the runner's own files.

    Raises RunnerError: the task has no checkpoint in this branch, or (exit 6, with the list) a
    file is concerned that a person's commit changed since, too.
    """
    head = repository.head().commit or ""
    checkpoint = _checkpoint(repository, head, state, id_)
    later = tuple(story(repository, head, since=checkpoint))
    ours = {path for one in later if one.by_runner for path in one.paths} - set(documents)
    changes = tuple(
        change for change in changes_between(repository, head, checkpoint) if change.path in ours
    )
    by_hand = tuple(one for one in later if not one.by_runner)
    _refuse_shared(changes, by_hand)
    tasks = tuple(dict.fromkeys(_find_pending(repository, state, later, checkpoint)))
    back = _back(id_, head, checkpoint, tasks, changes, name_project(repository.prefix))
    if tasks or changes:  # a held change came later as well
        held = (*find_held_on(state, tasks), *find_held_after(repository, state, checkpoint))
        back = replace(back, tasks=tuple(dict.fromkeys((*tasks, *held))))
    known = [state.task(task) for task in back.tasks]
    seconds = sum(one.typical_seconds for one in known)
    usage = sum((one.usage for one in known), Usage())
    return Replay(checkpoint, back, by_hand, seconds, usage)


def _back(
    id_: str,
    head: str,
    checkpoint: str,
    tasks: tuple[str, ...],
    changes: tuple[Change, ...],
    project: str,
) -> Back:
    undone = ((UNDOES, task) for task in tasks)
    trailers = ((RESTORES, id_), (CHECKPOINT, checkpoint), *undone, (PROJECT, project))
    kept = f"replay/{id_}-{head[:12]}"
    body = f"The previous HEAD is saved as refs/runner/{kept}."
    return Back(
        kind="replay",
        head=head,
        tasks=tasks,
        changes=changes,
        message=build_message(f"chore(runner): go back to {id_}", body, trailers),
        note=f"undone by going back to {id_}",
        kept=kept,
    )


def _checkpoint(repository: Repository, head: str, state: RunState, id_: str) -> str:
    """Return the commit right after a task, its own or its base. Raises RunnerError."""
    commits = find_standing(story(repository, head, ours=True)) if head else ()
    landed = next((one.commit for one in commits if one.task == id_), "")
    known = state.task(id_)
    if not landed and known.status is Status.DONE and known.base:
        landed = known.base if repository.is_ancestor(known.base, head) else ""
    if not landed:
        hint = "only tasks that landed on this branch have a checkpoint; to list them: runner log"
        raise RunnerError(f"{id_} has no checkpoint on this branch", hint=hint)
    return landed


def _find_pending(
    repository: Repository, state: RunState, later: Sequence[LogEntry], checkpoint: str
) -> Iterator[str]:
    """Yield tasks that were built or verified after the checkpoint, oldest first.

    A check came behind it when it was proven on a later tree: the journal knows on which commit,
    in a clone the trailers name the tree.
    """
    trees = {one.tree for one in later}
    for one in reversed(later):
        if one.task:
            yield one.task
        for check in one.checked:
            in_clone = not state.task(check.task).base
            if in_clone and (not check.tree or check.tree in trees):
                yield check.task
    for id_, known in state.tasks.items():
        checked = known.status in (Status.DONE, Status.STALE) and not known.commit and known.spec
        elsewhere = checked and known.base not in ("", checkpoint)
        if elsewhere and repository.is_ancestor(checkpoint, known.base):
            yield id_


def _refuse_shared(changes: Iterable[Change], by_hand: Sequence[LogEntry]) -> None:
    """Raise RunnerError where a person and a task both changed a file since the checkpoint."""
    touched = {change.path for change in changes}
    shared = [
        f"{path}: {one.commit[:12]} {one.subject}"
        for one in by_hand
        for path in one.paths
        if path in touched
    ]
    if shared:
        raise RunnerError(
            "your own commits changed files that would be reset; nothing was changed",
            detail=format_list(shared),
            hint="move those changes to another branch, or undo single tasks: runner undo ID",
            code=ExitCode.CONFLICT,
        )
