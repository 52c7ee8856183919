"""The figures of a journal, kept: the same as if all of it were counted."""

import json

import pytest

from runner.app.inspect import statistics
from runner.app.inspect.statistics import Tally, load_tally, tally_from_data, tally_to_data
from runner.journal import session_events
from runner.journal.events import (
    AttemptFinished,
    AttemptStarted,
    GateCompleted,
    RunFinished,
    RunStarted,
    StageCompleted,
    TaskBlocked,
    TaskDone,
)
from runner.journal.log import Journal
from runner.journal.records import read_journal
from runner.model import Ending, Proof, Reason, Spec, Usage, Verdict, digest_of

DIGEST = digest_of(b"")
SPEC = Spec(DIGEST, DIGEST)


def proof(id_, kind, seconds, note=""):
    return Proof(id_, kind, "true", Verdict.PASS, 0, seconds, DIGEST, note=note)


def attempt(number, mode, *parts):
    yield AttemptStarted("0" * 40, "command", SPEC, mode=mode), "TASK-001", number
    for part in parts:
        yield part, "TASK-001", number
    used = Usage(10, 2, 0.5, 1)
    yield AttemptFinished(Ending.PASSED, "0" * 40, 9.0, usage=used), "TASK-001", number


STORY = [
    (RunStarted("0" * 40, "main", DIGEST, 1, {}), "", 0),
    *attempt(
        1,
        "build",
        StageCompleted("implementer", 5.0),
        StageCompleted("TC-001", 0.5),
        GateCompleted(proof("TC-001", "test", 1.0)),
        GateCompleted(proof("gate:tests", "gate", 2.0)),
        StageCompleted("gate:tests on the base", 1.5),
        GateCompleted(proof("mutation", "mutation", 3.0)),
        GateCompleted(proof("regression:TASK-002/TC-001", "regression", 0.25)),
        StageCompleted("other", 0.125),
    ),
    *attempt(1, "prove", GateCompleted(proof("TC-001", "test", 4.0))),
    (TaskDone(SPEC), "TASK-001", 1),
    (TaskBlocked(Reason.CHECKS, "no"), "TASK-002", 1),
    (session_events.TreeVerified(DIGEST, "0" * 40, passed=True, seconds=6.0), "", 0),
    (RunFinished(0, "0" * 40, 20.0, {}), "", 0),
]


@pytest.fixture
def journal(tmp_path, monkeypatch):
    monkeypatch.setattr(statistics, "WORTH_SAVING", 1)
    return tmp_path / "journal.jsonl"


def append(path, *story):
    with Journal.open(path, run="one") as journal:
        for event, task, number in story:
            journal.append(event, task=task, attempt=number)


def test_a_tally_that_goes_on_is_the_tally_of_all(journal, tmp_path):
    for event in STORY:
        append(journal, event)
        kept, _ = load_tally(journal, tmp_path / "cache")
    whole = Tally()
    for record in read_journal(journal):
        whole.hear(record)
    assert tally_to_data(kept) == tally_to_data(whole)
    data = json.loads(json.dumps(tally_to_data(kept)))
    assert tally_to_data(tally_from_data(data)) == tally_to_data(kept)


def test_a_kept_tally_that_does_not_fit_is_counted_anew(journal, tmp_path):
    append(journal, *STORY)
    cache = tmp_path / "cache"
    first = tally_to_data(load_tally(journal, cache)[0])
    (file,) = cache.iterdir()
    for content in (b"", b"{}\n{}", file.read_bytes().replace(b"attempts", b"attempt_", 1)):
        file.write_bytes(content)
        assert tally_to_data(load_tally(journal, cache)[0]) == first


def test_each_second_of_a_run_has_one_kind(journal, tmp_path):
    append(journal, *STORY)
    spent = load_tally(journal, tmp_path / "cache")[0].spent
    task = dict(spent.runs["one"]["TASK-001"])
    assert task.pop("waiting") < 1
    assert task == {
        "implementer": 5.0,
        "proof": 4.5,
        "others": 0.25,
        "gates": 3.5,
        "repeats": 4.0,
        "rest": 0.125,
    }
    assert spent.runs["one"][""] == {"repeats": 6.0}
    assert spent.largest[:2] == ("the proof at the end", 6.0)
    assert spent.steps["mutants"] == 3.0
    assert spent.steps["gate:tests"] == 3.5
