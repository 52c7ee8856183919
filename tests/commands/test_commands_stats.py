"""`stats`: what a build came to, counted from its journal."""

import itertools
from collections import Counter

from commands_build import FINDING, PROOF, TREE, a_ground, began, blocked, done, ended, started
from msgspec.structs import replace

from runner import effects
from runner.app.inspect.statistics import Statistics, Tally, describe_statistics
from runner.journal.events import AttemptFinished, GateCompleted, TaskApproved, WriteReviewed
from runner.journal.records import read_journal
from runner.journal.session_events import DraftProposed
from runner.model import Ending, Failure, Usage, digest_of
from runner.project import JOURNAL

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
