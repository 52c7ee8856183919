"""Tasks that passed all else and wait to land together, after one run of the project's test suite.

Each is proven on those before it, on commits beside the branch. The suite runs on the last of them,
and one swap of the branch lands all. Where it fails, it runs on fewer of them until one is found
with which it fails and without which it passes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from runner import effects
from runner.held_out.part import AuthorTests, HeldOutPart
from runner.model import Ending, ReviewMode, Verdict
from runner.model.work import WAITS_FOR_BATCH
from runner.run.landing.lander import Conflict, Moved
from runner.text.wording import join_few

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from runner.config.settings import Settings
    from runner.model import Finding, Outcome, Proof, Task
    from runner.run.landing.lander import Lander, Refusal
    from runner.run.preparation import Preparation
    from runner.run.worker_assignment import Assignment

_SHOWN = 12


class BatchMember(NamedTuple):
    """A task that passed all but the suite; `how` its writes were approved."""

    task: Task
    outcome: Outcome
    how: str
    commit: str = ""
    """Its changes on those of the members before, on no branch; empty before it joined."""


class BatchVerdict(NamedTuple):
    """What the suite says of a batch; for members that are not named, it has to run again."""

    passed: tuple[BatchMember, ...] = ()
    """These land together."""
    culprit: BatchMember | None = None
    """With its findings, where the suite fails with it and passes without it."""


class GateBatch(Struct):
    """Gathers members, asks for runs of the suite, and says what they mean; used by one thread."""

    preparation: Preparation
    lander: Lander
    settings: Settings
    members: list[BatchMember] = field(default_factory=list)
    runs_at: str = ""
    """The task in whose slot the suite runs, or is to run; empty where it does not."""
    _asked: tuple[BatchMember, ...] = ()
    """The members with whose changes it runs."""
    _passed: tuple[int, Outcome | None] = (0, None)
    """With how many members the suite passed, and that run."""
    _failed: tuple[int, Outcome | None] = (0, None)
    """With how many it failed; 0 where it did not."""
    _since: float = 0.0
    _placing: str = ""
    """The task that is proven again on the last member: the next one stands on it."""
    _later: list[BatchMember] = field(default_factory=list)
    """What has to be placed, or breaks tests of members: that counts once these have landed."""
    _made: set[str] = field(default_factory=set)
    """Every commit that was made for a member."""

    def is_open(self) -> bool:
        """Return whether any task waits in this batch."""
        return bool(self.members or self._later)

    @property
    def may_run(self) -> bool:
        """Whether the suite could run now, and does not."""
        return bool(self.members) and not self.runs_at

    @property
    def due_at(self) -> float | None:
        """When the members have waited long enough; None where nobody has to be woken for it."""
        at = self._since + self.settings.proof.gate_batch_seconds
        return at if self.may_run and at > effects.monotonic() else None

    @property
    def is_due(self) -> bool:
        """Whether the members have waited long enough, or wait for nothing."""
        return self.may_run and (self.due_at is None or not _find_waiting(self.members))

    # --- who is in it -----------------------------------------------------------------

    def takes(self, task: Task, outcome: Outcome) -> bool:
        """Return whether an outcome joins the batch, since its gate waits or members would move."""
        waits = bool(_find_waiting([BatchMember(task, outcome, "")]))
        return self.is_open() or outcome.base in self._made or waits

    def join(self, task: Task, outcome: Outcome, how: str) -> Refusal | None:
        """Have proven work wait for its batch; why it may not stand on the other members."""
        if self.runs_at or self._placing or self._is_outdated():
            self._later.append(BatchMember(task, outcome, how))
            return None
        tip = self.members[-1].commit if self.members else self.lander.head()
        if (refusal := self._place(task, outcome, tip)) is not None:
            return refusal
        self._since = self._since if self.members else effects.monotonic()
        outcome = replace(outcome, base=tip)
        self.members.append(BatchMember(task, outcome, how, self.lander.propose(outcome)))
        self._made.add(self.members[-1].commit)
        return None

    def _is_outdated(self) -> bool:
        """Return whether the branch moved below the members, so that each must be placed again."""
        moved = bool(self.members) and self.members[0].outcome.base != self.lander.head()
        if moved:
            self._end(self.members)
        return moved

    def _place(self, task: Task, outcome: Outcome, tip: str) -> Refusal | None:
        if outcome.base in self._made and outcome.base != tip:
            moved = self.lander.find_moved(outcome.base, tip)
            both = tuple(one.path for one in outcome.changes if one.path in moved)
            if moved:
                return Conflict(tip, both) if both else Moved(tip)
            outcome = replace(outcome, base=tip)  # by other commits to the same files
        return self.lander.find_refusal(task, outcome, tip)

    def above(self, assignment: Assignment) -> Assignment:
        """Return the assignment with the members' tests, because its base has their changes."""
        if not self.members or assignment.base != self.members[-1].commit:
            return assignment
        self._placing = assignment.task.id
        back = self.lander.diff(assignment.base, self.members[0].outcome.base)
        ids = frozenset(one.task.id for one in self.members)
        return replace(assignment, beneath=ids, taken_back=back)

    def forget(self, task: str) -> None:
        """Forget the task that is being placed, so that the next one may be placed."""
        self._placing = "" if self._placing == task else self._placing

    def delays(self, task: Task, outcome: Outcome, victims: Collection[str]) -> bool:
        """Return whether work that breaks members' tests must be proven again after they land."""
        breaks = any(one.task.id in victims for one in self.members)
        self._later += [BatchMember(task, outcome, "")] if breaks else []
        return breaks

    def withdraw(self, task: str) -> Outcome | None:
        """Take a task out; what it had, or None. Those after it have to be placed again."""
        found = next((one for one in (*self.members, *self._later) if one.task.id == task), None)
        if found in self.members:
            at = self.members.index(found)
            self._later, self.members = self.members[at + 1 :] + self._later, self.members[:at]
            self._forget_runs()
        elif found is not None:
            self._later.remove(found)
        return None if found is None else found.outcome

    def put_later(self, members: Iterable[BatchMember]) -> None:
        """Have members placed again, before what came meanwhile."""
        self._later = [*members, *self._later]

    def take_later(self) -> BatchMember | None:
        """Return the next task to place; None if it would have to be placed twice."""
        if self.runs_at or self._placing:
            return None
        may = (one for one in self._later if one.outcome.ending is Ending.PASSED)
        found = next(may if self.members else iter(self._later), None)
        if found is not None:
            self._later.remove(found)
        return found

    def give_up(self) -> tuple[BatchMember, ...]:
        """Everything that waits, where the run ends before it can land."""
        left = (*self.members, *self._later)
        self.members, self._later, self._placing = [], [], ""
        self._forget_runs()
        return left

    # --- runs of the suite ------------------------------------------------------------

    def request(self) -> Assignment | BatchVerdict | None:
        """Return a suite run for all members, a verdict if none is needed, or None if all moved."""
        if self._is_outdated():
            return None
        if not _find_waiting(self.members):
            verdict = BatchVerdict(tuple(self.members))
            self._end(())
            return verdict
        return self._make_run(len(self.members))

    def _make_run(self, count: int) -> Assignment:
        self._asked = tuple(self.members[:count])
        task, outcome, _, commit = self._asked[-1]
        self.runs_at = task.id
        base, waiting = self._asked[0].outcome.base, _find_waiting(self._asked)
        gates = (gate for one in self._asked for gate in self.settings.gates_for(one.task.type))
        chosen = {gate.name: gate for gate in gates if f"gate:{gate.name}" in waiting}
        carried = self.lander.diff(base, commit)
        return replace(
            self.preparation.make_carried(task, carried, base, outcome.attempt),
            gates=tuple(chosen.values()),
            held_out=HeldOutPart(),
            author_tests=AuthorTests(),
            review=ReviewMode.OFF,
            red_first=False,
            stands=True,
        )

    def take_answer(self, outcome: Outcome) -> Outcome | None:
        """Return the outcome of the task whose slot ran the suite; None for any other outcome."""
        ran = all(one.kind == "gate" for one in outcome.proofs)
        mine = ran and self.runs_at == outcome.task
        return self._asked[-1].outcome if mine else None

    def hear(self, outcome: Outcome) -> Assignment | BatchVerdict | None:
        """Hear how a run ended: the verdict, the run that has to follow, or None to begin anew."""
        count, self.runs_at = len(self._asked), ""
        if self._asked != tuple(self.members[:count]) or outcome.ending is Ending.INTERRUPTED:
            self._forget_runs()  # somebody was taken out meanwhile
            return None
        if outcome.ending is Ending.PASSED:
            self._passed = count, outcome
        else:
            self._failed = count, outcome
        (good, passed), (bad, failed) = self._passed, self._failed
        if bad - good > 1:
            return self._make_run((good + bad) // 2)
        before, rest = self.members[:good], self.members[good:]
        landing = tuple(_with_gates(before, passed)) if passed else ()
        culprit = _accuse(rest.pop(0), before, failed) if failed else None
        self._end(rest)
        return BatchVerdict(landing, culprit)

    def _end(self, rest: Iterable[BatchMember]) -> None:
        self._later, self.members = [*rest, *self._later], []
        self._forget_runs()

    def _forget_runs(self) -> None:
        self._passed = self._failed = (0, None)


def _find_waiting(members: Iterable[BatchMember]) -> set[str]:
    """Return the ids of the gates that wait for a batch."""
    every = (proof for one in members for proof in one.outcome.proofs)
    return {proof.id for proof in every if proof.note == WAITS_FOR_BATCH}


def _with_gates(members: Sequence[BatchMember], run: Outcome) -> Iterator[BatchMember]:
    """Return the members with the proofs of the suite run, which name all members."""
    names = join_few([one.task.id for one in members]) if len(members) > 1 else ""
    batch = f"ran once for {names} on their merged tree {run.tree[:_SHOWN]}" if names else ""
    for one in members:
        proofs = _replace_waiting(one.outcome, run, batch)
        findings = (*one.outcome.findings, *run.findings)
        yield one._replace(outcome=replace(one.outcome, proofs=proofs, findings=findings))


def _replace_waiting(outcome: Outcome, run: Outcome, note: str) -> tuple[Proof, ...]:
    ran = {one.id: one for one in run.proofs}
    for one in (one for one in run.proofs if note and one.verdict is not Verdict.SKIPPED):
        ran[one.id] = replace(one, note="; ".join(filter(None, (one.note, note))))
    return tuple(
        ran.get(one.id, one) if one.note == WAITS_FOR_BATCH else one for one in outcome.proofs
    )


def _accuse(culprit: BatchMember, before: Sequence[BatchMember], run: Outcome) -> BatchMember:
    """Return the culprit with the suite's findings, and the members with which it passes."""
    names = join_few([one.task.id for one in before])
    findings = (_name_others(one, names) for one in run.findings)
    outcome = replace(
        culprit.outcome,
        ending=Ending.FAILED,
        findings=(*culprit.outcome.findings, *findings),
        proofs=_replace_waiting(culprit.outcome, run, ""),
    )
    return culprit._replace(outcome=outcome)


def _name_others(finding: Finding, names: str) -> Finding:
    if not (names and finding.refuses):
        return finding
    return replace(
        finding, message=f"{finding.message}; the gate passes with {names} without this task"
    )
