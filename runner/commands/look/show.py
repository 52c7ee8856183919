"""`runner show ID`: one task whole: what the plan asks, what happened, what its status rests on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from runner.app.inspect.task_view import format_task_type, portrait
from runner.commands.one_task import add_arguments, one_task
from runner.errors import ExitCode
from runner.journal.evidence import evaluate_standing, evidence_of
from runner.report.documents import document, grade_part
from runner.secrets.redact import redact

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.inspect.task_inquiry import TaskHistory
    from runner.app.inspect.view import View
    from runner.model import Task

_EXAMPLES = """\
examples:
  runner show TASK-003
  runner show 3 --json
"""


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner show` takes."""
    del name
    add_arguments(parser, _EXAMPLES)


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Show the task. Raises RunnerError for an id that no task has."""
    from runner.app.inspect.task_inquiry import load_story

    asked = one_task(given, environ)
    task, view, story = asked.task, asked.view, load_story(asked)
    if given.json:
        print(redact(_document(task, view, story.past, story.report)), end="")
    else:
        lines = portrait(task, view, story.past, story.report)
        sys.stdout.write(redact("\n".join(lines)) + "\n")
    return ExitCode.OK


def _document(task: Task, view: View, past: TaskHistory, report: str) -> str:
    known = view.states[task.id]
    outlined = next(one for one in view.tasks if one.id == task.id)
    return document(
        "task",
        task=task,
        detectedType=format_task_type(task) or None,
        status=known.status,
        note=view.note(outlined),
        reason=known.reason,
        ready=view.is_ready(outlined),
        waitsFor=view.waits_for(outlined),
        attempts=past.attempts,
        attemptsInRow=known.attempts_in_row,
        findings=list(known.findings),
        evidence=_evidence(view, task),
        **grade_part(view.grades.get(task.id)),
        draft=known.draft,
        held=known.held,
        report=report or None,
        decisions=past.decisions,
    )


def _evidence(view: View, task: Task) -> dict[str, object] | None:
    """What DONE rests on, and whether it is about the task as it is written now."""
    known = view.states[task.id]
    evidence = evidence_of(known)
    if evidence is None:
        return None
    return {
        "standing": evaluate_standing(known, task.spec),
        "verified": evidence.verified,
        "commit": evidence.commit,
        "tree": evidence.tree,
        "spec": evidence.spec,
        "doneAt": evidence.done_at,
        "proofs": evidence.proofs,
        "coverage": evidence.coverage,
        "patterns": evidence.patterns,
        "record": evidence.record,
    }
