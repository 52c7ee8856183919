"""Who of a team may what: every role against every route, tokens, limits, TLS and proxies."""

import http.client
import shutil
import ssl
import types

import pytest
from msgspec.structs import asdict
from starlette.routing import Route
from team_people import HERE, Team, certificate, status
from test_serve_api import home, let_in

from runner.contracts.inside import drive
from runner.contracts.inside.application import Inventory
from runner.contracts.inside.report import Report
from runner.extensions.team.build_queue import BuildOrder, find_build, queue_build
from runner.extensions.team.builds_page import TeamContext
from runner.extensions.team.pending_work import ShownWork, write_shown
from runner.extensions.team.people import ROLES, list_acts, make_token, revoke_token, set_role
from runner.extensions.team.repository_list import Registered
from runner.extensions.team.team_access import ANYBODY, NEEDS, TeamAccess, require_roles
from runner.extensions.team.team_site import make_team_application
from runner.extensions.telemetry.metrics import Metrics, TeamFigures
from runner.serve.builds import Builds
from runner.serve.sessions import SignInLinks

SHOP = Registered("shop", "/srv/shop.git", "main", "", "", "2026-01-02T00:00:00Z", "root@here")
DOCUMENT = {"title": "Greeting", "kind": "writes", "note": "", "signs": ["writes"], "tone": "ask"}
DOCUMENT |= {"words": [], "questions": [], "files": [], "proofs": []}
LAST = "POST /session/end"


@pytest.fixture
def team(tmp_path, alone):
    made = Team(tmp_path)
    yield made
    made.close()


@pytest.fixture
def waiting(team):
    """A build that `operator` queued; TASK-001 of it waits."""
    build = queue_build(team.store, BuildOrder(SHOP, "operator"))
    with team.store.write() as connection:
        write_shown(connection, build.id, [ShownWork("TASK-001", "sha256:1", DOCUMENT)])
    return build


def test_every_route_is_in_the_table_and_every_row_is_a_route(team, tmp_path):
    access = TeamAccess(SignInLinks(tmp_path), "x", team.store, is_secure=False)
    metrics = Metrics(Builds(()), tmp_path / "token", TeamFigures)
    app = make_team_application(TeamContext(team.store), access, metrics, bool)
    found = {
        f"{way} {one.path}": one.needs
        for one in app.routes
        if isinstance(one, Route)
        for way in one.methods - {"HEAD"}
    }
    assert found == NEEDS
    assert {one.path for one in app.routes if not isinstance(one, Route)} == {"/static"}
    with pytest.raises(KeyError):
        require_roles([Route("/new-and-forgotten", lambda _: None, methods=["GET"])])


@pytest.mark.parametrize("role", ROLES)
def test_each_role_is_let_through_where_the_table_says_so_and_nowhere_else(team, waiting, role):
    client = team.serve().sign_in(role)
    wrong = []
    for row in sorted(NEEDS, key=lambda one: (one == LAST, one)):
        needs = NEEDS[row]
        if needs == ANYBODY:
            continue
        method, _, path = row.partition(" ")
        path = path.replace("{build}", waiting.short).replace("{item}", "TASK-001")
        code, said = status(client, method, path)
        refused = code == 403 and "this needs the role" in said
        allowed = ROLES.index(role) >= ROLES.index(needs)
        if refused == allowed or code in (401, 404, 429, 500):
            wrong.append((row, code, said[:200]))
    assert wrong == []
    assert status(client, "GET", "/")[0] == 401  # signed out by the last one


def test_nobody_gets_anywhere_without_a_session(team, waiting):
    client = team.serve().client()
    for row, needs in NEEDS.items():
        method, _, path = row.partition(" ")
        path = path.replace("{build}", waiting.short).replace("{item}", "TASK-001")
        code, _ = status(client, method, path)
        expected = {401, 429} if needs != ANYBODY else {200, 401, 415, 501}
        assert code in expected, row


