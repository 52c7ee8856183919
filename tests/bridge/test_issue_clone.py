"""The clone of an issue: what was asked of it before a crash is not asked twice."""

from clone_place import Place


def test_a_change_of_several_lines_that_stands_in_the_plan_is_not_asked_again(workplace, tmp_path):
    place = Place(workplace, tmp_path).prepare()
    wish = "as TSV,\n\n  with dates (comment 5)"
    assert place.clone.change("TASK-007", wish).code == 0
    plan = (place.clone.place / "TASK-GRAPH.md").read_text()
    assert plan.count("as TSV, with dates (comment 5)") == 1
    assert place.clone.change("TASK-007", wish).code == 0
    assert (place.clone.place / "TASK-GRAPH.md").read_text() == plan
