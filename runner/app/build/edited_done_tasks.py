"""Show the diff and the cost of an edited DONE task, and choose how the run goes on.

Statuses that an older text of the plan took back: reported at first, repaired at the end.
"""

from __future__ import annotations

import re
from difflib import unified_diff
from typing import TYPE_CHECKING

from runner.implementers.registry import has_no_implementer
from runner.journal.events import TaskApproved
from runner.lazy_pattern import regex
from runner.model import Status, Usage
from runner.repo.git import text as raw_text
from runner.report.cost import cost
from runner.report.summary import duration, stale_step
from runner.run import recovery
from runner.run.landing.status_writer import format_note
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import join_few

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runner.app.build.session import Session
    from runner.journal.state import RunState
    from runner.model import Task
    from runner.run.journal_writer import JournalWriter
    from runner.run.landing.status_writer import StatusWriter
    from runner.run.reconcile import Facts


_MOST_LINES = 40
_STATUS = regex(r"\W*status\W", re.IGNORECASE)
_QUESTION = "[r]ebuild, [t]est existing code, or [l]eave stale? "
_ANSWERS = {"r": "rebuilt", "t": "re-tested"}


def answer_edits(
    session: Session,
    tasks: Sequence[Task],
    ask: Callable[[str, str], str] | None,
    say: Callable[[str], None],
    *,
    rebuild: bool,
) -> dict[str, str]:
    """Show the edits of DONE tasks and what follows from them, and journal the person's decisions.

    Return the tasks to rebuild, each with the note of its decision, which also holds for their
    dependents. With `rebuild` all edited tasks are rebuilt. Otherwise only edits that this run
    found count: `ask` shows a text, then a question, and returns what was typed. Without `ask` the
    command to type is shown. The decision determines which other tasks become STALE.
    """
    journal, built = session.journal, {}
    for task in tasks:
        if not _is_edited(task.id, journal, rebuild=rebuild):
            continue
        text = "\n".join(_format_edit(task, tasks, session))
        if rebuild:
            say(text)
            built[task.id] = f"as requested: runner --rebuild ({_find_name(session)})"
            _approve(task, journal, built[task.id])
        elif ask is None:
            nobody = has_no_implementer(task, session.project.settings)
            step = stale_step(task.id, nobody=nobody).partition("; `runner review")[0]
            say(f"{text}\n  next: {step}")
        elif choice := _answer(text, ask):
            note = f"{_ANSWERS[choice]}, as chosen when the run began"
            _approve(task, journal, note, reuse=choice == "t")
            if choice == "r":
                built[task.id] = note
    return built


def _approve(task: Task, journal: JournalWriter, note: str, *, reuse: bool = False) -> None:
    event = TaskApproved(by="person", note=note, reuse=reuse)
    attempt = journal.state.task(task.id).last_attempt
    journal.note(event, task=task.id, attempt=attempt, durable=True)


def _find_name(session: Session) -> str:
    """Return git's `user.name`, or a note that there is none."""
    answer = session.repository.git.ask("config", "--get", "user.name")
    return raw_text(answer.out).strip() or "no git user.name"


def _is_edited(id_: str, journal: JournalWriter, *, rebuild: bool) -> bool:
    """Return whether this run found the task STALE because of an edit of the plan.

    One that is STALE through another task alone follows that one, and what a held change breaks is
    answered about that change. Ids of runs and records are in order.
    """
    known = journal.state.task(id_)
    if known.status is not Status.STALE or known.culprit:
        return False
    if rebuild:
        return not known.via
    return bool(known.changed) and known.changed != ("change",) and known.cause > journal.run


def _answer(text: str, ask: Callable[[str, str], str]) -> str:
    while True:
        choice = ask(text, _QUESTION)[:1]
        if choice in ("", "l"):
            return ""
        if choice in _ANSWERS:
            return choice
        text = ""


