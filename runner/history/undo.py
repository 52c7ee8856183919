"""One task undone: the reverse of what its commits changed, carried to the code as it is now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.history.back import Back, LeftBehind, listed
from runner.history.told import standing, story
from runner.model import Status
from runner.repo.commit import commit_tree
from runner.repo.git import Git
from runner.repo.merge import carry
from runner.repo.trailers import build_message
from runner.run.landing.lander import changes_between
from runner.run.reach import reached
from runner.run.undone import UNDOES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.history.told import Told
    from runner.journal.state import RunState
    from runner.model import Change, Task
    from runner.repo.read import Repository


def undoing(
    repository: Repository, tasks: Sequence[Task], state: RunState, id_: str, reason: str = ""
) -> Back:
    """What undoing a task would do, looked at and not done.

    Raises RunnerError: it has no commit in this branch, or (exit 6, with the list) later commits
    build on its lines.
    """
    head = repository.head().commit or ""
    landed = [one for one in _standing(repository, head) if one.task == id_]
    if not landed:
        hint = f"runner show {id_}; to have it done again, make its status PENDING"
        raise RunnerError(f"{id_} has no commit in this branch to undo", hint=hint)
    changes = _reversed(repository, head, landed, id_)
    commits = ", ".join(one.commit[:12] for one in landed)
    because = f": {reason}" if reason else ""
    return Back(
        kind="undo",
        head=head,
        tasks=(id_,),
        changes=changes,
        message=build_message(
            f"revert({id_}): undo {landed[0].commit[:12]}",
            f"Takes back what {id_} changed in {commits}{because}.",
            ((UNDOES, id_),),
        ),
        note=f"undone{because}",
        stale=tuple(_left_behind(tasks, state, id_)),
    )


def _standing(repository: Repository, head: str) -> tuple[Told, ...]:
    return standing(story(repository, head, ours=True)) if head else ()


def _left_behind(tasks: Sequence[Task], state: RunState, id_: str) -> Iterator[LeftBehind]:
    """DONE tasks that were built on it: what they rest on is gone."""
    for other, why in reached(tasks, (id_,)).items():
        if state.task(other).status is Status.DONE:
            yield LeftBehind(other, f"{id_} was undone; this {why.reason}", why.via)


def _reversed(
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
            raise _built_on(repository, head, landed, id_, merged.conflicts)
        if merged.changes:
            now = commit_tree(repository, now, merged.changes, "undo\n", sign=False).sha
    return changes_between(repository, head, now)


def _built_on(
    repository: Repository, head: str, landed: Sequence[Told], id_: str, paths: Sequence[str]
) -> RunnerError:
    """The refusal, with the commits that came later to the same places."""
    own = {one.commit for one in landed}
    later = [
        f"{path}: {one.task or 'by hand'} ({one.commit[:12]} {one.subject})"
        for one in story(repository, head, since=landed[-1].commit)
        if one.commit not in own
        for path in paths
        if path in one.paths
    ]
    tasks = list(dict.fromkeys(line.split(" ")[1] for line in later if ": by hand" not in line))
    first = f"runner undo {tasks[0]}" if tasks else "change them by hand"
    return RunnerError(
        f"later commits build on lines of {id_}; nothing was done",
        detail=listed(later or paths),
        hint=f"{first} first, or go back to a checkpoint: runner replay",
        code=ExitCode.CONFLICT,
    )
