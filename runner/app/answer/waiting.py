"""List the pending reviews, questions and plans in order of risk, and find one by number or ID.

A held change that breaks other tasks is reviewed and answered with what it breaks.
"""

from __future__ import annotations

import json
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from msgspec import Struct

from runner import effects
from runner.app.write import staged_states
from runner.contracts.entries import documents
from runner.errors import ExitCode, RunnerError
from runner.gates.regression import PREFIX
from runner.gates.test_paths import is_test_path
from runner.journal.session_fold import permission_waits, plan_waits
from runner.journal.task_fold import APPROVED
from runner.model import Status
from runner.model.grades import proof_kind
from runner.model.words import PROVES_NOTHING
from runner.report.summary import ways_out
from runner.run import selection
from runner.run.landing.drafts import load_held_changes
from runner.run.landing.lander import changes_between
from runner.run.permission_prompts import format_questions
from runner.run.regressions import regression
from runner.run.regressions.regression import HELD, find_taken_back, which_to_edit
from runner.run.review import HELD as REVIEW
from runner.run.review import is_answered, open_questions
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import finding_lines, join_few, read_number
from runner.writes.paths import is_control
from runner.writes.staging import Staging

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runner.journal.state import RunState
    from runner.journal.task_state import Planned, TaskState
    from runner.model import Change, Finding, Task, TestContract
    from runner.project import Project
    from runner.repo.read import Repository
    from runner.writes.staging import Staged


PLAN, PERMISSION, DRAFT = "plan", "permission", "draft"


class Waiting(Struct, frozen=True):
    """One thing that waits for a person."""

    task: str
    title: str
    kind: str
    """`writes`, `plan`, `permission`, `regression`, `stale`, `blocked` or `draft`."""
    note: str
    changes: tuple[Change, ...] = ()
    culprit: str = ""
    """Task whose held change breaks this one."""
    answered: bool = False
    """Whether a person answered everything: it is not listed, but the answer may change."""


def list_waiting(project: Project, repository: Repository, state: RunState) -> tuple[Waiting, ...]:
    """Return all items that wait for a person, in plan order, including answered ones.

    Without a plan only its drafts do.
    """
    found = list(_drafts(state))
    for task in project.outline().tasks if project.has_plan else ():
        known = state.task(task.id)
        if known.held is not None and known.status is not Status.DONE:
            changes = load_held_changes(repository, known.held) or ()
            kind = "regression" if known.held.kind == HELD else "writes"
            settled = known.held.kind == REVIEW and is_answered(state, task.id, changes)
            note = APPROVED if settled else known.note
            whose = known.culprit if kind == "writes" else ""
            found.append(Waiting(task.id, task.title, kind, note, changes, whose, answered=settled))
        elif plan_waits(known):
            found.append(Waiting(task.id, task.title, PLAN, known.note))
        elif permission_waits(known):
            found.append(Waiting(task.id, task.title, PERMISSION, known.note))
        elif known.status is Status.STALE:
            found.append(Waiting(task.id, task.title, "stale", known.note, culprit=known.culprit))
        elif known.status is Status.BLOCKED:
            found.append(Waiting(task.id, task.title, "blocked", known.note))
    return tuple(found)


def _drafts(state: RunState) -> Iterator[Waiting]:
    """Yield the open drafts of plans, oldest first; they belong to no task of the plan."""
    for one in state.open_drafts:
        count = len(one.tasks)
        note = f"a draft of {count} task{'s' * (count != 1)} for {one.plan}"
        if one.mistakes:
            note += f", with {len(one.mistakes)} to fix first"
        elif one.digest in state.approved_drafts:
            note += ", approved but not written yet"
        title = next((line for line in one.wish.splitlines() if line.strip()), "")
        yield Waiting(f"DRAFT-{one.number}", title.strip("# ")[:100], DRAFT, note)


