"""`log`: what happened, also while it happens."""

import json
import os
import signal
import subprocess
import sys
import time

from commands_build import a_ground, began, blocked, done, ended

from runner.journal.events import (
    AttemptFinished,
    ChangeRecorded,
    CheckpointWritten,
    DecisionMade,
    GateCompleted,
    GateStarted,
    ModeSwitched,
    PlanUpdated,
    RunStuck,
    StatusesPublished,
    TaskAdopted,
    TaskApproved,
    TaskFailed,
    TaskLanded,
    TaskLanding,
    TaskReopened,
    TaskStaled,
    WriteRejected,
    WriteReviewed,
    WriteStaged,
)
from runner.journal.session_events import ToolCalled
from runner.model import Action, Decision, Ending, Status
from runner.project import JOURNAL


def test_a_run_is_told_line_by_line(ground):
    a_ground(ground, "A; B")
    head = ground.git("rev-parse", "HEAD")
    ground.journal(
        began(ground), *done(ground, "TASK-001", head), *blocked(ground, "TASK-002"), ended(ground)
    )
    assert ground.runner("log") == (
        0,
        f"""\
<time>  -         run.started         on main at {head[:12]}, process 1
<time>  TASK-001  attempt.started     attempt 1 (blocks)
<time>  TASK-001  attempt.finished    attempt 1 passed in 2.00 s
<time>  TASK-001  task.landed         as {head[:12]}: a.txt
<time>  TASK-001  task.done           as {head[:12]}
<time>  TASK-002  attempt.started     attempt 1 (blocks)
<time>  TASK-002  attempt.finished    attempt 1 failed in 3.00 s: 1 finding (TC-002)
<time>  TASK-002  task.blocked        (checks) TC-002 failed 1 time
<time>  -         run.finished        exit 0 in 1.5 s: 1 DONE
""",
        "",
    )


def test_every_other_event_has_words_of_its_own(ground):
    from commands_build import FINDING, PROOF

    a_ground(ground, "A")
    held = AttemptFinished(ending=Ending.PASSED, tree="", seconds=1.0, held="review")
    happened = {
        RunStuck(waiting=("TASK-001",)): "waiting: TASK-001",
        ModeSwitched(mode="serial"): "serial",
        PlanUpdated(plan="sha256:0"): "",
        ToolCalled(name="edit", arguments="sha256:0"): "edit",
        ToolCalled(name="read", arguments="sha256:0", path="a.py"): "read a.py",
        WriteStaged("a.txt", Action.CREATE, 0o100644, None, None, 1): "create a.txt",
        WriteReviewed("a.txt", None, None, "applied"): "a.txt: applied",
        WriteRejected("a.txt", None, None, "too long"): "a.txt: too long",
        GateStarted(gate="TC-001", command="true"): "TC-001 $ true",
        GateCompleted(proof=PROOF): "TC-001: pass, exit 0, 0.25 s",
        held: "attempt 1 passed in 1.00 s, held (review)",
        TaskLanding(tree="", parent="", paths=("a.txt",)): "a.txt",
        TaskLanded(
            commit="", tree="", late=("a.txt",)
        ): "as nothing: no files; kept your own a.txt",
        TaskFailed(findings=(FINDING,)): "TC-002",
        TaskStaled(note="CHANGE-001"): "CHANGE-001",
        TaskApproved(by="person", note="again"): "by person: again",
        TaskAdopted(spec=None, note="by hand"): "by person, unproven: by hand",
        TaskReopened(note="once more"): "once more",
        ChangeRecorded(number=1, text="more of it"): "CHANGE-001: more of it",
        CheckpointWritten(kind="full", number=2): "checkpoint 2",
        DecisionMade(number=3, decision=Decision("x")): "DECISION-003: x",
    }
    ground.journal(*((event, "TASK-001", 1) for event in happened))
    ground.journal(StatusesPublished({"TASK-001": Status.DONE}, "", ""))
    lines = ground.runner("log").out.splitlines()
    gists = [line[len("<time>  TASK-001  ") :][20:] for line in lines]
    assert gists == [*happened.values(), "TASK-001 DONE"]


def test_one_task_can_be_asked_for(ground):
    a_ground(ground, "A; B")
    ground.journal(began(ground), *done(ground, "TASK-001"), *blocked(ground, "TASK-002"))
    lines = ground.runner("log", "--task", "2").out.splitlines()
    assert len(lines) == 3
    assert all("TASK-002" in line for line in lines)


def test_a_program_gets_the_records_whole(ground):
    a_ground(ground, "A")
    ground.journal(began(ground), *done(ground, "TASK-001"))
    document = ground.runner("log", "--json").json
    assert (document["schemaVersion"], document["kind"]) == (1, "log")
    written = (ground.folder / JOURNAL).read_text().splitlines()
    assert document["records"] == [json.loads(line) for line in written]


def test_a_last_line_that_is_being_written_is_no_damage(ground):
    a_ground(ground, "A")
    ground.journal(began(ground), *done(ground, "TASK-001"))
    before = ground.runner("log").out
    with (ground.folder / JOURNAL).open("ab") as file:
        file.write(b'{"v":1,"id":"half a li')
    assert ground.runner("log") == (0, before, "")


def test_damage_in_the_middle_is_said_with_its_place(ground):
    a_ground(ground, "A")
    ground.journal(began(ground), *done(ground, "TASK-001"))
    journal = ground.folder / JOURNAL
    journal.write_bytes(journal.read_bytes().replace(b"attempt.started", b"attempt.STARTED"))
    said = ground.runner("log")
    assert said.code == 2
    assert said.err.startswith("runner: the journal is damaged: line 2, at byte ")
    assert "the record's checksum does not match" in said.err


def test_before_anything_happened_it_says_so(ground):
    a_ground(ground, "A")
    assert ground.runner("log") == (0, "", "no records yet\n")
    ground.journal(began(ground))
    assert ground.runner("log", "--after", "1") == (0, "", "no matching records\n")
    assert ground.runner("log", "--task", "TASK-001") == (0, "", "no matching records\n")


def test_follow_goes_on_as_events_come_until_it_is_interrupted(ground):
    a_ground(ground, "A")
    ground.journal(began(ground))
    following = subprocess.Popen(
        [sys.executable, "-m", "runner", "log", "--follow"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    try:
        assert "run.started" in following.stdout.readline()
        ground.journal(*done(ground, "TASK-001"))
        lines = [following.stdout.readline() for _ in range(3)]
        assert "attempt 1 (blocks)" in lines[0]
        assert "task.done" in lines[2]
        (ground.folder / JOURNAL).unlink()
        time.sleep(0.5)  # longer than it waits between two looks
        ground.journal(ended(ground))
        assert "run.finished" in following.stdout.readline()
    finally:
        following.send_signal(signal.SIGINT)
        rest, said = following.communicate(timeout=60)
    assert (rest, said) == ("", "")
    assert following.returncode == 130
