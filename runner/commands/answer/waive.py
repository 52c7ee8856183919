"""`runner waive`: a person takes a task as DONE without a proof, for these bytes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.change.transaction import Transaction
    from runner.journal.task_state import TaskState
    from runner.model import Graded, Task
    from runner.project import Project

_EXAMPLES = """\
examples:
  runner waive TASK-003 --reason "tried by hand on the printer"
  runner waive 3 --reason "a picture: looked at"

It ends by itself when the task's files change, or what the plan asks of it.
"""


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner waive` takes."""
    del name
    parser.epilog = _EXAMPLES
    parser.add_argument("id", metavar="ID", help="the task: TASK-003, or 3")
    parser.add_argument("--reason", metavar="TEXT", required=True, help="why it needs no proof")
    parser.add_argument("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Write it into the journal and into the plan; exit 3 where no person can have said it."""
    from runner.app.change.transaction import open_transaction
    from runner.project import Project
    from runner.run.by_a_person import why_no_person
    from runner.run.selection import find_id
    from runner.secrets.redact import redact

    reason = " ".join(redact(given.reason).split())
    if not reason:
        raise RunnerError("a waiver needs a reason", hint='runner waive ID --reason "…"')
    project = Project.open(Path.cwd(), environ, {"task_graph": given.task_graph})
    ids = [task.id for task in project.outline().tasks]
    id_ = find_id(given.id, ids)
    if why := why_no_person(environ):
        if why.ci and _is_held(project, id_, reason):
            print(f"{display(id_)} is waived already: {display(reason)}")
            return ExitCode.OK
        raise _refusal(why.text)
    with open_transaction(project) as amendment:
        amendment.begin("waive")
        _waive(amendment, id_, reason)
        amendment.finish()
    print(f"{display(id_)}: DONE — waived: {display(reason)}")
    return ExitCode.OK


def _refusal(why: str) -> RunnerError:
    return RunnerError(
        f"a waiver is a person's: {why}",
        hint="have a person run it in a terminal of their own",
        code=ExitCode.PERSON,
    )


def _is_held(project: Project, id_: str, reason: str) -> bool:
    """Whether the journal holds this very waiver, and it still stands."""
    from runner.app.inspect.view import View

    view = View.of(project)
    graded, waived = view.grades.get(id_), view.states[id_].waived
    is_waived = graded is not None and view.worth(id_) == "waived"
    return is_waived and waived is not None and waived.reason == reason


def _waive(amendment: Transaction, id_: str, reason: str) -> None:
    from runner.journal.waivers import TaskWaived
    from runner.run.waivers import files_now

    session = amendment.session
    task = next(one for one in amendment.plan.tasks if one.id == id_)
    known = amendment.state.task(id_)
    graded = _grade_task(amendment, id_)
    if graded is None or graded.is_proven:
        amendment.finish()
        said = f"is {known.status}" if graded is None else f"is {graded.words}"
        raise RunnerError(
            f"there is nothing to waive: {id_} {said}",
            hint="only what is DONE and unproven can be waived: runner status",
            code=ExitCode.USAGE,
        )
    paths = _files_of(amendment, task, known)
    event = TaskWaived(
        reason=reason,
        by="person",
        what=task.spec.what,
        files=files_now(session.project.root, paths),
    )
    session.ledger.note(event, task=id_, durable=True)
    amendment.regraded.add(id_)


def _grade_task(amendment: Transaction, id_: str) -> Graded | None:
    from runner.app.prove.unverified_tasks import grades_in

    session = amendment.session
    tasks, state = amendment.plan.tasks, amendment.state
    return grades_in(session.project, tasks, state, session.repository).get(id_)


def _files_of(amendment: Transaction, task: Task, known: TaskState) -> list[str]:
    """The files of a task: what its commit wrote, and what of its Output files is there."""
    from runner.plan.globs import is_glob, matches

    repository = amendment.session.repository
    head, landed = repository.head().commit, known.commit
    globs = [path for path in task.outputs if is_glob(path)]
    named = [path for path in task.outputs if path not in globs and not task.writes_everything]
    tracked = repository.list_tree(head) if globs and head else ()
    before = repository.resolve(f"{landed}^") if landed else None
    written = repository.diff_trees(before, landed) if landed else ()
    return [
        *named,
        *(change.path for change in written),
        *(path for path in tracked if any(matches(one, path) for one in globs)),
    ]