def test_a_browser_that_is_not_signed_in_is_shown_where_it_can(team):
    client = team.serve().client()
    code, headers, _ = client.ask("GET", "/q/x", Sec_Fetch_Dest="document")
    assert (code, headers["location"]) == (303, "/open")
    code, _, page = client.ask("GET", "/open")
    assert code == 200
    assert b"Sign in" in page


def test_a_token_that_is_revoked_and_a_role_that_is_changed_hold_from_the_next_request_on(team):
    client = team.serve().sign_in("operator")
    assert client.get("/new")[0] == 200
    set_role(team.store, "operator", "viewer", HERE)
    assert client.get("/new")[0] == 403
    assert client.get("/")[0] == 200
    revoke_token(team.store, team.ids["operator"], HERE)
    assert client.get("/")[0] == 401
    assert client.api("/me")[0] == 401
    assert client.enter(team.tokens["operator"]) == 401
    assert client.get("/")[0] == 401


def test_a_stream_ends_when_its_token_is_revoked(team):
    client = team.serve().sign_in("viewer")
    line = http.client.HTTPConnection("127.0.0.1", client.port, timeout=60)
    told = {"Cookie": client.cookie, "X-Runner-Secret": client.secret}
    told["Accept"] = "text/event-stream"
    line.request("GET", "/api/v1/events", headers=told)
    answer = line.getresponse()
    assert answer.read1(100).startswith(b"retry")
    revoke_token(team.store, team.ids["viewer"], HERE)
    while answer.read1(1000):
        pass
    assert client.get("/")[0] == 401


def test_wrong_tokens_open_nothing_and_are_slowed_down(team):
    client = team.serve().client()
    for odd in ("rnr_wrong", "", "x" * 10_000, "' OR 1=1 --", "rnr_\ud800"):
        assert client.enter(odd or " ") == 401
    codes = [client.enter(f"rnr_{number}") for number in range(12)]
    assert set(codes) == {401, 429}
    assert client.enter(team.tokens["admin"]) == 429
    assert [one.kind for one in list_acts(team.store)].count("person.signed-in") == 0


def test_writes_are_counted_for_each_person_whatever_browser_they_have(team):
    server = team.serve()
    both = [server.sign_in("viewer") for _ in range(2)]
    codes = [status(both[number % 2], "POST", "/new/do/queue")[0] for number in range(40)]
    assert codes[0] == 403
    assert codes[-1] == 429
    assert both[0].get("/")[0] == 200
    other = server.sign_in("operator")
    assert status(other, "POST", "/new/do/queue")[0] == 400


def test_who_did_it_is_in_the_events_and_that_it_was_at_the_page(team, waiting):
    server = team.serve()
    operator, reviewer = server.sign_in("operator"), server.sign_in("reviewer")
    here = f"/queue/{waiting.short}"
    fields = {"item": "TASK-001", "seen": "sha256:0"}
    assert reviewer.post(f"{here}/approve", fields)[0] == 409
    assert reviewer.post(f"{here}/approve", {"item": "TASK-001"})[0] == 400
    code, said = reviewer.post(f"{here}/approve", fields | {"seen": "sha256:1"})
    assert (code, said["text"]) == (200, "TASK-001 approved")
    code, said = reviewer.post(f"{here}/reject", fields | {"seen": "sha256:1", "reason": "no"})
    assert (code, said["error"]["message"]) == (409, "TASK-001 was already answered by reviewer")
    assert operator.post(f"{here}/cancel", {})[1]["text"] == f"{waiting.short} is cancelled"
    assert operator.post(f"{here}/cancel", {})[0] == 400
    assert operator.post(f"{here}/retry", {})[0] == 200
    own = reviewer.api(f"{here}/events")[1]["records"]
    told = [(one["type"], one["by"], one["via"]) for one in own]
    assert told == [
        ("build.queued", "operator", "terminal"),
        ("answer.given", "reviewer", "page"),
        ("build.cancelled", "operator", "page"),
        ("build.retried", "operator", "page"),
    ]
    assert reviewer.api(f"{here}/events?after=2&limit=1")[1]["records"][0]["seq"] == 3
    assert reviewer.api(f"{here}/events?journal=x")[0] == 400
    assert reviewer.api("/queue/ffffffff")[0] == 404


