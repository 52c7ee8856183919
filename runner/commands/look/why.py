"""`runner why ID`: the chain of causes why a task would run, waits, is blocked, stale or done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.commands.one_task import add_arguments, one_task
from runner.errors import ExitCode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping

    from runner.app.inspect.causes import Cause
    from runner.app.inspect.view import View
    from runner.model import Reason
    from runner.project import Project

_EXAMPLES = """\
examples:
  runner why TASK-003
  runner why 3 --json
"""


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner why` takes."""
    del name
    add_arguments(parser, _EXAMPLES)


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Say why. Raises RunnerError for an id that no task has."""
    from runner.app.inspect.causes import Inquiry, format_cause

    asked = one_task(given, environ)
    project, view, id_ = asked.project, asked.view, asked.id
    cause = Inquiry(view, _times(project), _lacks(project, view)).about(id_)
    if given.json:
        from runner.report.documents import document

        print(
            document(
                "why",
                task=id_,
                status=view.status(id_),
                reason=view.states[id_].reason,
                cause=cause,
                roots=list(dict.fromkeys(root.task for root in cause.roots)),
            ),
            end="",
        )
    else:
        print("\n".join((*format_cause(cause), *_advice(cause))))
    return ExitCode.OK


def _advice(cause: Cause) -> Iterator[str]:
    """What a person can do, said once for each thing to do."""
    by_advice: dict[str, list[str]] = {}
    for root in cause.roots:
        if root.next:
            by_advice.setdefault(root.next, []).append(root.task)
    if by_advice:
        yield ""
    for advice, tasks in by_advice.items():
        about = f"  ({', '.join(tasks)})" if tasks != [cause.task] else ""
        yield f"next: {advice}{about}"


def _times(project: Project) -> Callable[[str], str]:
    """When a record of the journal was written; the journal is read at the first question."""
    times: dict[str, str] = {}

    def when(record: str) -> str:
        from runner.journal.read_journal import read_journal

        if not times:
            times.update(
                (one.id, one.time) for one in read_journal(project.journal_path, wanted=())
            )
        return times.get(record, "")

    return when


def _lacks(project: Project, view: View) -> Callable[[str], tuple[Reason, str] | None]:
    """What a task could not start without, looked for as the run does before it starts one."""

    def lacks(id_: str) -> tuple[Reason, str] | None:
        from runner.app.build.preparation_preview import preparation_of

        plan = project.plan(project.plan_bytes)
        task = next(task for task in plan.tasks if task.id == id_)
        return preparation_of(project, plan, view.state).find_missing(task)

    return lacks
