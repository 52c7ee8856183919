"""`runner adopt ID`: a branch that a person finished goes through pipeline, review and gates."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.model import Status
from runner.report.cost import cost_part
from runner.report.documents import document
from runner.run.review import Answer, Said
from runner.text.display import display

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.build.session import Session
    from runner.journal.task_state import TaskState
    from runner.model import Change, Task
    from runner.project import Project, Reading
    from runner.report.console import Console
    from runner.run.adopt import Adopted
    from runner.run.review import Spot

_EXAMPLES = """\
What the branch changes since it left this one is carried here, checked as everybody's work is, and
lands as the task's one commit, with the trailer Review: adopted. Nobody is called to work on it:
where it does not pass, the branch stays as it is and the findings are shown.

examples:
  runner adopt TASK-003                 the draft that the last attempt left
  runner adopt TASK-003 fix/bookings    a branch of your own
exit code: 0 it has landed, 1 it does not pass, 3 it waits for a review, 6 the branches collide
"""


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner adopt` takes."""
    del name
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("id", metavar="ID", help="the task: TASK-003, or 3")
    add("branch", metavar="BRANCH", nargs="?", default="", help="default: the task's draft")
    add("--yes", action="store_true", help="approve what a review would ask about")
    add("--trust", action="store_true", help="run this plan's commands without asking")
    add("--allow-dirty", action="store_true", help="adopt beside uncommitted changes")
    add("--review", choices=("prompt", "auto", "off"), help="who approves writes")
    add(
        "--sandbox",
        choices=("auto", "bubblewrap", "landlock", "none"),
        help="what encloses commands",
    )
    add("--json", action="store_true", help="one JSON document")
    add("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Adopt the branch, and say what became of the task."""
    from runner.commands.consent import load_trusted_plan, open_with_gates
    from runner.report.console import NORMAL, QUIET, Console, wants_colour
    from runner.run.selection import find_id

    flags = {"task_graph": given.task_graph, "sandbox": given.sandbox, "review": given.review}
    project = open_with_gates(environ, flags)
    reading = load_trusted_plan(project, trusted=given.trust)
    tasks = {task.id: task for task in reading.plan.tasks}
    task = tasks[find_id(given.id, tasks)]
    _require_adoptable(project, task)
    colour = wants_colour(sys.stderr, project.environ)
    with Console(level=QUIET if given.json else NORMAL, colour=colour) as console:
        return _adopt(given, project, reading, task, console)


def _require_adoptable(project: Project, task: Task) -> None:
    """Raise RunnerError for a task that takes nobody's work now."""
    from runner.app.inspect.view import View

    view = View.of(project)
    known = view.states[task.id]
    if known.status is Status.DONE:
        raise RunnerError(
            f"{task.id} is DONE: there is nothing to adopt for it",
            hint=f"to have it done again, set it PENDING in the plan, or: runner undo {task.id}",
        )
    if known.held is not None or known.status is Status.STALE:
        word = "has work that waits for your review" if known.held else "is STALE"
        raise RunnerError(
            f"{task.id} {word}", hint=f"runner review {task.id}", code=ExitCode.PERSON
        )
    open_ones = [id_ for id_ in task.depends_on if view.status(id_) is not Status.DONE]
    if open_ones:
        raise RunnerError(
            f"{task.id} waits for {', '.join(open_ones)}",
            hint=f"runner run {open_ones[0]}",
            code=ExitCode.PERSON,
        )


def _adopt(
    given: argparse.Namespace, project: Project, reading: Reading, task: Task, console: Console
) -> ExitCode:
    from runner.app.build.engine_setup import Options, run_engine
    from runner.app.build.session import Session
    from runner.app.build.suitability import require_suitable
    from runner.commands.running.terminal_review import find_asker
    from runner.run.adopt import adopt
    from runner.run.selection import Selection

    with Session(project, reading.plan.tasks, (console.hear,)) as session:
        own = session.own_documents
        require_suitable(session.repository, own, allow_dirty=given.allow_dirty)
        branch = _branch(given, session, task)
        found = adopt(session.repository, branch)
        only, options = Selection(only=(task.id,)), Options(adopted={task.id: found})
        asker = _Yes() if given.yes else find_asker(console, project.environ)
        code = run_engine(session, reading, only, options, console, asker)
        known = session.ledger.state.task(task.id)
    console.close()
    _say(known, found, code, as_json=given.json)
    return code


def _branch(given: argparse.Namespace, session: Session, task: Task) -> str:
    """The branch that is meant. Raises RunnerError where none is, or where it is checked out."""
    branch: str = given.branch or session.ledger.state.task(task.id).draft
    if not branch:
        raise RunnerError(f"{task.id} has no draft", hint=f"runner adopt {task.id} BRANCH")
    if session.branch.ref == f"refs/heads/{branch}":
        raise RunnerError(
            f"{branch} is checked out, and would be adopted into itself",
            hint="git switch - (the branch that it is to land on)",
        )
    return branch


class _Yes:
    """Approves what it is asked about: the person has read their own branch."""

    def ask(self, task: Task, change: Change, before: bytes | None, spot: Spot) -> Said:
        """Yes."""
        del task, change, before, spot
        return Said(Answer.APPROVED, for_all=True)

    def choose(self, text: str, question: str) -> str:
        """Nothing is chosen."""
        del text, question
        return ""


# --- what became of it ----------------------------------------------------------------


def _say(known: TaskState, found: Adopted, code: ExitCode, *, as_json: bool) -> None:
    refusals = [one for one in known.findings if one.refuses]
    if as_json:
        said = document(
            "adopt",
            task=known.id,
            branch=found.branch,
            tip=found.commit,
            paths=[change.path for change in found.changes],
            status=known.status,
            reason=known.reason,
            note=known.note,
            commit=known.commit or None,
            findings=refusals,
            exit=int(code),
            **cost_part(known.usage),
        )
        print(said, end="")
        return
    name, branch = display(known.id), display(found.branch)
    if known.status is Status.DONE:
        print(f"{name} is DONE: {branch} landed as {known.commit[:12]}")
        return
    print(f"{name} is {known.status}: {display(known.note)}")
    hint = f"mend {branch} and commit, then: runner adopt {name}"
    print(f"next: runner review {name}" if code is ExitCode.PERSON else f"next: {hint}")
