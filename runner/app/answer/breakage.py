"""A held change that breaks other tasks, as a person reviews and answers it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.gates.regression import PREFIX
from runner.journal.events import WriteRejected
from runner.report.summary import ways_out
from runner.run.regressions import (
    regression,
)
from runner.run.review import WHOLE, proposal_digest, rejection
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import finding_lines, join_few

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.journal.log import Journal
    from runner.journal.state import RunState
    from runner.model import Change, Finding, Task
    from runner.project import Project
    from runner.repo.read import Repository


def explain_vain_approval(
    tasks: Iterable[Task], state: RunState, culprit: str, repository: Repository
) -> str:
    """Why no approval lets a held change land: a task's own blocks take it back. Else empty."""
    from runner.run.landing.drafts import load_held_changes
    from runner.run.regressions.own_blocks import find_taken_back, which_to_edit

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
        "missing": regression.find_unapproved(find_broken_tasks(state, culprit), state),
    }


def find_broken_tasks(state: RunState, culprit: str) -> tuple[str, ...]:
    """The tasks that a held change breaks."""
    return regression.victims(state.task(culprit).findings)


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


def what_follows(state: RunState, culprit: str) -> str:
    """What happens with a held change after an approval of one of its victims."""
    missing = regression.find_unapproved(find_broken_tasks(state, culprit), state)
    if missing:
        names = join_few([display(one) for one in missing])
        verb = "is" if len(missing) == 1 else "are"
        return (
            f"{display(culprit)} lands once {names} {verb} approved, too: "
            f"runner approve {' '.join(map(display, missing))}"
        )
    victims = join_few([display(one) for one in find_broken_tasks(state, culprit)])
    return f"next: runner    ({victims} built anew on {display(culprit)}; they land together)"


def reject_change(
    project: Project,
    repository: Repository,
    journal: Journal,
    culprit: str,
    changes: tuple[Change, ...],
    reason: str,
) -> str:
    """Drop a held change, and have the tasks that it breaks DONE again; what to tell of it.

    A person's no is durable before anything follows from it; what a crash leaves undone, and all
    of it while a run is going on, the next run does.
    """
    from runner.journal.lock import RunLock
    from runner.project import BUILD
    from runner.run.journal_writer import JournalWriter
    from runner.run.landing.drafts import let_go
    from runner.writes.staging import Staging

    state = project.state()
    known = state.task(culprit)
    stale = regression.victims_of(culprit, state)
    victims = [display(one) for one in find_broken_tasks(state, culprit) if one in stale]
    ledger = JournalWriter(journal, state)
    said = WriteRejected(WHOLE, None, proposal_digest(changes), reason, "person")
    ledger.note(said, task=culprit, attempt=known.last_attempt, durable=True)
    if RunLock(project.root / BUILD).holder() is not None:
        return f"{display(culprit)} rejected; a run is going on: the next one drops it"
    staging = Staging(project.root)

    def forget(task: str) -> None:
        let_go(repository, task)
        staging.remove(staging.list(task))

    regression.drop(culprit, (rejection(said),), ledger, forget)
    kept = f"; its work is kept on {display(known.draft)}" if known.draft else ""
    verb = "is" if len(victims) == 1 else "are"
    again = f"; {', '.join(victims)} {verb} DONE again" if victims else ""
    return f"{display(culprit)} rejected{kept}{again}"
