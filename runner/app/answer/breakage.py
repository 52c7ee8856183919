"""A held change that breaks other tasks, as a person reviews and answers it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.gates.regression import PREFIX
from runner.report.summary import ways_out
from runner.run.landing.drafts import load_held_changes
from runner.run.regressions import regression
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import finding_lines, join_few

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.journal.state import RunState
    from runner.model import Finding, Task
    from runner.repo.read import Repository


def explain_vain_approval(
    tasks: Iterable[Task], state: RunState, culprit: str, repository: Repository
) -> str:
    """Why no approval lets a held change land: a task's own blocks take it back. Else empty."""
    from runner.run.regressions.regression import find_taken_back, which_to_edit

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
    """What it breaks and why, and both ways out; with `whole` what the tests printed, too."""
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
    """The same for a JSON document."""
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
    """The tasks that a held change breaks."""
    return regression.victims(state.task(culprit).findings)


def find_missing_approvals(state: RunState, culprit: str) -> tuple[str, ...]:
    """Those of them that nobody has approved yet."""
    return regression.find_unapproved(find_broken_tasks(state, culprit), state)


def _about(state: RunState, culprit: str, victim: str) -> tuple[Finding, ...]:
    found = state.task(culprit).findings
    return tuple(one for one in found if one.check.startswith(f"{PREFIX}{victim}/"))


# --- answering --------------------------------------------------------------------------


def refuse_approval(state: RunState, culprit: str, in_vain: str = "") -> RunnerError:
    """Why the change itself is not what can be approved."""
    victims = find_broken_tasks(state, culprit)
    if in_vain:
        return RunnerError(
            f"{culprit} breaks {join_few(list(victims))}, and {in_vain}",
            hint=f"then runner approve {' '.join(victims)}, or runner reject {culprit} --reason …",
            code=ExitCode.PERSON,
        )
    return RunnerError(
        f"{culprit} breaks {join_few(list(victims))}: each of these is to be approved, not the "
        "change that breaks it",
        hint=f"runner approve {' '.join(victims)}, or runner reject {culprit} --reason …",
    )
