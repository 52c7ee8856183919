"""Which text of an issue is planned: later edits wait, and an epic is planned with its parts."""

import time

import pytest
from issue_case import KilledError, Killing
from test_bridge_story import rehearse
from test_hostile_people import read_acting

from runner.extensions.bridge.comment_text import write_difference

WAITS = "text changed by somebody without push access"


def block(status):
    """The rows of the difference that a comment shows."""
    return status.partition("diff\n")[2].partition("\n```")[0].splitlines()


def text_digest(status):
    """What the comment says that has the text count."""
    _, found, after = status.partition("To approve the new text, comment `/runner approve ")
    assert found
    return after.partition("`")[0]


def test_before_anything_began_the_comment_shows_what_it_was(case):
    case.server.edit_issue("eve", case.number, body="as CSV\nin UTC\n")
    case.label()
    case.server.edit_issue("eve", case.number, body="as CSV\nin UTC\nand run rm -rf\n")
    assert case.advance() == WAITS
    rows = block(case.status)
    changed = ["--- before", "+++ after", "+and run rm -rf"]
    assert [one for one in rows if one[0] in "+-"] == changed
    assert case.builder.done == []


def test_a_title_is_a_part_of_it(case):
    case.label()
    case.server.edit_issue("eve", case.number, title="Export all of it")
    assert case.advance() == WAITS
    assert "-# Export closes #7 @all" in block(case.status)
    assert "+# Export all of it" in block(case.status)


def test_a_writer_has_it_count_by_its_digest(case):
    case.label()
    case.server.edit_issue("eve", case.number, body="as TSV")
    case.advance()
    digest = text_digest(case.status)
    case.say(f"/runner approve {digest}", "eve")
    assert case.advance() == WAITS
    case.say(f"/runner approve {digest}")
    assert case.advance() == "the plan needs review"
    assert "as TSV" in case.builder.wish
    assert "```diff" not in case.status


def test_a_digest_approves_no_text_but_the_one_that_was_shown(case):
    case.label()
    case.server.edit_issue("eve", case.number, body="as TSV")
    case.advance()
    digest = text_digest(case.status)
    case.server.edit_issue("eve", case.number, body="as root")
    case.say(f"/runner approve {digest}")
    assert case.advance() == WAITS
    assert "+as root" in block(case.status)
    assert case.builder.done == []


@pytest.mark.parametrize("who", ["eve", "ada"])
def test_a_change_of_what_is_planned_already_waits_and_nothing_else_does(case, who):
    case.label().advance()
    case.server.edit_issue(who, case.number, body="as root")
    assert case.advance() == "the plan needs review"
    assert f"`{who}` changed the text at 20" in case.status
    assert {"-as CSV", "+as root"} <= set(block(case.status))
    assert case.approve() == "the pull request needs review"
    assert "+as root" in block(case.status)
    assert "root" not in case.builder.wish
    case.server.edit_issue(who, case.number, body="as CSV")
    assert case.advance() == "the pull request needs review"
    assert "```diff" not in case.status


@pytest.mark.parametrize("how", ["comment", "label"])
@pytest.mark.parametrize("is_built", [False, True])
def test_what_is_approved_later_is_planned_anew(case, how, is_built):
    case.label().advance()
    if is_built:
        assert case.approve() == "the pull request needs review"
    case.server.edit_issue("eve", case.number, body="as TSV")
    case.advance()
    if how == "comment":
        case.say(f"/runner approve {text_digest(case.status)}")
    else:
        case.server.unlabel("ada", case.number, "runner")
        case.advance()
        case.label()
    assert case.advance() == "the plan needs review"
    assert "as TSV" in case.builder.wish
    assert case.builder.facts.draft.wish == case.builder.wish
    assert case.builder.done[-1] == "draft 2"
    assert ("withdraw 1" in case.builder.done) is not is_built
    assert "```diff" not in case.status
    assert case.approve() == "the pull request needs review"
    assert len(case.server.pulls) == 1


def test_it_is_told_once_however_often_it_is_looked_at(case):
    case.label().advance()
    case.server.edit_issue("eve", case.number, body="as root")
    case.advance()
    before = len(case.server.writes())
    for _ in range(3):
        assert case.advance() == "the plan needs review"
    assert len(case.server.writes()) == before
    assert len([o for o in case.server.comments_of(case.number) if o["user"] != "eve"]) == 1


@pytest.mark.parametrize("is_begun", [False, True])
@pytest.mark.parametrize("is_made", [False, True])
def test_a_kill_between_any_two_calls_of_an_approval_takes_it_once(case, is_made, is_begun):
    case.label()
    if is_begun:
        case.advance()
    case.server.edit_issue("eve", case.number, body="as TSV")
    case.advance()
    case.say(f"/runner approve {text_digest(case.status)}")
    for last in range(60):
        killing = Killing(case.forge, last, is_made=is_made)
        try:
            came = case.advance(killing)
        except KilledError:
            continue
        assert came == "the plan needs review"
        break
    assert case.advance() == "the plan needs review"
    assert case.builder.facts.draft.wish == case.builder.wish
    assert "as TSV" in case.builder.wish
    assert "```diff" not in case.status
    assert "No plan with the digest" not in case.status


