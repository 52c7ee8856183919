"""Which tasks a run is about, from what a person typed."""

import pytest
from run_build import a_graph

from runner.errors import RunnerError
from runner.plan.graph import TaskGraph
from runner.run.selection import Selection, find_id, select_ids

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
