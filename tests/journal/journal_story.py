"""A small history with every kind of event in it, as records."""

from __future__ import annotations

from msgspec.structs import replace

from runner.journal.events import (
    CUT_OFF,
    NAMES,
    AttemptFinished,
    AttemptStarted,
    ChangeRecorded,
    CheckpointWritten,
    DecisionMade,
    GateCompleted,
    GateStarted,
    ModeSwitched,
    PlanUpdated,
    Record,
    RunFinished,
    RunStarted,
    RunStuck,
    StageCompleted,
    StatusesPublished,
    TaskAdopted,
    TaskApproved,
    TaskBlocked,
    TaskDone,
    TaskFailed,
    TaskLanded,
    TaskLanding,
    TaskReopened,
    TaskStaled,
    WriteRejected,
    WriteReviewed,
    WriteStaged,
)
from runner.journal.records import encode
from runner.journal.session_events import (
    ArtifactStored,
    AuthorFinished,
    DraftLanded,
    DraftProposed,
    DraftReviewed,
    HistoryMoved,
    HistoryMoving,
    LeaseMoved,
    PermissionAnswered,
    PermissionAsked,
    PlanProposed,
    PlanReviewed,
    Pruned,
    ReviewSwitched,
    SecretLeased,
    SecretReturned,
    ShipDeclared,
    ShipReopened,
    TaskWaived,
    ToolCalled,
    ToolReturned,
    TreeVerified,
)
from runner.model import (
    Action,
    Coverage,
    Decision,
    Ending,
    Failure,
    Finding,
    Level,
    Phase,
    Proof,
    Reason,
    Severity,
    Spec,
    Status,
    TaskPlan,
    Usage,
    Verdict,
    digest_of,
)

SPEC = Spec(digest_of(b"what"), digest_of(b"proof"))
OTHER = Spec(digest_of(b"other"), digest_of(b"proof"))
BASE, TREE, COMMIT = "b" * 40, "c" * 40, "d" * 40
FINDING = Finding("TC-002", "1 failed: ünder \u202e \udc80", "src/a.py", 3, severity=Severity.ERROR)
PROOF = Proof(
    "TC-002",
    "test",
    "python -m pytest -q",
    Verdict.PASS,
    0,
    1.5,
    digest_of(b"out"),
    Level.UNIT,
    (("passed", 3), ("failed", 0)),
    "artifacts/build/logs/a.log",
)
COVERAGE = Coverage(84.0, 120, 70.0)
STARTED = AttemptStarted(base=BASE, implementer="blocks", spec=SPEC, patterns=("PATTERN-001",))
PASSED = AttemptFinished(
    ending=Ending.PASSED, tree=TREE, seconds=2.0, proofs=(PROOF,), coverage=COVERAGE
)
USED = Usage(input_tokens=1200, output_tokens=80, dollars=0.02, tool_calls=3)
FAILED = AttemptFinished(
    ending=Ending.FAILED,
    tree=TREE,
    seconds=3.0,
    findings=(FINDING,),
    usage=USED,
    failure=Failure.SEMANTIC,
)
PLAN = TaskPlan(
    ("write the model", "test it"), ("src/a.py",), phases=(Phase("first", ("one",), ("src/a.py",)),)
)
LANDING = TaskLanding(tree=TREE, parent=BASE, commit=COMMIT, paths=("src/a.py",), review="off")
LANDED = TaskLanded(commit=COMMIT, tree=TREE, paths=("src/a.py",))
DONE = TaskDone(
    spec=SPEC,
    commit=COMMIT,
    tree=TREE,
    proofs=(PROOF,),
    coverage=COVERAGE,
    patterns=("PATTERN-001",),
)


def records(*happened):
    """Records of (event, task, attempt) or of an event alone, numbered from 1."""
    made = []
    for number, item in enumerate(happened, 1):
        event, task, attempt = item if type(item) is tuple else (item, "", 0)
        record = Record(
            id=f"id-{number}",
            seq=number,
            time=f"2026-11-21T14:00:{number % 60:02d}.000000Z",
            run="run-1",
            type=NAMES[type(event)],
            task=task,
            attempt=attempt,
            cause="",
            origin=f"id-{number}",
            producer="runner/0",
            event=event,
        )
        made.append(record._replace(crc=encode(record)[-11:-3].decode()))
    return made


