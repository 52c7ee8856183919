"""`runner commit-by-task`: what is logged and in no commit yet, one commit a task."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.report.documents import document
from runner.text.display import display
from runner.text.wording import plural, short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.history.commits_by_task import Group, Grouped
    from runner.journal.task_state import TaskState
    from runner.model import Task
    from runner.project import Project
    from runner.repo.read import Repository

_EXAMPLES = """\
examples:
  runner commit-by-task                  one commit for each task with logged writes
  runner commit-by-task --dry-run        which commits that would be
  runner commit-by-task --task TASK-003  that task's alone; exit 6 where others come first
"""


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner commit-by-task` takes."""
    del name
    parser.epilog = _EXAMPLES
    parser.add_argument("--task", default="", metavar="ID", help="only this task's commit")
    parser.add_argument("-n", "--dry-run", action="store_true", help="commit nothing")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Commit what the write log has and HEAD has not; everything else stays as it is."""
    from runner.project import Project

    project = Project.open(Path.cwd(), environ)
    tasks = {task.id: task for task in project.plan(project.plan_bytes).tasks}
    only = _id(given.task, tasks)
    made: tuple[str, ...] = ()
    if given.dry_run:
        found = _look_ahead(project, tasks, only)
    else:
        found, made = _commit_by_task(project, tasks, only)
    _say(found, made, tasks, as_json=given.json)
    return ExitCode.OK


def _look_ahead(project: Project, tasks: Mapping[str, Task], only: str) -> Grouped:
    from runner.repo.read import Repository

    with Repository.open(project.root) as repository:
        return _group_writes(project, repository, tasks, only)


def _commit_by_task(
    project: Project, tasks: Mapping[str, Task], only: str
) -> tuple[Grouped, tuple[str, ...]]:
    """Commit under the run's lock, once what a crash left is put right; then nothing waits."""
    from runner.app.build.session import Session

    with Session(project, tuple(tasks.values())) as session:
        found = _group_writes(project, session.repository, tasks, only)
        made = _make_commits(project, session.repository, tasks, found)
        session.shadow.settle(session.ledger, carried=session.shadow.catch_up())
    return found, made


def _id(typed: str, tasks: Mapping[str, Task]) -> str:
    from runner.run.selection import find_id

    return find_id(typed, tasks) if typed else ""


def _group_writes(
    project: Project, repository: Repository, tasks: Mapping[str, Task], only: str
) -> Grouped:
    from runner.history.commits_by_task import Sight, group_writes
    from runner.plan.graph import TaskGraph
    from runner.run.landing.manual_commit import find_kept_landings
    from runner.writes.log import WriteLog

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
    from runner.model import Status
    from runner.repo.commit import commit_tree
    from runner.run.landing.git_locks import bring_index, move_branch
    from runner.run.landing.manual_commit import find_kept_landings
    from runner.writes.log import Fate, WriteLog

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
    from runner.model import Status
    from runner.repo.trailers import build_message, subject, task_trailers

    first = subject(group.task, task.title if task else "logged writes", task.type if task else "")
    if proven and known.status is Status.DONE and known.spec is not None:
        trailers = task_trailers(group.task, group.attempt, known.spec, known.proofs)
    else:
        trailers = (("Task", group.task), ("Attempt", str(group.attempt)))
    return build_message(first, "", trailers)


def _say(
    found: Grouped, made: tuple[str, ...], tasks: Mapping[str, Task], *, as_json: bool
) -> None:
    commits = made or ("",) * len(found.groups)
    if as_json:
        said = document(
            "commit-by-task",
            done=bool(made),
            commits=[
                {
                    "task": group.task,
                    "commit": commit or None,
                    "files": [change.path for change in group.changes],
                }
                for group, commit in zip(found.groups, commits, strict=True)
            ],
            left=[{"path": path, "reason": reason} for path, reason in found.left],
            joined=[{"path": path, "task": task} for path, task in found.joined],
        )
        print(said, end="")
        return
    for group, commit in zip(found.groups, commits, strict=True):
        title = tasks[group.task].title if group.task in tasks else ""
        name = f"{display(group.task)} {display(title)}".strip()
        print(f"{short(commit) or 'would commit'} {name}: {plural(len(group.changes), 'file')}")
        for change in group.changes:
            print(f"  {change.action} {display(change.path)}")
    for path, task in found.joined:
        print(f"{display(path)}: only its last bytes are kept, so all of it is {display(task)}'s")
    for path, reason in found.left:
        print(f"left as it is: {display(path)} ({display(reason)})")
    if not found.groups:
        print("nothing is logged that is not committed")
