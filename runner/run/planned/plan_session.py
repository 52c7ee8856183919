"""Run a planning session on a worker: it writes nothing and returns a plan.

It is read-only by construction: every command of it runs in a sandbox that shows the tree
read-only, and the tree is asked afterwards whether anything changed all the same.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner.config.permissions import write_finding
from runner.context.task_plan import files_of, plan_text, redact_plan, relate_paths
from runner.implementers.base import WorkResult
from runner.journal.session_fold import CHECK
from runner.model import Ending, Finding, ReviewMode
from runner.run.reviewers import ask_review_command, review_by_agent
from runner.secrets.redact import redact
from runner.writes.paths import check_path, in_scope, is_forbidden, scope_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runner.config.shell_rules import Permission
    from runner.model import Outcome, Task, TaskPlan
    from runner.run.worker_assignment import Assignment, WorkerContext

LONGEST_PLAN = 1 << 16
"""Maximum characters of a plan: the journal stores it, and a person reads it."""
_NO_PLAN = (
    "end with the plan: numbered steps, then a line with every file that it creates or modifies,"
    " such as `Files: src/app.py, tests/test_app.py`"
)
_FILE_MODE = 0o100644


def evaluate_plan(assignment: Assignment, site: WorkerContext, outcome: Outcome) -> Outcome:
    """Return the outcome of a planning session: a valid plan, or findings on it."""
    task = assignment.task
    wrote = tuple(_wrote(change.path) for change in outcome.changes)
    if outcome.changes:
        site.reset(assignment.base)
    clean = partial(redact, known=tuple(value for _, value in assignment.secrets))
    start = site.place.start
    roots = (site.place.shown / start, site.place.tree / start)
    plan = redact_plan(relate_paths(outcome.plan, roots), clean) if outcome.plan else None
    findings = (*outcome.findings, *wrote)
    if not _has_refusal(findings):
        rules, before = assignment.rules, partial(site.before, assignment.base)
        ruled = make_rule_check(
            rules.permission, rules.permission_floor, lambda path: before(path) is not None
        )
        findings = (*findings, *plan_findings(task, plan, ruled))
    if plan and assignment.review is ReviewMode.AUTO and not _has_refusal(findings):
        verdict = _review(assignment, site, plan)
        findings = (*findings, *verdict.findings)
        outcome = replace(outcome, usage=outcome.usage + verdict.usage)
    return replace(
        outcome,
        ending=Ending.FAILED if _has_refusal(findings) else Ending.PASSED,
        tree="",  # there is none: sessions that only read do not come to the same files
        changes=(),
        findings=findings,
        plan=plan,
    )


def _no_rules(_path: str) -> Finding | None:
    return None


def make_rule_check(
    mine: tuple[Permission, ...], floor: tuple[Permission, ...], exists: Callable[[str], bool]
) -> Callable[[str], Finding | None]:
    """Return a function that checks a plan's files against the permission rules.

    A rule is about a new file (`write_file`) or a change of one that `exists` (`modify_file`).
    """
    if not (mine or floor):
        return _no_rules

    def check_rule(path: str) -> Finding | None:
        new = not exists(path)
        return write_finding(path, mine, floor, is_new=new, reviewed=True)

    return check_rule


def plan_findings(
    task: Task, plan: TaskPlan | None, ruled: Callable[[str], Finding | None] = _no_rules
) -> tuple[Finding, ...]:
    """Return what is wrong with a plan; for a plan that is too wide, how to allow it.

    `ruled` is what the permission rules have against one of its files.
    """
    if plan is None:
        return (Finding(CHECK, "the session gave no plan", hint=_NO_PLAN),)
    return tuple(_mistakes(task, plan, ruled))


def _mistakes(
    task: Task, plan: TaskPlan, ruled: Callable[[str], Finding | None]
) -> Iterator[Finding]:
    files = files_of(plan)
    if not plan.steps:
        yield Finding(CHECK, "the plan has no steps", hint=_NO_PLAN)
    if not files:
        yield Finding(CHECK, "the plan names no file to create or modify", hint=_NO_PLAN)
    if len(plan_text(plan, task.id)) > LONGEST_PLAN:
        yield Finding(CHECK, "the plan is too long", hint=f"at most {LONGEST_PLAN} characters")
    sound = []
    for path in files:
        finding = check_path(path, _FILE_MODE)
        if finding is not None and finding.refuses:
            yield replace(finding, check=CHECK)
        elif is_forbidden(path):
            yield Finding(
                CHECK, f"no task may write {path!a}", path=path, hint="plan without this file"
            )
        elif (against := ruled(path)) is not None:
            yield replace(against, check=CHECK, hint="plan without this file")
        else:
            sound.append(path)
    if outside := [path for path in sound if not in_scope(path, task.outputs)]:
        yield _too_wide(task, outside)


def _too_wide(task: Task, outside: list[str]) -> Finding:
    named = ", ".join(f"{path!a}" for path in outside)
    line = scope_line(outside, task.outputs)
    return Finding(
        CHECK,
        f"the plan names files that are not in the Output files of {task.id}: {named}",
        path=outside[0],
        hint=f"plan without these files; this line of the task would allow them: {line}",
    )


def _wrote(path: str) -> Finding:
    return Finding(
        CHECK,
        f"{path!a} was written in plan mode, which must not write files",
        path=path,
        hint="write no files yet: describe the changes in the plan",
    )


def _review(assignment: Assignment, site: WorkerContext, plan: TaskPlan) -> WorkResult:
    """Let `review.command` read the plan on standard input, else a session of `[model] review`."""
    text = plan_text(plan, assignment.task.id, assignment.task.title)
    if line := site.settings.review.command:
        return WorkResult(findings=ask_review_command(assignment, site, line, text, CHECK))
    if (result := review_by_agent(assignment, site, text, is_plan=True)) is not None:
        return replace(result, findings=tuple(replace(one, check=CHECK) for one in result.findings))
    hint = 'set review.command or model.review in your own settings, or review.plan = "prompt"'
    none = Finding(CHECK, "review.plan is auto, but no reviewer is set", hint=hint)
    return WorkResult(findings=(none,))


def _has_refusal(findings: tuple[Finding, ...]) -> bool:
    return any(finding.refuses for finding in findings)
