"""What the comment tells whoever reads it: what is so, what ended it, and what can be said next."""

import pytest
from msgspec.structs import replace

from runner.extensions.bridge.builder import CommandExit


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (lambda case: case.say("/runner stop"), "paused"),
        (lambda case: case.server.label("tom", case.number, "runner:paused"), "paused"),
        (lambda case: case.server.unlabel("tom", case.number, "runner"), "not asked for"),
        (lambda _: None, "stopped"),
    ],
)
def test_what_ended_a_build_is_told_at_once_and_nothing_is_begun_again(case, end, words):
    case.label().advance()

    def build(**_):
        case.builder.done.append("build")
        end(case)
        return CommandExit(130, "")

    case.builder.build = build
    assert case.approve() == words
    assert case.builder.done.count("build") == 1


def test_a_label_that_pauses_is_told_instead_of_what_was_said_before(case):
    case.label().advance()
    case.say("/runner stop")
    case.advance()
    assert "Stopped by ada." in case.status
    case.say("/runner retry")
    case.advance()
    case.server.label("tom", case.number, "runner:paused")
    case.advance()
    assert "The label `runner:paused` was added." in case.status
    assert "Retried" not in case.status


def test_what_is_handed_over_stands_without_an_older_answer(case):
    case.label().advance()
    case.builder.ends = [5]
    case.approve()
    assert "The runner could not build all tasks." in case.status
    assert "The plan was approved by ada." not in case.status


@pytest.mark.parametrize("word", ["aprove", "aprove 12345678", "retri", "start"])
def test_a_word_that_is_none_is_told_with_those_that_are(case, word):
    case.label().advance()
    case.say(f"/runner {word}")
    case.advance()
    wrong = f"Unknown command `/runner {word.split()[0]}`: expected"
    assert f"{wrong} `approve`, `reject`, `change`, `retry`, `stop`." in case.status
    assert case.builder.done.count("build") == 0


def test_a_word_that_is_none_by_somebody_without_rights_is_talk(case):
    case.label().advance()
    case.say("/runner aprove", "eve")
    case.advance()
    assert "Unknown command" not in case.status


def _labels_and_assigned(case):
    paths = [path for _, path, _ in case.server.writes()]
    return [one for one in paths if "/assignees" in one or "/labels" in one]


def test_a_word_that_does_nothing_moves_no_label_and_assigns_nobody_anew(case):
    case.label().advance()
    for word in ("/runner approve", "/runner approve 12345678", "/runner retry"):
        before = _labels_and_assigned(case)
        case.say(word)
        assert case.advance() == "the plan needs review"
        assert _labels_and_assigned(case) == before
    case.approve()
    before = _labels_and_assigned(case)
    case.say("/runner change TASK-099 as TSV")
    assert case.advance() == "the pull request needs review"
    assert "Unknown task TASK-099" in case.status
    assert _labels_and_assigned(case) == before


def test_a_plan_is_only_said_to_be_written_while_it_is(case):
    case.label().advance()
    case.approve()
    case.say("/runner change TASK-008 as TSV")
    case.advance()
    case.say("/runner stop")
    case.advance()
    case.say("/runner retry")
    case.advance()
    shown = [one["label"]["name"] for one in case.server.events if one["event"] == "labeled"]
    assert shown == [
        "runner",
        "runner:plan-in-progress",
        "runner:plan-in-review",
        "runner:in-progress",
        "runner:in-review",
        "runner:needs-iteration",
        "runner:in-review",
        "runner:paused",
        "runner:in-review",
    ]


def test_nothing_is_tried_again_where_nothing_ended(case):
    case.label().advance()
    case.say("/runner retry")
    assert case.advance() == "the plan needs review"
    assert "Nothing to retry: the issue is not paused" in case.status
    assert "Retried" not in case.status


def test_once_revisions_are_used_up_no_other_one_is_offered(case):
    case.label().advance()
    case.approve()
    for name in ("TSV", "XML", "HTML"):
        case.say(f"/runner change TASK-008 as {name}")
        case.advance()
    case.say("/runner change TASK-008 as PDF")
    assert case.advance() == "needs your input"
    assert "3 revisions failed." in case.status
    assert "To try again, comment `/runner retry`" not in case.status
    assert "ada requested another revision, but the limit is reached." in case.status


def test_a_text_that_waits_for_a_label_offers_no_retry(case):
    case.label()
    case.server.edit_issue("eve", case.number, body="as TSV")
    case.advance()
    assert case.labels == {"runner:needs-person"}
    assert "/runner retry" not in case.status


def test_an_end_is_told_with_what_begins_it_anew(case):
    case.label().advance()
    case.approve()
    (pull,) = case.server.pulls
    case.server.close_issue("ada", pull["number"])
    case.advance()
    assert "To start over, remove the label `runner` and add it again." in case.status
    case.server.unlabel("ada", case.number, "runner")
    case.label().advance()
    case.server.unlabel("ada", case.number, "runner")
    case.advance()
    assert "Ended: not asked for. To start over, add the label `runner` again" in case.status
    case.label().advance()
    case.server.close_issue("ada", case.number)
    case.advance()
    assert "Ended: closed. To start over, reopen it and add the label `runner` again" in case.status


def test_what_is_to_be_said_names_a_task_that_there_is(case):
    case.label().advance()
    case.approve()
    case.server.label("ada", case.number, "runner:needs-iteration")
    case.advance()
    assert "to describe the change, comment `/runner change TASK-008 …`." in case.status
    row = case.builder.facts.tasks[0]
    case.builder.facts = replace(case.builder.facts, tasks=(row, replace(row, id="TASK-009")))
    case.server.review("ada", case.server.pulls[0]["number"], "as TSV")
    case.advance()
    assert "without naming a task; to name one, comment `/runner change TASK-008 …`." in case.status