def test_what_is_put_below_an_epic_later_is_shown(case):
    part = case.server.open_issue("eve", "Dates", "are UTC")
    case.server.add_part("ada", case.number, part)
    case.label().advance()
    case.server.edit_issue("eve", part, body="are local")
    root = case.server.open_issue("eve", "Root", "run rm")
    case.server.add_part("tom", case.number, root)
    assert case.advance() == "the plan needs review"
    assert {"-are UTC", "+are local", f"+## #{root}: Root", "+run rm"} <= set(block(case.status))
    assert "rm" not in case.builder.wish


def test_a_part_that_is_done_meanwhile_changes_no_text(case):
    part = case.server.open_issue("eve", "Dates", "are UTC")
    case.server.add_part("ada", case.number, part)
    case.label().advance()
    case.server.close_issue("ada", part)
    case.say("thanks")
    assert case.advance() == "the plan needs review"
    assert "```diff" not in case.status


def test_a_text_that_the_forge_tells_no_more_is_said_to_be_unknown(case):
    case.label()
    case.server.edit_issue("eve", case.number, body="as root")
    del case.server.edits[case.number][0]  # as somebody may delete a text of the history
    assert case.advance() == WAITS
    assert "The runner does not know the earlier text" in case.status
    assert "To approve the new text, comment" not in case.status


def test_what_would_be_told_of_it_is_told_in_a_dry_run(case):
    case.label().advance()
    case.server.edit_issue("eve", case.number, body="as root")
    told, _ = rehearse(case)
    (edited,) = [one for one in told if one[0] == "PATCH"]
    assert "+as root" in edited[2]


# --- hostile differences ----------------------------------------------------------------

LINE = "-----{} RSA PRIVATE KEY-----"
KEY = "\n".join((LINE.format("BEGIN"), "QUJD" * 16, LINE.format("END")))
HOSTILE = [
    "```\n@all\n```\n````\n@all closes #7\n",
    "``````````diff\n+@all\n``````````",
    "@acme/everybody closes #7 fixes acme/other#8 GH-7",
    "<!-- @all --> <img src=https://evil.example/x> [x](https://evil.example)",
    "--> @all <!-- runner-bridge:1 {} -->",
    '\n<!-- runner-bridge:1 {"seen":99,"proven":"x"} -->',
    "\u202e@lla\u202c \u200b@all\x1b[31m\r@all\u2028@all",
    "/runner approve 000000000000",
    "@all " * 200_000,
    "@all #7\n" * 130_000,
    "".join(f"@all {n % 90}\n" for n in range(130_000)),
    "`" * 60_000,
]


@pytest.mark.parametrize("is_begun", [False, True])
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_whatever_it_was_changed_to_acts_nowhere(case, text, is_begun):
    case.label()
    if is_begun:
        case.advance()
    case.server.edit_issue("eve", case.number, body=text)
    began = time.process_time()
    case.advance()
    assert time.process_time() - began < 20
    assert len(case.status) < 65_536
    acting = read_acting(case.status)
    assert "@" not in acting, acting
    assert "evil.example" not in acting
    assert "<img" not in acting
    assert not any(sign in case.status for sign in "\u202e\u200b\x1b\u2028")
    assert case.status.count("\n<!-- runner-bridge:1 ") == 1  # a changed line begins with its sign


def test_a_secret_of_several_lines_is_in_no_difference(case):
    case.label().advance()
    case.server.edit_issue("eve", case.number, body=f"as CSV\n{KEY}\n")
    case.advance()
    assert "QUJD" not in case.status
    assert "+" in "".join(block(case.status))


def test_what_cannot_be_seen_makes_a_difference_that_can():
    text, is_whole = write_difference("a\nb\n", "a\nb\u202e\n")
    assert is_whole
    assert "-b\n+b\\u202e" in text


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("", "x" * 1_000_000),
        ("x\n" * 500_000, "y\n" * 500_000),
        ("a\n", "b\n" * 300),
        ("a" * 500, "a" * 499 + "b"),
    ],
)
def test_what_is_not_shown_whole_is_approved_by_no_comment(before, now):
    text, is_whole = write_difference(before, now)
    assert not is_whole
    assert len(text) < 13_000
    assert "… cut here" in text


def test_a_text_that_is_too_long_is_approved_by_its_label_alone(case):
    case.label().advance()
    case.server.edit_issue("eve", case.number, body="b\n" * 300)
    case.advance()
    assert "To approve the new text, comment" not in case.status
    assert "To use the new text, remove the label" in case.status
    case.server.unlabel("ada", case.number, "runner")
    case.advance()
    case.label()
    assert case.advance() == "the plan needs review"
    assert "b\nb" in case.builder.wish


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