def test_of_four_eyes_who_asked_is_refused_and_another_is_not(team, waiting):
    server = team.serve(RUNNER_TEAM_FOUR_EYES="true")
    operator, reviewer = server.sign_in("operator"), server.sign_in("reviewer")
    fields = {"item": "TASK-001", "seen": "sha256:1"}
    code, said = operator.post(f"/queue/{waiting.short}/approve", fields)
    assert code == 403
    assert said["error"]["message"].startswith("four eyes")
    page = operator.get(f"/q/{waiting.short}/review/TASK-001")[1]
    assert "another person must approve it" in page
    assert "do/approve" not in page
    assert "do/approve" in reviewer.get(f"/q/{waiting.short}/review/TASK-001")[1]
    assert reviewer.post(f"/queue/{waiting.short}/approve", fields)[0] == 200


def test_people_are_kept_from_the_page(team):
    admin = team.serve().sign_in("admin")
    assert admin.post("/people/add", {"name": "eve", "role": "viewer"})[0] == 200
    assert admin.post("/people/add", {"name": "eve", "role": "viewer"})[0] == 409
    assert admin.post("/people/add", {"name": "<b>", "role": "viewer"})[0] == 400
    code, said = admin.post("/people/token", {"name": "eve", "label": "phone", "days": "30"})
    assert code == 200
    assert said["secret"].startswith("rnr_")
    code, _, body = admin.ask("GET", "/people", Cookie=admin.cookie)
    assert said["secret"] not in body.decode()
    assert admin.post("/people/role", {"name": "admin", "role": "viewer"})[0] == 403
    assert admin.post("/people/remove", {"name": "admin"})[0] == 403
    people = admin.api("/people")[1]["people"]
    (token,) = next(one for one in people if one["name"] == "eve")["tokens"]
    assert "digest" not in token
    assert admin.post("/people/revoke", {"token": token["id"]})[0] == 200
    assert admin.post("/people/remove", {"name": "eve"})[0] == 200
    kinds = [(one["kind"], one["via"]) for one in admin.api("/people")[1]["acts"]][:4]
    assert kinds == [
        ("person.removed", "page"),
        ("token.revoked", "page"),
        ("token.made", "page"),
        ("person.added", "page"),
    ]


def test_another_site_can_do_nothing_with_somebody_s_cookie(team):
    admin = team.serve().sign_in("admin")
    before = len(list_acts(team.store))
    own = {"Cookie": admin.cookie, "X_Runner_Secret": admin.secret, "Origin": admin.origin}
    own["Content_Type"] = "application/x-www-form-urlencoded"
    for changes, code in (
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": None}, 403),
        ({"X_Runner_Secret": None}, 401),
        ({"X_Runner_Secret": "x"}, 401),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Cookie": None}, 401),
        ({"X_Forwarded_For": "10.0.0.1", "Content_Type": "text/plain"}, 415),
    ):
        body = b"name=eve&role=admin"
        assert admin.ask("POST", "/people/do/add", body, **{**own, **changes})[0] == code, changes
        assert len(list_acts(team.store)) == before, changes


def test_a_store_that_is_away_lets_nobody_in(team, tmp_path):
    client = team.serve().sign_in("viewer")
    (tmp_path / "store.sqlite").rename(tmp_path / "moved")
    for rest in tmp_path.glob("store.sqlite-*"):
        rest.unlink()
    (tmp_path / "store.sqlite").mkdir()
    codes = {client.get("/")[0] for _ in range(3)}
    assert codes <= {200, 503}  # a connection that was open still has the file
    assert client.enter(team.tokens["admin"]) in (200, 503)


def test_a_token_whose_time_is_over_lets_nobody_in(team):
    said, _ = make_token(team.store, "viewer", HERE, seconds=0.000001)
    assert team.serve().client().enter(said) == 401


