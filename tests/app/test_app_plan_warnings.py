"""What is said of a plan before a run, and what that costs."""

import os

from growth import grows_as_its_input

from runner.app.inspect.plan_warnings import unready
from runner.app.inspect.validation import validate
from runner.config.settings import Settings
from runner.plan.document import read_plan
from runner.plan.graph import TaskGraph
from runner.project import Project, Reading


def reading_of(text):
    plan = read_plan(text.encode(), "TASK-GRAPH.md")
    return Reading(text.encode(), plan, TaskGraph.of(plan.tasks), ())


def plan_of(count):
    """A plan whose tasks nobody implements, each with a fence that looks like a file block."""
    tasks = (
        f"## TASK-{number:05}: Task\n\n- Output files: `f{number}.py`\n\n"
        f"```python f{number}.py\n```\n"
        for number in range(count)
    )
    return reading_of("# Shop\n\n" + "\n".join(tasks))


def test_each_task_is_told_of_its_own_fence():
    said = [(one.line, one.hint) for one in unready(plan_of(2), Settings())]
    assert [line for line, _ in said] == [3, 10]
    assert said[0][1].startswith(
        "line 7 looks like a file block: write ```python file=f0.py; else "
    )
    assert said[1][1].startswith(
        "line 14 looks like a file block: write ```python file=f1.py; else "
    )


def test_warnings_take_no_longer_for_each_task_of_a_larger_plan():
    def make(count):
        reading = plan_of(count)
        return lambda: list(unready(reading, Settings()))

    assert grows_as_its_input(make, 400)


def test_an_almost_fence_is_found_in_the_section_of_its_own_task_alone():
    files, fence = "- Output files: `src/a.py`\n\n", "```python title=src/a.py\nx = 1\n```\n"
    text = f"## TASK-001: A\n\n{files}## TASK-002: B\n\n{files}{fence}"
    first, second = (one.hint for one in unready(reading_of(text), Settings()))
    assert "looks like a file block" not in first
    assert second.startswith("line 9 looks like a file block: write ```python file=src/a.py; else")


def test_lines_are_counted_as_the_plan_counts_them():
    files, fence = "- Output files: `src/a.py`\n\n", "```python title=src/a.py\nx = 1\n```\n"
    (found,) = unready(reading_of(f"## TASK-001: A\u2028B\n\n{files}{fence}"), Settings())
    assert found.hint.startswith("line 5 looks like a file block")


AUTHOR = "- Test author: claude\n- Acceptance:\n  - A1: it halves\n"


def problems_of(workplace, *sections):
    workplace.write({"TASK-GRAPH.md": "# Shop\n\n" + "\n".join(sections)})
    workplace.commit()
    found = validate(Project.open(workplace.root, os.environ)).problems
    return [one.message for one in found if one.is_error]


def test_an_author_whose_tests_nothing_runs_is_refused(workplace):
    section = f"## TASK-001: Half\n\n- Output files: `app.py`\n- Implementer: claude\n{AUTHOR}"
    said = "TASK-001 has a Test author, but no known test command of the project runs"
    assert problems_of(workplace, section) == [f"{said} single files"]
    later = section.replace("- Output", "- Depends on: TASK-002\n- Output")
    other = "## TASK-002: Tools\n\n- Output files: `pyproject.toml`\n- Implementer: claude\n"
    assert problems_of(workplace, later, other) == []
    workplace.commit({"pyproject.toml": "[tool.pytest.ini_options]\n"})
    assert problems_of(workplace, section) == []
