"""Claims: two tasks that could write one file, or want one scarce thing, are never held at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_build import a_task

from runner.model import Resource
from runner.run.claims import Claims, capacities, may_meet, too_much
from runner.writes.paths import in_scope

PARTS = ["a", "b", "src", "*", "**", "*.py", "x.py", "lib"]
PATTERNS = st.lists(st.sampled_from(PARTS), min_size=1, max_size=3).map("/".join)
PATHS = st.lists(st.sampled_from(["a", "b", "src", "x.py", "lib"]), min_size=1, max_size=3).map(
    "/".join
)


@given(PATTERNS, PATTERNS, PATHS)
def test_patterns_that_name_one_file_are_known_to_meet(one, other, path):
    if in_scope(path, (one,)) and in_scope(path, (other,)):
        assert may_meet(one, other)
        assert may_meet(other, one)


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        (["a.py"], ["a.py"], True),
        (["a.py"], ["b.py"], False),
        (["src/*.py"], ["src/a.py"], True),
        (["src/*.py"], ["tests/a.py"], False),
        (["*.py"], ["deep/er/a.py"], True),
        (["src/"], ["src/a.py"], True),
        (["any"], ["a.py"], True),
        ([], ["any"], False),
        (["src/a/**"], ["src/b/**"], False),
    ],
)
def test_who_may_run_beside_whom(one, other, meet):
    left, right = a_task("A", outputs=tuple(one)), a_task("B", outputs=tuple(other))
    for first, second in ((left, right), (right, left)):
        claims = Claims()
        claims.hold(first)
        assert claims.free_for(second) is not meet
        claims.release(first)
        assert claims.free_for(second)


TASKS = st.builds(
    lambda id_, outputs, uses: a_task(f"T{id_}", outputs=tuple(outputs), uses=uses),
    st.integers(0, 99),
    st.lists(PATTERNS, max_size=2) | st.just(["any"]),
    st.sampled_from(["", "gpu 1", "gpu 2", "port 80", "port 81", "memory 1GB"]),
)


@given(st.lists(TASKS, unique_by=lambda task: task.id, max_size=6))
def test_what_was_held_and_given_back_leaves_nothing(tasks):
    claims = Claims({"gpu": 2.0, "memory": 2e9})
    held = []
    for task in tasks:
        if claims.free_for(task):
            claims.hold(task)
            held.append(task)
    for task in held:
        claims.release(task)
    assert all(claims.free_for(task) for task in tasks)


def test_scarce_things_add_up_and_ports_are_things_of_their_own():
    claims = Claims(capacities((Resource("gpu", "2"), Resource("memory", "4GB"))))
    claims.hold(a_task("A", uses="gpu 1, port 80, memory 3GB"))
    assert claims.free_for(a_task("B", uses="gpu 1"))
    assert not claims.free_for(a_task("B", uses="gpu 2"))
    assert not claims.free_for(a_task("B", uses="port 80"))
    assert claims.free_for(a_task("B", uses="port 81"))
    assert not claims.free_for(a_task("B", uses="memory 2GB"))
    assert claims.free_for(a_task("B", uses="memory 1000MB"))
    assert not claims.free_for(a_task("B", uses="gpu two, gpu 2"))


def test_more_than_there_is_comes_out_so_that_it_is_refused():
    capacity = capacities((Resource("gpu", "1"),))
    assert too_much(a_task(uses="gpu 2"), capacity) == "uses 2 gpu, and the settings have 1"
    assert too_much(a_task(uses="gpu 1, tape 9"), capacity) == ""
    assert Claims(capacity).free_for(a_task(uses="gpu 2"))
