"""One task undone: the reverse of what its commits changed, carried to the code as it is now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.history.commit_log import find_standing, story
from runner.history.revert import Back, LeftBehind, find_held_on, format_list
from runner.model import Status
from runner.repo.commit import commit_tree
from runner.repo.git import Git
from runner.repo.merge import carry
from runner.repo.trailers import build_message
from runner.run.dependents import find_reached
from runner.run.landing.lander import changes_between
from runner.run.reverts import UNDOES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runner.history.commit_log import Told
    from runner.journal.state import RunState
    from runner.model import Change, Task
    from runner.repo.read import Repository
    from runner.run.dependents import Reached


def plan_undo(
    repository: Repository, tasks: Sequence[Task], state: RunState, id_: str, reason: str = ""
) -> Back:
    """What undoing a task would do, looked at and not done.

    Raises RunnerError: it has no commit in this branch, or (exit 6, with the list) later commits
    build on its lines.
    """
    head = repository.head().commit or ""
    landed = [one for one in _find_standing(repository, head) if one.task == id_]
    if not landed:
        hint = f"runner show {id_}; to have it done again, make its status PENDING"
        raise RunnerError(f"{id_} has no commit in this branch to undo", hint=hint)
    changes = _reverse_commits(repository, head, landed, id_)
    commits = ", ".join(one.commit[:12] for one in landed)
    because = f": {reason}" if reason else ""
    behind = find_reached(tasks, (id_,))
    held = [one for one in find_held_on(state, {id_, *behind}) if one != id_]
    return Back(
        kind="undo",
        head=head,
        tasks=(id_, *held),
        changes=changes,
        message=build_message(
            f"revert({id_}): undo {landed[0].commit[:12]}",
            f"Takes back what {id_} changed in {commits}{because}.",
            ((UNDOES, id_),),
        ),
        note=f"undone{because}",
        stale=tuple(_find_left_behind(behind, state, (id_, *held))),
    )


def _find_standing(repository: Repository, head: str) -> tuple[Told, ...]:
    return find_standing(story(repository, head, ours=True)) if head else ()


def _find_left_behind(
    behind: Mapping[str, Reached], state: RunState, undone: Sequence[str]
) -> Iterator[LeftBehind]:
    """DONE tasks that were built on it: what they rest on is gone.

    So are those that a held change broke which is let go with it.
    """
    for other, why in behind.items():
        known = state.task(other)
        rests = known.status is Status.DONE or known.culprit in undone
        if rests and other not in undone:
            yield LeftBehind(other, f"{undone[0]} was undone; this {why.reason}", why.via)


def _reverse_commits(
    repository: Repository, head: str, landed: Sequence[Told], id_: str
) -> tuple[Change, ...]:
    """The reverse of every commit, the newest first, as changes of `head`."""
    # in git's own folder, where the files of a merge by lines are in nobody's way
    git = Git(repository.folders.git, {"GIT_DIR": str(repository.folders.git)})
    now = head
    for one in landed:
        back = changes_between(repository, one.commit, one.parent)
        merged = carry(git, repository.prefix, (one.commit, now), back)
        if merged.conflicts:
            raise _refuse_built_on(repository, head, landed, id_, merged.conflicts)
        if merged.changes:
            now = commit_tree(repository, now, merged.changes, "undo\n", sign=False).sha
    return changes_between(repository, head, now)


def _refuse_built_on(
    repository: Repository, head: str, landed: Sequence[Told], id_: str, paths: Sequence[str]
) -> RunnerError:
    """The refusal, with the commits that came later to the same places and still stand."""
    came = [
        (path, one)
        for one in _later(tuple(story(repository, head, since=landed[-1].commit)), id_)
        for path in paths
        if path in one.paths
    ]
    later = [
        f"{path}: {one.task or 'by hand'} ({one.commit[:12]} {one.subject})" for path, one in came
    ]
    tasks = [one.task for _, one in came if one.task]
    first = f"runner undo {tasks[0]}" if tasks else "change them by hand"
    return RunnerError(
        f"later commits build on lines of {id_}; nothing was done",
        detail=format_list(later or paths),
        hint=f"{first} first, or go back to a checkpoint: runner replay",
        code=ExitCode.CONFLICT,
    )


def _later(commits: Sequence[Told], id_: str) -> Iterator[Told]:
    """People's commits, and other tasks' landings that nothing took back since."""
    stands = {one.commit for one in find_standing(commits)}
    for one in commits:
        if (one.commit in stands and one.task != id_) or not one.by_runner:
            yield one
