"""Commit the writes in the write log that no commit has yet, one commit per task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner.app.build.session import Session
from runner.errors import ExitCode, RunnerError
from runner.history.revert import format_list
from runner.model import Action, Change, Status, digest_of
from runner.plan.graph import TaskGraph
from runner.repo.commit import commit_tree, find_filtered
from runner.repo.landed_commits import name_project
from runner.repo.read import Repository
from runner.repo.trailers import PROJECT, build_message, subject, task_trailers
from runner.run.landing.git_locks import move_branch, prepare_index
from runner.run.landing.manual_commit import find_kept_landings
from runner.run.selection import find_id
from runner.writes.log import Fate, WriteLog
from runner.writes.safe_io import mode_below, read_below

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from runner.journal.task_state import TaskState
    from runner.model import Task
    from runner.project import Project
    from runner.writes.log import LoggedWrite


class CommitRequest(Struct, frozen=True):
    """Whose writes to commit; those of all tasks for none."""

    task: str = ""
    dry_run: bool = False


class CommittedWrites(Struct, frozen=True):
    """The commits in their order, and what is left as it is."""

    grouped: Grouped
    commits: tuple[str, ...]
    """One commit for each group; empty in a dry run."""
    titles: Mapping[str, str]
    """Titles of the plan's tasks."""


def commit_by_task(project: Project, request: CommitRequest) -> CommittedWrites:
    """Commit what is logged and not in HEAD; everything else stays as it is.

    Raises RunnerError: exit 6 where a task cannot be committed alone, or the branch moved.
    """
    tasks = {task.id: task for task in project.plan(project.plan_bytes).tasks}
    only = find_id(request.task, tasks) if request.task else ""
    titles = {id_: task.title for id_, task in tasks.items()}
    if request.dry_run:
        with Repository.open(project.root) as repository:
            return CommittedWrites(_group_writes(project, repository, tasks, only), (), titles)
    # Under the run's lock, after crash recovery: then nothing is pending.
    with Session(project, tuple(tasks.values())) as session:
        found = _group_writes(project, session.repository, tasks, only)
        made = _make_commits(project, session.repository, tasks, found)
        session.shadow.settle(session.journal, carried=session.shadow.catch_up())
    return CommittedWrites(found, made, titles)


def _group_writes(
    project: Project, repository: Repository, tasks: Mapping[str, Task], only: str
) -> Grouped:
    ongoing = repository.state().ongoing
    if ongoing:
        raise RunnerError(
            f"a {ongoing} is in progress",
            hint=f"finish it (git {ongoing} --continue) or abort it (--abort)",
        )
    graph = TaskGraph.of(tasks.values())
    places = {id_: at for at, id_ in enumerate(graph.order())}
    landings = find_kept_landings(repository)
    sight = Sight(project.root, repository, repository.find_head().commit, landings)
    writes = WriteLog(project.root).show().writes
    found = group_writes(writes, sight, lambda id_: places.get(id_, len(places)))
    return found.alone(only, graph.ancestors(only)) if only else found


def _make_commits(
    project: Project, repository: Repository, tasks: Mapping[str, Task], found: Grouped
) -> tuple[str, ...]:
    """Create the commits as a chain, move the branch once and update the index."""
    if not found.groups:
        return ()
    paths = sorted({change.path for group in found.groups for change in group.changes})
    if filtered := find_filtered(repository, paths):
        raise RunnerError(
            "git filters (LFS) apply to these files, so the runner cannot commit them",
            detail=format_list(filtered),
            hint="commit them yourself: git add, git commit",
            code=ExitCode.CONFLICT,
        )
    head = repository.find_head()
    landings, state = find_kept_landings(repository), project.state()
    made: list[str] = []
    for group in found.groups:
        onto = made[-1] if made else head.commit
        kept = landings.get((group.task, group.attempt), "")
        known = state.task(group.task)
        # A kept landing's message already has its evidence, of which this code knows only a part.
        rests = kept and known.status is Status.DONE and known.commit == kept
        proven = _is_proven(repository, known, group)
        folder = name_project(repository.prefix)
        own = _message(known, group, tasks.get(group.task), folder, proven=proven)
        message = repository.message(kept) if rests else own
        made.append(commit_tree(repository, onto, group.changes, message, names_files=proven).sha)
    # Move the branch once: a kill before it leaves unreferenced commits, never only some of the
    # tasks on the branch.
    with prepare_index(repository, head, paths, head.commit, made[-1]) as index:
        if not move_branch(repository, head, made[-1], "runner: commit-by-task", index):
            raise RunnerError(
                "the branch has moved; nothing was committed",
                hint="run the command again",
                code=ExitCode.CONFLICT,
            )
        index.place()
    # Log last: writes that a kill leaves open there are in HEAD and get skipped.
    log = WriteLog(project.root)
    for group, commit in zip(found.groups, made, strict=True):
        whose = {"run": group.run, "task": group.task, "attempt": group.attempt}
        log.close(**whose, fate=Fate.LANDED, commit=commit)  # type: ignore[arg-type]  # as named
    return tuple(made)


