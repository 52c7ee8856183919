"""What the write log has and no commit yet: one commit a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.app.build.session import Session
from runner.errors import ExitCode, RunnerError
from runner.history.commits_by_task import Sight, group_writes
from runner.lazy_dataclass import dataclass
from runner.model import Status
from runner.plan.graph import TaskGraph
from runner.repo.commit import commit_tree
from runner.repo.read import Repository
from runner.repo.trailers import build_message, subject, task_trailers
from runner.run.landing.git_locks import bring_index, move_branch
from runner.run.landing.manual_commit import find_kept_landings
from runner.run.selection import find_id
from runner.writes.log import Fate, WriteLog

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.history.commits_by_task import Group, Grouped
    from runner.journal.task_state import TaskState
    from runner.model import Task
    from runner.project import Project


@dataclass(frozen=True, slots=True)
class CommitRequest:
    """Whose writes to commit; those of all tasks for none."""

    task: str = ""
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class CommittedWrites:
    """The commits in their order, and what is left as it is."""

    grouped: Grouped
    commits: tuple[str, ...]
    """One for each group; none where they were only looked at."""
    titles: Mapping[str, str]
    """Of the tasks that the plan has."""


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
    # Under the run's lock, once what a crash left is put right: then nothing waits.
    with Session(project, tuple(tasks.values())) as session:
        found = _group_writes(project, session.repository, tasks, only)
        made = _make_commits(project, session.repository, tasks, found)
        session.shadow.settle(session.ledger, carried=session.shadow.catch_up())
    return CommittedWrites(found, made, titles)


def _group_writes(
    project: Project, repository: Repository, tasks: Mapping[str, Task], only: str
) -> Grouped:
    ongoing = repository.state().ongoing
    if ongoing:
        raise RunnerError(f"a {ongoing} is in progress", hint="finish it or give it up")
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
    """Make the commits one on the other, move the branch once, have the index follow."""
    if not found.groups:
        return ()
    head = repository.find_head()
    landings, state = find_kept_landings(repository), project.state()
    made: list[str] = []
    for group in found.groups:
        onto = made[-1] if made else head.commit
        kept = landings.get((group.task, group.attempt), "")
        known = state.task(group.task)
        rests = kept and known.status is Status.DONE and known.commit == kept
        proven = _is_proven(repository, known, group)
        own = _message(known, group, tasks.get(group.task), proven=proven)
        message = repository.message(kept) if rests else own
        made.append(commit_tree(repository, onto, group.changes, message, names_files=proven).sha)
    if not move_branch(repository, head, made[-1], "runner: commit-by-task"):
        raise RunnerError(
            "the branch moved meanwhile; nothing was committed",
            hint="try again",
            code=ExitCode.CONFLICT,
        )
    paths = sorted({change.path for group in found.groups for change in group.changes})
    bring_index(repository, paths, head.commit, made[-1])
    log = WriteLog(project.root)
    for group, commit in zip(found.groups, made, strict=True):
        whose = {"run": group.run, "task": group.task, "attempt": group.attempt}
        log.close(**whose, fate=Fate.LANDED, commit=commit)  # type: ignore[arg-type]  # as named
    return tuple(made)


def _is_proven(repository: Repository, known: TaskState, group: Group) -> bool:
    """Whether these are the very bytes that the proof of the task ran on."""
    tree = known.tree or known.commit
    if not tree or repository.git.ask("cat-file", "-e", tree).exit:
        return False
    return all(repository.blob(tree, one.path) == one.content for one in group.changes)


def _message(known: TaskState, group: Group, task: Task | None, *, proven: bool) -> str:
    """A task's commit message, with the evidence where the task is DONE with these bytes."""
    first = subject(group.task, task.title if task else "logged writes", task.type if task else "")
    if proven and known.status is Status.DONE and known.spec is not None:
        trailers = task_trailers(group.task, group.attempt, known.spec, known.proofs)
    else:
        trailers = (("Task", group.task), ("Attempt", str(group.attempt)))
    return build_message(first, "", trailers)
