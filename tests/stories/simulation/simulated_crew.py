"""A crew on a virtual clock: results fail, get lost, come late, twice, or in another order."""

import heapq
from itertools import count

from msgspec.structs import replace
from simulated_world import proposal

from runner.journal.events import GateCompleted
from runner.model import (
    Ending,
    Failure,
    Finding,
    Level,
    Outcome,
    Proof,
    Reason,
    Usage,
    Verdict,
    digest_of,
)
from runner.model.work import WAITS_FOR_BATCH
from runner.run.resource_locks import find_collision
from runner.run.workers import Asking, Finished, Happened, Interrupted, Tracing

SLOTS = 3
FATES = {
    "pass": 58,
    "flaky": 6,
    "fail": 10,
    "blocked": 2,
    "lost": 6,
    "late": 6,
    "twice": 6,
    "asks": 3,
    "traces": 3,
    "cancelled": 3,
    "overload": 4,
    "unreadable": 3,
}
NOT_OF_SUITES = frozenset({"asks", "traces", "overload", "unreadable", "late", "twice"})
"""What happens to implementers, or on a cluster, and never to a test suite of several tasks."""
FAILURES = {"overload": Failure.TRANSIENT, "unreadable": Failure.SEMANTIC}


class SimulatedCrew:
    """Hands out slots as the real one does; `wait` lets the clock run to what comes next."""

    inline = False

    def __init__(self, world, journal, tasks, owned, capacity):
        self.world, self.journal, self.tasks = world, journal, tasks
        self.owned, self.capacity = owned, capacity
        self.interrupted = False
        self.tracer = lambda _assignment, _outcome: ()
        self.started = []
        self.ended = set()
        self._not_before = {}
        self._free = list(range(SLOTS))
        self._busy = {}
        self._events = []
        self._order = count()
        self._outputs = sorted(
            change.path for task in tasks.values() for change in proposal(task, world, "")
        )
        if not world.calm:
            for _ in range(world.rng.randrange(4)):
                self._at(world.rng.random() * 30, "meddle", None)

    # --- what the engine asks ---

    @property
    def working(self):
        return tuple(self._busy)

    @property
    def has_free_slot(self):
        return bool(self._free)

    def stand(self, _assignment):
        """Nothing stands: what is tried out is who starts when."""

    def take_slot(self):
        return self._free.pop()

    def start(self, assignment, slot):
        self._must_be_allowed(assignment)
        self.started.append((assignment.task.id, assignment.attempt))
        self._busy[assignment.task.id] = (slot, assignment)
        rng = self.world.rng
        fate = "pass" if self.world.calm else rng.choices([*FATES], [*FATES.values()])[0]
        if assignment.gates and fate in NOT_OF_SUITES:
            fate = "pass"
        seconds = rng.lognormvariate(1.0, 0.8)
        if rng.random() < 0.4:
            self._at(seconds * rng.choice((0.5, 1.5)), "tell", assignment)  # or after its end
        outcome = self._outcome(assignment, fate, seconds)
        match fate:
            case "lost":
                self._at(20, "end", (assignment, self._lost(outcome)))
            case "late":
                self._at(20, "end", (assignment, self._lost(outcome)))
                self._at(20 + seconds, "end", (assignment, outcome))
            case "twice":
                self._at(seconds, "end", (assignment, outcome))
                self._at(seconds + rng.choice((0, 1, 9)), "end", (assignment, outcome))
            case "cancelled":
                self._at(
                    seconds, "cancel", (assignment, replace(outcome, ending=Ending.INTERRUPTED))
                )
            case "asks" | "traces":
                self._at(seconds, fate, (assignment, outcome))
            case _:
                self._at(seconds, "end", (assignment, outcome))

    @property
    def has_news(self):
        return bool(self._events) and self._events[0][0] <= self.world.now

    def wait(self, seconds=None):
        until = None if seconds is None else self.world.now + seconds
        while True:
            if until is not None and (not self._events or self._events[0][0] > until):
                self.world.now = until
                return None
            at, _, what, about = heapq.heappop(self._events)
            self.world.now = max(self.world.now, at)
            message = self._message(what, about)
            if message is not None:
                return message

    def end(self, task):
        """One attempt is over at once; whatever else would have come of it comes too late."""
        _, assignment = self._busy[task]
        self.ended.add(task)
        self._at(0, "end", (assignment, self._lost(self._outcome(assignment, "pass", 0.0))))

    def cancel(self):
        """What runs comes back at once, interrupted; nothing else comes any more."""
        self._events.clear()
        for _, assignment in self._busy.values():
            lost = self._lost(self._outcome(assignment, "pass", 0.0))
            self._at(0, "end", (assignment, lost))

    # --- what happens ---

    def _at(self, seconds, what, about):
        heapq.heappush(self._events, (self.world.now + seconds, next(self._order), what, about))

    def _message(self, what, about):
        match what:
            case "meddle":
                if self.world.meddle(self._outputs):
                    self.interrupted = True
                    return Interrupted()
            case "tell":
                return Happened(about.task.id, about.attempt, GateCompleted(a_proof(Verdict.PASS)))
            case "asks":
                assignment, outcome = about
                return Asking(outcome, lambda _: self._at(1, "end", (assignment, outcome)))
            case "traces":
                assignment, outcome = about
                answer = lambda _: self._at(1, "end", (assignment, outcome))  # noqa: E731
                return Tracing(assignment, outcome, answer)
            case "cancel":
                self.ended.add(about[0].task.id)
                return self._end(*about)
            case "end":
                return self._end(*about)
        return None

    def _end(self, assignment, outcome):
        id_ = assignment.task.id
        if self._busy.get(id_, (0, None))[1] is assignment:
            self._free.append(self._busy.pop(id_)[0])
            if outcome.failure is Failure.TRANSIENT:
                self._not_before[id_] = self.world.now + max(0.8, outcome.retry_after)
        return Finished(id_, lambda: outcome)

    def _lost(self, outcome):
        return Outcome(outcome.task, outcome.attempt, Ending.INTERRUPTED, outcome.base, "")

    def _outcome(self, assignment, fate, seconds):
        task, world = assignment.task, self.world
        changes = assignment.carried or proposal(task, world, assignment.base)
        failed = fate in ("fail", "blocked", *FAILURES)
        ending = Ending.FAILED if failed else Ending.PASSED
        ending = Ending.BLOCKED if fate == "blocked" else ending
        proofs = () if assignment.stands else (a_proof(verdict_of(fate)),)
        if world.has_suite and not failed and not assignment.gates and len(self._busy) > 1:
            proofs += (replace(a_gate(Verdict.SKIPPED), note=WAITS_FOR_BATCH),)
        if assignment.gates and ending is not Ending.BLOCKED:
            proofs = (a_gate(verdict_of(fate)),)
        return Outcome(
            task=task.id,
            attempt=assignment.attempt,
            ending=ending,
            base=assignment.base,
            tree=digest_of(f"{task.id} {assignment.attempt}".encode())[-40:],
            changes=changes,
            findings=(Finding("TC-001", "it failed"),) if failed else (),
            proofs=proofs,
            reason=Reason.TOOL if fate == "blocked" else None,
            seconds=round(seconds, 3),
            failure=FAILURES.get(fate),
            retry_after=world.rng.choice((0, 0, 7)) if fate == "overload" else 0.0,
            usage=Usage(900, 100, 0.01, 3) if fate in FAILURES else Usage(),
        )

    def _must_be_allowed(self, assignment):
        """What must hold whenever a task starts."""
        task, state = assignment.task, self.journal.state
        assert self.world.now >= self._not_before.get(task.id, 0), f"{task.id} came back too soon"
        assert task.id not in self._busy, f"{task.id} runs already"
        undone = [id_ for id_ in task.depends_on if str(state.task(id_).status) != "DONE"]
        assert not undone, f"{task.id} started before {undone}"
        for id_ in self._busy:
            met = find_collision(task, self.tasks[id_], self.owned)
            assert met is None, f"{task.id} and {id_} run together, and share {met}"
        for name, there in self.capacity.items():
            used = sum(
                float(one.amount)
                for id_ in (*self._busy, task.id)
                for one in self.tasks[id_].uses
                if one.name == name
            )
            assert used <= there, f"{used:g} {name} are used, and there are {there:g}"


def verdict_of(fate):
    return {"flaky": Verdict.FLAKY, "fail": Verdict.FAIL}.get(fate, Verdict.PASS)


def a_gate(verdict):
    return replace(a_proof(verdict), id="gate:tests", kind="gate")


def a_proof(verdict):
    return Proof(
        "TC-001", "test", "true", verdict, 0, 0.5, digest_of(b""), Level.UNIT, (), "log", ""
    )
