"""A proof by hand: scratch trees of what is there now, and what a check of a task needs in one."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from runner.app.build.run_parts import sandbox_of
from runner.app.change.change_source import of_working_tree
from runner.model import Action, Change, digest_of
from runner.run.proof.inspection import make_context
from runner.run.worker_setup import WorkerSetup
from runner.run.workers import WorkerPool
from runner.writes.safe_io import mode_beneath

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from runner.gates.base import GateContext
    from runner.model import Task
    from runner.project import Project
    from runner.repo.read import Repository
    from runner.run.assignment import WorkerContext

_PLAIN = 0o100644


class Slots(NamedTuple):
    """Scratch trees that are open side by side."""

    slots: tuple[WorkerContext, ...]
    crew: WorkerPool
    """What tells them that they are cancelled."""


def worker_setup(project: Project, repository: Repository) -> WorkerSetup:
    """What makes slots by the project's settings. Raises RunnerError where no sandbox can be had.

    Nobody hears what is printed in them: the proofs say it.
    """
    return WorkerSetup(
        root=project.root,
        repository=repository,
        cache=project.cache,
        settings=project.settings,
        sandbox=sandbox_of(project.settings),
        environ=project.environ,
        say=lambda _task, _line: None,
    )


@contextmanager
def open_slots(project: Project, repository: Repository, count: int = 1) -> Iterator[Slots]:
    """So many scratch trees, given back at the end. Raises RunnerError without a sandbox."""
    setup = worker_setup(project, repository)
    crew = WorkerPool(1, setup.site, inline=True)
    with ExitStack() as stack:
        stack.callback(crew.close)
        slots = []
        for number in range(count):
            slots.append(setup.site(number, crew))
            stack.callback(slots[-1].close)
        yield Slots(tuple(slots), crew)


class Snapshot(NamedTuple):
    """HEAD, with what is not committed."""

    head: str
    changes: tuple[Change, ...]

    @classmethod
    def of(cls, repository: Repository) -> Snapshot:
        """The project's files as they are now."""
        return cls(repository.head().commit or "", tuple(find_uncommitted(repository)))

    def put_into(self, site: WorkerContext) -> None:
        """Let a slot's tree hold exactly this."""
        site.reset(self.head)
        site.scratch.apply(self.changes)

    def context(
        self, site: WorkerContext, task: Task, environ: Mapping[str, str], logs: tuple[Path, str]
    ) -> GateContext:
        """What a check of a task needs there; `logs` as `make_context` takes it."""
        return make_context(
            site,
            task,
            environ=environ,
            logs=logs,
            changes=self.changes,
            before=partial(site.before, self.head),
            base=self.head,
        )


def find_uncommitted(repository: Repository) -> Iterator[Change]:
    """Files of the project that are not as HEAD has them, as a proposal would have them."""
    for one in of_working_tree(repository):
        before = None if one.before is None else digest_of(one.before)
        if one.after is not None:
            mode = mode_beneath(repository.root, one.path) or _PLAIN
            action = Action.CREATE if before is None else Action.MODIFY
            yield Change(one.path, action, mode, before, digest_of(one.after), one.after)
        elif before is not None:
            yield Change(one.path, Action.DELETE, 0, before, None)
