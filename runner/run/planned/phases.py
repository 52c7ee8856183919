"""Build a task's plan phase by phase: prove each, and store it under a ref.

What the phases before came to lies in the scratch tree when the next one begins; after the last
one the whole is proven and lands as one commit. A run that is killed goes on with the next phase.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.context.task_plan import files_of, plan_text
from runner.gates import commands
from runner.gates.registry import together
from runner.implementers.base import Mode
from runner.journal.events import GateCompleted, GateStarted
from runner.model import ReviewMode, Severity
from runner.repo.commit import commit_tree
from runner.repo.merge import carry
from runner.repo.refs import drop_ref, find_own_name, keep_ref, list_refs, own_name, read_ref
from runner.run.landing.lander import changes_between
from runner.run.proof.prove import make_gate_context
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.gates.base import Proved
    from runner.gates.registry import TaskProof
    from runner.journal.state import RunState
    from runner.journal.task_state import BuiltPhases, Planned
    from runner.model import Change, Finding, Outcome, Task, TaskPlan
    from runner.repo.read import Repository
    from runner.run.worker_assignment import Assignment, WorkerContext


class Step(Struct, frozen=True):
    """The next attempt of a task: a session in plan mode, or work under a plan."""

    mode: Mode = Mode.EXECUTE
    plan: TaskPlan | None = None
    phase: int = 0
    carried: tuple[Change, ...] = ()
    """Changes of earlier phases of the plan."""
    review: ReviewMode | None = None
    """Who reviews the plan in the worker; None if the task's writes are reviewed."""


def phase_step(plan: TaskPlan, number: int, carried: tuple[Change, ...] = ()) -> Step:
    """Return the step for one phase; only the last phase's writes are reviewed."""
    number = min(number, len(plan.phases))
    review = ReviewMode.OFF if number < len(plan.phases) else None
    return Step(plan=plan, phase=number, carried=carried, review=review)


def plan_of(state: RunState, task: Task) -> Planned | None:
    """Return the plan for the current text of a task, approved or not, or None."""
    planned = state.task(task.id).planned
    return planned if planned is not None and planned.what == task.spec.what else None


def files_of_plan(plan: TaskPlan | None) -> tuple[str, ...] | None:
    """Return the files that a plan permits, or None without a plan."""
    return None if plan is None else files_of(plan)


def format_plan(state: RunState, task: Task, step: Step | None = None) -> str:
    """Return the plan as its executor gets it, with the current phase; empty for none."""
    if step is None:
        planned = plan_of(state, task)
        if planned is None or not planned.approved:
            return ""
        kept = state.task(task.id).kept
        step = Step(plan=planned.plan)
        if planned.plan.phases:
            step = phase_step(planned.plan, 1 + (kept.phases if kept else 0))
    if step.plan is None or step.mode is Mode.PLAN:
        return ""
    parts = (plan_text(step.plan, task.id), phase_text(step.plan, step.phase))
    return "\n".join(part for part in parts if part)


def phase_text(plan: TaskPlan, phase: int) -> str:
    """Return a session's text on the phase that it builds; empty where it builds all."""
    if not phase or not plan.phases:
        return ""
    now, count = plan.phases[phase - 1], len(plan.phases)
    before = "; the earlier phases are already in the files" if phase > 1 else ""
    after = "; leave the later phases alone" if phase < count else "; then all checks must pass"
    lines = [f"Now build phase {phase} of {count}: {now.title}{before}{after}."]
    lines += [f"{number}. {step}" for number, step in enumerate(now.steps, start=1)]
    lines += ["Files of this phase: " + ", ".join(now.files)] if now.files else []
    return "\n".join(lines) + "\n"


_FOLDER = "phases"


def proof_so_far(assignment: Assignment, site: WorkerContext, outcome: Outcome) -> TaskProof:
    """Run the gates on an unfinished tree: failures are reported, and refuse nothing yet."""
    site.lay_out(assignment.base, outcome.changes)
    context = make_gate_context(assignment, site, outcome)
    results: list[Proved] = []
    for check in commands.checks(assignment.task, site.settings):
        if site.cancelled.is_set():
            break
        started = GateStarted(gate=check.id, command=redact(check.command))
        site.workers.report(assignment.task.id, assignment.attempt, started)
        proved = commands.prove(check, context)
        if proved.proof:
            site.workers.report(
                assignment.task.id, assignment.attempt, GateCompleted(proof=proved.proof)
            )
        results.append(proved)
    proven = together(results)
    return replace(proven, findings=tuple(map(_so_far, proven.findings)))


def _so_far(finding: Finding) -> Finding:
    """Return a finding with a refusal lowered to a note, because later phases follow."""
    if not finding.refuses:
        return finding
    return replace(finding, severity=Severity.NOTE, message=f"so far: {finding.message}")


# --- where they are kept --------------------------------------------------------------


def keep(repository: Repository, task: Task, outcome: Outcome) -> str:
    """Save the work of the completed phases, and return the name of the ref."""
    message = f"phase({task.id}): attempt {outcome.attempt}\n"
    commit = commit_tree(repository, outcome.base or None, outcome.changes, message, sign=False)
    name = _ref(repository, task.id)
    keep_ref(repository, name, commit.sha)
    return name


def restate_kept(repository: Repository, kept: BuiltPhases, base: str) -> tuple[Change, ...] | None:
    """Return the saved work rebased onto `base`; None if it is gone or conflicts."""
    commit = read_ref(repository, find_own_name(repository, kept.ref))
    if commit is None:
        return None
    changes = changes_between(repository, kept.base or None, commit)
    if kept.base == base:
        return changes
    merged = carry(repository, (kept.base, base), changes)
    return None if merged.conflicts else merged.changes


def let_go(repository: Repository, task: str) -> None:
    """Delete saved work that has landed or is no longer of use."""
    drop_ref(repository, _ref(repository, task))


def sweep(repository: Repository, is_kept: Callable[[str], bool]) -> None:
    """Delete phases left by a killed run, of tasks that have landed or start over.

    Asks no git where nothing is there.
    """
    for task in list_refs(repository, own_name(repository, _FOLDER)):
        if not is_kept(task):
            let_go(repository, task)


def _ref(repository: Repository, task: str) -> str:
    return own_name(repository, f"{_FOLDER}/{task}")
