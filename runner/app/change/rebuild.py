"""Prove landed tasks again from their recorded content, and report where the trees differ.

Each task's commit is rebuilt on its own parent: the recorded bytes are put into a scratch tree of
it, pass the write pipeline and the gates, and the tree is compared. Since the first parent is the
first task's base, and every next one the tree that was just compared (with people's commits in
between as they are), this is the whole history, rebuilt; nobody implements.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner import effects
from runner.app.build.prepare_tasks import load_allow_list, preparation_of
from runner.app.prove.prove_tree import open_slots
from runner.errors import RunnerError
from runner.history.commit_log import story
from runner.journal.state import RunState
from runner.model import ReviewMode, Spec
from runner.repo.read import Repository
from runner.run.attempt import attempt
from runner.run.landing.lander import changes_between
from runner.run.selection import find_id
from runner.writes.log import Fate, WriteLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from runner.model import Change, Digest, Outcome, Task
    from runner.project import Project
    from runner.run.preparation import Preparation
    from runner.run.worker_assignment import WorkerContext


class LandedStep(Struct, frozen=True):
    """One thing that landed: a task's commit, or a check that changed nothing."""

    task: str
    attempt: int
    spec: Spec | None
    commit: str
    """Commit that landed; for a check, its record commit."""
    parent: str
    """Commit it was built on; empty for a root commit."""
    is_check: bool = False


class RebuiltStep(Struct, frozen=True):
    """The result of rebuilding one step."""

    step: LandedStep
    divergence: str = ""
    """How it differs from what landed; empty if identical."""
    detail: str = ""
    unproven: str = ""
    """Why only its bytes could be compared; empty if it was also proven."""
    seconds: float = 0.0


def find_landed(project: Project, tasks: Iterable[str] = ()) -> tuple[LandedStep, ...]:
    """Return the landed steps of these tasks, or of all tasks, oldest first.

    What was taken back later is among it. Raises RunnerError where nothing landed.
    """
    known = [task.id for task in project.plan(project.plan_bytes).tasks]
    ids = {find_id(one, known) for one in tasks}
    with Repository.open(project.root) as repository:
        head = repository.head().commit
        landed = _steps(repository, head) if head else ()
        found = tuple(one for one in landed if not ids or one.task in ids)
    if not found:
        raise RunnerError("no such task has landed on this branch", hint="runner log")
    return found


def _steps(repository: Repository, tip: str) -> Iterator[LandedStep]:
    trees: dict[str, str] | None = None
    for one in reversed(tuple(story(repository, tip, ours=True))):
        if one.task:
            spec = Spec(*one.spec) if all(one.spec) else None
            yield LandedStep(one.task, one.attempt, spec, one.commit, one.parent)
        for check in one.checked:
            if trees is None:
                # A check landed nothing: the tree in its record identifies the commit it ran on.
                trees = {each.tree: each.commit for each in story(repository, tip)}
            base = trees.get(check.tree, one.parent)
            spec = Spec(check.spec_what, check.spec_proof)
            yield LandedStep(check.task, check.attempt, spec, one.commit, base, is_check=True)


def rebuild(
    project: Project, steps: Sequence[LandedStep], listener: Callable[[RebuiltStep], object]
) -> tuple[RebuiltStep, ...]:
    """Rebuild step by step; `listener` gets each result. One that diverges is the last.

    Runs the commands of the plan. Raises RunnerError where no sandbox can be had.
    """
    found: list[RebuiltStep] = []
    with ExitStack() as stack:
        repository = stack.enter_context(Repository.open(project.root))
        rebuilding = _Rebuilding.begin(project, repository, stack)
        for step in steps:
            found.append(rebuilding.rebuild(step))
            listener(found[-1])
            if found[-1].divergence:
                break
    return tuple(found)


