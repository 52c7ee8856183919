"""A worker's assignment, and the tools of its job slot."""

from __future__ import annotations

from functools import partial
from threading import Semaphore
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Struct, field

from runner.config.setting_values import count_cores
from runner.held_out.part import AuthorTests, HeldOutPart
from runner.implementers.base import Allowance, Mode
from runner.journal.events import AttemptStarted
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
    from runner.held_out.store import HeldOutSite
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
    """Sends an event of a task's attempt to the journal."""
else:
    proof = lazy_module("runner.held_out.proof")

_PREPARING = Semaphore(max(2, count_cores()))
"""Scratch trees that are made at once. Each takes a hundred short calls of the system, and after
each of them a thread waits for the interpreter's lock: 64 at once took five times as long as the
same in turn."""


class RecordedWork(NamedTuple):
    """Work that landed before: its changes, and the verdicts on its acceptance items."""

    changes: tuple[Change, ...] = ()
    rows: tuple[AcceptanceRow, ...] = ()


class Assignment(Struct, frozen=True):
    """Everything a worker gets to know: it asks nobody else."""

    task: Task
    attempt: int
    base: str
    """Commit on which to build; empty before the first commit."""
    brief: Brief
    rules: WriteRules
    implementer: Implementer | None
    """None if only the proof runs again, on `carried`."""
    review: ReviewMode
    author: str = ""
    """Author of the work, also of earlier work: an implementer's name; else a person's."""
    left: Allowance = field(default_factory=Allowance)
    """Remaining budgets of attempt, task and run."""
    carried: tuple[Change, ...] = ()
    """Earlier changes: to prove on a new base, or a person's edit to continue from."""
    unproven: frozenset[str] = frozenset()
    """Tasks whose tests are not run on this change: they are rebuilt after it."""
    stands: bool = False
    """Whether its own tests can be skipped: what they ran is unchanged on this base."""
    contracts_stand: bool = False
    """Whether its contracts can also be skipped."""
    beneath: frozenset[str] = frozenset()
    """Tasks not DONE yet on which this change is based: their tests run on it."""
    gates: tuple[GateSpec, ...] = ()
    """All that runs on `carried`, the changes of several tasks that passed all else."""
    rows: tuple[AcceptanceRow, ...] = ()
    """Acceptance results from when `carried` landed before, with the same bytes."""
    taken_back: tuple[Change, ...] = ()
    """Changes that revert the unlanded changes on which it is based."""
    reviewed: bool = True
    """Whether a person wrote the change or reviews it before it lands."""
    by_person: bool = False
    """Whether a person wrote the change: blocks of the plan, a submitted branch."""
    revised: bool = False
    """Whether the specification changed since the task last landed."""
    red_first: bool = False
    """Whether its test contracts must fail before the implementation."""
    again: bool = False
    """Whether it was DONE before: then its earlier landing is also its own work."""
    former: tuple[tuple[str, bytes | None], ...] = ()
    """That work, for a worker without history: see `GateContext.former`."""
    secrets: tuple[tuple[str, str], ...] = ()
    """Names and values of secrets for this task's commands."""
    held_out: HeldOutPart = field(default_factory=HeldOutPart)
    """Contracts not in `task`, since the implementer must not see their files."""
    author_tests: AuthorTests = AuthorTests()
    """Visible tests of a separate author; in the tree before the implementer starts."""
    mode: Mode = Mode.EXECUTE
    """Mode of the implementer; in plan mode `review` applies to the plan."""
    plan: TaskPlan | None = None
    """Approved plan; in plan mode an existing one that only needs a review."""
    phase: int = 0
    """Phase of the plan to build now, from 1; 0 for all of it at once."""

    @property
    def is_partial(self) -> bool:
        """Whether another phase of the plan follows: nothing lands before the last one."""
        return self.plan is not None and 0 < self.phase < len(self.plan.phases)

    @property
    def kind(self) -> str:
        """Kind of the attempt in the journal."""
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
    """Return the journal event for the start of an assignment in a slot."""
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
        """Lend a free slot while the context is open; None if every slot is busy."""

    def claim(self) -> AbstractContextManager[bool]:
        """Reserve a slot without a scratch tree, if one is free, for work done elsewhere."""

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
        """Slots that workers can use in addition to their own."""

    def ends(self, number: int) -> Event:
        """Return the event that is set to stop the work in a slot."""

    def report(self, task: str, number: int, event: Happening) -> None:
        """Send an event to the journal."""

    def add_scan(self, task: str, number: int, scan: SastScan) -> None:
        """Register a scan whose findings are read later."""

    def ask(self, outcome: Outcome) -> Ruling:
        """Request a review of the writes and wait for the ruling."""

    def permit(
        self, task: str, number: int, question: PermissionAsked
    ) -> PermissionAnswered | None:
        """Return a person's answer about one call; None if the question has to wait."""

    def trace(self, assignment: Assignment, outcome: Outcome) -> Suspects:
        """Return the tests of other tasks that a change may break."""


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
        """Return the leased secrets as names and values. Raises RunnerError."""

    def give_back(self, task: str, tell: TellOfSecrets) -> None:
        """Forget the secrets of a task."""

    def forget_all_secrets(self) -> None:
        """Forget all secrets."""

    def write(self, task: str, attempt: int, event: SecretLeased | SecretReturned) -> None:
        """Write an event to the journal if there is no coordinator."""


