"""Results of a run for the tests of its reports, as hostile as foreign text can be."""

from runner.journal.events import (
    AttemptFinished,
    AttemptStarted,
    GateCompleted,
    GateStarted,
    Record,
    TaskBlocked,
    TaskDone,
)
from runner.journal.state import RunState
from runner.model import (
    Coverage,
    Ending,
    Finding,
    Level,
    Proof,
    Reason,
    Severity,
    Spec,
    Status,
    Verdict,
    digest_of,
)
from runner.report.results import Results, TaskResult

SPEC = Spec("sha256:" + "1" * 64, "sha256:" + "2" * 64)
PASSED = Proof(
    "TC-001", "test", "true", Verdict.PASS, 0, 0.25, digest_of(b""), Level.UNIT, (("passed", 3),)
)
FAILED = Proof("gate:lint", "gate", "false", Verdict.FAIL, 1, 1.5, digest_of(b""))
FINDING = Finding(
    "TC-002",
    "100% wrong: ]]> <b> & \x1b[31m\u202e\uffff",
    "src/a,b:c.py",
    3,
    7,
    hint="mend | it",
    detail="```\nassert 1 == 2\x00\r\n::error::no\n",
)
WARNING = Finding("markers", "a new `noqa`", "src/a.py", 9, severity=Severity.WARNING)


def some_results(folder=""):
    """One task of each kind."""
    return Results(
        name='Bookings "<1>" \x1b',
        plan="TASK-GRAPH.md",
        folder=folder,
        seconds=12.5,
        started="2026-11-21T10:00:00.000001Z",
        tasks=(
            TaskResult(
                "TASK-001",
                "Model",
                3,
                Status.DONE,
                commit="a" * 40,
                attempts=2,
                seconds=2.5,
                proofs=(PASSED,),
                findings=(WARNING,),
                coverage=Coverage(84.5, 120, 70.0),
            ),
            TaskResult(
                "TASK-002",
                "API <b>|x|@everyone",
                9,
                Status.BLOCKED,
                Reason.CHECKS,
                "TC-002 failed 2 times",
                attempts=2,
                seconds=3.0,
                proofs=(FAILED,),
                findings=(FINDING, WARNING),
            ),
            TaskResult(
                "TASK-003", "Pay", 15, Status.BLOCKED, Reason.TOOL, "tool tsc is not on PATH"
            ),
            TaskResult("TASK-004", "Docs", 21, Status.PENDING, waits_for=("TASK-002",)),
            TaskResult("TASK-005", "Old", 27, Status.STALE, note="CHANGE-001"),
        ),
    )


class Story:
    """Events as a ledger would hand them to its listeners."""

    def __init__(self, *listeners):
        self.state = RunState()
        self._listeners = listeners

    def tell(self, event, task="TASK-001", attempt=1):
        seq = self.state.seq + 1
        record = Record(
            id=f"id-{seq}",
            seq=seq,
            time="2026-11-21T10:00:00.000000Z",
            run="run-1",
            type="",
            task=task,
            attempt=attempt,
            cause="",
            origin=f"id-{seq}",
            producer="test",
            event=event,
        )
        self.state = self.state.after(record)
        for listener in self._listeners:
            listener(record, self.state)

    def started(self, task="TASK-001", attempt=1):
        self.tell(AttemptStarted(base="", implementer="blocks", spec=SPEC), task, attempt)

    def gate(self, task="TASK-001", proof=PASSED):
        self.tell(GateStarted(gate=proof.id, command=proof.command), task)
        self.tell(GateCompleted(proof=proof), task)

    def done(self, task="TASK-001", attempt=1):
        passed = AttemptFinished(ending=Ending.PASSED, tree="", seconds=2.0, proofs=(PASSED,))
        self.tell(passed, task, attempt)
        self.tell(TaskDone(spec=SPEC, commit="b" * 40, proofs=(PASSED,)), task, attempt)

    def failed(self, task="TASK-001", attempt=1):
        event = AttemptFinished(
            ending=Ending.FAILED, tree="", seconds=3.0, findings=(FINDING,), proofs=(FAILED,)
        )
        self.tell(event, task, attempt)

    def blocked(self, task="TASK-001", attempt=1):
        self.tell(TaskBlocked(reason=Reason.CHECKS, note="TC-002 failed"), task, attempt)
