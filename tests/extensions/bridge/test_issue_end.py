"""What is left of an issue that ended, and that it can begin anew."""

import pytest


def test_merged_it_is_cleaned_up_once_and_begins_anew_by_another_label(case):
    main = case.server.sha_of("main")
    case.label().advance()
    case.approve()
    case.server.merge("ada", case.server.pulls[0]["number"])
    assert case.advance() == "merged"
    assert case.builder.done.count("clear") == 1
    (kept,) = case.builder.retired
    assert kept.is_done
    assert "DONE" in case.status
    assert "Ended: merged. To start over, reopen it and add the label `runner` again" in case.status
    case.server.reopen_issue("ada", case.number)
    told = len(case.server.writes())
    assert case.advance() == "merged", "reopened is not asked for again"
    assert len(case.server.writes()) == told
    case.server.unlabel("ada", case.number, "runner")
    assert case.label().advance() == "the plan needs review"
    assert case.builder.facts.drafts == 1
    case.server._git("update-ref", "refs/heads/main", main)  # the branch is ahead of it again
    assert case.approve() == "the pull request needs review"
    first, second = case.server.pulls
    assert (first["state"], second["state"]) == ("closed", "open")
    assert len(case.builder.retired) == 1


def test_merged_without_closing_the_issue_it_has_ended_all_the_same(case):
    case.label().advance()
    case.approve()
    pull = case.server.pulls[0]
    pull["body"] = "no word of it"
    case.server.merge("ada", pull["number"])
    for _ in "ab":
        assert case.advance() == "merged"
    assert case.server.issues[case.number]["state"] == "open"
    assert case.builder.done.count("clear") == 1
    assert case.builder.done.count("draft 1") == 1


@pytest.mark.parametrize("is_built", [False, True])
def test_closed_it_is_cleaned_up_but_never_under_an_open_pull_request(case, is_built):
    case.label().advance()
    if is_built:
        case.approve()
    case.server.close_issue("ada", case.number)
    if is_built:
        assert case.advance() == "closed, and its pull request is open"
        assert case.builder.retired == []
        assert "clear" not in case.builder.done
        assert case.labels == set()
        case.server.close_issue("ada", case.server.pulls[0]["number"])
    assert case.advance() == "closed"
    assert case.builder.done.count("clear") == 1
    assert len(case.builder.retired) == 1
    case.server.reopen_issue("eve", case.number)
    assert case.advance() == "closed", "somebody who may not push has nothing begun by it"
    assert len(case.builder.retired) == 1


def test_unlabelled_it_keeps_its_work_until_it_is_closed(case):
    case.label().advance()
    case.server.unlabel("ada", case.number, "runner")
    for _ in "ab":
        assert case.advance() == "not asked for"
    assert case.builder.retired == []
    case.server.close_issue("ada", case.number)
    assert case.advance() == "closed"
    assert len(case.builder.retired) == 1


@pytest.mark.parametrize("is_seen", [True, False])
def test_a_pull_request_that_was_closed_does_not_count_when_it_is_asked_for_again(case, is_seen):
    case.label().advance()
    case.approve()
    case.server.close_issue("ada", case.server.pulls[0]["number"])
    assert case.advance() == "closed unmerged"
    case.server.unlabel("ada", case.number, "runner")
    if is_seen:
        assert case.advance() == "not asked for"
    case.label()
    assert case.advance() == "the plan needs review"
    assert len(case.builder.retired) == 1
    assert case.approve() == "the pull request needs review"
    assert len(case.server.pulls) == 2


def test_closed_unmerged_labels_and_branch_are_cleaned_up(case):
    case.label().advance()
    case.approve()
    case.server.close_issue("eve", case.server.pulls[0]["number"])
    assert case.make_work().is_halted()
    for _ in "ab":
        assert case.advance() == "closed unmerged"
    assert case.server.issues[case.number]["state"] == "open"
    assert case.labels == set()
    assert case.builder.done.count("clear") == 1
    assert len(case.builder.retired) == 1
    assert "Ended: closed unmerged. To start over, remove the label `runner`" in case.status
    case.say("/runner retry")
    assert case.advance() == "closed unmerged"
    assert case.builder.done.count("draft 1") == 1


def test_a_branch_that_stays_is_told_of(case):
    case.label().advance()
    case.approve()
    case.builder.stays = "somebody pushed to it"
    case.server.merge("ada", case.server.pulls[0]["number"])
    assert case.advance() == "merged"
    assert "The branch `runner/1` is kept: somebody pushed to it." in case.status


def test_a_merge_ends_what_goes_on(case):
    case.label().advance()
    case.approve()
    pull = case.server.pulls[0]
    pull["body"] = ""
    case.server.merge("ada", pull["number"])
    assert case.make_work().is_halted()
