"""The order of tasks: estimates from the journal, and a dry run that starts what a run starts."""

import heapq
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from run_build import SPEC, a_graph, a_ledger, a_task

from runner.config.settings import Settings
from runner.errors import RunnerError
from runner.journal.events import (
    AttemptFinished,
    AttemptStarted,
    TaskAdopted,
    TaskBlocked,
    TaskDone,
    TaskStaled,
)
from runner.model import Ending, Reason, Status
from runner.plan.graph import TaskGraph
from runner.run.engine import Engine
from runner.run.frontier import UNKNOWN_SECONDS, Frontier, estimate_seconds, forecast, make_reached
from runner.run.landing.gate_batch import GateBatch
from runner.run.limits.budget import Backoff
from runner.run.resource_locks import ResourceLocks
from runner.run.review_queue import ReviewQueue
from runner.run.selection import Selection, find_id, select_ids
from runner.run.workers import Finished


def with_past(**durations):
    """A journal in which each task was DONE after each of its durations."""
    journal = a_ledger()
    for id_, all_seconds in durations.items():
        for number, seconds in enumerate(all_seconds, start=1):
            started = AttemptStarted(base="", implementer="", spec=SPEC)
            journal.note(started, task=id_, attempt=number)
            done = AttemptFinished(ending=Ending.PASSED, tree="t", seconds=seconds)
            journal.note(done, task=id_, attempt=number)
            journal.note(TaskDone(spec=SPEC), task=id_, attempt=number)
    return journal.state


def test_a_task_is_expected_to_last_as_its_own_past_else_as_its_type_else_as_all():
    tasks = [
        a_task("A", type="api"),
        a_task("B", type="api"),
        a_task("C", type="api"),
        a_task("D", type="docs"),
        a_task("E", type="web"),
    ]
    state = with_past(A=[9.0, 2.0, 4.0], B=[8.0], D=[1.0])
    seconds = estimate_seconds(tasks, state)
    assert seconds["A"] == 4.0  # the median of its own
    assert seconds["C"] == 8.0  # the middle of its type's 4 and 8, the upper of two
    assert seconds["E"] == 4.0  # the middle of all: 1, 4 and 8


def test_where_nothing_is_known_nothing_is_expected():
    assert estimate_seconds([a_task("A")], with_past()) == {}


def test_the_longest_path_of_a_dry_run_is_that_of_what_is_open():
    """A long chain that is DONE is no part of it."""
    tasks = a_graph("A; B needs A; C needs B; D; E needs D")
    statuses = dict.fromkeys("ABC", Status.DONE) | dict.fromkeys("DE", Status.PENDING)
    seen = forecast(
        {task.id: task for task in tasks},
        statuses,
        "ABCDE",
        TaskGraph.of(tasks),
        seconds={"A": 90.0},
        claims=ResourceLocks(),
        jobs=2,
    )
    assert seen.critical_path == ("D", "E")
    assert seen.seconds == 2.0


@pytest.mark.parametrize(
    ("took", "jobs", "bound"),
    [
        ({"A": 3.0, "B": 1.0, "C": 2.0}, 4, 5.0),  # A and C one after the other
        ({"A": 3.0, "B": 9.0, "C": 2.0}, 1, 14.0),  # all work
        ({"B": 9.0, "C": 2.0}, 2, 9.0),  # A was DONE before
    ],
)
def test_a_run_is_held_against_the_longest_path_and_the_work_it_did(took, jobs, bound):
    graph = TaskGraph.of(a_graph("A; B; C needs A"))
    said = make_reached(graph, took, seconds=15.0, jobs=jobs, estimate=5.0)
    assert said.bound == bound


CAPACITY = {"gpu": 1.0}


class Clockwork:
    """A crew whose tasks last exactly as long as the forecast believes."""

    def __init__(self, slots, seconds):
        self._free, self._seconds = list(range(slots)), seconds
        self._ending, self.started, self._now = [], [], 0.0
        self.interrupted = False

    @property
    def has_news(self):
        return bool(self._ending) and self._ending[0][0] == self._now

    @property
    def working(self):
        return tuple(id_ for _, _, id_, _ in self._ending)

    @property
    def has_free_slot(self):
        return bool(self._free)

    def stand(self, _assignment):
        """Nothing stands: what is tried out is who starts when."""

    def take_slot(self):
        return self._free.pop()

    def start_together(self, given):
        for assignment, slot in given:
            self.start(assignment, slot)

    def start(self, assignment, slot):
        id_ = assignment.task.id
        self.started.append(id_)
        ends = self._now + (self._seconds.get(id_) or UNKNOWN_SECONDS)
        heapq.heappush(self._ending, (ends, len(self.started), id_, slot))

    def wait(self, seconds=None):
        assert seconds is None  # nobody is tried again later, and nothing has to end
        self._now, _, id_, slot = heapq.heappop(self._ending)
        self._free.append(slot)
        return Finished(id_, lambda: outcome_of(id_))


