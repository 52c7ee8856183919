"""Undo tasks or go back to a checkpoint, by a new commit; unsaved work stays untouched.

A checkpoint is the code right after a task landed. Held changes that need a reverted task are
dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from runner.errors import ExitCode, RunnerError
from runner.history.commit_log import LogEntry, find_standing, story
from runner.journal.events import TaskReopened, TaskStaled
from runner.journal.session_events import HistoryMoved, HistoryMoving
from runner.model import Status, Usage
from runner.repo.commit import commit_tree, find_filtered
from runner.repo.landed_commits import name_project
from runner.repo.merge import carry
from runner.repo.refs import keep_ref
from runner.repo.trailers import CHECKPOINT, PROJECT, RESTORES, UNDOES, build_message
from runner.run.dependents import find_reached
from runner.run.landing.drafts import let_go
from runner.run.landing.git_locks import bring_index, move_branch, prepare_index
from runner.run.landing.lander import changes_between
from runner.run.regressions.regression import give_back, is_held, victims
from runner.writes import safe_io
from runner.writes.safe_io import sweep_below

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from runner.journal.events import Record
    from runner.journal.state import RunState
    from runner.model import Change, Task
    from runner.repo.index_lock import HeldIndex
    from runner.repo.read import Repository
    from runner.run.dependents import ReachedTask
    from runner.run.journal_writer import JournalWriter
    from runner.run.landing.lander import Lander


class LeftDependent(NamedTuple):
    """A task that stays as it is and rests on what is taken back."""

    task: str
    reason: str
    via: str
    """Next task on the path: once that is DONE again, early cut-off may release this one."""


class Back(Struct, frozen=True):
    """The work to revert, and the new status of the tasks."""

    kind: str
    """`undo` or `replay`."""
    head: str
    """Commit on which it was computed."""
    tasks: tuple[str, ...]
    """Tasks that become PENDING."""
    changes: tuple[Change, ...]
    message: str
    note: str
    """Reason for their PENDING."""
    stale: tuple[LeftDependent, ...] = ()
    """Tasks that become STALE."""
    kept: str = ""
    """Ref below `refs/runner/` for the previous head."""


def require_free(repository: Repository, back: Back) -> None:
    """Raise RunnerError (exit 6, with the list) where unsaved work is in the way."""
    converts = repository.configuration().is_true("core.autocrlf")
    blocked = safe_io.in_the_way(repository.root, back.changes, converts=converts)
    if blocked:
        raise RunnerError(
            "your uncommitted changes are in the way; nothing was changed",
            detail=format_list(blocked),
            hint="commit or move them, then run the command again",
            code=ExitCode.CONFLICT,
        )
    filtered = find_filtered(repository, [change.path for change in back.changes])
    if filtered:
        raise RunnerError(
            "git filters (LFS) apply to these files, so the runner cannot write them",
            detail=format_list(filtered),
            hint="restore them yourself: git revert or git restore",
            code=ExitCode.CONFLICT,
        )


def take_back(lander: Lander, back: Back) -> str:
    """Create the revert commit, move the branch, update tree and index, and return the commit.

    As in landing, the order makes a crash harmless: before the swap nothing has happened, after it
    the journal says what there is to finish. Raises RunnerError (exit 6) with nothing done where
    the branch moved or unsaved work is in the way.
    """
    repository = lander.repository
    head = repository.head()
    if head.commit != back.head:
        raise _make_moved_error(head.shown)
    require_free(repository, back)
    if back.kept:
        keep_ref(repository, back.kept, back.head)
    commit = commit_tree(repository, back.head, back.changes, back.message, names_files=True)
    paths = [change.path for change in back.changes]
    with prepare_index(repository, head, paths, back.head, commit.sha) as index:
        record = lander.journal.note(_make_moving(back, commit.sha), durable=True)
        if not move_branch(repository, head, commit.sha, f"runner: {back.kind}", index):
            raise _make_moved_error(head.shown)
        finish(lander, record, index)
    return commit.sha


def _make_moving(back: Back, commit: str) -> HistoryMoving:
    return HistoryMoving(
        kind=back.kind,
        commit=commit,
        parent=back.head,
        tasks=back.tasks,
        note=back.note,
        kept=back.kept,
        stale=tuple(one.task for one in back.stale),
        reasons=tuple(one.reason for one in back.stale),
        via=tuple(one.via for one in back.stale),
    )


def finish(lander: Lander, moving: Record, index: HeldIndex | None = None) -> bool:
    """Update tree, index and journal after a revert; False if the branch does not have the commit.

    False where it never got there: then nothing has happened. `index` was prepared before the
    branch moved.
    """
    event = moving.event
    assert isinstance(event, HistoryMoving)
    repository = lander.repository
    if not repository.is_ancestor(event.commit, repository.head().commit or ""):
        return False
    changes = changes_between(repository, event.parent, event.commit)
    for change in changes:
        sweep_below(lander.root, change.path)
    converts = repository.configuration().is_true("core.autocrlf")
    safe_io.place(lander.root, changes, converts=converts)
    if index is not None:
        index.place()
    else:
        paths = [change.path for change in changes]
        bring_index(repository, paths, event.parent, event.commit)
    _say(lander, moving, event)
    lander.journal.note(
        HistoryMoved(kind=event.kind, commit=event.commit, tasks=event.tasks),
        cause=moving.id,
        durable=True,
    )
    return True


def _say(lander: Lander, moving: Record, event: HistoryMoving) -> None:
    """Record what became of the tasks, each once however often this is repeated.

    A held change goes after what it breaks: of that only what stays is DONE again.
    """
    journal = lander.journal
    held = [id_ for id_ in event.tasks if is_held(journal.state.task(id_))]
    _reopen(journal, moving, event, (id_ for id_ in event.tasks if id_ not in held))
    release(lander, held)
    _reopen(journal, moving, event, held)
    roads = event.via or ("",) * len(event.stale)
    for id_, reason, via in zip(event.stale, event.reasons, roads, strict=True):
        known = journal.state.task(id_)
        if known.status is Status.DONE:
            stale = TaskStaled(note=reason, via=via)
            journal.note(stale, task=id_, attempt=known.last_attempt, cause=moving.id)


def _reopen(
    journal: JournalWriter, moving: Record, event: HistoryMoving, tasks: Iterable[str]
) -> None:
    for id_ in tasks:
        known = journal.state.task(id_)
        if known.status is not Status.PENDING or known.spec is not None:
            again = TaskReopened(note=_note(event, id_), by=event.kind)
            journal.note(again, task=id_, attempt=known.last_attempt, cause=moving.id)


def _note(event: HistoryMoving, id_: str) -> str:
    """Return why a task is PENDING: the first one was undone, the others depend on it."""
    rests = event.kind == "undo" and id_ != event.tasks[0]
    return f"its held change needs {event.tasks[0]}, which was undone" if rests else event.note


def format_list(lines: Iterable[str]) -> str:
    """Indent lines for an error message."""
    return "\n".join(f"  {line}" for line in lines)


def _make_moved_error(branch: str) -> RunnerError:
    return RunnerError(
        f"{branch} has moved; nothing was changed",
        hint="run the command again",
        code=ExitCode.CONFLICT,
    )


# --- held changes ---------------------------------------------------------------------


def find_held_on(state: RunState, taken_back: Collection[str]) -> Iterator[str]:
    """Yield tasks whose held change depends on or breaks one of these tasks."""
    for known in state.tasks.values():
        concerned = {known.id, *victims(known.findings)}
        if is_held(known) and not concerned.isdisjoint(taken_back):
            yield known.id


def find_held_after(repository: Repository, state: RunState, checkpoint: str) -> Iterator[str]:
    """Yield tasks whose held change has a base after the checkpoint."""
    for known in state.tasks.values():
        base = known.held.base if known.held and is_held(known) else checkpoint
        if base != checkpoint and repository.is_ancestor(checkpoint, base):
            yield known.id


def release(lander: Lander, tasks: Iterable[str]) -> None:
    """Drop the held changes of tasks but keep their drafts; tasks they broke become DONE again.

    May be repeated: of a task of which nothing is held, nothing is done.
    """

    def forget(task: str) -> None:
        let_go(lander.repository, task)
        lander.staging.remove(lander.staging.list(task))

    for id_ in tasks:
        if is_held(lander.journal.state.task(id_)):
            give_back(id_, lander.journal, forget)


def plan_undo(
    repository: Repository, tasks: Sequence[Task], state: RunState, id_: str, reason: str = ""
) -> Back:
    """Return what undoing a task would do, without doing it.

    Raises RunnerError: it has no commit in this branch, or (exit 6, with the list) later commits
    build on its lines.
    """
    head = repository.head().commit or ""
    landed = [one for one in _find_standing(repository, head) if one.task == id_]
    if not landed:
        status = state.task(id_).status
        hint = f"{id_} is {status}; for details: runner show {id_}"
        if status is Status.DONE:
            hint = f"to rebuild {id_}, set its status in the plan to PENDING"
        raise RunnerError(f"{id_} has no commit on this branch to undo", hint=hint)
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
            f"Reverts what {id_} changed in {commits}{because}.",
            ((UNDOES, id_), (PROJECT, name_project(repository.prefix))),
        ),
        note=f"undone{because}",
        stale=tuple(_find_left_dependents(behind, state, (id_, *held))),
    )


def _find_standing(repository: Repository, head: str) -> tuple[LogEntry, ...]:
    return find_standing(story(repository, head, ours=True)) if head else ()


def _find_left_dependents(
    behind: Mapping[str, ReachedTask], state: RunState, undone: Sequence[str]
) -> Iterator[LeftDependent]:
    """Yield the DONE tasks that depend on an undone task.

    So are those that a held change broke which is let go with it.
    """
    for other, why in behind.items():
        known = state.task(other)
        rests = known.status is Status.DONE or known.culprit in undone
        if rests and other not in undone:
            yield LeftDependent(other, f"{undone[0]} was undone; this task {why.reason}", why.via)


def _reverse_commits(
    repository: Repository, head: str, landed: Sequence[LogEntry], id_: str
) -> tuple[Change, ...]:
    """Return changes of `head` that revert each commit, newest first."""
    now = head
    for one in landed:
        back = changes_between(repository, one.commit, one.parent)
        merged = carry(repository, (one.commit, now), back)
        if merged.conflicts:
            raise _refuse_built_on(repository, head, landed, id_, merged.conflicts)
        if merged.changes:
            # Unsigned: it only carries the merge to the next step and is never on a branch.
            now = commit_tree(repository, now, merged.changes, "undo\n", sign=False).sha
    return changes_between(repository, head, now)


def _refuse_built_on(
    repository: Repository, head: str, landed: Sequence[LogEntry], id_: str, paths: Sequence[str]
) -> RunnerError:
    """Return the error for an undo, with later commits that change these paths."""
    came = [
        (path, one)
        for one in _later(tuple(story(repository, head, since=landed[-1].commit)), id_)
        for path in paths
        if path in one.paths
    ]
    later = [
        f"{path}: {one.task or 'manual'} ({one.commit[:12]} {one.subject})" for path, one in came
    ]
    tasks = [one.task for _, one in came if one.task]
    first = f"runner undo {tasks[0]}" if tasks else "revert these commits"
    return RunnerError(
        f"later commits changed the same lines as {id_}; nothing was changed",
        detail=format_list(later or paths),
        hint=f"{first} first, or go back to a checkpoint: runner replay ID",
        code=ExitCode.CONFLICT,
    )


def _later(commits: Sequence[LogEntry], id_: str) -> Iterator[LogEntry]:
    """Yield the commits of people and the effective landings of other tasks."""
    stands = {one.commit for one in find_standing(commits)}
    for one in commits:
        if (one.commit in stands and one.task != id_) or not one.by_runner:
            yield one


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
    commits = _find_standing(repository, head)
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
