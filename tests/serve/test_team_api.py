"""A team's API holds against its own document, by the product's own contract gate."""

import types

import pytest
from msgspec.structs import asdict
from team_people import Team
from test_serve_api import home, let_in
from test_team_roles import DOCUMENT, SHOP

from runner.contracts.inside import drive
from runner.contracts.inside.application import Inventory
from runner.contracts.inside.report import Report
from runner.extensions.team.build_queue import BuildOrder, find_build, queue_build
from runner.extensions.team.pending_work import ShownWork, write_shown

__all__ = ["home"]


@pytest.fixture
def team(tmp_path, alone):
    made = Team(tmp_path)
    yield made
    made.close()


@pytest.mark.nightly(
    sibling="tests/serve/test_team_api.py::test_every_path_of_the_document_is_answered_and_every_route_is_in_it"
)
def test_the_document_of_a_team_s_api_holds_against_our_own_contract_gate(team, tmp_path, home):
    from runner.extensions.team.repository_list import repositories

    with team.store.write() as connection:
        fields = asdict(SHOP)
        connection.execute(repositories.insert().values(**fields))
    build = queue_build(team.store, BuildOrder(SHOP, "ada"))
    with team.store.write() as connection:
        write_shown(connection, build.id, [ShownWork("TASK-001", "sha256:1", DOCUMENT)])
    team.add("second", "admin")
    server = team.serve()
    client = server.sign_in("second")
    client.until(lambda: client.api("/me")[0] == 200)
    status, document = client.api("/openapi.json")
    assert status == 200
    drive.validate(document)
    for ways in document["paths"].values():
        for way, operation in ways.items():
            for one in operation["parameters"]:
                if one["in"] == "path":
                    one["schema"] = {"enum": [build.short, "ffffffff"]}
            if way == "post":  # more than thirty at once of one person are slowed down
                operation["responses"]["429"] = operation["responses"]["400"]
    document.pop("security")  # whoever stands between has it
    told = Report(str(tmp_path / "report.json"))
    job = {"document": document, "seed": 1, "examples": 8, "answer_seconds": 60, "home": home}
    with let_in(client) as url:
        inventory = Inventory(list(drive.operations_of(document)), None, url, 60, told)
        output = types.SimpleNamespace(ended=False, tail=lambda: "")
        drive.Tester(job, url, inventory, output, told).test()
    found = {f"{one['operation']}: {one['text']}": one for one in told.problems.values()}
    assert found == {}
    assert told.requests > 80
    assert client.api("/me")[0] == 200
    assert find_build(team.store, build.id).id == build.id


def test_every_path_of_the_document_is_answered_and_every_route_is_in_it(team):
    from runner.extensions.team import page_operations
    from runner.extensions.team.team_access import NEEDS
    from runner.serve.api import openapi_document

    build = queue_build(team.store, BuildOrder(SHOP, "ada"))
    client = team.serve().sign_in("admin")
    paths = client.api("/openapi.json")[1]["paths"]
    assert paths == openapi_document(page_operations.ROWS)["paths"]
    known = {f"{way.upper()} /api/v1{path}" for path, ways in paths.items() for way in ways}
    assert known == {row for row in NEEDS if "/api/v1" in row and "openapi" not in row}
    for path, ways in paths.items():
        if "get" in ways:
            assert client.api(path.replace("{build}", build.short))[0] == 200, path


def test_hostile_texts_of_a_build_are_shown_as_texts(team):
    from site_plans import HOSTILE

    for text in HOSTILE:
        build = queue_build(team.store, BuildOrder(SHOP, text, wish=text))
        shown = {**DOCUMENT, "title": text, "note": text, "words": [text], "kind": "draft"}
        shown["proofs"] = [{"id": text, "verdict": text, "command": text, "note": text}]
        shown["questions"] = [{"message": text, "path": text, "line": 1, "hint": text}]
        with team.store.write() as connection:
            write_shown(connection, build.id, [ShownWork("TASK-001", text, shown)])
    client = team.serve().sign_in("admin")
    pages = ["/", "/people", "/new", f"/q/{build.short}", f"/q/{build.short}/review/TASK-001"]
    for path in pages:
        code, body = client.get(path)
        assert code == 200
        low = body.lower()
        for markup in ("<script>", "<img", "<svg onload", "<iframe", "<style", "<base", "<math",
                       "<form action", " style=", "<b data", "<a href=javascript"):  # fmt: skip
            assert markup not in low, (path, markup)
