"""Claims: two tasks that could write one file, or want one scarce thing, are never held at once."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_build import a_task
from settings_of import settings_of

from runner.model import Resource
from runner.run.resource_locks import (
    Agents,
    ResourceLocks,
    capacities,
    find_collision,
    load_owned_paths,
    may_meet,
    too_much,
)
from runner.writes.paths import in_scope

PARTS = ["a", "b", "src", "*", "**", "*.py", "x*", "[xy].py", "?.py", "x.py", "lib"]
PATTERNS = st.lists(st.sampled_from(PARTS), min_size=1, max_size=3).map("/".join) | st.sampled_from(
    ["/x.py", "/*.py", "./a/x.py", "src/", "src/lib/", "\\x.py"]
)
PATHS = st.lists(st.sampled_from(["a", "b", "src", "x.py", "lib"]), min_size=1, max_size=3).map(
    "/".join
)


@settings(deadline=None)  # the first path pays for the import of pathspec
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
        (["x*.py"], ["deep/er/x1.py"], True),
        (["src/*.py"], ["src/*.md"], False),
        (["lib/"], ["src/lib/a.py"], False),
        (["/a.py"], ["a.py"], True),
        (["src"], ["src/a.py"], True),
    ],
)
def test_who_may_run_beside_whom(one, other, meet):
    left, right = a_task("A", outputs=tuple(one)), a_task("B", outputs=tuple(other))
    for first, second in ((left, right), (right, left)):
        claims = ResourceLocks()
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
    claims = ResourceLocks({"gpu": 2.0, "memory": 2e9})
    held = []
    for task in tasks:
        if claims.free_for(task):
            claims.hold(task)
            held.append(task)
    for task in held:
        claims.release(task)
    assert all(claims.free_for(task) for task in tasks)


def test_scarce_things_add_up_and_ports_are_things_of_their_own():
    claims = ResourceLocks(capacities((Resource("gpu", "2"), Resource("memory", "4GB"))))
    claims.hold(a_task("A", uses="gpu 1, port 80, memory 3GB"))
    assert claims.free_for(a_task("B", uses="gpu 1"))
    assert not claims.free_for(a_task("B", uses="gpu 2"))
    assert not claims.free_for(a_task("B", uses="port 80"))
    assert claims.free_for(a_task("B", uses="port 81"))
    assert not claims.free_for(a_task("B", uses="memory 2GB"))
    assert claims.free_for(a_task("B", uses="memory 1000MB"))
    assert not claims.free_for(a_task("B", uses="gpu two, gpu 2"))


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ("memory 4G", "memory 5G", False),
        ("memory 4G", "memory 2GiB", True),
        ("memory 4096M", "memory 2.1g", False),
        ("GPU 1", "gpu 1", True),
        ("Gpu 2", "gpu 1", False),
        ("gpu 1", "gpu 1, gpu 1", False),
    ],
)
def test_units_and_capitals_name_the_same_amount_of_the_same_thing(first, second, together):
    claims = ResourceLocks(capacities((Resource("memory", "6G"), Resource("GPU", "2"))))
    claims.hold(a_task("A", uses=first))
    assert claims.free_for(a_task("B", uses=second)) is together


def test_more_than_there_is_comes_out_so_that_it_is_refused():
    capacity = capacities((Resource("gpu", "1"),))
    assert too_much(a_task(uses="gpu 2"), capacity) == "uses 2 gpu, but the settings have 1"
    assert too_much(a_task(uses="gpu 1, tape 9"), capacity) == ""
    most = capacities((Resource("memory", "6G"),))
    said = "uses 6.5GB memory, but the settings have 6GB"
    assert too_much(a_task(uses="memory 6656M"), most) == said
    assert ResourceLocks(capacity).free_for(a_task(uses="gpu 2"))


MAP = (
    b"""
| File | Tasks |
|---|---|
| `src/shared.py`, `docs/**` | A, B |
| `src/one` | A, C |
| `assets` | D |
""".replace(b" A", b" TASK-001")
    .replace(b" B", b" TASK-002")
    .replace(b" C", b" TASK-003")
    .replace(b" D", b" TASK-004")
)


def test_rows_of_the_ownership_map_keep_two_tasks_apart_whatever_their_output_files_say(
    tmp_path,
):
    assert load_owned_paths(tmp_path) == {}
    (tmp_path / "FILE_OWNERSHIP_MAP.md").write_bytes(MAP)
    (tmp_path / "assets").mkdir()
    owned = load_owned_paths(tmp_path)
    assert owned["TASK-001"] == ("src/shared.py", "docs/**", "src/one")
    assert owned["TASK-004"] == ("assets/",)
    one, two, three, four = (a_task(f"TASK-00{n}", outputs=(f"{n}.txt",)) for n in (1, 2, 3, 4))
    claims = ResourceLocks(owned=owned)
    claims.hold(one)
    assert not claims.free_for(two)
    assert not claims.free_for(three)
    assert claims.free_for(four)
    assert claims.free_for(a_task("TASK-002"))  # a check writes nothing, whatever it owns
    for path in ("docs/a.md", "src/shared.py", "src/one/a.py"):
        assert not claims.free_for(a_task("TASK-009", outputs=(path,))), path
    claims.release(one)
    assert all(map(claims.free_for, (two, three, four)))
    claims.hold(a_task("TASK-009", outputs=("assets/logo.svg",)))
    assert not claims.free_for(four)
    assert find_collision(one, two, owned) == ("src/shared.py", "src/shared.py")
    assert find_collision(one, four, owned) is None


@given(st.lists(TASKS, unique_by=lambda task: task.id, min_size=2, max_size=2))
def test_who_may_not_run_beside_another_is_told_the_file_by_which_they_meet(pair):
    one, other = (a_task(task.id, outputs=task.outputs) for task in pair)
    claims = ResourceLocks()
    claims.hold(one)
    assert claims.free_for(other) is (find_collision(one, other) is None)
    assert (find_collision(one, other) is None) is (find_collision(other, one) is None)


def test_two_tasks_may_hold_one_row_of_the_map_only_one_after_the_other():
    """What the first gives back is not taken from the second: rows are counted."""
    claims = ResourceLocks(owned={"A": ("x/y.py",), "B": ("x/y.py",)})
    one, two = a_task("A", outputs=("a",)), a_task("B", outputs=("b",))
    claims.hold(one)
    claims.hold(two)
    claims.release(one)
    assert not claims.free_for(a_task("C", outputs=("x/*.py",)))
    claims.release(two)
    assert claims.free_for(a_task("C", outputs=("x/*.py",)))


def test_no_more_agents_work_at_once_than_there_are_places_and_others_run_beside_them():
    agents = Agents(2, lambda task: task.id.startswith("AGENT"))
    claims = ResourceLocks(agents=agents)
    one, two, three = (a_task(f"AGENT-{n}", outputs=(f"{n}.py",)) for n in (1, 2, 3))
    claims.hold(one)
    claims.hold(two)
    assert not claims.free_for(three)
    other = a_task("TASK-1", outputs=("other.py",))
    assert claims.free_for(other)
    claims.hold(other)
    claims.release(other)
    assert not claims.free_for(three), "who held no place gives none back"
    claims.release(one)
    assert claims.free_for(three)


def test_who_is_an_agent_is_known_from_who_implements_a_task():
    agents = Agents.of(settings_of(agents=2))
    assert agents.most == 2
    assert not agents.works_on(a_task("T-1", outputs=("a",), command="true"))
    assert not agents.works_on(a_task("T-2", outputs=("a",))), "nobody can implement it"