def whole_story():
    """Every kind of event at least once; three tasks with different fates."""
    one, two, three = "TASK-001", "TASK-002", "TASK-003"
    after = digest_of(b"after")
    return records(
        RunStarted(head=BASE, branch="main", plan=digest_of(b""), pid=7, settings={"jobs": "2"}),
        PlanUpdated(plan=digest_of(b"plan")),
        ModeSwitched(mode="serial"),
        (STARTED, one, 1),
        (ToolCalled(name="edit", arguments=digest_of(b"{}")), one, 1),
        (ToolReturned("edit", digest_of(b"{}"), 0.25, "failed"), one, 1),
        (WriteStaged("src/a.py", Action.CREATE, 0o100644, None, after, 12, "staged/x"), one, 1),
        (WriteReviewed("src/a.py", None, after, "applied", "me"), one, 1),
        (GateStarted(gate="TC-002", command="pytest"), one, 1),
        (GateCompleted(proof=PROOF), one, 1),
        (FAILED, one, 1),
        (TaskFailed(findings=(FINDING,)), one, 1),
        (STARTED, one, 2),
        (PASSED, one, 2),
        (LANDING, one, 2),
        (LANDED, one, 2),
        (DONE, one, 2),
        CheckpointWritten("line", 0, (one,)),
        DecisionMade(number=1, decision=Decision("use x", tradeoff="some")),
        (STARTED, two, 1),
        (WriteRejected("src/b.py", None, after, "no", "me"), two, 1),
        (replace(PASSED, held="review", ref="refs/runner/held/2"), two, 1),
        (TaskBlocked(reason=Reason.REVIEW, note="waits for a review", draft="draft/x"), two, 1),
        StatusesPublished({one: Status.DONE, two: Status.BLOCKED}, COMMIT, digest_of(b"p2")),
        (TaskStaled(note="CHANGE-001", fields=("acceptance",)), one, 0),
        ChangeRecorded(number=1, text="more of it", tasks=(one,)),
        (TaskApproved(by="me"), one, 0),
        (TaskAdopted(spec=None, source="person", note="by hand"), three, 0),
        (TaskReopened(note="again", by="me"), three, 0),
        (TaskAdopted(spec=None, source="person", note="by hand"), three, 0),
        (
            TaskWaived("tried by hand", "me", digest_of(b"what"), {"a.py": digest_of(b"a")}),
            three,
            0,
        ),
        CheckpointWritten("full", 1, (one,)),
        (STARTED, one, 3),
        (TaskStaled(note="depends on it", via=one), two, 1),
        (TaskApproved(by=CUT_OFF, note="it offers the same", reuse=True), two, 1),
        RunStuck(waiting=(three,)),
        TreeVerified(digest_of(b"all"), COMMIT, passed=True, coverage=COVERAGE, tasks=1, ran=2),
        ShipDeclared(tag="runner-ship-2026-11-21", commit=COMMIT, tasks=1),
        ShipReopened(by="person"),
        LeaseMoved("main", "dev@laptop", "ci@farm", "the laptop is asleep", by="person"),
        ArtifactStored("patches/final.patch", "ab" * 32, 5, "s3://kept/runs"),
        (SecretLeased("API_TOKEN", "command op", "2026-08-01T00:00:00Z"), one, 1),
        (SecretReturned("API_TOKEN"), one, 1),
        Pruned("2026-08-01T00:00:00Z", logs=3, drafts=("draft/A-work",), slots=2, packs=1, bytes=9),
        HistoryMoving("undo", COMMIT, COMMIT, (one,), "undone", stale=(two,), reasons=("why",)),
        HistoryMoved("undo", COMMIT, (one,)),
        RunFinished(exit=3, head=COMMIT, seconds=9.5, counts={"DONE": 1}),
        (PlanProposed(PLAN, "artifacts/build/plans/TASK-001.md", digest_of(b"plan"), USED), one, 1),
        (PlanReviewed(digest_of(b"plan"), approved=True, review="applied", by="ann"), one, 1),
        (ReviewSwitched("auto", "task", "person"), one, 1),
        (AuthorFinished("agent", 1, 2, 0, 1, digest_of(b"prompt"), Usage(5, 6)), one, 0),
        DraftProposed(
            1,
            "TASK-GRAPH.md",
            "## TASK-009: X\n",
            digest_of(b"draft"),
            ("TASK-009",),
            "a wish",
            "wish.md",
            ("x", "y"),
            ("TASK-009", ""),
            ("3: Command",),
            ("about 1 minute",),
            ("none",),
            2,
            "agent",
            Usage(1, 2, 0.5, 3),
        ),
        DraftReviewed(1, digest_of(b"draft"), approved=True, by="ann"),
        DraftLanded(1, "TASK-GRAPH.md", ("TASK-009",)),
        (PermissionAsked("read_file", "src/b.py", "ask read_file src/**"), one, 1),
        (PermissionAsked("read_file", "src/a.py"), one, 1),
        (PermissionAnswered("read_file", "src/a.py", allowed=True, by="ann"), one, 1),
        (StageCompleted(stage="mutants", seconds=1.5), one, 1),
    )
