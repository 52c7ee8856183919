"""A use case that changes what was built: lock, read together, do, publish, record."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from runner.app.build.session import Session
from runner.errors import ExitCode, RunnerError
from runner.model import Status, digest_of
from runner.run import recovery
from runner.run.engine import begin
from runner.run.landing.plan_documents import PlanDocument
from runner.run.landing.status_notes import format_note, says_other
from runner.run.landing.status_writer import StatusWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.journal.state import RunState
    from runner.plan.document import Plan
    from runner.project import Project


@dataclass
class Transaction:
    """A session in which a person's command is carried out, as a short run of its own."""

    session: Session
    plan: Plan
    data: bytes
    told: set[str] = field(default_factory=set)
    """PENDING tasks whose note stands in the plan, too."""
    regraded: set[str] = field(default_factory=set)
    """DONE tasks of which the plan is to say anew what that is worth."""

    @property
    def state(self) -> RunState:
        """What is known now."""
        return self.session.ledger.state

    def begin(self, command: str) -> None:
        """Say that something is about to be done; a crash from here on is put right."""
        branch = self.session.branch
        begin(
            self.session.ledger,
            head=branch.commit or "",
            branch=branch.shown,
            plan=digest_of(self.data),
            settings={"command": command},
        )

    def finish(self) -> None:
        """Publish the statuses and commit the runner's documents."""
        ledger, project = self.session.ledger, self.session.project
        statuses = self._statuses()
        for task in self.plan.tasks:
            status, note = statuses[task.id]
            if says_other(task, status, note) or (
                task.id in self.told | self.regraded and note != task.note
            ):
                self.board.say(task.id, status, note)
        if self.board.due(now=True):
            self.board.publish(ledger.note, head=project.head().commit or "")
        document = PlanDocument(project.plan_path, self._statuses, self.board.edit)
        ids = [task.id for task in self.plan.tasks]
        self.session.close_books(document, ids, ExitCode.OK)

    @cached_property
    def board(self) -> StatusWriter:
        """What writes statuses into the plan."""
        project = self.session.project
        return StatusWriter(project.root / project.plan_path, project.settings.id_prefixes)

    def _statuses(self) -> dict[str, tuple[Status, str]]:
        found = {}
        for task in self.plan.tasks:
            known = self.state.task(task.id)
            note = known.note if task.id in self.told else format_note(known, task.note)
            found[task.id] = (known.status, note)
        return found


@contextmanager
def open_transaction(project: Project) -> Iterator[Transaction]:
    """Hold the run's lock, finish what a crash left, read file, journal and git together.

    Raises RunnerError where a run is going on, and in the middle of a merge.
    """
    data = project.plan_bytes
    plan = project.plan(data)
    require_readable(plan)
    with Session(project, plan.tasks) as session:
        ongoing = session.repository.state().ongoing
        if ongoing:
            raise RunnerError(
                f"a {ongoing} is in progress",
                hint=f"finish it (git {ongoing} --continue) or give it up (--abort)",
            )
        data = project.plan_bytes  # a crash may have been put right in it
        plan = project.plan(data)
        facts = recovery.gather_facts(
            session.repository, session.ledger.state, plan.tasks, project.plan_file
        )
        recovery.reconcile(plan.tasks, session.ledger, facts)
        yield Transaction(session, plan, data)


def require_readable(plan: Plan) -> None:
    """Raise RunnerError where the plan has mistakes: what it says of the tasks is not sure."""
    errors = [problem for problem in plan.problems if problem.is_error]
    if errors:
        from runner.plan.diagnostic import render

        text = "\n\n".join(render(problem) for problem in errors)
        raise RunnerError("the plan has mistakes; nothing was done", detail=text)
