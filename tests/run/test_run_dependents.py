"""Whom a change of a task reaches: purely, from what the plan says."""

from random import Random

import pytest
from growth import grows_as_its_input
from msgspec.structs import replace

from runner.model import Contract, Spec, Task
from runner.plan.document import read_plan
from runner.repo.read import Repository
from runner.run.dependents import (
    UNKNOWN,
    behind_whom,
    fields_since,
    find_changed_fields,
    find_reached,
)
from runner.run.outdated_plan import PlanFile

SPEC = Spec("sha256:a", "sha256:b")


def task(id_, needs=(), outputs=(), inputs=(), contracts=()):
    return Task(
        id_,
        "Work",
        1,
        SPEC,
        depends_on=tuple(needs),
        outputs=tuple(outputs),
        inputs=tuple(inputs),
        contracts=tuple(Contract("schema", value) for value in contracts),
    )


def whom(tasks, *changed):
    return {id_: why.reason for id_, why in find_reached(tasks, changed).items()}


def test_those_who_depend_on_it_however_far():
    tasks = [task("A"), task("B", ["A"]), task("C", ["B"]), task("D")]
    assert whom(tasks, "A") == {"B": "depends on A", "C": "depends on B"}


def test_those_who_read_its_files_also_by_a_glob():
    tasks = [
        task("A", outputs=["src/a.py"]),
        task("B", inputs=["src/*.py"]),
        task("C", inputs=["src/a.py"]),
        task("D", inputs=["docs/**"]),
    ]
    assert whom(tasks, "A") == {"C": "reads src/a.py of A", "B": "reads src/a.py of A"}


def test_an_output_that_is_a_glob_or_any_reaches_every_reader_it_may_meet():
    readers = [task("B", inputs=["src/a.py"]), task("C", inputs=["docs/x.md"])]
    assert whom([task("A", outputs=["src/**"]), *readers], "A").keys() == {"B"}
    assert whom([task("A", outputs=["any"]), *readers], "A").keys() == {"B", "C"}


def test_those_who_share_its_contract():
    tasks = [
        task("A", contracts=["api.json = a:App"]),
        task("B", contracts=["api.json"]),
        task("C", contracts=["other.json"]),
    ]
    assert whom(tasks, "A") == {"B": "shares the contract api.json with A"}


def test_what_it_needs_itself_is_not_behind_it():
    tasks = [task("A", outputs=["a"], inputs=["b"]), task("B", ["A"], outputs=["b"])]
    assert whom(tasks, "B") == {}


def test_a_circle_of_readers_ends():
    tasks = [task("A", outputs=["a"], inputs=["b"]), task("B", outputs=["b"], inputs=["a"])]
    assert whom(tasks, "A") == {"B": "reads a of A"}


def test_ids_that_no_task_has_reach_nobody():
    assert whom([task("A")], "Z") == {}


def test_edited_fields_are_named_as_the_plan_names_them():
    old = task("A", outputs=["a"])
    new = replace(old, outputs=("b",), title="Other work", command="true")
    assert find_changed_fields(old, new) == ("Title", "Output files", "Command")
    assert find_changed_fields(old, replace(old, title="Work ")) == UNKNOWN


def in_a_row(size):
    return [task(f"T{at}", [f"T{at - 1}"] if at else (), [f"f{at}"], ["f0"]) for at in range(size)]


def test_a_long_row_of_tasks_is_walked_once():
    def make(size):
        tasks = in_a_row(size)
        return lambda: find_reached(tasks, ["T0"])

    assert grows_as_its_input(make, 250)
    assert len(find_reached(in_a_row(3000), ["T0"])) == 2999


def needs_of(tasks, id_):
    """Every task that one needs, itself among them, by walking to the start of each row."""
    by_id = {one.id: one for one in tasks}
    return {id_}.union(*(needs_of(tasks, one) for one in by_id[id_].depends_on))


@pytest.mark.parametrize("seed", range(60))
def test_nobody_is_reached_through_a_file_of_what_needs_them(seed):
    luck = Random(seed)
    tasks = []
    for at in range(9):
        needs = [one.id for one in tasks if luck.random() < 0.25]
        reads = [f"f{one}" for one in range(9) if luck.random() < 0.2]
        tasks.append(task(f"T{at}", needs, [f"f{at}"], reads))
    luck.shuffle(tasks)
    for one in tasks:
        written = {other.outputs[0]: other.id for other in tasks if other is not one}
        before = {written[path] for path in one.inputs if path in written}
        expected = {
            other for other in before - {*one.depends_on} if one.id not in needs_of(tasks, other)
        }
        assert {*behind_whom(tasks, [one.id])[one.id]} == {*one.depends_on} | expected
        for id_, why in find_reached(tasks, [one.id]).items():
            assert id_ not in needs_of(tasks, why.via)


@pytest.mark.parametrize("path", ["TASK-GRAPH.md", "plans/two.md"])
def test_an_edit_is_named_whatever_prefix_ids_bear_and_wherever_the_plan_is(workplace, path):
    text = "# Plan\n\n## ABC-12: {}\n\n- Output files: `a.txt`\n"
    workplace.write({path: text.format("Before")})
    workplace.commit(message="plan")
    old, new = (
        read_plan(text.format(title).encode(), path, prefixes=("ABC",)).tasks[0]
        for title in ("Before", "After")
    )
    with Repository.open(workplace.root) as repository:
        plan = PlanFile(path, lambda _: {}, ("ABC",))
        assert fields_since(repository, plan, new, old.spec.what, "") == ("Title",)
