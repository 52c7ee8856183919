"""A worker's assignment, and what its job slot has to work with."""

from __future__ import annotations

from dataclasses import field
from functools import partial
from threading import Semaphore
from typing import TYPE_CHECKING, NamedTuple, Protocol

from runner.config.values import count_cores
from runner.held_out.part import AuthorTests, HeldOutPart
from runner.implementers.base import Allowance, Mode
from runner.journal.events import AttemptStarted
from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.process.package_links import lay_out_shares

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path
    from threading import Event

    from runner.config.settings import Settings
    from runner.context.brief import Brief
    from runner.gates.base import Check, GateContext, Proved
    from runner.gates.proof_cache import ProofMemory
    from runner.gates.regression import Suspects
    from runner.held_out import proof
    from runner.held_out.site import HeldOutSite
    from runner.implementers.base import Implementer
    from runner.journal.events import Event as Happening
    from runner.journal.session_events import (
        PermissionAnswered,
        PermissionAsked,
        SecretLeased,
        SecretReturned,
    )
    from runner.model import Change, GateSpec, Outcome, ReviewMode, Task, TaskPlan
    from runner.model.work import AcceptanceRow
    from runner.process.base import Place, Sandbox
    from runner.repo.included_files import IncludedFiles
    from runner.repo.scratch import Scratch, Submodules
    from runner.run.review import Ruling
    from runner.writes.pipeline import WriteRules
    from runner.writes.sast import SastPool, SastScan

    TellOfSecrets = Callable[[str, int, SecretLeased | SecretReturned], None]
    """Hands an event of a task's attempt to the journal."""
else:
    proof = lazy_module("runner.held_out.proof")

_PREPARING = Semaphore(max(2, count_cores()))
"""Scratch trees that are made at once. Each takes a hundred short calls of the system, and after
each of them a thread waits for the interpreter's lock: 64 at once took five times as long as the
same in turn."""


class RecordedWork(NamedTuple):
    """What landed before: its changes, and what was found of its acceptance items."""

    changes: tuple[Change, ...] = ()
    rows: tuple[AcceptanceRow, ...] = ()


@dataclass(frozen=True, slots=True)
class Assignment:
    """Everything a worker gets to know: it asks nobody else."""

    task: Task
    attempt: int
    base: str
    """Commit to build on; empty before the first commit."""
    brief: Brief
    rules: WriteRules
    implementer: Implementer | None
    """None where only the proof runs again, on `carried`."""
    review: ReviewMode
    author: str = ""
    """Whose work it is: an implementer's name, also where it was made before; else a person's."""
    left: Allowance = field(default_factory=Allowance)
    """What it may still use of the budgets of attempt, task and run."""
    carried: tuple[Change, ...] = ()
    """Changes that were made before: proven on a new base, or a person's edit to go on from."""
    unproven: frozenset[str] = frozenset()
    """Tasks whose tests are not run against this change: they are built anew after it."""
    stands: bool = False
    """Whether its own tests need not run again: what they ran is the same on this base."""
    contracts_stand: bool = False
    """Whether its contracts need not, either."""
    beneath: frozenset[str] = frozenset()
    """Tasks not DONE yet that this change stands on: their tests are run against it."""
    gates: tuple[GateSpec, ...] = ()
    """All that runs on `carried`, the changes of several tasks that passed all else."""
    rows: tuple[AcceptanceRow, ...] = ()
    """What was found of the acceptance items when `carried` landed before: the same bytes."""
    taken_back: tuple[Change, ...] = ()
    """What takes back the changes that it stands on and that have not landed."""
    reviewed: bool = True
    """Whether a person wrote the change, or will have seen it before it lands."""
    by_person: bool = False
    """Whether a person wrote the change themselves: blocks of the plan, a branch handed in."""
    revised: bool = False
    """Whether what is to be built was changed since the task last landed."""
    red_first: bool = False
    """Whether its test contracts must fail before anything is implemented."""
    again: bool = False
    """Whether it was DONE before: what it landed then is its own work, too."""
    former: tuple[tuple[str, bytes | None], ...] = ()
    """That work, for a worker who has no history: see `GateContext.former`."""
    secrets: tuple[tuple[str, str], ...] = ()
    """Names and values that this task's commands get."""
    held_out: HeldOutPart = field(default_factory=HeldOutPart)
    """Contracts that `task` does not name, since the implementer must not see their files."""
    author_tests: AuthorTests = AuthorTests()
    """Visible tests of a separate author; in the tree before the implementer starts."""
    mode: Mode = Mode.EXECUTE
    """What the implementer is asked for; in plan mode `review` is that of the plan."""
    plan: TaskPlan | None = None
    """The approved plan; in plan mode one that is there, and only has to be reviewed."""
    phase: int = 0
    """Which phase of the plan is to be built now, from 1; 0 for all of it at once."""

    @property
    def is_partial(self) -> bool:
        """Whether another phase of the plan follows: nothing lands before the last one."""
        return self.plan is not None and 0 < self.phase < len(self.plan.phases)

    @property
    def kind(self) -> str:
        """What the journal calls such an attempt."""
        if self.mode is Mode.PLAN:
            return "plan"
        if self.is_partial:
            return "phase"
        return "build" if self.implementer else "prove"

    @property
    def is_check(self) -> bool:
        """Whether nobody implements anything: only the proof runs, on the base as it is."""
        given = self.carried or self.author_tests.files
        return self.implementer is not None and self.implementer.name == "check" and not given


