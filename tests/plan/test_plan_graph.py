"""Tasks come after what they need, otherwise in the order of the plan."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import RunnerError
from runner.plan.graph import TaskGraph


def graph(text: str) -> TaskGraph:
    """`A; B needs A, X` as a graph."""
    needs = {}
    for part in text.split("; "):
        name, _, wanted = part.partition(" needs ")
        needs[name] = tuple(filter(None, wanted.split(", ")))
    return TaskGraph(
        {name: tuple(w for w in wanted if w in needs) for name, wanted in needs.items()}
    )


DIAMOND = "C needs A; A; D needs B, C; B needs A; E"


def test_the_order_is_that_of_the_plan_where_nothing_else_is_asked():
    assert graph(DIAMOND).order() == ("A", "C", "B", "D", "E")


def test_batches_can_run_beside_each_other():
    assert graph(DIAMOND).batches() == (("A", "E"), ("C", "B"), ("D",))


def test_neighbours_and_all_behind_them():
    found = graph(DIAMOND)
    assert found.dependencies("D") == ("B", "C")
    assert found.dependents("A") == ("C", "B")
    assert found.ancestors("D") == ("C", "A", "B")
    assert found.descendants("A") == ("C", "D", "B")


def test_the_critical_path_is_the_heaviest_chain():
    found = graph(DIAMOND)
    assert found.critical_path({"B": 5}) == ("A", "B", "D")
    assert found.critical_path({}) == ("A", "C", "D")
    assert found.longest_remaining({"B": 5}) == {"A": 7, "B": 6, "C": 2, "D": 1, "E": 1}


def test_a_circle_is_told_with_its_whole_path():
    found = graph("A needs B; B needs C; C needs A; D needs D; E needs A")
    assert found.cycles() == (("A", "B", "C"), ("D",))
    with pytest.raises(RunnerError, match="A → B → C → A"):
        found.order()


@given(st.lists(st.lists(st.integers(0, 11), max_size=3), max_size=12))
def test_any_graph_is_ordered_or_has_a_circle(wanted):
    found = TaskGraph(
        {
            str(at): tuple(dict.fromkeys(str(need) for need in needs if need < len(wanted)))
            for at, needs in enumerate(wanted)
        }
    )
    circles = found.cycles()
    for circle in circles:
        for one, other in zip(circle, (*circle[1:], circle[0]), strict=True):
            assert other in found.dependencies(one)
    if circles:
        return
    place = {name: at for at, name in enumerate(found.order())}
    assert all(place[need] < place[name] for name in found.ids for need in found.dependencies(name))
    assert [name for batch in found.batches() for name in batch if name in place].__len__() == len(
        found
    )


def test_neighbours_need_no_networkx():
    code = (
        "import sys; from runner.plan.graph import TaskGraph\n"
        "g = TaskGraph({'A': (), 'B': ('A',)}); g.dependencies('B'); g.dependents('A')\n"
        "print('networkx' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
