"""What is expected of tasks by their past, and what a run came to beside the bound."""

import pytest
from run_build import SPEC, a_graph, a_ledger, a_task

from runner.journal.events import AttemptFinished, AttemptStarted, TaskDone
from runner.model import Ending, Status
from runner.plan.graph import TaskGraph
from runner.run.frontier import estimate_seconds, forecast, make_reached
from runner.run.resource_locks import ResourceLocks


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