def outcome_of(id_):
    return SimpleNamespace(task=id_, attempt=1, base="", changes=(), ending=Ending.PASSED)


class AlwaysPasses:
    """A settlement that lands whatever comes."""

    codes, halted = frozenset(), False
    preparation = SimpleNamespace(purse=None)

    def __init__(self, journal):
        self._journal = journal
        self.retries = SimpleNamespace(backoff=Backoff())
        self.context = ReviewQueue(None, None, None)
        self.questions = SimpleNamespace(ask=None)
        self.batch = GateBatch(None, None, Settings())

    def next_again(self):
        return None

    def put_aside(self):
        return ()

    def settle(self, task, _):
        done = AttemptFinished(ending=Ending.PASSED, tree="t", seconds=1.0)
        self._journal.note(done, task=task.id, attempt=1)
        self._journal.note(TaskDone(spec=task.spec), task=task.id, attempt=1)
        return False

    def land_parked(self):
        return ()


def started_by_the_engine(tasks, statuses, selected, seconds, jobs):
    journal = a_ledger()
    for id_, status in statuses.items():
        if status in STANDING:
            journal.note(STANDING[status], task=id_)
    workers = Clockwork(jobs, seconds)
    brief = SimpleNamespace(patterns=(), kind="", searched=())
    Engine(
        tasks={task.id: task for task in tasks},
        selected=frozenset(selected),
        weight=TaskGraph.of(tasks).longest_remaining(seconds),
        journal=journal,
        board=SimpleNamespace(say=lambda *_: None, due=lambda **_: False, due_at=None),
        workers=workers,
        claims=ResourceLocks(dict(CAPACITY)),
        preparation=SimpleNamespace(
            regressive={},
            plans=None,
            find_mode_switch=lambda _: None,
            find_missing=lambda task: (Reason.ROOT, "needs root") if task.requires else None,
            assignment=lambda task: SimpleNamespace(
                task=task, attempt=1, base="", brief=brief, implementer=None, kind="prove"
            ),
        ),
        settlement=AlwaysPasses(journal),
        scans=None,
        head=lambda: "",
    ).run()
    return workers.started, {id_: journal.state.task(id_).status for id_ in statuses}


STANDING = {
    Status.DONE: TaskAdopted(spec=SPEC, verified=True),
    Status.BLOCKED: TaskBlocked(reason=Reason.CHECKS, note="no"),
    Status.STALE: TaskStaled(note="old"),
}


@st.composite
def plans(draw):
    count = draw(st.integers(1, 8))
    ids = [f"T{n}" for n in range(count)]
    tasks = [
        a_task(
            id_,
            depends_on=tuple(
                draw(st.lists(st.sampled_from(ids[:n]), unique=True, max_size=3)) if n else ()
            ),
            outputs=tuple(
                draw(st.sampled_from([(), ("a",), ("b",), ("a", "c"), ("*.py",), ("any",)]))
            ),
            uses=draw(st.sampled_from(["", "", "gpu 1", "port 80"])),
        )
        for n, id_ in enumerate(ids)
    ]
    statuses = {
        id_: draw(
            st.sampled_from([*[Status.PENDING] * 4, Status.DONE, Status.BLOCKED, Status.STALE])
        )
        for id_ in ids
    }
    selected = draw(st.sets(st.sampled_from(ids), min_size=1) | st.just(set(ids)))
    seconds = {id_: draw(st.sampled_from([0.0, 1.0, 2.0, 5.0])) for id_ in ids}
    return tasks, statuses, selected, seconds, draw(st.integers(1, 3))