def choose_waiting(
    project: Project, typed: Sequence[str], known: Sequence[Waiting]
) -> tuple[Waiting, ...]:
    """Return the items named by number or id. Raises RunnerError if one is not waiting."""
    numbered = number_waiting(project, known)
    if not typed:
        raise RunnerError("no task ID or number given", hint="to list them: runner review")
    ids = [task.id for task in project.outline().tasks]
    chosen = []
    for word in typed:
        if task := numbered.get(read_number(word)):
            chosen.append(_find_numbered(word, task, known))
            continue
        is_draft = word.upper().startswith("DRAFT-")
        id_ = word.upper() if is_draft else selection.find_id(word, ids)
        found = [one for one in known if one.task == id_]
        if not found:
            raise RunnerError(
                f"{id_} has nothing to approve",
                hint="runner review" if is_draft else f"runner why {id_}",
            )
        chosen += found
    return tuple(chosen)


_NUMBERS = "review-numbers.json"
"""Which tasks `runner review` numbered when it was last shown, in the user's cache folder.

What is answered leaves the list: counted anew, the next number would mean another task than the
one that the person sees beside it.
"""


def remember_numbers(project: Project, known: Sequence[Waiting]) -> None:
    """Save the numbers of the waiting items; they are valid until the next listing."""
    tasks = [one.task for one in known if not one.answered]
    document = {"plan": _plan_of(project), "tasks": tasks}
    with suppress(OSError):  # the numbers of the moment are used then
        effects.make_folder(project.cache)
        effects.write_file(project.cache / _NUMBERS, json.dumps(document).encode(), durable=False)


def number_waiting(project: Project, known: Sequence[Waiting]) -> dict[int, str]:
    """Return the tasks by their number in the last printed list, or in the current order."""
    tasks = [one.task for one in known if not one.answered]
    with suppress(OSError, ValueError, AttributeError):
        document = json.loads((project.cache / _NUMBERS).read_bytes())
        if document.get("plan") == _plan_of(project) and isinstance(document.get("tasks"), list):
            tasks = [str(one) for one in document["tasks"]]
    return dict(enumerate(tasks, start=1))


def _plan_of(project: Project) -> str:
    return project.plan_path if project.has_plan else ""


def _find_numbered(number: str, task: str, known: Sequence[Waiting]) -> Waiting:
    """Return the item with this number. Raises RunnerError if it is no longer waiting."""
    for one in known:
        if one.task == task and not one.answered:
            return one
    raise RunnerError(
        f"number {number} is {task}, which has nothing to approve",
        hint=f"for the current numbers: runner review; for this task: runner why {task}",
    )


def list_manually_staged(project: Project, state: RunState) -> tuple[Staged, ...]:
    """Return the open writes that were staged manually, by task and path."""
    staged = Staging(project.root).list()
    standings = staged_states.Standings(project.root, state, staged)
    return tuple(
        one for one in staged if one.attempt == staged_states.BY_HAND and standings.of(one).is_open
    )


def find_plan(state: RunState, task: str) -> Planned:
    """Return the plan of a waiting task. Raises RunnerError if it has none."""
    planned = state.task(task).planned
    if planned is None:
        raise RunnerError(f"{task} has no plan", hint=f"runner plan {task}")
    return planned


# --- a STALE task ---------------------------------------------------------------------


class StaleWork(Struct, frozen=True):
    """A STALE task as it is reviewed: what was built, how it is proven, what changed since."""

    commit: str
    """Commit of the task; empty if it has no own commit."""
    asked: tuple[str, ...]
    """What was requested since then, as text."""
    edited: tuple[str, ...]
    """Fields of the task's section edited since then."""
    contracts: tuple[TestContract, ...]


def find_stale_work(project: Project, id_: str) -> StaleWork:
    """Return the known facts about a STALE task without running git."""
    known, task = project.state().task(id_), find_task(project, id_)
    contracts = task.test_contracts if task else ()
    return StaleWork(known.commit, task.changes if task else (), known.changed, contracts)