def _is_proven(repository: Repository, known: TaskState, group: CommitGroup) -> bool:
    """Return whether the changes have the bytes that the task's proof ran on."""
    tree = known.tree or known.commit
    # An unreferenced tree may have been collected meanwhile (git-gc(1)).
    if not tree or repository.git.ask("cat-file", "-e", tree).exit:
        return False
    return all(repository.blob(tree, one.path) == one.content for one in group.changes)


def _message(
    known: TaskState, group: CommitGroup, task: Task | None, folder: str, *, proven: bool
) -> str:
    """Return a task's commit message, with evidence if it is DONE with these bytes."""
    first = subject(group.task, task.title if task else "logged writes", task.type if task else "")
    if proven and known.status is Status.DONE and known.spec is not None:
        trailers = task_trailers(
            group.task, group.attempt, known.spec, known.proofs, project=folder
        )
    else:
        trailers = (*(("Task", group.task), (PROJECT, folder), ("Attempt", str(group.attempt))),)
    return build_message(first, "", trailers)


_PLAIN = 0o100644
_EXECUTABLE = 0o100755


class CommitGroup(Struct, frozen=True):
    """The content of one future commit."""

    task: str
    attempt: int
    run: str
    changes: tuple[Change, ...]


class Grouped(Struct, frozen=True):
    """The commits in their order, and what is left as it is, with the reason."""

    groups: tuple[CommitGroup, ...]
    left: tuple[tuple[str, str], ...] = ()
    joined: tuple[tuple[str, str], ...] = ()
    """Paths that lost a task's own bytes, and the later task whose commit has both."""
    shared: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Paths that several tasks wrote, with those tasks in write order."""

    def alone(self, task: str, needed: Collection[str]) -> Grouped:
        """Return only one task's commit. Raises RunnerError if it depends on uncommitted work.

        Raises RunnerError (exit 6): it would come before one of these, or without a file of its
        own that another task wrote, too.
        """
        for path, tasks in self.shared:
            if task in tasks:
                others = ", ".join(one for one in tasks if one != task)
                raise _make_torn_error(task, f"{others} also wrote {path}")
        groups = tuple(one for one in self.groups if one.task == task)
        before = ", ".join(one.task for one in self.groups if one.task in needed)
        if groups and before:
            raise _make_torn_error(task, f"{before}, which it depends on, must be committed first")
        return Grouped(groups, self.left)


def _make_torn_error(task: str, why: str) -> RunnerError:
    return RunnerError(
        f"{task} cannot be committed by itself: {why}; nothing was committed",
        hint="`runner pipeline commit-by-task` commits all logged writes, one commit per task",
        code=ExitCode.CONFLICT,
    )


class Sight(Struct, frozen=True):
    """The content of a path in HEAD and in the work tree."""

    root: Path
    repository: Repository
    head: str | None
    """Commit that is checked out."""
    landings: Mapping[tuple[str, int], str] = field(default_factory=dict)
    """Commits above it, by task and attempt, that keep landings without a commit."""

    def read_committed(self, path: str) -> bytes | None:
        """Return the bytes of a file in HEAD, or None."""
        return self.repository.blob(self.head, path) if self.head else None

    def work_tree_content(self, path: str) -> bytes | None:
        """Return the bytes of a file in the working tree, or None."""
        return read_below(self.root, path)

    def mode(self, path: str) -> int:
        """Return the mode of a file in the working tree, as git records it."""
        found = mode_below(self.root, path)
        return _EXECUTABLE if found is not None and found & 0o100 else _PLAIN

    def read_kept(self, write: LoggedWrite) -> bytes | None:
        """Return a replaced write's bytes from its landing commit; None if they are not there."""
        commit = self.landings.get((write.task, write.attempt))
        found = self.repository.blob(commit, write.path) if commit else None
        return found if found is not None and digest_of(found) == write.after else None

    def is_committed(self, write: LoggedWrite) -> bool:
        """Return whether the runner landed the write on the branch."""
        landed = bool(write.commit and write.attempt)
        return landed and write.commit not in self.landings.values()


