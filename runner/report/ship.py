"""Format a ship: its entry in CHECKPOINT.md, the tag's message and the pull request's text.

They say what was built, how each task was proven, and which tasks are unproven and why.
"""

from __future__ import annotations

from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from runner.model import Grade, Verdict
from runner.model.grades import without_proof
from runner.model.task import MILESTONE
from runner.model.words import COULD_NOT_RUN
from runner.repo.trailers import coverage_line
from runner.report.cost import cost, together
from runner.text.display import display, display_markdown
from runner.text.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from runner.journal.session_events import TreeVerified
    from runner.journal.task_state import TaskState
    from runner.model import Graded, Task, Usage


def ship_text(tag: str, date: str, verified: TreeVerified, grades: Mapping[str, Graded]) -> str:
    """Return the ship declaration to append to CHECKPOINT.md, between blank lines."""
    lines = [f"=== SHIP — {display(date)}", f"Tag: {display(tag)}", *proof_lines(verified, grades)]
    return "\n" + "\n".join(lines) + "\n\n"


def tag_message(title: str, verified: TreeVerified, grades: Mapping[str, Graded]) -> str:
    """Return the message of the annotated tag."""
    heading = f"Ship {display(title)}".strip()
    return f"{heading}\n\n" + "\n".join(proof_lines(verified, grades)) + "\n"


def proof_lines(verified: TreeVerified, grades: Mapping[str, Graded] | None = None) -> list[str]:
    """Return the lines on what was proven together."""
    cover = verified.coverage
    coverage = "—"
    if cover is not None:
        coverage = f"{cover.shown} (threshold {cover.threshold:g}%)"
    return [
        f"Verified: {plural(verified.tasks, 'task')} DONE, proven together",
        *grade_lines(grades or {}),
        f"Coverage: {coverage}",
        f"Tree: {verified.tree}",
    ]


# --- grades ---------------------------------------------------------------------------


def grade_lines(grades: Mapping[str, Graded]) -> Iterator[str]:
    """Yield `7 of 9 proven`, then a line for each task with a caveat; nothing without tasks."""
    if not grades:
        return
    yield f"{sum(one.is_proven for one in grades.values())} of {len(grades)} proven"
    for id_, one in grades.items():
        if one.caveat:
            yield f"  {display(id_)}: {display(one.words)}"


def find_unproven(grades: Mapping[str, Graded]) -> dict[str, Graded]:
    """Return the tasks that are neither proven nor waived, or have a gate that could not run."""
    return {
        id_: one
        for id_, one in grades.items()
        if one.grade is Grade.UNPROVEN or any(gap.endswith(COULD_NOT_RUN) for gap in one.gaps)
    }


def find_explained(tasks: Iterable[Task], grades: Mapping[str, Graded]) -> set[str]:
    """Return the unproven tasks whose lack of a proof the plan explains.

    Documents alone, `Proof: none — reason`, and milestones that rest on nothing weaker.
    """
    planned = {task.id: task for task in tasks if _is_unproven(task.id, grades)}
    found = {
        task.id
        for task in planned.values()
        if (reason := without_proof(task.no_proof, task.outputs))
        and grades[task.id].why == reason  # else other bytes than those that landed
    }
    needs = {task.id: task.depends_on for task in planned.values() if task.type == MILESTONE}
    for id_ in TopologicalSorter(needs).static_order():
        if id_ in needs and all(
            one in found or not _is_unproven(one, grades) for one in needs[id_]
        ):
            found.add(id_)
    return found


def _is_unproven(id_: str, grades: Mapping[str, Graded]) -> bool:
    graded = grades.get(id_)
    return graded is not None and graded.grade is Grade.UNPROVEN


# --- pull request ---------------------------------------------------------------------


_GOOD = (Verdict.PASS, Verdict.FLAKY, Verdict.KNOWN)
_WIDEST = 60
"""Maximum width of a title in the table."""


def request_text(
    tag: str,
    tasks: Sequence[Task],
    states: Mapping[str, TaskState],
    verified: TreeVerified | None,
    grades: Mapping[str, Graded],
    drafted: Usage,
) -> str:
    """Return the body of a pull request in Markdown."""
    used = together((drafted, *(known.usage for known in states.values())))
    return "\n".join(_lines(tag, tasks, states, verified, grades, cost(used))) + "\n"


def _lines(
    tag: str,
    tasks: Sequence[Task],
    states: Mapping[str, TaskState],
    verified: TreeVerified | None,
    grades: Mapping[str, Graded],
    used: str,
) -> Iterator[str]:
    yield f"Shipped as `{display(tag)}`: every task is DONE."
    if verified is not None:
        yield from ("", *(f"- {display(line.strip())}" for line in proof_lines(verified, grades)))
    yield from ("", "| Task | What | Commit | Proofs | Coverage |", "|---|---|---|---|---|")
    for task in tasks:
        yield _row(task, states[task.id], grades.get(task.id))
    if used:
        yield from ("", f"Agents and models used {used}.")
    yield from ("", "Each commit carries its evidence as trailers: `Spec`, `Proof`, `Coverage`, …")


def _row(task: Task, known: TaskState, graded: Graded | None) -> str:
    good = sum(one.verdict in _GOOD for one in known.proofs)
    proofs = f"{good} of {len(known.proofs)} pass" if known.proofs else "—"
    title = display_markdown(task.title)[:_WIDEST].replace("|", "\\|")
    commit = known.commit[:12] or "—"
    cover = coverage_line(known.coverage) or "—"
    worth = display(graded.words) if graded is not None and graded.caveat else proofs
    return f"| {display(task.id)} | {title} | {commit} | {worth} | {cover} |"
