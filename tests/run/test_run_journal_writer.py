"""When the journal is made durable: together, and before anybody acts on what it says."""

from types import SimpleNamespace

import pytest
from run_build import SPEC, a_graph
from test_run_frontier import CAPACITY, AlwaysPasses, Clockwork

from runner import effects
from runner.journal.events import (
    AttemptFinished,
    AttemptStarted,
    TaskApproved,
    TaskBlocked,
    TaskDone,
)
from runner.journal.log import Journal
from runner.journal.state import RunState
from runner.model import Ending, Reason
from runner.run.engine import Engine
from runner.run.journal_writer import JournalWriter
from runner.run.resource_locks import ResourceLocks


@pytest.fixture
def journal(tmp_path):
    with Journal.open(tmp_path / "journal.jsonl", run="run") as file:
        yield JournalWriter(file, RunState.empty())


@pytest.fixture
def seen(journal):
    """The kinds of effects since, `write` and `fsync` of the journal."""
    kinds = []

    def watch(kind, _target):
        kinds.append(kind)

    effects.watch(watch)
    yield kinds
    effects.unwatch(watch)


def test_a_durable_event_is_on_disk_before_the_next(journal, seen):
    journal.note(TaskDone(spec=SPEC), task="TASK-001", durable=True)
    assert seen == ["write", "fsync"]


def test_while_it_gathers_one_sync_serves_all_that_tells_how_tasks_stand(journal, seen):
    with journal.gather():
        journal.note(TaskDone(spec=SPEC), task="TASK-001", durable=True)
        journal.note(TaskBlocked(reason=Reason.CHECKS, note="no"), task="TASK-002", durable=True)
        journal.note(AttemptStarted(base="", implementer="", spec=SPEC), task="T", durable=True)
        assert seen == ["write"] * 3
        journal.sync()
        assert seen[3:] == ["fsync"]
        journal.sync()
    assert seen[4:] == []


def test_the_word_of_a_person_never_waits_and_takes_the_rest_along(journal, seen):
    with journal.gather():
        journal.note(TaskDone(spec=SPEC), task="TASK-001", durable=True)
        journal.note(TaskApproved(by="person"), task="TASK-002", durable=True)
    assert seen == ["write", "write", "fsync"]


def test_what_is_owed_is_paid_when_the_run_breaks_off(journal, seen):
    def breaking_off():
        with journal.gather():
            journal.note(TaskDone(spec=SPEC), task="TASK-001", durable=True)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        breaking_off()
    assert seen == ["write", "fsync"]


class Durable(AlwaysPasses):
    """A settlement that says the end of a task as the real one does."""

    def settle(self, task, _):
        passed = AttemptFinished(ending=Ending.PASSED, tree="t", seconds=1.0)
        self._journal.note(passed, task=task.id, attempt=1)
        self._journal.note(TaskDone(spec=task.spec), task=task.id, attempt=1, durable=True)
        return False

    def land_parked(self):
        return ()


class Careful(Clockwork):
    """A crew that looks whether the journal is durable when it is given work, or lets one wait."""

    def __init__(self, slots, seen):
        super().__init__(slots, {})
        self.seen, self.syncs = seen, []

    def start(self, assignment, slot):
        assert self.seen[-1] == "fsync"
        super().start(assignment, slot)

    def wait(self, seconds=None):
        assert self.has_news or self.seen[-1] == "fsync"
        return super().wait(seconds)


def an_engine(journal, workers, board, text):
    tasks = a_graph(text)
    brief = SimpleNamespace(patterns=(), kind="", searched=())
    return Engine(
        tasks={task.id: task for task in tasks},
        selected=frozenset(task.id for task in tasks),
        weight={},
        journal=journal,
        board=board,
        workers=workers,
        claims=ResourceLocks(dict(CAPACITY)),
        preparation=SimpleNamespace(
            regressive={},
            find_missing=lambda _: None,
            plans=None,
            find_mode_switch=lambda _: None,
            assignment=lambda task: SimpleNamespace(
                task=task, attempt=1, base="", brief=brief, implementer=None, kind="prove"
            ),
        ),
        settlement=Durable(journal),
        scans=None,
        head=lambda: "",
    )


def test_no_attempt_starts_and_nobody_waits_before_the_journal_is_durable(journal, seen):
    workers = Careful(2, seen)
    board = SimpleNamespace(say=lambda *_: None, due=lambda **_: False, due_at=None)
    an_engine(journal, workers, board, "A; B; C needs A; D needs B; E needs C, D").run()
    assert sorted(workers.started) == ["A", "B", "C", "D", "E"]
    assert seen.count("fsync") <= 6  # one for the first two, then one for an end and a start


def test_a_plan_is_published_after_the_journal_is_durable(journal, seen):
    """What a person reads never says more than a crash would leave."""
    told = []
    board = SimpleNamespace(
        say=lambda *_: None,
        due=lambda **_: True,
        due_at=None,
        publish=lambda *_, **__: told.append(seen[-1]),
    )
    an_engine(journal, Clockwork(1, {}), board, "A; B needs A").run()
    assert told
    assert set(told) == {"fsync"}
