"""`runner decide`: a person's decision, written into DECISIONS.md and into the journal."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from runner.model import Decision
    from runner.project import Project

_EXAMPLES = """\
examples:
  runner decide "Optimistic locking" --task TASK-018 \\
    --context "Row locks deadlocked in the load test." \\
    --decision "Optimistic locking with at most 3 retries." \\
    --tradeoff "Some retries, against no deadlock."
"""


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner decide` takes."""
    del name
    parser.epilog = _EXAMPLES
    parser.add_argument("title", help="the choice in a few words")
    parser.add_argument(
        "--context", default="", metavar="TEXT", help="what made a choice necessary"
    )
    parser.add_argument(
        "--decision", default="", metavar="TEXT", help="what was chosen (the title)"
    )
    parser.add_argument(
        "--tradeoff", default="", metavar="TEXT", help="what it costs, against what"
    )
    parser.add_argument("--pattern", default="", metavar="TEXT", help="a pattern it could become")
    parser.add_argument("--task", default="", metavar="ID", help="the task it was made for")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Append the decision; works beside a run, too, for it takes no lock of the run's."""
    from runner.project import Project

    project = Project.open(Path.cwd(), environ, plan_needed=bool(given.task))
    if not given.title.strip():
        raise RunnerError("a decision needs a title", hint='runner decide "What was chosen"')
    task = _task(project, given.task) if given.task else ""
    number = _append(project, _decision(given), task)
    print(f"DECISION-{number:03d} written to artifacts/build/DECISIONS.md")
    return ExitCode.OK


def _task(project: Project, typed: str) -> str:
    from runner.run.selection import find_id

    return find_id(typed, dict.fromkeys(task.id for task in project.outline().tasks))


def _decision(given: argparse.Namespace) -> Decision:
    """What was typed, without a secret that came with it: the file is committed."""
    from runner.model import Decision
    from runner.secrets.redact import redact

    return Decision(
        title=redact(given.title.strip()),
        context=redact(given.context.strip()),
        decision=redact(given.decision.strip()),
        tradeoff=redact(given.tradeoff.strip()),
        pattern=redact(given.pattern.strip()),
    )


def _append(project: Project, decision: Decision, task: str) -> int:
    from runner.journal.events import DecisionMade
    from runner.journal.log import Journal
    from runner.report.decisions_file import DecisionsDocument, IgnoreDocument

    IgnoreDocument(project.root).write()
    document = DecisionsDocument(project.root)
    with _alone(project.root / document.path), Journal.open(project.journal_path) as journal:
        state = project.state()
        number = document.next_number(state.decisions)
        event = DecisionMade(number=number, decision=decision)
        record = journal.append(event, task=task, durable=True)
        document.hear(record, state.after(record))
    return number


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    """While this is open no other `decide` takes a number."""
    from runner import effects
    from runner.journal.folder import make_plain_folder

    make_plain_folder(file.parent)
    effects.step("open", file)
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise RunnerError(
            f"the decisions cannot be written: {error.strerror}",
            where=str(file),
            hint="it must be a plain file; the runner does not write through links",
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
