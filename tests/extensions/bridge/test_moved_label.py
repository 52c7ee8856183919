"""A label that is moved by hand says what somebody wants, if they may push; a comment says more."""

import pytest
from issue_case import KilledError, Killing


@pytest.fixture
def planned(case):
    case.label().advance()
    return case


def test_moved_to_in_progress_the_plan_that_was_shown_is_built(planned):
    planned.server.label("ada", planned.number, "runner:in-progress")
    assert planned.advance() == "the pull request needs review"
    (approved,) = [one for one in planned.builder.done if one.startswith("approve")]
    assert approved.startswith("approve 1 by ada (label event ")
    assert planned.labels == {"runner:in-review"}


@pytest.mark.parametrize("who", ["tom", "eve"])
def test_who_may_not_push_moves_nothing(planned, who):
    planned.server.label(who, planned.number, "runner:in-progress")
    assert planned.advance() == "the plan needs review"
    assert planned.builder.facts.draft is not None
    assert planned.labels == {"runner:plan-in-review"}


@pytest.mark.parametrize("label", ["runner:needs-iteration", "runner:ready-for-plan"])
def test_moved_back_another_plan_is_written(planned, label):
    planned.server.label("ada", planned.number, label)
    assert planned.advance() == "the plan needs review"
    assert planned.builder.facts.drafts == 2
    assert planned.labels == {"runner:plan-in-review"}


def test_a_comment_wins_over_a_label_of_the_same_moment(planned):
    planned.server.label("ada", planned.number, "runner:in-progress")
    planned.say(f"/runner reject {planned.digest} another way")
    assert planned.advance() == "the plan needs review"
    assert planned.builder.facts.drafts == 2
    assert not [one for one in planned.builder.done if one.startswith("approve")]


def test_a_plan_that_was_shown_after_the_label_is_not_approved_by_it(planned):
    planned.server.label("ada", planned.number, "runner:in-progress")
    planned.builder.reject(planned.builder.facts.draft, "from a terminal")
    assert planned.advance() == "the plan needs review"
    assert planned.builder.facts.draft.number == 2
    assert "moved the label before this plan was shown" in planned.status


def test_what_was_handed_over_is_tried_again(planned):
    planned.builder.ends = [5]
    assert planned.approve() == "needs your input"
    planned.server.label("ada", planned.number, "runner:in-progress")
    assert planned.advance() == "the pull request needs review"
    assert (
        "The runner could not build all tasks." in planned.status
        or planned.builder.done.count("retry") == 1
    )


def test_a_label_alone_does_not_say_what_is_to_be_different(planned):
    planned.approve()
    planned.server.label("ada", planned.number, "runner:needs-iteration")
    assert planned.advance() == "the pull request needs review"
    assert "to describe the change, comment `/runner change TASK-008 …`" in planned.status
    assert planned.labels == {"runner:in-review"}


def test_whoever_is_next_is_assigned_and_nobody_else_is_taken_off(planned):
    people = planned.server.issues[planned.number]["assignees"]
    assert people == ["ada"]
    people.append("mia")
    planned.say("/runner stop")
    planned.advance()
    assert planned.server.issues[planned.number]["assignees"] == ["mia"]
    planned.say("/runner retry")
    planned.advance()
    assert planned.server.issues[planned.number]["assignees"] == ["mia", "ada"]


@pytest.mark.parametrize("is_made", [False, True])
@pytest.mark.parametrize("name", ["assign", "edit_comment", "add_label"])
def test_a_kill_while_it_is_handed_off_leaves_nobody_assigned(case, name, is_made):
    case.label()

    with pytest.raises(KilledError):
        case.advance(Killing(case.forge, first=name, is_made=is_made))
    assert case.advance() == "the plan needs review"
    assert case.server.issues[case.number]["assignees"] == ["ada"]
    case.server.close_issue("ada", case.number)
    case.advance()
    assert case.server.issues[case.number]["assignees"] == []