@given(plans())
@settings(max_examples=150, deadline=None)
def test_the_dry_run_names_the_tasks_in_the_order_in_which_the_run_starts_them(plan):
    tasks, statuses, selected, seconds, jobs = plan
    seen = forecast(
        {task.id: task for task in tasks},
        statuses,
        selected,
        TaskGraph.of(tasks),
        seconds=seconds,
        claims=ResourceLocks(CAPACITY),
        jobs=jobs,
    )
    started, after = started_by_the_engine(tasks, statuses, selected, seconds, jobs)
    assert list(seen.order) == started
    assert {id_ for id_ in selected if after[id_] is Status.PENDING} == set(seen.waiting)
    assert sorted(id_ for batch in seen.batches for id_ in batch) == sorted(started)
    assert set(seen.critical_path) <= set(started)
    done = {id_ for id_, status in statuses.items() if status is Status.DONE}
    for at, id_ in enumerate(started):
        task = next(task for task in tasks if task.id == id_)
        assert set(task.depends_on) <= done | set(started[:at])


def test_the_longest_remaining_path_goes_first():
    tasks = a_graph("A; B; C needs B; D needs C")
    order, _ = started_by_the_engine(
        tasks, dict.fromkeys("ABCD", Status.PENDING), "ABCD", {}, jobs=1
    )
    assert order == ["B", "C", "A", "D"]


def test_a_task_that_takes_long_by_its_past_goes_first():
    tasks = a_graph("A; B")
    order, _ = started_by_the_engine(
        tasks, dict.fromkeys("AB", Status.PENDING), "AB", {"A": 1.0, "B": 9.0}, jobs=1
    )
    assert order == ["B", "A"]


def test_a_priority_of_the_plan_goes_before_the_longest_path():
    ranks = {"A": 3, "C": 1}
    tasks = [replace(one, priority=ranks.get(one.id)) for one in a_graph("A; B; C")]
    order, _ = started_by_the_engine(
        tasks, dict.fromkeys("ABC", Status.PENDING), "ABC", {"A": 9.0, "B": 1.0, "C": 1.0}, jobs=1
    )
    assert order == ["C", "B", "A"]


def test_a_frontier_keeps_the_place_of_tasks_that_may_not_start():
    tasks = a_graph("A; B; C")
    frontier = Frontier(
        {task.id: task for task in tasks},
        dict.fromkeys("ABC", Status.PENDING),
        selected="ABC",
        weight={},
    )
    assert frontier.take(lambda task: task.id == "B").id == "B"
    assert frontier.take(lambda _: False) is None
    assert [frontier.take(lambda _: True).id for _ in range(2)] == ["A", "C"]
    assert frontier.take(lambda _: True) is None
    frontier.put("B")
    assert frontier.take(lambda _: True).id == "B"


# --- which tasks a run is about, from what a person typed -----------------------------


TASKS = a_graph("A-1; A-2 needs A-1; A-3 needs A-1; A-4 needs A-2, A-3; A-5")
IDS = [task.id for task in TASKS]


def chosen(**words):
    picked = select_ids(Selection(**words), TaskGraph.of(TASKS), IDS)
    return "".join(sorted(id_[-1] for id_ in picked))


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ({}, "12345"),
        ({"ids": ("A-4",)}, "1234"),
        ({"ids": ("A-2", "A-5")}, "125"),
        ({"only": ("A-4",)}, "4"),
        ({"start": "A-2"}, "24"),
        ({"until": "A-3"}, "13"),
        ({"start": "A-1", "until": "A-2"}, "12"),
        ({"start": "A-2", "until": "A-3"}, ""),
        ({"only": ("A-2",), "with_dependents": True}, "24"),
        ({"ids": ("A-5",), "until": "A-2"}, "125"),
    ],
)
def test_what_is_meant(words, ids):
    assert chosen(**words) == ids


@pytest.mark.parametrize("typed", ["TASK-003", "task-3", "3", "003", "Task 3", "task3", "TASK-3"])
def test_a_task_is_found_however_it_is_typed(typed):
    assert find_id(typed, ["TASK-002", "TASK-003", "TASK-013"]) == "TASK-003"


def test_a_number_that_two_tasks_have_is_not_guessed():
    with pytest.raises(RunnerError) as error:
        find_id("3", ["TASK-003", "T003"])
    assert error.value.message == 'unknown task "3"'


def test_the_nearest_id_is_offered():
    with pytest.raises(RunnerError) as error:
        find_id("TSK-003", ["TASK-003", "TASK-004"])
    assert error.value.hint == 'did you mean "TASK-003"?'
    with pytest.raises(RunnerError) as error:
        find_id("everything", ["TASK-003"])
    assert error.value.hint == "`runner status --list` lists the tasks"


@pytest.mark.parametrize("typed", ["²", "٣", "9" * 5_000, "A-²", "", "-1"])
def test_what_is_no_number_of_ours_is_no_task(typed):
    with pytest.raises(RunnerError, match="unknown task"):
        find_id(typed, IDS)
