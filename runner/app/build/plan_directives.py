"""`!change` and `!replay` lines that a person wrote into the plan: taken when a run begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.app.change.transaction import Transaction, require_readable
from runner.errors import RunnerError
from runner.history.change import Change, plan_change, record_change
from runner.history.changes_file import quote_of
from runner.history.replay import plan_replay
from runner.history.revert import take_back
from runner.run import recovery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runner.app.build.session import Session
    from runner.plan.sections import Written
    from runner.project import Reading


def apply_directives(session: Session, reading: Reading, say: Callable[[str], None]) -> Reading:
    """The plan as it is once the lock is held, with every command in it done.

    A crash may have been put right in it since it was read. Raises RunnerError.
    """
    if session.project.plan_bytes != reading.data:
        reading = session.project.check()
        require_readable(reading.plan)
    lines = [line for line in reading.plan.written_commands if line.task]
    return _apply_lines(session, reading, lines, say) if lines else reading


def _apply_lines(
    session: Session, reading: Reading, lines: Sequence[Written], say: Callable[[str], None]
) -> Reading:
    """Do what the lines say, as said and confirmed; gives the plan as it reads then.

    Each line becomes a quote. Raises RunnerError, with that line left as it is: it says nothing,
    or going back meets a conflict (exit 6).
    """
    plan = reading.plan
    for line in lines:
        _require_text(line, plan.path)
    facts = recovery.gather_facts(
        session.repository, session.ledger.state, plan.tasks, session.project.plan_file
    )
    recovery.reconcile(plan.tasks, session.ledger, facts)
    amendment = Transaction(session, plan, reading.data)
    amendment.begin("run")
    for line in lines:
        for told in _apply_line(amendment, line):
            say(told)
    again = session.project.check()
    require_readable(again.plan)
    return again


def _require_text(line: Written, path: str) -> None:
    if line.kind == "change" and not line.text:
        raise RunnerError(
            f"what changes in {line.task}?",
            where=f"{path}:{line.line}",
            hint="write `!change what is asked for now`",
        )


def _apply_line(amendment: Transaction, line: Written) -> Iterator[str]:
    text = quote_of(line)
    if line.kind == "replay":
        yield _go_back(amendment, line.task)
        change = Change(text, (line.task,), (), ())
    else:
        change = plan_change(amendment.plan.tasks, amendment.state.task, (line.task,), text)
    number = record_change(amendment.session.desk, change)
    yield f"CHANGE-{number:03d} recorded for {line.task}: {text}"
    for one in change.stale:
        yield f"{one.id} is STALE: {one.reason}"


def _go_back(amendment: Transaction, id_: str) -> str:
    session = amendment.session
    seen = plan_replay(session.repository, amendment.state, id_, session.own_documents)
    if seen.nothing:
        return f"nothing came after {id_}"
    take_back(session.lander, seen.back)
    return f"back to the checkpoint of {id_}; refs/runner/{seen.back.kept} keeps what was there"