def _format_edit(task: Task, tasks: Sequence[Task], session: Session) -> Iterator[str]:
    """Yield the plan diff, the tasks that become STALE and their past cost."""
    state = session.journal.state
    yield _line(task, state)
    yield from _format_difference(task, tasks, session)
    stale = [one for one in tasks if state.task(one.id).status is Status.STALE]
    next_to: dict[str, list[Task]] = {}
    for one in stale:
        next_to.setdefault(state.task(one.id).via, []).append(one)
    behind = list(next_to.pop(task.id, ()))
    for one in behind:
        yield f"  {_line(one, state)}"
        behind += next_to.pop(one.id, ())
    if behind:
        yield "  dependents are re-tested, and rebuilt only if this task's interface changes"
    known = [state.task(one.id) for one in (task, *behind)]
    used = sum((one.usage for one in known), Usage())
    seconds = sum(one.typical_seconds for one in known)
    yield f"  took {duration(seconds)} in earlier attempts{f', {cost(used)}' if cost(used) else ''}"


def _format_difference(task: Task, tasks: Sequence[Task], session: Session) -> Iterator[str]:
    """Yield the difference between a section now and as built, without statuses."""
    project, repository = session.project, session.repository
    known = session.journal.state.task(task.id)
    new = _find_section(project.plan_bytes, task.id, tasks)
    # The text is in the task's own commit if the plan was committed before, else in a later record
    # commit; the digests tell which was built.
    for commit in (known.commit, repository.head().commit):
        data = repository.blob(commit, project.plan_path) if commit else None
        then = project.plan(data).tasks if data else ()
        if data is None or all((one.id, one.spec) != (task.id, known.spec) for one in then):
            continue  # a text that was edited again before it was built, and never committed
        lines = list(unified_diff(_find_section(data, task.id, then), new, lineterm="", n=1))[2:]
        yield from (f"    {display(redact(line))}" for line in lines[:_MOST_LINES])
        if len(lines) > _MOST_LINES:
            yield f"    … {len(lines) - _MOST_LINES} more lines"
        return
    yield "    no diff: the plan text of the last build was never committed"
    if known.changed:
        yield f"    edited: {display(join_few(known.changed))}"


def _find_section(data: bytes, id_: str, tasks: Sequence[Task]) -> list[str]:
    lines = data.decode("utf-8", "replace").splitlines()
    begins = next((task.line for task in tasks if task.id == id_), 0)
    if not begins:
        return []
    ends = min((task.line - 1 for task in tasks if task.line > begins), default=len(lines))
    section = [line for line in lines[begins - 1 : ends] if not _STATUS.match(line)]
    while section and not section[-1].strip():
        section.pop()
    return section


def _line(task: Task, state: RunState) -> str:
    return f"STALE {display(task.id)} {display(task.title)}: {display(state.task(task.id).note)}"


# --- older statuses -------------------------------------------------------------------


def report_older(
    session: Session, tasks: Sequence[Task], facts: Facts, say: Callable[[str], None]
) -> None:
    """Report tasks whose status in the restored file is outdated, and how to restore it."""
    older = recovery.put_back(tasks, session.journal.state, facts)
    if not older:
        return
    known = session.journal.state.task(older[0])
    whose = f"{older[0]} stays {known.status}" if len(older) == 1 else "the current ones stay"
    say(
        f"note: {session.project.plan_path} was restored to an older version (git stash, checkout, "
        f"reset or undo). Its statuses of {display(join_few(older))} are outdated: {whose}; to "
        "set a status, edit it and commit the plan"
    )


def take_in_answers(session: Session, board: StatusWriter) -> None:
    """Write the answers that people gave in other terminals during the run to the plan."""
    if session.journal.was_sole_writer:
        return
    before = session.journal.state
    session.journal.take_in(session.project.state())
    session.checkpoint.know(session.by_id, session.journal.state)
    for task in session.project.outline().tasks:
        known, then = session.journal.state.task(task.id), before.task(task.id)
        if (known.status, known.note) != (then.status, then.note):
            board.say(task.id, known.status, format_note(known, task.note))
    if board.due(now=True):
        board.publish(session.journal.note, head=session.head().commit or "")


def restore(session: Session, board: StatusWriter) -> None:
    """Write the statuses again that an older text took back while a run went on."""
    project, state = session.project, session.journal.state
    file = project.root / project.plan_path
    if not file.is_file() or board.is_ours(file.read_bytes()):
        return
    tasks = project.outline().tasks
    facts = recovery.gather_facts(session.repository, state, tasks, project.plan_file)
    for id_ in recovery.put_back(tasks, state, facts):
        known = state.task(id_)
        board.say(id_, known.status, format_note(known))
    if board.due(now=True):
        board.publish(session.journal.note, head=session.head().commit or "")