class WorkerContext(Struct, frozen=True):
    """The context of one job slot."""

    scratch: Scratch
    place: Place
    sandbox: Sandbox
    settings: Settings
    logs: Path
    logs_shown: str
    workers: Coordinator
    """Sends events to the coordinator, the only writer of the journal."""
    show: Callable[[str, str], None]
    """Shows a line of progress of a task."""
    release: Callable[[], None]
    before: Callable[[str, str], bytes | None]
    """Returns the bytes of a path in a commit."""
    base_environment: Mapping[str, str]
    """Allow-listed variables of the user."""
    kept: Path
    """Folder in the user's cache with results of earlier trees."""
    memory: ProofMemory | None = None
    """Checks that passed in this run."""
    sast: SastPool | None = None
    submodules: Submodules | None = None
    """Checked-out submodules of the user's tree; None without such a tree."""
    included: IncludedFiles | None = None
    """Ignored files of the repository that every tree gets."""
    leases: SecretLender | None = None
    """Secrets printed by the user's own commands; None if their values are sent along."""
    former: Callable[[Assignment], Mapping[str, bytes | None]] = lambda one: dict(one.former)
    """The task's earlier landing as it is at the base: see `GateContext.former`."""
    held_out: HeldOutSite | None = None
    """Location of held-out files; None on a worker that must not have them."""
    number: int = 0
    has_company: Callable[[], bool] = lambda: False
    """Whether other tasks may land together with the one in this slot."""
    of_commits: bool = True
    """Whether a base is a commit; a cluster worker only knows trees."""

    @property
    def cancelled(self) -> Event:
        """Set when the run is to end, or the task in this slot alone."""
        return self.workers.ends(self.number)

    def teller(self, assignment: Assignment) -> Callable[[str], None]:
        """Return a function that shows output lines of this task's commands."""
        return lambda line: self.show(assignment.task.id, line)

    def reset(self, base: str) -> None:
        """Reset the scratch tree to the base, with the shared folders in their places."""
        with _PREPARING:
            self.scratch.reset(base or None, is_commit=self.of_commits)
            if self.submodules is not None:
                self.place.submodules.clear()
                self.place.submodules.update(self.submodules.reset(self.scratch.gitlinks))
        lay_out_shares(self.place, mounted=self.sandbox.contains)

    def lay_out(self, base: str, changes: tuple[Change, ...]) -> None:
        """Reset the scratch tree to the base and apply these changes."""
        self.reset(base)
        self.scratch.apply(changes)

    def prove_stored(self, base: str, check: Check, context: GateContext) -> Proved | None:
        """Prove a held-out contract with files of the store; None where the tree has them."""
        return proof.prove_stored(self.held_out, partial(self.lay_out, base), check, context)

    def close(self) -> None:
        """Release the slot and the secrets of its commands."""
        if self.leases is not None:
            self.leases.forget_all_secrets()
        self.release()

    def environment(self, assignment: Assignment) -> dict[str, str]:
        """Return the environment of a task's commands, in addition to the allow-list."""
        return {
            **self.variables(assignment.task.id),
            "RUNNER_ATTEMPT": str(assignment.brief.attempt),
            **dict(assignment.secrets),
        }

    def variables(self, task: str) -> dict[str, str]:
        """Return the variables without an attempt's own and without secrets."""
        return {
            **self.base_environment,
            "RUNNER_TASK": task,
            "RUNNER_SLOT": str(self.number),
            "RUNNER_PORT_BASE": str(20000 + 100 * self.number),
        }
