"""`log` and `stats`: what happened, also while it happens, and events for programs."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

from commands_build import FINDING, PROOF, TREE, a_ground, began, blocked, done, ended, started
from msgspec.structs import replace

from runner import effects
from runner.app.inspect.statistics import Statistics, Tally, describe_statistics
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
from runner.journal.log import Journal
from runner.journal.records import read_journal
from runner.journal.session_events import DraftProposed, ToolCalled
from runner.model import Action, Decision, Ending, Failure, Status, Usage, digest_of
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


PAID = AttemptFinished(
    ending=Ending.FAILED,
    tree=TREE,
    seconds=3.0,
    findings=(FINDING,),
    usage=Usage(1000, 200, 0.5, 7),
    failure=Failure.TRANSIENT,
)
WELL = AttemptFinished(ending=Ending.PASSED, tree=TREE, seconds=2.0, usage=Usage(100, 0, 0.25))


def a_long_story(ground, monkeypatch):
    """A killed run, a failure, a wait of minutes and a task that is proven; a minute a record."""
    a_ground(ground, "A; B")
    head = ground.git("rev-parse", "HEAD")
    minutes = itertools.count(1)
    monkeypatch.setattr(effects, "timestamp", lambda: f"2026-01-02T03:{next(minutes):02}:00Z")
    ground.journal(
        began(ground),
        started(ground, "TASK-001"),
        began(ground),
        (PAID, "TASK-001", 1),
        *done(ground, "TASK-001", head, 2),
        (WELL, "TASK-001", 3),
        (GateCompleted(PROOF), "TASK-001", 3),
        *blocked(ground, "TASK-002"),
        (TaskApproved(by="ada"), "TASK-002", 0),
        (WriteReviewed("b", None, None, "off"), "TASK-002", 2),
        ended(ground, 3),
        began(ground),
    )


def test_all_of_a_journal_is_counted(ground, monkeypatch):
    a_long_story(ground, monkeypatch)
    said = ground.runner("stats", "--json").json
    assert said["covers"] == {
        "since": None,
        "first": "2026-01-02T03:01:00Z",
        "last": "2026-01-02T03:17:00Z",
        "records": 17,
        "bytes": (ground.folder / JOURNAL).stat().st_size,
    }
    assert said["builds"] == {"killed": 2, "person": 1}
    assert said["recoveries"] == 1
    assert said["tasks"] == {"done proven": 1, "pending": 1}
    assert said["attempts"] == {"failed": 2, "passed": 2}
    assert said["failures"] == {
        "byClass": {"semantic": 1, "transient": 1},
        "byCheck": {"test": 2},
        "blockedBy": {"checks": 1},
    }
    assert said["waits"] == {"checks": {"count": 1, "seconds": 60.0, "longest": 60.0}}
    assert said["usage"]["dollars"] == said["dollarsPerProvenTask"] == 0.75
    assert said["usage"]["tokens"] == 1300
    assert said["proofs"] == {"test": {"commands": 1, "seconds": 0.25, "stood": 0}}


def test_a_person_reads_the_same(ground, monkeypatch):
    a_long_story(ground, monkeypatch)
    assert ground.runner("stats").out == (
        """\