def list_built_changes(
    project: Project, repository: Repository, commit: str
) -> list[tuple[Change, bytes | None]] | None:
    """Return the changes of a task's commit with the old bytes; None if history was rewritten."""
    if repository.resolve(commit) is None:
        return None
    parent = repository.resolve(f"{commit}^")
    own = project.documents
    return [
        (change, repository.blob(parent, change.path) if parent else None)
        for change in changes_between(repository, parent, commit)
        if change.path not in own
    ]


def find_task(project: Project, id_: str) -> Task | None:
    """Return the task as currently written in the plan, or None if the plan no longer has it."""
    tasks = project.plan(project.plan_bytes).tasks
    return next((task for task in tasks if task.id == id_), None)


def require_reusable(chosen: tuple[Waiting, ...]) -> None:
    """Raise RunnerError for what cannot be proven again instead of being built."""
    others = [one.task for one in chosen if one.kind != "stale"]
    if others:
        raise RunnerError(
            f"--reuse applies to STALE tasks only, not to {', '.join(others)}",
            hint="omit --reuse",
        )
    broken = [one.task for one in chosen if one.culprit]
    if broken:
        raise RunnerError(
            f"the work of {', '.join(broken)} fails on the held change: it cannot be reused",
            hint="omit --reuse to rebuild it on that change",
        )


def explain_futile_approval(
    tasks: Iterable[Task], state: RunState, culprit: str, repository: Repository
) -> str:
    """Return why no approval can land a held change (task blocks revert it); empty if one can."""
    held = state.task(culprit).held
    broken = find_broken_tasks(state, culprit)
    if held is None or held.kind != regression.HELD or not broken:
        return ""
    changes = load_held_changes(repository, held) or ()
    found = {task.id: find_taken_back(task, changes) for task in tasks if task.id in broken}
    paths = {id_: path for id_, path in found.items() if path}
    return which_to_edit(culprit, paths) if paths else ""


def format_breakage(
    state: RunState, culprit: str, *, whole: bool, in_vain: str = ""
) -> Iterator[str]:
    """Yield the questions, the broken tasks, why, and the options; `whole` adds the test output."""
    yield from format_questions(open_questions(state.task(culprit)))
    for victim in find_broken_tasks(state, culprit):
        approved = state.task(victim).approved
        yield f"breaks {display(victim)}{' (approved)' if approved else ''}"
        for finding in _about(state, culprit, victim):
            lines = [redact(line) for line in finding_lines(finding)]
            yield from (f"  {line}" for line in (lines if whole else lines[:1]))
    broken = find_broken_tasks(state, culprit)
    open_ones = regression.find_unapproved(broken, state) or broken
    shown, left = (tuple(map(display, ids)) for ids in (broken, open_ones))
    yield from (line.strip() for line in ways_out(display(culprit), shown, left, display(in_vain)))


def as_data(state: RunState, culprit: str) -> dict[str, object]:
    """Return the tasks that a held change breaks, with their findings, as JSON data."""
    return {
        "breaks": [
            {
                "task": victim,
                "approved": state.task(victim).approved,
                "findings": [
                    {
                        "check": one.check,
                        "path": one.path,
                        "line": one.line,
                        "message": redact(one.message),
                        "detail": redact(one.detail),
                    }
                    for one in _about(state, culprit, victim)
                ],
            }
            for victim in find_broken_tasks(state, culprit)
        ],
        "missing": find_missing_approvals(state, culprit),
    }


def find_broken_tasks(state: RunState, culprit: str) -> tuple[str, ...]:
    """Return the tasks that a held change breaks."""
    return regression.victims(state.task(culprit).findings)


def find_missing_approvals(state: RunState, culprit: str) -> tuple[str, ...]:
    """Return the broken tasks that have not been approved yet."""
    return regression.find_unapproved(find_broken_tasks(state, culprit), state)