class _Rebuilding(Struct, frozen=True):
    """The history, the plan's texts, and a scratch tree to prove in."""

    project: Project
    repository: Repository
    tasks: Mapping[str, Task]
    """Tasks of the current plan."""
    approved: Mapping[tuple[str, int], Mapping[str, set[Digest | None]]]
    """Approved digests by path in the write log, for each landed attempt; empty in a clone."""
    preparation: Preparation
    site: WorkerContext

    @classmethod
    def begin(cls, project: Project, repository: Repository, stack: ExitStack) -> _Rebuilding:
        """Create a rebuild in one job slot of the project, which logs to the cache."""
        plan = project.plan(project.plan_bytes)
        preparation = preparation_of(project, plan, RunState.empty())
        preparation.allowed = load_allow_list(project.root)
        (made,) = stack.enter_context(open_slots(project, repository)).slots
        return cls(
            project,
            repository,
            {task.id: task for task in plan.tasks},
            _load_approved(project),
            preparation,
            replace(made, logs=project.cache / "rebuilt", logs_shown="rebuilt"),
        )

    def rebuild(self, step: LandedStep) -> RebuiltStep:
        """Rebuild one step, and say where it differs."""
        began = effects.monotonic()
        found = self._rebuild(step)
        return replace(found, seconds=round(effects.monotonic() - began, 3))

    def _rebuild(self, step: LandedStep) -> RebuiltStep:
        changes = self._find_committed(step)
        if other := self._differs_from_log(step, changes):
            return RebuiltStep(step, other)
        task = self._task_of(step)
        if task is None:
            why = "the text of the task is no longer in the history"
            return RebuiltStep(step, unproven=why)
        assignment = self.preparation.make_carried(task, changes, step.parent, step.attempt)
        assignment = replace(assignment, review=ReviewMode.OFF, red_first=False)
        outcome = attempt(assignment, self.site)
        divergence, detail = _refusal(outcome) or (self._difference(step, changes, outcome), "")
        return RebuiltStep(step, divergence, detail)

    def _task_of(self, step: LandedStep) -> Task | None:
        """Return the task with the landed specification, from today's plan or the step's commit."""
        found = self.tasks.get(step.task)
        if step.spec is None or (found is not None and found.spec == step.spec):
            return found
        data = self.repository.blob(step.commit, self.project.plan_path)
        tasks = self.project.plan(data).tasks if data else ()
        then = (task for task in tasks if task.id == step.task and task.spec == step.spec)
        return next(then, None)

    def _find_committed(self, step: LandedStep) -> tuple[Change, ...]:
        """Return the changes of the commit without the runner's own documents."""
        if step.is_check:
            return ()
        found = changes_between(self.repository, step.parent or None, step.commit)
        return tuple(change for change in found if change.path not in self.project.documents)

    def _differs_from_log(self, step: LandedStep, changes: Sequence[Change]) -> str:
        """Return a message for the first file that differs from its approved bytes, else ""."""
        approved = self.approved.get((step.task, step.attempt), {})
        for change in changes if approved else ():
            if change.after not in approved.get(change.path, ()):
                return f"{change.path} differs from what was approved for attempt {step.attempt}"
        return ""

    def _difference(self, step: LandedStep, changes: Sequence[Change], outcome: Outcome) -> str:
        """Return a message for the first difference in the rebuilt tree, else ""."""
        wanted = {change.path: (change.after, change.mode) for change in changes}
        got = {change.path: (change.after, change.mode) for change in outcome.changes}
        for path in sorted(wanted.keys() | got.keys()):
            if wanted.get(path) != got.get(path):
                return f"{path} differs in the rebuilt tree"
        if step.is_check:
            return ""
        # A commit that also changed the runner's documents has a tree that no rebuild reproduces.
        landed = self.repository.diff_trees(step.parent or None, step.commit)
        whole = all(change.path not in self.project.documents for change in landed)
        if whole and outcome.tree != self.repository.tree_of(step.commit):
            return "the rebuilt tree has a different hash"
        return ""


def _load_approved(project: Project) -> dict[tuple[str, int], dict[str, set[Digest | None]]]:
    found: dict[tuple[str, int], dict[str, set[Digest | None]]] = {}
    for one in WriteLog(project.root).show().writes:
        if one.fate is Fate.LANDED:
            paths = found.setdefault((one.task, one.attempt), {})
            paths.setdefault(one.path, set()).add(one.after or None)
    return found


def _refusal(outcome: Outcome) -> tuple[str, str] | None:
    """Return the first finding that rejects the recorded bytes today with its detail, or None."""
    for finding in outcome.findings:
        if finding.refuses:
            place = f"{finding.path}: " if finding.path else ""
            return f"{finding.check}: {place}{finding.message}", finding.detail
    return None
