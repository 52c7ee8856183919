"""A title without measure is cut before it is shown, committed or kept."""

from runner.plan.document import read_plan
from runner.plan.task_ids import LONGEST_TITLE


def test_a_long_title_is_cut_and_told_with_its_line():
    long = "word " * 200_000
    plan = read_plan(f"# {long}\n\n## TASK-001: {long}\n\n- Type: api\n".encode(), "TASK-GRAPH.md")
    assert len(plan.title) == LONGEST_TITLE + 1
    assert len(plan.tasks[0].title) == LONGEST_TITLE + 1
    (told,) = plan.problems
    assert (told.line, told.is_error) == (3, False)
    assert "has 999,999 characters" in told.message


def test_titles_that_differ_behind_the_cut_are_other_work():
    one, other = (
        read_plan(f"## TASK-001: {'x' * 600}{end}\n\n- Type: api\n".encode(), "T").tasks[0]
        for end in "ab"
    )
    assert one.title == other.title
    assert one.spec.what != other.spec.what
