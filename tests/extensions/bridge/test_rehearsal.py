"""`--dry-run` tells each call that would write, in their order, and makes none."""

import json

from runner.extensions.bridge.rehearsal import Rehearsal, RehearsalHttp


def rehearse(case):
    """What one look at the issue would write, and what came of it."""
    told = []
    http = RehearsalHttp(case.server.address, case.server.token, tell=told.append)
    forge = Rehearsal(http, "acme/shop", login="runner-bot")
    before = len(case.server.writes())
    came = case.advance(forge)
    assert len(case.server.writes()) == before, "nothing is written"
    return [tuple(one.split(" ", 2)) for one in told], came


def test_a_wish_that_begins_is_told_call_by_call(case):
    told, came = rehearse(case.label())
    assert came == "the plan needs review"
    at = f"/repos/acme/shop/issues/{case.number}"
    made = f"{at}/comments"
    assert [(method, path) for method, path, _ in told[:2]] == [
        ("POST", made),
        ("POST", f"{at}/labels"),
    ]
    assert json.loads(told[0][2])["body"].startswith("**runner**: writing a plan")
    assert json.loads(told[1][2]) == {"labels": ["runner:plan-in-progress"]}
    assert ("DELETE", f"{at}/labels/runner%3Aplan-in-progress") in [one[:2] for one in told]
    assert [method for method, path, *_ in told if path == made] == ["POST"], "one comment"


def test_a_pull_request_that_would_be_opened_is_told_once(case):
    case.label().advance()
    case.say(f"/runner approve {case.digest}")
    told, came = rehearse(case)
    assert came == "the pull request needs review"
    pulls = [json.loads(one[2]) for one in told if one[1] == "/repos/acme/shop/pulls"]
    (pull,) = pulls
    assert (pull["head"], pull["base"]) == ("runner/1", "main")
    assert len([one for one in told if "/statuses/" in one[1]]) == 1


def test_who_waits_is_told_nothing_of(case):
    case.label().advance()
    assert rehearse(case) == ([], "the plan needs review")
