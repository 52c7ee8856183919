"""The text of a pull request: what was built, and what each task's DONE rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.model import Verdict
from runner.repo.trailers import coverage_line
from runner.report.cost import cost, together
from runner.report.ship import proof_lines
from runner.text.display import display, display_markdown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runner.journal.task_state import TaskState
    from runner.journal.tree_events import TreeVerified
    from runner.model import Graded, Task

_GOOD = (Verdict.PASS, Verdict.FLAKY, Verdict.KNOWN)
_WIDEST = 60
"""Columns of a title in the table."""


def request_text(
    tag: str,
    tasks: Sequence[Task],
    states: Mapping[str, TaskState],
    verified: TreeVerified | None,
    grades: Mapping[str, Graded],
) -> str:
    """The body as Markdown; `runner evidence` and the commits' trailers say the rest."""
    return "\n".join(_lines(tag, tasks, states, verified, grades)) + "\n"


def _lines(
    tag: str,
    tasks: Sequence[Task],
    states: Mapping[str, TaskState],
    verified: TreeVerified | None,
    grades: Mapping[str, Graded],
) -> Iterator[str]:
    yield f"Shipped as `{display(tag)}`: every task is DONE."
    if verified is not None:
        yield from ("", *(f"- {display(line.strip())}" for line in proof_lines(verified, grades)))
    yield from ("", "| Task | What | Commit | Proofs | Coverage |", "|---|---|---|---|---|")
    for task in tasks:
        yield _row(task, states[task.id], grades.get(task.id))
    used = cost(together(known.usage for known in states.values()))
    if used:
        yield from ("", f"Agents and models used {used}.")
    yield from ("", "Each commit carries its evidence as trailers: `Spec`, `Proof`, `Coverage`, …")


def _row(task: Task, known: TaskState, graded: Graded | None) -> str:
    good = sum(one.verdict in _GOOD for one in known.proofs)
    proofs = f"{good} of {len(known.proofs)} pass" if known.proofs else "—"
    title = display_markdown(task.title)[:_WIDEST].replace("|", "\\|")
    commit = known.commit[:12] or "—"
    cover = coverage_line(known.coverage) or "—"
    said = proofs if graded is None or graded.is_proven else display(graded.words)
    return f"| {display(task.id)} | {title} | {commit} | {said} | {cover} |"
