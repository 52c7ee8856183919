"""`runner replay --verify`: what landed is rebuilt in scratch trees, nobody implements."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.report.documents import document
from runner.text.display import display
from runner.text.wording import plural, short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Collection, Mapping, Sequence

    from runner.history.verify import Rebuilding, Step, Verified
    from runner.model import Change, Digest, Outcome, Task
    from runner.plan.document import Plan
    from runner.project import Project
    from runner.repo.read import Repository

_EVERY = 2.0
"""Seconds between two lines of progress."""


def verify(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Rebuild all that landed, or some tasks; exit 1 at the first divergence."""
    from runner.commands.consent import ask_trust
    from runner.history.verify import rebuild, select_steps, steps
    from runner.project import Project
    from runner.repo.read import Repository

    if bool(given.ids) == given.all:
        raise RunnerError("which tasks?", hint="runner replay --verify --all, or ids")
    flags = {"sandbox": "none"} if given.no_sandbox else {}
    project = Project.open(Path.cwd(), environ, flags)
    plan = project.plan(project.plan_bytes)
    with ExitStack() as stack:
        repository = stack.enter_context(Repository.open(project.root))
        head = repository.head().commit
        todo = select_steps(steps(repository, head) if head else (), _ids(given.ids, plan))
        if not todo:
            raise RunnerError("nothing of that has landed in this branch", hint="runner log")
        ask_trust(project, plan, trusted=given.trust)
        rebuilding = _make_rebuilding(project, repository, plan, stack)
        progress = _Progress(len(todo))
        found = tuple(progress.count_step(one) for one in rebuild(rebuilding, todo))
    return _print_result(found, todo, as_json=given.json)


def _ids(typed: Sequence[str], plan: Plan) -> frozenset[str]:
    from runner.run.selection import find_id

    ids = dict.fromkeys(task.id for task in plan.tasks)
    return frozenset(find_id(one, ids) for one in typed)


def _make_rebuilding(
    project: Project, repository: Repository, plan: Plan, stack: ExitStack
) -> Rebuilding:
    from runner.history.verify import Rebuilding

    return Rebuilding(
        repository=repository,
        documents=project.documents,
        task_of=_Texts(project, repository, plan).of,
        prove=_prover(project, repository, plan, stack),
        approved=_approvals_of_attempts(project),
    )


class _Texts:
    """Tasks as they were written when they landed: in today's plan, or in that commit's."""

    def __init__(self, project: Project, repository: Repository, plan: Plan) -> None:
        self._project = project
        self._repository = repository
        self._today = {task.id: task for task in plan.tasks}

    def of(self, step: Step) -> Task | None:
        """The task with exactly the digests that landed."""
        found = self._today.get(step.task)
        if step.spec is None or (found is not None and found.spec == step.spec):
            return found
        data = self._repository.blob(step.commit, self._project.plan_path)
        tasks = self._project.plan(data).tasks if data else ()
        then = (task for task in tasks if task.id == step.task and task.spec == step.spec)
        return next(then, None)


def _prover(
    project: Project, repository: Repository, plan: Plan, stack: ExitStack
) -> Callable[[Task, tuple[Change, ...], str, int], Outcome]:
    """A job slot in which recorded bytes are put and proven; what it prints goes to the cache."""
    from runner.app.build.machine import sandbox_of
    from runner.app.build.preparation_preview import preparation_of
    from runner.app.build.secret_allow_list import load_allow_list
    from runner.journal.state import RunState
    from runner.model import ReviewMode
    from runner.run.attempt import attempt
    from runner.run.worker_setup import WorkerSetup
    from runner.run.workers import WorkerPool

    preparation = preparation_of(project, plan, RunState.empty())
    preparation.allowed = load_allow_list(project.root)
    workshop = WorkerSetup(
        root=project.root,
        repository=repository,
        cache=project.cache,
        settings=project.settings,
        sandbox=sandbox_of(project.settings),
        environ=project.environ,
        say=lambda _task, _line: None,
    )
    crew = WorkerPool(1, workshop.site, inline=True)
    stack.callback(crew.close)
    made = workshop.site(0, crew)
    stack.callback(made.close)
    site = replace(made, logs=project.cache / "rebuilt", logs_shown="rebuilt")

    def prove(task: Task, changes: tuple[Change, ...], base: str, number: int) -> Outcome:
        assignment = preparation.make_carried(task, changes, base, number)
        return attempt(replace(assignment, review=ReviewMode.OFF), site)

    return prove


def _approvals_of_attempts(
    project: Project,
) -> Callable[[str, int], Mapping[str, Collection[Digest | None]]]:
    """What the write log has of each attempt that landed; a clone has none."""
    from runner.writes.log import Fate, WriteLog

    found: dict[tuple[str, int], dict[str, set[Digest | None]]] = {}
    for one in WriteLog(project.root).show().writes:
        if one.fate is Fate.LANDED:
            paths = found.setdefault((one.task, one.attempt), {})
            paths.setdefault(one.path, set()).add(one.after or None)
    return lambda task, number: found.get((task, number), {})


# --- in words -------------------------------------------------------------------------


class _Progress:
    """A line on standard error now and then, where it takes long."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._last = effects.monotonic()

    def count_step(self, one: Verified) -> Verified:
        """Count one step that is through."""
        self._done += 1
        if effects.monotonic() - self._last >= _EVERY:
            self._last = effects.monotonic()
            print(f"{self._done}/{self._total} {display(one.step.task)}", file=sys.stderr)
        return one


def _print_result(found: Sequence[Verified], todo: Sequence[Step], *, as_json: bool) -> ExitCode:
    last = found[-1]
    code = ExitCode.FAILED if last.divergence else ExitCode.OK
    seconds = round(sum(one.seconds for one in found), 3)
    if as_json:
        said = document(
            "verify",
            identical=code is ExitCode.OK,
            implementer_calls=0,
            steps=len(todo),
            seconds=seconds,
            divergence=last if last.divergence else None,
            verified=found,
        )
        print(said, end="")
        return code
    for one in found:
        if one.unproven:
            print(f"{_name(one.step)}: bytes compared, not proven: {display(one.unproven)}")
    if code is not ExitCode.OK:
        print(f"{_name(last.step)} diverges: {display(last.divergence)}")
        print("".join(f"  {display(line)}\n" for line in last.detail.splitlines()[-8:]), end="")
        print(f"{len(found) - 1} of {plural(len(todo), 'step')} before it identical")
        return code
    print(
        f"identical: {plural(len(todo), 'step')} rebuilt in {seconds:.1f} s "
        f"({seconds / len(todo):.3f} s each), no implementer called"
    )
    return code


def _name(step: Step) -> str:
    return f"{display(step.task)} attempt {step.attempt} ({short(step.commit)})"
