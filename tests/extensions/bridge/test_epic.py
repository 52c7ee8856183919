"""Issues below an issue are one plan with it; one that is blocked waits; tasks are mirrored."""

import pytest
from issue_case import KilledError, Killing


def add_part(case, title="Dates", body="are UTC", by="tom"):
    part = case.server.open_issue("eve", title, body)
    case.server.add_part(by, case.number, part)
    return part


def test_an_epic_and_what_is_below_it_are_one_wish_and_one_pull_request(case):
    part, closed = add_part(case), add_part(case, "Old", "done long ago")
    case.server.close_issue("ada", closed)
    case.label()
    assert case.advance() == "the plan needs review"
    assert f"## #{part}: Dates\n\nare UTC" in case.builder.wish
    assert "done long ago" not in case.builder.wish
    assert case.approve() == "the pull request needs review"
    (pull,) = case.server.pulls
    assert pull["body"].startswith(f"Closes #{case.number}\nCloses #{part}\n")


@pytest.mark.parametrize("change", ["edit", "rename", "add"])
def test_what_somebody_changed_below_it_after_the_label_waits_for_a_new_one(case, change):
    part = add_part(case)
    case.label()
    if change == "add":
        add_part(case, "Root", "run rm")
    else:
        case.server.edit_issue("eve", part, **{"body" if change == "edit" else "title": "run rm"})
    assert case.advance() == "text changed by somebody without push access"
    assert case.builder.done == []


def test_a_writer_may_add_to_an_epic_that_is_not_begun(case):
    case.label()
    add_part(case, by="ada")
    assert case.advance() == "the plan needs review"
    assert "are UTC" in case.builder.wish


def test_a_part_is_planned_with_its_epic_and_not_by_itself(case):
    epic = case.server.open_issue("ada", "All of it")
    case.server.add_part("ada", epic, case.number)
    case.server.label("ada", epic, "runner")
    case.label()
    assert case.advance() == f"part of #{epic}"
    assert case.builder.done == []
    case.server.close_issue("ada", epic)
    assert case.advance() == "the plan needs review"


def test_too_much_for_one_plan_is_a_persons(case):
    for number in range(31):
        add_part(case, f"Part {number}")
    case.label()
    assert case.advance() == "too much for one plan"
    assert "at most 30 issues and 120,000 characters" in case.status
    assert case.builder.done == []


def test_a_blocked_issue_waits_until_what_blocks_it_is_closed(case):
    other = case.server.open_issue("eve", "First")
    case.server.block(case.number, other)
    case.label()
    assert case.advance() == f"blocked by #{other}"
    assert case.labels == {"runner:ready-for-plan"}
    assert f"Blocked by #{other}." in case.status
    assert case.builder.done == []
    case.server.close_issue("ada", other)
    assert case.advance() == "the plan needs review"


def mirrors(case):
    return {
        one["title"]: one["state"]
        for one in case.server.issues.values()
        if one["labels"] == ["runner:task"]
    }


def test_tasks_are_mirrored_below_their_issue_one_way(case):
    case.label().advance(has_mirrors=True)
    case.say(f"/runner approve {case.digest}")
    case.builder.ends = [5]
    case.advance(has_mirrors=True)
    assert mirrors(case) == {"TASK-008: Export": "open"}
    (mirror,) = case.server.parts[case.number]
    case.server.edit_issue("eve", mirror, title="Else")
    case.server.close_issue("eve", mirror)
    case.say("/runner retry")
    assert case.advance(has_mirrors=True) == "the pull request needs review"
    assert mirrors(case) == {"TASK-008: Export": "closed"}
    assert len(case.builder.done) == 5, "nothing is heard of a mirror"
    assert "Closes #2" not in case.server.pulls[0]["body"]


@pytest.mark.parametrize("is_made", [False, True])
@pytest.mark.parametrize("name", ["create_issue", "add_part", "edit_issue"])
def test_a_kill_while_tasks_are_mirrored_doubles_none(case, name, is_made):
    case.label().advance()
    case.say(f"/runner approve {case.digest}")

    with pytest.raises(KilledError):
        case.advance(Killing(case.forge, first=name, is_made=is_made), has_mirrors=True)
    assert case.advance(has_mirrors=True) == "the pull request needs review"
    assert mirrors(case) == {"TASK-008: Export": "closed"}
    assert len(case.server.parts[case.number]) == 1


class Meanwhile:
    """A forge in which something happens once, right behind the first call of one name."""

    def __init__(self, forge, name, happens):
        self.forge, self.name, self.happens = forge, name, [happens]

    def __getattr__(self, name):
        call = getattr(self.forge, name)

        def carry_out(*words, **more):
            came = call(*words, **more)
            if name == self.name and self.happens:
                self.happens.pop()(*words)
            return came

        return carry_out


def test_what_is_edited_while_it_is_asked_who_edited_is_not_taken(case):
    part = add_part(case)
    case.label()

    class Asked(Meanwhile):
        def __getattr__(self, name):
            call = super().__getattr__(name)
            return (
                call
                if name != "list_text_edits"
                else lambda number: (
                    call(number) if number == part else self.forge.list_text_edits(number)
                )
            )

    forge = Asked(
        case.forge, "list_text_edits", lambda _: case.server.edit_issue("eve", part, body="run rm")
    )
    assert case.advance(forge) == "the plan needs review"
    assert forge.happens == []
    assert "are UTC" in case.builder.wish
    assert "run rm" not in case.builder.wish


def test_what_is_put_below_it_while_it_is_asked_who_changed_it_waits(case):
    add_part(case)
    case.label()
    forge = Meanwhile(
        case.forge, "list_label_events", lambda _: add_part(case, "Root", "run rm", by="tom")
    )
    assert case.advance(forge) == "text changed by somebody without push access"
    assert case.builder.done == []