def start_of(assignment: Assignment, slot: int) -> AttemptStarted:
    """What the journal hears when an assignment begins in a slot."""
    implementer, brief = assignment.implementer, assignment.brief
    return AttemptStarted(
        base=assignment.base,
        implementer=implementer.name if implementer else "",
        spec=assignment.task.spec,
        patterns=tuple(pattern.id for pattern in brief.patterns),
        slot=slot,
        mode=assignment.kind,
        task_type=brief.kind,
        searched=brief.searched,
        model=assignment.task.model if getattr(implementer, "is_agent", False) else "",
    )


class SpareSites(Protocol):
    """Job slots that nobody works in now."""

    def lend(self) -> AbstractContextManager[WorkerContext | None]:
        """One of them for as long as this is entered; None where every slot is busy."""

    def claim(self) -> AbstractContextManager[bool]:
        """Keep one without a scratch tree, if one is free, for what works elsewhere."""

    @property
    def may_go_on(self) -> bool:
        """Whether what is lent is still nobody's."""


class Coordinator(Protocol):
    """Whom a worker tells and asks: the one thread that writes the journal."""

    @property
    def interrupted(self) -> bool:
        """Whether a person wants the run to end."""

    @property
    def cancelled(self) -> Event:
        """Set when everything is to end."""

    @property
    def lanes(self) -> SpareSites:
        """What workers use beside their own slots."""

    def ends(self, number: int) -> Event:
        """What is set when the work in a slot is to end."""

    def report(self, task: str, number: int, event: Happening) -> None:
        """Something for the journal."""

    def add_scan(self, task: str, number: int, scan: SastScan) -> None:
        """A scan to ask for its findings later."""

    def ask(self, outcome: Outcome) -> Ruling:
        """Have the writes reviewed, and wait for the answer."""

    def permit(
        self, task: str, number: int, question: PermissionAsked
    ) -> PermissionAnswered | None:
        """A person's word about one call; None where the question waits."""

    def trace(self, assignment: Assignment, outcome: Outcome) -> Suspects:
        """The tests of other tasks that a change may break."""


