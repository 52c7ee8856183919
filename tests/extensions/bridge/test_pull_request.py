"""The pull request is a draft that closes nothing until its very head is proven."""

import json

import pytest
from test_bridge_story import rehearse

BACK, READY = "/graphql/convertPullRequestToDraft", "/graphql/markPullRequestReadyForReview"


@pytest.fixture
def built(case):
    """An issue whose pull request waits, and what was open whenever its branch was to move."""
    case.label().advance()
    case.seen = []
    for name in ("approve", "build", "change"):
        _watch(case, name)
    case.approve()
    return case


def _watch(case, name):
    move = getattr(case.builder, name)

    def moved(*words, **more):
        pulls = [(one["pull"]["draft"], one["body"].split(";")[0]) for one in case.server.pulls]
        case.seen.append((name, *pulls))
        return move(*words, **more)

    setattr(case.builder, name, moved)


def drafts(case):
    return [one["pull"]["draft"] for one in case.server.pulls]


def moves(case):
    return [path for _, path, _ in case.server.calls if path in (BACK, READY)]


def test_it_is_there_before_anything_is_built_and_ready_once_that_is_proven(built):
    assert built.seen == [("approve",), ("build", (True, f"For #{built.number}"))]
    (pull,) = built.server.pulls
    assert drafts(built) == [False]
    assert pull["body"].startswith(f"Closes #{built.number}\n")
    told = [path for _, path, _ in built.server.calls if "/statuses/" in path or path == READY]
    assert told.index(READY) > max(n for n, path in enumerate(told) if path != READY)


def test_it_is_a_draft_again_before_a_change_moves_its_head(built):
    built.say("/runner change TASK-008 as TSV")
    built.seen.clear()
    assert built.advance() == "the pull request needs review"
    held = (True, f"For #{built.number}")
    assert built.seen == [("change", held), ("build", held)]
    assert moves(built) == [READY, BACK, READY]
    assert drafts(built) == [False]


def test_it_is_a_draft_again_before_another_plan_is_committed(built):
    built.server.edit_issue("ada", built.number, body="as TSV, too")
    assert built.advance() == "the pull request needs review"
    digest = built.status.partition("/runner approve ")[2][:12]
    built.say(f"/runner approve {digest}")
    assert built.advance() == "the plan needs review"
    built.seen.clear()
    built.approve()
    held = (True, f"For #{built.number}")
    assert built.seen == [("approve", held), ("build", held)]


def test_who_takes_it_back_into_drafts_has_it_stay_there(built):
    built.server.pulls[0]["pull"]["draft"] = True
    built.say("/runner nonsense")
    assert built.advance() == "the pull request needs review"
    assert drafts(built) == [True]
    assert moves(built) == [READY]


def test_who_marks_it_as_ready_early_has_it_stay_ready_and_it_closes_nothing(case):
    case.label().advance()
    case.builder.ends = [5]
    case.approve()
    (pull,) = case.server.pulls
    pull["pull"]["draft"] = False
    case.builder.ends = [5]
    case.say("/runner retry")
    assert case.advance() == "needs your input"
    assert drafts(case) == [False]
    assert "Closes" not in pull["body"]


def _pause(case):
    case.say("/runner stop")


def _use_up(case):
    for name in ("TSV", "XML", "HTML", "PDF"):
        case.say(f"/runner change TASK-008 as {name}")
        case.advance()


def _plan_anew(case):
    case.server.edit_issue("ada", case.number, body="as TSV, too")
    case.advance()
    case.say(f"/runner approve {case.status.partition('/runner approve ')[2][:12]}")


def _take_off(case):
    case.server.unlabel("ada", case.number, "runner")


@pytest.mark.parametrize("wait", [_pause, _use_up, _plan_anew, _take_off])
def test_whatever_it_waits_for_a_head_that_somebody_pushed_closes_nothing(built, wait):
    (pull,) = built.server.pulls
    wait(built)
    built.advance()
    assert pull["body"].startswith("Closes"), "what was proven may still be merged"
    head = built.server.sha_of("runner/1")
    built.server._git("update-ref", "refs/heads/runner/1", built.server.sha_of("main"))
    try:
        built.advance()
    finally:
        built.server._git("update-ref", "refs/heads/runner/1", head)
    assert pull["body"].startswith(f"For #{built.number};")


def test_what_could_not_be_built_is_told_in_the_draft_too(case):
    case.label().advance()
    case.builder.ends = [5]
    case.approve()
    (pull,) = case.server.pulls
    assert "BLOCKED" in pull["body"]


def test_a_forge_without_drafts_has_it_opened_at_the_end(case):
    case.server.has_drafts = False
    case.label().advance()
    case.approve()
    assert case.labels == {"runner:in-review"}
    assert drafts(case) == [False]
    assert case.server.pulls[0]["body"].startswith(f"Closes #{case.number}\n")
    case.seen = []
    _watch(case, "build")
    case.say("/runner change TASK-008 as TSV")
    assert case.advance() == "the pull request needs review"
    assert case.seen == [("build", (False, f"For #{case.number}"))]


def test_what_the_forge_does_not_allow_is_told_and_holds_nothing_up(case):
    case.label().advance()
    case.say(f"/runner approve {case.digest}")
    mark = case.server._ask

    def refuse(query, variables):
        if "markPull" in query:
            said = "Resource not accessible by personal access token @all"
            return 200, None, {"data": {"x": None}, "errors": [{"message": said}]}
        return mark(query, variables)

    case.server._ask = refuse
    assert case.advance() == "the pull request needs review"
    assert drafts(case) == [True]
    assert (
        "Mark the pull request as ready for review yourself: `the forge rejected the request:"
        in case.status
    )
    assert case.server.pulls[0]["body"].startswith("Closes")


def test_a_rehearsal_tells_the_draft_and_that_it_becomes_ready(case):
    case.label().advance()
    case.say(f"/runner approve {case.digest}")
    told, came = rehearse(case)
    assert came == "the pull request needs review"
    said = {path: json.loads(rest[0]) for _, path, *rest in told if rest}
    assert said["/repos/acme/shop/pulls"]["draft"] is True
    ready = said["/graphql"]
    assert "markPullRequestReadyForReview" in ready["query"]


def test_one_that_an_older_bridge_left_ready_is_taken_for_ready(built):
    (pull,) = built.server.pulls
    (comment,) = [one for one in built.server.comments.values() if one["user"] == "runner-bot"]
    comment["body"] = comment["body"].replace(f'"ready":"{built.builder.final}"', '"ready":""')
    built.say("/runner nonsense")
    assert built.advance() == "the pull request needs review"
    assert moves(built) == [READY]
    assert pull["body"].startswith("Closes")