class _Collected(Struct):
    changes: dict[tuple[str, str], Change] = field(default_factory=dict)
    writes: dict[str, LoggedWrite] = field(default_factory=dict)
    left: list[tuple[str, str]] = field(default_factory=list)
    joined: list[tuple[str, str]] = field(default_factory=list)
    shared: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)


def group_writes(
    writes: Iterable[LoggedWrite], sight: Sight, place: Callable[[str], int]
) -> Grouped:
    """Group what is logged, in the tree and in no commit; `place` is a task's in the order.

    A file that somebody edited since is left alone. Of a file that two tasks wrote each gets its
    own bytes, where they are still at hand; else the later one gets both.
    """
    found = _Collected()
    for path, chain in _chains(writes).items():
        pending = _find_pending(path, chain, sight, found)
        _collect(path, pending, sight, found)
    order = _order(found, place)
    return Grouped(
        groups=tuple(_group(task, found) for task in order),
        left=tuple(found.left),
        joined=tuple(found.joined),
        shared=tuple(found.shared),
    )


def _chains(writes: Iterable[LoggedWrite]) -> Mapping[str, list[LoggedWrite]]:
    """Return the writes of each path in order, without dropped ones."""
    found: dict[str, list[LoggedWrite]] = {}
    for write in writes:
        if write.fate is not Fate.DROPPED:
            found.setdefault(write.path, []).append(write)
    return found


def _find_pending(
    path: str, chain: Sequence[LoggedWrite], sight: Sight, found: _Collected
) -> Sequence[LoggedWrite]:
    """Return the writes of a path that HEAD lacks, up to the working tree's version.

    A later one was taken back (undo, replay); a tree that no write left is a person's.
    """
    committed, working = _digest(sight.read_committed(path)), _digest(sight.work_tree_content(path))
    if committed == working or sight.is_committed(chain[-1]):
        return ()
    last = next((n for n in reversed(range(len(chain))) if chain[n].after == working), None)
    if last is None:
        found.left.append((path, "changed since its last logged write"))
        return ()
    for number in range(last, -1, -1):
        if chain[number].before == committed:
            return chain[number : last + 1]
    found.left.append((path, "no logged write began from the version in HEAD"))
    return ()


def _collect(path: str, pending: Sequence[LoggedWrite], sight: Sight, found: _Collected) -> None:
    tasks = tuple(dict.fromkeys(write.task for write in pending))
    if len(tasks) > 1:
        found.shared.append((path, tasks))
    before = sight.read_committed(path)
    for number, write in enumerate(pending):
        last = number == len(pending) - 1
        after = sight.work_tree_content(path) if last else sight.read_kept(write)
        later = [one.task for one in pending[number + 1 :]]
        if write.task in later:  # its commit comes after theirs, with its last bytes
            continue
        if later and after is None and write.after:
            found.joined.append((path, later[0]))
            continue
        mode = int(write.mode, 8) if write.mode.isdigit() else _PLAIN
        mode = sight.mode(path) if last and after is not None else mode
        found.changes[write.task, path] = _change(path, before, after, mode)
        newest = found.writes.get(write.task, write)
        found.writes[write.task] = max(newest, write, key=lambda one: (one.attempt, one.time))
        before = after


def _change(path: str, before: bytes | None, after: bytes | None, mode: int) -> Change:
    action = Action.CREATE if before is None else Action.DELETE if after is None else Action.MODIFY
    return Change(
        path=path,
        action=action,
        mode=0 if after is None else mode,
        before=_digest(before) or None,
        after=_digest(after) or None,
        content=after,
    )


def _digest(content: bytes | None) -> str:
    """Return the digest as the write log has it; empty for a missing file."""
    return "" if content is None else digest_of(content)


def _order(found: _Collected, place: Callable[[str], int]) -> list[str]:
    """Return tasks in dependency order, or in logged order if their writes of a file conflict."""
    logged = list(dict.fromkeys(task for task, _ in found.changes))
    wanted = sorted(found.writes, key=place)
    for path in {path for _, path in found.changes}:
        own = [task for task, at in found.changes if at == path]
        if sorted(own, key=wanted.index) != own:
            return sorted(logged, key=lambda task: found.writes[task].time)
    return wanted


def _group(task: str, found: _Collected) -> CommitGroup:
    write = found.writes[task]
    changes = tuple(change for (owner, _), change in found.changes.items() if owner == task)
    return CommitGroup(task, write.attempt, write.run, changes)
