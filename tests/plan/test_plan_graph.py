"""Tasks come after what they need, otherwise in the order of the plan."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import networkx as nx
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


NEEDS = st.lists(st.sets(st.integers(0, 7), max_size=3), min_size=1, max_size=8)


@given(NEEDS)
def test_all_answers_are_those_of_a_graph_that_networkx_holds_itself(wanted):
    needs = {
        str(at): tuple(str(one) for one in sorted(some) if one < len(wanted))
        for at, some in enumerate(wanted)
    }
    ours, theirs = TaskGraph(needs), nx.DiGraph()
    theirs.add_nodes_from(needs)
    theirs.add_edges_from((need, task) for task, some in needs.items() for need in some)
    for task in needs:
        assert set(ours.ancestors(task)) == nx.ancestors(theirs, task)
        assert set(ours.descendants(task)) == nx.descendants(theirs, task)
    if not nx.is_directed_acyclic_graph(theirs):
        knots = nx.strongly_connected_components(theirs)
        loops = [one for one in knots if len(one) > 1 or one & set(needs[min(one)])]
        assert len(ours.cycles()) == len(loops)
        return
    order = nx.lexicographical_topological_sort(theirs, key=list(needs).index)
    assert ours.order() == tuple(order)
    rounds = nx.topological_generations(theirs)
    assert ours.batches() == tuple(tuple(sorted(each)) for each in rounds)


def test_the_graph_that_networkx_walks_is_no_second_one_in_memory():
    many = TaskGraph(
        {f"T{at}": tuple(f"T{at - by}" for by in (1, 2) if at > 2) for at in range(20_000)}
    )
    many.dependents("T0")
    graph("A").order()  # networkx is imported
    tracemalloc.start()
    try:
        assert many.order()[-1] == "T19999"
        left, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert left < 20_000 * 150  # three tables a task took 700