# --- how it is reached ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--team", "--listen", "0.0.0.0"), "tokens would cross the network unencrypted"),
        (("--team", "--tls-cert", "x"), "missing TLS file"),
        (("--team", "--tls-cert", "x", "--tls-key", "y"), "this certificate cannot be used"),
        (("--team", "--behind-proxy", "10.0.0.1"), "missing host name of the server"),
        (("--team", "--behind-proxy", "x", "--name", "a"), "invalid proxy address"),
        (("--team", "--listen", "localhost"), "invalid address"),
        (("--team", "--link"), "--link does not work with --team"),
        (("--team", "--also", "."), "--team does not work with folders"),
        (("--listen", "127.0.0.1"), "--listen needs --team"),
        (("--name", "x"), "--name needs --team"),
        (("--team",), "the store does not exist yet"),
    ],
)
def test_what_would_let_others_listen_in_is_refused(workplace, words, told):
    ended = workplace.runner("serve", *words)
    assert ended.code == 2
    assert told in ended.err


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
def test_over_tls_the_cookie_is_secure_and_of_this_host_alone(team, tmp_path):
    chain, key = certificate(tmp_path)
    words = ("--listen", "127.0.0.1", "--name", "localhost")
    server = team.serve(*words, "--tls-cert", chain, "--tls-key", key, scheme="https")
    port = int(server.origin.rpartition(":")[2])
    line = http.client.HTTPSConnection(
        "localhost", port, timeout=60, context=ssl.create_default_context(cafile=chain)
    )
    told = {"Origin": server.origin, "Content-Type": "application/json"}
    line.request("POST", "/session", f'{{"token": "{team.tokens["viewer"]}"}}', told)
    answer = line.getresponse()
    answer.read()
    assert answer.status == 200
    said = answer.headers["set-cookie"]
    assert said.startswith("__Host-runner-")
    for word in ("HttpOnly", "SameSite=strict", "Secure", "Path=/"):
        assert word in said
    line.request("POST", "/session", "{}", told | {"Origin": f"http://localhost:{port}"})
    assert line.getresponse().status == 403


def test_only_the_proxy_is_heard_and_believed(team):
    named = ("--name", "runner.example.org", "--behind-proxy")
    server = team.serve(*named, "127.0.0.1", "--port", "0", scheme="https")
    port = server.process.args and find_port(server)
    client = server.client()
    client.port, client.host = port, "runner.example.org"
    client.origin = "https://runner.example.org"
    told = {"X_Forwarded_Proto": "https", "X_Forwarded_For": "10.9.9.9, 203.0.113.7"}
    assert client.ask("GET", "/open")[0] == 403
    assert client.ask("GET", "/open", X_Forwarded_Proto="http")[0] == 403
    assert client.ask("GET", "/open", **told)[0] == 200
    assert client.ask("GET", "/open", **told, Host=f"127.0.0.1:{port}")[0] == 421
    code, headers, _ = client.ask(
        "POST",
        "/session",
        f'{{"token": "{team.tokens["viewer"]}"}}'.encode(),
        Origin=client.origin,
        Content_Type="application/json",
        **told,
    )
    assert code == 200
    assert "Secure" in headers["set-cookie"]
    assert list_acts(team.store)[0].note == "from 203.0.113.7"
    other = team.serve(*named, "10.1.2.3", scheme="https")
    client.port = find_port(other)
    assert client.ask("GET", "/open", **told)[0] == 403


def find_port(server):
    """Where it listens: what it is called has no port."""
    import psutil

    found = psutil.Process(server.process.pid).net_connections("tcp")
    (port,) = {one.laddr.port for one in found if one.status == psutil.CONN_LISTEN}
    return port


__all__ = ["home"]


@pytest.mark.nightly(
    sibling="tests/serve/test_team_roles.py::test_every_path_of_the_document_is_answered_and_every_route_is_in_it"
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
