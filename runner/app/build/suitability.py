"""Whether a person's repository can be built in now, and what a run there has to do without."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.build.run_status import find_missing
from runner.errors import ExitCode, RunnerError
from runner.implementers.registry import agent_of, choose
from runner.journal.events import TaskReopened
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from runner.app.build.session import Session
    from runner.config.settings import Settings
    from runner.journal.state import RunState
    from runner.model import Task
    from runner.plan.document import Plan
    from runner.project import Project
    from runner.repo.read import Repository
    from runner.repo.repo_state import RepoState
    from runner.run.review import Asker

_SHOWN = 10


def require_suitable(
    repository: Repository, own: frozenset[str], *, allow_dirty: bool
) -> tuple[str, ...]:
    """Lines to show before a run: what is not carried into scratch trees.

    Raises RunnerError for uncommitted changes of tracked files and for a merge in progress.
    """
    facts = repository.state()
    if facts.ongoing:
        raise RunnerError(
            f"a {facts.ongoing} is in progress",
            hint=f"finish it (git {facts.ongoing} --continue) or give it up (--abort)",
        )
    dirty = [file.path for file in facts.dirty if file.path not in own]
    if dirty and not allow_dirty:
        raise RunnerError(
            "there are uncommitted changes",
            detail=_format_paths(dirty),
            hint="commit them, or --allow-dirty to build on HEAD without them",
        )
    return tuple(_notices(facts, repository, own, dirty))


def _notices(
    facts: RepoState, repository: Repository, own: frozenset[str], dirty: list[str]
) -> Iterator[str]:
    if dirty:
        yield f"not seen by tasks, since not committed:\n{_format_paths(dirty)}"
    untracked = [path for path in facts.untracked if path not in own]
    if untracked:
        yield f"not seen by tasks, since untracked:\n{_format_paths(untracked)}"
    if facts.head.detached:
        yield "HEAD is detached: commits land on it alone (git switch -c NAME keeps them)"
    if facts.submodules:
        yield f"submodules are not carried into scratch trees: {', '.join(facts.submodules)}"
    if facts.lfs:
        yield "files under Git LFS are seen as their pointers, and cannot be written by tasks"
    if facts.autocrlf:
        yield "line ends are converted on checkout: tasks see and land what git stores"
    if facts.sparse:
        yield "the checkout is sparse: tasks see the whole tree"
    who = repository.identity()
    if who.invented:
        yield f"git knows no user.name: commits are made as {who.name} <{who.email}>"


def limits_of(project: Project, plan: Plan, *, terminal: bool) -> tuple[str, ...]:
    """Lines to show before a run: what this machine or this way of starting does not give it."""
    unseen = () if terminal else _warn_without_review(project, plan)
    return (*_warn_without_sandbox(project), *_without_compilers(project), *unseen)


def _warn_without_sandbox(project: Project) -> tuple[str, ...]:
    """For a run whose commands nothing encloses: why, what would, and what that does not hold."""
    from runner.app.build.run_parts import sandbox_of
    from runner.process.sandbox import explain_opening, landlock_gaps

    sandbox = sandbox_of(project.settings)
    by_flag = project.loaded.sources.get("sandbox", "").startswith("--")
    reason = "asked for on the command line" if by_flag else sandbox.reason
    why = f": {reason}" if reason else ""
    if sandbox.encloses:
        return ()
    line = f"commands run with your own rights, no sandbox{why}"
    if project.settings.sandbox == "none":
        return (line,)
    read = tuple(Path(path).expanduser() for path in project.settings.sandbox_read)
    gaps = "; ".join(landlock_gaps(read))
    second = (f"landlock would enclose them, but: {gaps}",) if gaps else ()
    return (line, f"to enclose them: {explain_opening()}", *second)


def _without_compilers(project: Project) -> tuple[str, ...]:
    """A line for compilers that are missing, said now and not in the middle."""
    from runner.app.inspect.requirements import find_missing_compilers

    missing = ", ".join(find_missing_compilers(project))
    return (f"not on PATH, so what they compile is refused: {missing}",) if missing else ()


def _is_unseen(task: Task, settings: Settings) -> bool:
    """Whether others than a person write a task's files, and nothing says that somebody looks."""
    by_others = agent_of(task, settings) or getattr(choose(task, settings), "name", "") == "command"
    return bool(by_others) and task.writes_anything and task.review is None


def _warn_without_review(project: Project, plan: Plan) -> tuple[str, ...]:
    """A line for writes that nobody sees before they land, where nobody chose it so."""
    settings = project.settings
    if (
        not any(_is_unseen(task, settings) for task in plan.tasks)
        or settings.review is not None
        or settings.review_floor is not None
    ):
        return ()
    return ("without a terminal nobody reviews writes (--review prompt holds them for you)",)


def _format_paths(paths: list[str]) -> str:
    lines = [f"  {display(path)}" for path in paths[:_SHOWN]]
    if len(paths) > _SHOWN:
        lines.append(f"  … and {len(paths) - _SHOWN} more")
    return "\n".join(lines)


# --- tasks that were taken away --------------------------------------------------------


def require_meant(
    session: Session, ids: Collection[str], *, yes: bool, asker: Asker | None
) -> None:
    """Ask about DONE tasks that were taken out of the plan; a yes is kept, and asked once.

    Their code stays. Raises RunnerError (exit 3) where nobody says yes.
    """
    gone = find_missing(session.ledger.state, ids)
    if gone:
        gone = tuple(_were_there(session.project, session.repository, session.ledger.state, gone))
    if not gone:
        return
    named = ", ".join(gone)
    question = f"{named} was DONE and is gone from the plan. Is that meant? (its code stays) [y/N] "
    if not (yes or (asker is not None and asker.choose("", question) in ("y", "yes"))):
        raise RunnerError(
            f"{named} was DONE and is gone from the plan; nothing has run",
            hint="bring the section back, or runner run --yes; runner undo takes its code back",
            code=ExitCode.PERSON,
        )
    for id_ in gone:
        known = session.ledger.state.task(id_)
        event = TaskReopened(note="taken out of the plan", by="plan")
        session.ledger.note(event, task=id_, attempt=known.last_attempt, durable=True)


def _were_there(
    project: Project, repository: Repository, state: RunState, ids: Collection[str]
) -> list[str]:
    """Those that this very plan had when the last run ended; another plan's are not meant.

    Nor are those of another branch: there the last run's end is no ancestor.
    """
    last, head = state.ended_head, repository.head().commit or ""
    if not last or not repository.is_ancestor(last, head):
        return []
    data = repository.blob(last, project.plan_path)
    had = {task.id for task in project.plan(data).tasks} if data else set()
    return [id_ for id_ in ids if id_ in had]
