"""What a run would only block is told in time that grows with the plan, not with its square."""

import time

from runner.app.inspect.plan_warnings import unready
from runner.config.settings import Settings
from runner.plan.document import read_plan
from runner.plan.graph import TaskGraph
from runner.project import Reading

TASKS = 4000
FILES = "- Output files: `src/a.py`\n\n"


def a_reading(text):
    data = text.encode()
    plan = read_plan(data, "TASK-GRAPH.md")
    return Reading(data, plan, TaskGraph.of(plan.tasks), ())


def test_each_of_thousands_of_tasks_is_warned_of_in_a_moment():
    reading = a_reading("".join(f"## TASK-{n:04}: Task {n}\n\n{FILES}" for n in range(TASKS)))
    began = time.process_time()
    warned = list(unready(reading, Settings()))
    assert time.process_time() - began < 8
    assert len(warned) == TASKS


def test_an_almost_fence_is_found_in_the_section_of_its_own_task_alone():
    fence = "```python title=src/a.py\nx = 1\n```\n"
    found = unready(
        a_reading(f"## TASK-001: A\n\n{FILES}## TASK-002: B\n\n{FILES}{fence}"), Settings()
    )
    first, second = (problem.hint for problem in found)
    assert "is almost a file" not in first
    assert second.startswith("line 9 is almost a file: write ```python file=src/a.py; else")


def test_lines_are_counted_as_the_plan_counts_them():
    fence = "```python title=src/a.py\nx = 1\n```\n"
    (found,) = unready(a_reading(f"## TASK-001: A\u2028B\n\n{FILES}{fence}"), Settings())
    assert found.hint.startswith("line 5 is almost a file")