17 records, from <time> to <time>
builds:     2 killed, 1 person; 1 recovery
tasks:      1 done proven, 1 pending
attempts:   2 failed, 2 passed
failures:   1 transient, 1 semantic
refused by: 2 test
blocked by: 1 checks
waited:     checks 1, 1 min 00 s
used:       1,300 tokens, $0.75, 7 tool calls, $0.75 a proven task
proofs:     test 1, 0.2 s
"""
    )


def test_the_seconds_of_runs_and_tasks_are_shown(ground, monkeypatch):
    a_long_story(ground, monkeypatch)
    said = ground.runner("stats", "--time").out
    assert said.startswith("RUN ")
    assert "largest possible saving: waiting, 240.0 s" in said
    time = ground.runner("stats", "--time", "--json").json
    assert time["kind"] == "time"
    assert sum(run["tasks"].get("TASK-001", {}).get("proof", 0) for run in time["runs"]) == 0.25
    assert time["wouldHaveSavedMost"]["what"] == "waiting"
    none = "no run has recorded its times yet\n"
    assert ground.runner("stats", "--time", "--since", "1m").out == none


def test_only_the_last_days_are_counted(ground, monkeypatch):
    from datetime import UTC, datetime

    a_long_story(ground, monkeypatch)
    monkeypatch.setattr(effects, "now", lambda: datetime(2026, 1, 2, 4, 10, 30, tzinfo=UTC))
    said = ground.runner("stats", "--since", "60m", "--json").json
    assert said["covers"]["since"] == "2026-01-02T03:10:30.000000Z"
    assert (said["covers"]["records"], said["tasks"]) == (7, {"pending": 1})
    assert (said["attempts"], said["usage"], said["recoveries"]) == ({"failed": 1}, None, 0)
    later = datetime(2026, 3, 2, tzinfo=UTC)
    monkeypatch.setattr(effects, "now", lambda: later)
    assert ground.runner("stats", "--since", "1w").out == "nothing has happened since <time>\n"


DRAFT = DraftProposed(
    *(1, "TASK-GRAPH.md", "## TASK-003: C\n", digest_of(b"c"), ("TASK-003",), "a wish"),
    by="agent",
    usage=Usage(2000, 100, 1.25, 3),
)


def test_what_a_draft_took_is_counted_once_however_often_it_is_edited(ground, monkeypatch):
    a_ground(ground, "A; B")
    head = ground.git("rev-parse", "HEAD")
    ground.journal(
        began(ground),
        (WELL, "TASK-001", 1),
        *done(ground, "TASK-001", head, 1),
        (GateCompleted(PROOF), "TASK-001", 1),
        ended(ground, 0),
        DRAFT,
    )
    monkeypatch.setenv("EDITOR", "sed -i s/C/D/")
    assert ground.runner("edit", "DRAFT-1").code == 0
    ground.journal(replace(DRAFT, by="person"))  # as the first versions kept an edited one
    assert "DRAFT-1" in ground.runner("log").out
    said = ground.runner("stats", "--json").json
    assert (said["usage"]["dollars"], said["usage"]["toolCalls"]) == (1.5, 3)
    assert said["dollarsPerProvenTask"] == 1.5
    assert "2,200 tokens, $1.50, 3 tool calls, $1.50 a proven task" in ground.runner("stats").out
    assert ground.runner("status", "--json").json["usage"]["dollars"] == 1.5
    assert "used so far: 2,200 tokens, $1.50, 3 tool calls" in ground.runner("status").out


def test_what_is_no_length_of_time_is_told(ground):
    a_ground(ground, "A")
    assert ground.runner("stats").out == "nothing has happened yet\n"
    for wrong in ("30", "0d", "d", "-1d", "9999999d", "1y"):
        said = ground.runner("stats", f"--since={wrong}")
        assert (said.code, "invalid duration" in said.err) == (2, True), wrong


def test_a_journal_of_somebody_else_s_words_breaks_nothing(ground, monkeypatch):
    a_ground(ground, "A")
    monkeypatch.setattr(effects, "timestamp", lambda: "soon \x1b[2J")
    hostile = FINDING.__class__("evil\x1b[2J:x\u202e", "m")
    failed = AttemptFinished(ending=Ending.FAILED, tree=TREE, seconds=1.0, findings=(hostile,))
    ground.journal(began(ground), (failed, "TASK-\x1b[2J", 1), ended(ground, 12345))
    said = ground.runner("stats")
    assert said.code == 0
    assert "\x1b" not in said.out
    assert "\u202e" not in said.out
    assert "builds:     1 other" in said.out


def test_stats_of_a_damaged_journal_says_where(ground):
    a_ground(ground, "A")
    ground.journal(began(ground), ended(ground), began(ground))
    file = ground.folder / JOURNAL
    file.write_bytes(file.read_bytes().replace(b"run.finished", b"run.finisked"))
    said = ground.runner("stats")
    assert (said.code, "the journal is damaged: line 2" in said.err) == (2, True)


def test_a_tally_goes_on_where_it_was(ground, monkeypatch):
    from runner.app.inspect.statistics import RunningTally

    file = ground.folder / JOURNAL
    running = RunningTally(file)
    assert (running.read().records, running.unread) == (0, 0)
    a_long_story(ground, monkeypatch)
    whole = Tally()
    for record in read_journal(file):
        whole.hear(record)
    while running.unread:
        before = running.unread
        tally = running.read(until=0.0)  # long past: a record each time
        assert running.unread < before
    assert describe(tally) == describe(whole)
    file.rename(file.with_suffix(".old"))
    ground.journal(began(ground), ended(ground, 0))
    assert running.read().builds == {"done": 1}


def describe(tally):
    return describe_statistics(Statistics(tally, 0, Counter(), frozenset()))


def keys(said):
    return [json.loads(line)["seq"] for line in said.out.splitlines()]


def test_events_are_the_journal_s_lines_behind_a_number(ground):
    a_ground(ground, "A")
    first, *_ = ground.journal(began(ground), *done(ground, "TASK-001"), ended(ground))
    said = ground.runner("events", "--json")
    lines = [json.loads(line) for line in said.out.splitlines()]
    assert [line["key"] for line in lines] == [f"{first.id}:{seq}" for seq in range(1, 6)]
    assert {line["repository"] for line in lines} == {"project"}
    kept = (ground.folder / JOURNAL).read_text().splitlines()
    assert [line["event"] for line in lines] == [json.loads(line) for line in kept]
    assert keys(ground.runner("events", "--json", "--after", "3")) == [4, 5]
    assert keys(ground.runner("events", "--json", "--after", f"{first.id}:4")) == [5]
    assert keys(ground.runner("events", "--json", "--after", "another:4")) == [1, 2, 3, 4, 5]
    said = ground.runner("events", "--after", "4").out
    assert said == "<time>  project 5  -  run.finished  exit 0 in 1.5 s: 1 DONE\n"


def test_what_names_no_event_is_told(ground):
    a_ground(ground, "A")
    assert ground.runner("events", "--json").out == ""
    for wrong in ("x", "a b:3", "-1", "1:", ":1", "9" * 16):
        said = ground.runner("events", f"--after={wrong}")
        assert (said.code, "is not a valid event" in said.err) == (2, True), wrong


def test_a_journal_that_is_begun_anew_is_told_from_its_beginning(ground):
    a_ground(ground, "A")
    ground.journal(began(ground), ended(ground))
    words = [sys.executable, "-P", "-m", "runner", "events", "--after", "1", "--follow", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=dict(os.environ)) as follower:
        try:
            assert json.loads(follower.stdout.readline())["seq"] == 2
            file = ground.folder / JOURNAL
            file.rename(file.with_suffix(".old"))
            time.sleep(0.5)
            with Journal.open(file, run="run-2") as journal:
                new = journal.append(began(ground))
            line = json.loads(follower.stdout.readline())
            assert line["key"] == f"{new.id}:1"
        finally:
            follower.send_signal(signal.SIGINT)
        assert follower.wait(30) == 130


def test_secrets_of_another_s_journal_do_not_leave(ground):
    from runner.journal.events import ModeSwitched

    a_ground(ground, "A")
    leaked = "ghp_" + "a1B2" * 9
    ground.journal(began(ground), ModeSwitched(mode=f"serial {leaked}\u202e"))
    said = ground.runner("events", "--json")
    assert leaked not in said.out
    assert "[REDACTED" in said.out
    assert json.loads(said.out.splitlines()[1])["event"]["type"] == "mode.switched"
    assert "\u202e" not in ground.runner("events").out


def test_a_plain_follower_starts_without_a_database(ground):
    a_ground(ground, "A")
    ground.journal(began(ground))
    code = (
        "import sys; from runner.cli import main; main(['events']);"
        "print([one for one in ('sqlalchemy', 'nats', 'opentelemetry') if one in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[-1] == "[]"
