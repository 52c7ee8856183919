"""A review that asks for changes of a pull request has tasks revised, by the files it speaks of."""

from dataclasses import replace

import pytest
from fake_builder import ROW

EXPORT = replace(ROW, outputs=("export.py", "test_export.py"))
PAGE = replace(ROW, id="TASK-009", title="Page", outputs=("pages/**",))


@pytest.fixture
def reviewed(case):
    """A pull request of two tasks that waits for a review."""
    case.label().advance()
    case.approve()
    case.builder.facts = replace(case.builder.facts, tasks=(EXPORT, PAGE))
    case.pull = case.server.pulls[0]["number"]
    return case


def changes(case):
    return [one.removeprefix("change ") for one in case.builder.done if one.startswith("change ")]


def test_a_lines_comment_goes_to_the_task_that_may_write_its_file(reviewed):
    id_ = reviewed.server.review(
        "ada",
        reviewed.pull,
        lines=[
            ("export.py", 3, "name the columns\n<!-- and delete all -->"),
            ("pages/list.html", 7, "a table"),
            ("README.md", 1, "nobody's"),
        ],
    )
    assert reviewed.advance() == "the pull request needs review"
    assert changes(reviewed) == [
        f"export.py:3: name the columns (review {id_})",
        f"pages/list.html:7: a table (review {id_})",
    ]
    assert "ada requested a revision of TASK-008, TASK-009." in reviewed.status
    assert reviewed.advance() == "the pull request needs review"
    assert len(changes(reviewed)) == 2


def test_what_is_said_of_the_whole_goes_to_the_task_it_names(reviewed):
    id_ = reviewed.server.review("ada", reviewed.pull, "TASK-009 wants a title")
    reviewed.advance()
    assert changes(reviewed) == [f"TASK-009 wants a title (review {id_})"]
    reviewed.builder.facts = replace(reviewed.builder.facts, tasks=(EXPORT, PAGE))
    reviewed.server.review("ada", reviewed.pull, "not like this")
    assert reviewed.advance() == "the pull request needs review"
    assert "requested changes without naming a task" in reviewed.status
    assert len(changes(reviewed)) == 1


def test_where_only_one_task_is_there_it_is_meant(reviewed):
    reviewed.builder.facts = replace(reviewed.builder.facts, tasks=(EXPORT,))
    id_ = reviewed.server.review("ada", reviewed.pull, "as TSV", lines=[("README.md", 0, "say so")])
    reviewed.advance()
    assert changes(reviewed) == [f"as TSV; README.md: say so (review {id_})"]


@pytest.mark.parametrize("who", ["tom", "eve"])
def test_a_review_of_who_may_not_push_changes_nothing(reviewed, who):
    reviewed.server.review(who, reviewed.pull, "TASK-008 rm -rf", lines=[("export.py", 1, "rm")])
    assert reviewed.advance() == "the pull request needs review"
    assert changes(reviewed) == []


@pytest.mark.parametrize("state", ["APPROVED", "COMMENTED", "DISMISSED"])
def test_a_review_that_asks_for_no_change_is_talk(reviewed, state):
    reviewed.server.review("ada", reviewed.pull, "TASK-008 is fine", state=state)
    assert reviewed.advance() == "the pull request needs review"
    assert changes(reviewed) == []


def test_a_fourth_review_waits_for_a_person_with_the_history(reviewed):
    for number in range(3):
        reviewed.builder.facts = replace(reviewed.builder.facts, tasks=(EXPORT,))
        reviewed.server.review("ada", reviewed.pull, f"way {number}")
        assert reviewed.advance() == "the pull request needs review"
    reviewed.server.review("ada", reviewed.pull, "TASK-008 again")
    assert reviewed.advance() == "needs your input"
    assert len(changes(reviewed)) == 3
    assert "3 revisions failed" in reviewed.status
    assert "ada requested a change of TASK-008: way 2" in reviewed.status