class SecretLender(Protocol):
    """Gives a task's commands secrets that a command of the person's own says, for a while."""

    def lend(
        self,
        task: Task,
        attempt: int,
        tell: TellOfSecrets,
        cancelled: Callable[[], bool] = ...,
        holder: str = ...,
    ) -> dict[str, str]:
        """Names and values. Raises RunnerError where one is not to be had."""

    def give_back(self, task: str, tell: TellOfSecrets) -> None:
        """Forget what a task had."""

    def give_all_back(self) -> None:
        """Forget everything."""

    def write(self, task: str, attempt: int, event: SecretLeased | SecretReturned) -> None:
        """Tell the journal, where no coordinator does."""


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """What one job slot works with."""

    scratch: Scratch
    place: Place
    sandbox: Sandbox
    settings: Settings
    logs: Path
    logs_shown: str
    workers: Coordinator
    """Hands events to the coordinator, which alone writes the journal."""
    show: Callable[[str, str], None]
    """Shows a line of progress of a task."""
    release: Callable[[], None]
    before: Callable[[str, str], bytes | None]
    """The bytes of a path in a commit."""
    base_environment: Mapping[str, str]
    """The allow-list of the person's own variables."""
    kept: Path
    """Folder in the user's cache for what is known of earlier trees."""
    memory: ProofMemory | None = None
    """What passed in this run."""
    sast: SastPool | None = None
    submodules: Submodules | None = None
    """What is checked out of the person's submodules; None where no person's tree is."""
    included: IncludedFiles | None = None
    """Ignored files of the repository that every tree gets."""
    leases: SecretLender | None = None
    """Secrets that commands of the person's own say; None where their values come along."""
    former: Callable[[Assignment], Mapping[str, bytes | None]] = lambda one: dict(one.former)
    """What a task landed before its attempt, as it stands at the base: see `GateContext.former`."""
    held_out: HeldOutSite | None = None
    """Where held-out files lie; None on a worker that must not have them."""
    number: int = 0
    has_company: Callable[[], bool] = lambda: False
    """Whether other tasks may land together with the one in this slot."""
    of_commits: bool = True
    """Whether a base is a commit; a worker of a cluster knows trees alone."""

    @property
    def cancelled(self) -> Event:
        """Set when the run is to end, or the task in this slot alone."""
        return self.workers.ends(self.number)

    def teller(self, assignment: Assignment) -> Callable[[str], None]:
        """What shows the output lines of this task's commands."""
        return lambda line: self.show(assignment.task.id, line)

    def reset(self, base: str) -> None:
        """Make the scratch tree the base, with the shared folders in their places."""
        with _PREPARING:
            self.scratch.reset(base or None, is_commit=self.of_commits)
            if self.submodules is not None:
                self.place.submodules.clear()
                self.place.submodules.update(self.submodules.reset(self.scratch.gitlinks))
        lay_out_shares(self.place, mounted=self.sandbox.contains)

    def lay_out(self, base: str, changes: tuple[Change, ...]) -> None:
        """Make the scratch tree the base with these changes."""
        self.reset(base)
        self.scratch.apply(changes)

    def prove_stored(self, base: str, check: Check, context: GateContext) -> Proved | None:
        """Prove a held-out contract with files of the store; None where the tree has them."""
        return proof.prove_stored(self.held_out, partial(self.lay_out, base), check, context)

    def close(self) -> None:
        """Give the slot back, and forget what its commands were lent."""
        if self.leases is not None:
            self.leases.give_all_back()
        self.release()

    def environment(self, assignment: Assignment) -> dict[str, str]:
        """What a task's commands get beside the allow-list."""
        return {
            **self.variables(assignment.task.id),
            "RUNNER_ATTEMPT": str(assignment.brief.attempt),
            **dict(assignment.secrets),
        }

    def variables(self, task: str) -> dict[str, str]:
        """The same of no attempt, without what is secret."""
        return {
            **self.base_environment,
            "RUNNER_TASK": task,
            "RUNNER_SLOT": str(self.number),
            "RUNNER_PORT_BASE": str(20000 + 100 * self.number),
        }