def _about(state: RunState, culprit: str, victim: str) -> tuple[Finding, ...]:
    found = state.task(culprit).findings
    return tuple(one for one in found if one.check.startswith(f"{PREFIX}{victim}/"))


# --- answering --------------------------------------------------------------------------


def refuse_approval(state: RunState, culprit: str, in_vain: str = "") -> RunnerError:
    """Return the error for approving a held change instead of the tasks that it breaks."""
    victims = find_broken_tasks(state, culprit)
    if in_vain:
        return RunnerError(
            f"{culprit} breaks {join_few(list(victims))}, and {in_vain}",
            hint=f"then runner approve {' '.join(victims)}, or runner reject {culprit} --reason …",
            code=ExitCode.PERSON,
        )
    return RunnerError(
        f"{culprit} breaks {join_few(list(victims))}: approve what it breaks, not {culprit} itself",
        hint=f"runner approve {' '.join(victims)}, or runner reject {culprit} --reason …",
    )


class Risk(Struct, frozen=True):
    """The risk of a change: its rank in the review order (0 first), and short reasons."""

    rank: int
    signs: tuple[str, ...]
    tone: str
    """CSS class in the style sheet."""


_KINDS = {
    "regression": (3, "breaks other tasks", "bad"),
    PERMISSION: (6, "asks to call a tool", "ask"),
    "writes": (7, "writes", "ask"),
    PLAN: (8, "a plan", "run"),
    "stale": (9, "task or dependency changed", "ask"),
    "blocked": (10, "blocked", "bad"),
    DRAFT: (11, "a draft", "run"),
}
_ASKS, _UNPROVEN, _CONTRACT, _CONTROL, _TESTS = 0, 1, 2, 4, 5


def find_contract_documents(project: Project) -> tuple[str, ...]:
    """Return paths and globs of all contract documents in the plan; empty without a plan."""
    if not project.has_plan:
        return ()
    plan = project.plan(project.plan_bytes)
    found = (path for task in plan.tasks for one in task.contracts for path in documents(one))
    return tuple(dict.fromkeys(found))


def assess(state: RunState, one: Waiting, contracts: tuple[str, ...] = ()) -> Risk:
    """Return the risk of an item, which sets its place in the review queue."""
    rank, sign, tone = _KINDS[one.kind]
    signs = [sign]
    for place, more in _find_signs(state.task(one.task), one, contracts):
        rank = min(rank, place)
        signs.append(more)
    return Risk(rank, tuple(signs), "bad" if rank < _KINDS[one.kind][0] else tone)


def _find_signs(
    known: TaskState, one: Waiting, contracts: tuple[str, ...]
) -> Iterable[tuple[int, str]]:
    questions = open_questions(known) if one.kind == "writes" else ()
    if questions:
        is_about_tests = any("test" in one.check for one in questions)
        yield _ASKS, "asks about tests" if is_about_tests else "asks a question"
    if one.kind == "writes" and not _is_shown(known):
        yield _UNPROVEN, "unproven"
    paths = [change.path for change in one.changes]
    if any(fnmatchcase(path, each) for path in paths for each in contracts):
        yield _CONTRACT, "changes a contract"
    if any(map(is_control, paths)):
        yield _CONTROL, "changes control files"
    if any(map(is_test_path, paths)):
        yield _TESTS, "changes tests"


def _is_shown(known: TaskState) -> bool:
    """Return whether the task's proofs include a check that executed its code."""
    proofs = known.passed.proofs if known.passed is not None else known.proofs
    kinds = {proof_kind(one) for one in proofs}
    return bool(kinds - {None, *PROVES_NOTHING})


def in_order(
    state: RunState, waiting: Iterable[Waiting], contracts: tuple[str, ...] = ()
) -> list[tuple[Waiting, Risk]]:
    """Return the items in order of risk; equal ones keep the order of the plan."""
    found = ((one, assess(state, one, contracts)) for one in waiting)
    return sorted(found, key=lambda pair: pair[1].rank)
