"""The small forge's answers, and what we ask of it, against GitHub's own description of its API."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from issue_case import Case, Direct


class Telling(Direct):
    """Remembers every call: method, path, what was asked, status and answer."""

    def __init__(self, server):
        super().__init__(server)
        self.calls = []

    def write(self, method, path, document=None):
        status, _, said = self.server.answer(method, path, document)
        self.calls.append((method, urlsplit(path).path, document, status, said))
        return said


@pytest.fixture(scope="module")
def api():
    import published_api

    folder = Path(__file__).parents[3] / "build/published-api"  # where git looks away
    folder.mkdir(parents=True, exist_ok=True)
    found, why_not = published_api.load(folder)
    if found is None:
        pytest.skip(f"GitHub's API description: {why_not}")
    return found


@pytest.fixture
def calls(case):
    """All that a long story asks, of every kind that the bridge ever asks."""
    server, http = case.server, Telling(case.server)
    other = Case(server, case.builder.final, http)
    other.builder.there = f"runner/{other.number}"
    server._git("update-ref", f"refs/heads/{other.builder.there}", case.builder.final)
    first = server.open_issue("eve", "First")
    part = server.open_issue("eve", "Part")
    server.add_part("ada", other.number, part)
    server.block(other.number, first)
    other.label().advance(has_mirrors=True)
    server.close_issue("ada", first)
    server.edit_issue("ada", other.number, title="Another", body="text")
    other.advance(has_mirrors=True)
    other.say(f"/runner reject {other.digest} another way")
    other.advance()
    other.builder.ends = [5]
    other.say(f"/runner approve {other.digest}")
    other.advance(has_mirrors=True)
    other.say("/runner retry")
    other.advance(has_mirrors=True)
    (pull,) = server.pulls
    server.review("ada", pull["number"], "TASK-008 as TSV", lines=[("a.py", 1, "this")])
    other.advance()
    server.comment("bot", other.number, "done")
    other.forge.delete_comment(other.forge.create_comment(other.number, "x").id)
    other.forge.list_label_events(other.number)
    other.forge.find_login()
    other.forge.find_default_branch()
    other.forge.list_issues("runner")
    return [one for one in http.calls if not one[1].startswith("/graphql")]


def test_what_the_small_forge_answers_and_we_ask_is_described(api, calls):
    kinds = {(method, path.rstrip("0123456789")) for method, path, *_ in calls}
    assert len(kinds) > 20
    mistakes = set()
    for method, path, asked, status, said in calls:
        for one in api.mistakes_of_answer(method, path, status, said):
            mistakes.add(f"{method} {path} answers {one}")
        for one in api.mistakes_of_request(method, path, asked):
            mistakes.add(f"{method} {path} asks {one}")
    assert mistakes == set()


def test_what_does_not_fit_is_found(api):
    path = "/repos/acme/shop/issues/7"
    assert api.mistakes_of_answer("GET", path, 200, {"number": 7, "state": "open"}) == []
    assert api.mistakes_of_answer("GET", path, 200, {"number": "7"})
    assert api.mistakes_of_answer("GET", path, 200, {"nummer": 7})
    assert api.mistakes_of_answer("GET", path, 418, {})
    assert api.mistakes_of_answer("GET", "/repos/acme/shop/isues", 200, [])
    assert api.mistakes_of_request("POST", "/repos/acme/shop/issues", {"body": "no title"})
    assert api.mistakes_of_request("GET", path, {"x": 1})
