"""An application is held to its OpenAPI document while it runs."""

import json
import socket
import sys

import pytest
from msgspec.structs import replace

from runner.contracts import entries, openapi
from runner.contracts.inside.report import Report
from runner.gates.base import Check
from runner.model import Verdict
from runner.process.limits import Limits
from runner.process.sandbox import NoSandbox

THING = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
}


def answer(schema):
    return {"description": "It", "content": {"application/json": {"schema": schema}}}


def document(**paths):
    return json.dumps(
        {
            "openapi": "3.1.0",
            "info": {"title": "Things", "version": "1"},
            "paths": paths or {"/thing": {"get": {"responses": {"200": answer(THING)}}}},
        }
    )


WSGI = """\
import json
def app(environ, start_response):
    known = environ["PATH_INFO"] == "/thing"
    start_response("200 OK" if known else "404 Not Found", [("Content-Type", "application/json")])
    return [json.dumps({"name": "x"} if known else {"error": "?"}).encode()]
"""
ASGI = """\
import json
state = {}
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        assert (await receive())["type"] == "lifespan.startup"
        state["name"] = "x"
        await send({"type": "lifespan.startup.complete"})
        await receive()
        return
    assert not (await receive())["more_body"]
    status = 200 if scope["path"] == "/thing" else 404
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(state).encode()})
"""
CONTRACT = "api.json app=web:app"
METHODICAL = """\
import json
def app(environ, start_response):
    known = environ["PATH_INFO"] == "/thing"
    served = {"GET": "200 OK", "DELETE": "204 No Content"} if known else {}
    status = served.get(environ["REQUEST_METHOD"], "404 Not Found")
    start_response(status, [("Content-Type", "application/json")])
    return [] if status.startswith("204") else [json.dumps({"name": "x"}).encode()]
"""


@pytest.mark.parametrize("app", [WSGI, ASGI])
def test_an_application_that_is_as_its_document_says_conforms(project, app):
    project.write("api.json", document()).write("src/web.py", app)
    proved = project.prove("openapi", CONTRACT)
    assert proved.findings == ()
    assert (proved.proof.id, proved.proof.verdict) == ("contract:openapi", Verdict.PASS)
    counts = dict(proved.proof.counts)
    assert counts["operations"] == 1
    assert [name for name, _ in proved.tools] == ["openapi-spec-validator", "schemathesis"]
    assert counts["requests"] >= 3
    assert sorted(path.name for path in project.tree.iterdir() if path.name[0] == ".") == []


def test_without_a_sandbox_it_is_tested_too(project):
    project.write("api.json", document()).write("web.py", ASGI).on(sandbox=NoSandbox())
    assert project.said("openapi", CONTRACT) == []


def test_a_function_may_make_the_application(project):
    project.write("api.json", document())
    project.write("web.py", "def made():\n    return app\n" + WSGI)
    assert project.said("openapi", "api.json app=web:made()") == []


def test_a_command_may_serve_it_below_a_path(project):
    paths = {"/thing": {"get": {"responses": {"200": answer(THING)}}}}
    whole = {**json.loads(document(**paths)), "servers": [{"url": "https://example.org/v1"}]}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    serve = f"""
from wsgiref.simple_server import make_server
make_server("127.0.0.1", {port}, app).serve_forever()
"""
    project.write("api.json", json.dumps(whole))
    project.write("web.py", WSGI.replace('"/thing"', '"/v1/thing"') + serve)
    value = f'api.json url=http://127.0.0.1:{port} start="{sys.executable} web.py"'
    assert project.said("openapi", value) == []


def test_differences_are_named_with_the_request_that_shows_them(project):
    paths = {
        "/thing": {"get": {"responses": {"200": answer(THING)}}},
        "/other": {"get": {"responses": {"200": answer(THING)}}},
        "/gone": {"get": {"responses": {"200": answer(THING), "404": {"description": "No"}}}},
    }
    app = WSGI.replace(
        'environ["PATH_INFO"] == "/thing"',
        'environ["PATH_INFO"] != "/gone" and "no-such" not in environ["PATH_INFO"]',
    )
    app = app.replace('{"name": "x"} if known', '{"nam": "x"} if known')
    app = app.replace(
        '"application/json"',
        '"text/plain" if "other" in environ["PATH_INFO"] else "application/json"',
    )
    project.write("api.json", document(**paths)).write("web.py", app)
    proved = project.prove("openapi", CONTRACT)
    assert proved.proof.verdict is Verdict.FAIL
    assert [finding.message for finding in proved.findings] == [
        "GET /gone answers every request as if the path did not exist",
        "GET /other answers with text/plain; documented: application/json",
        (
            "GET /thing answers with a body that differs from the document: "
            '"name" is a required property'
        ),
    ]
    shown = proved.findings[-1]
    assert shown.detail == ('curl -X GET http://127.0.0.1:8000/thing\n# answered 200: {"nam": "x"}')
    assert shown.hint == "fix the application, or api.json if this is intended"


ROUTED = """\
from werkzeug.routing import Map, Rule
from werkzeug.wrappers import Response
class App:
    url_map = Map([
        Rule("/thing", methods=["GET"], endpoint="thing"),
        Rule("/thing/<int:id>/part", methods=["PUT"], endpoint="part"),
    ])
    def __call__(self, environ, start_response):
        found = environ["PATH_INFO"] == "/thing"
        made = Response('{"name": "x"}', 200 if found else 404, mimetype="application/json")
        return made(environ, start_response)
app = App()
"""


def test_routes_tell_what_the_document_does_not_have_and_what_is_not_served(project):
    lost = {"put": {"responses": {"404": {"description": "No"}}}}
    thing = {"get": {"responses": {"200": answer(THING)}}}
    paths = document(
        **{
            "/thing": thing,
            "/lost/{id}": {
                **lost,
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
                ],
            },
        }
    )
    project.write("api.json", paths).write("web.py", ROUTED)
    proved = project.prove("openapi", CONTRACT)
    assert [(one.message, one.hint) for one in proved.findings] == [
        (
            "PUT /lost/{id} has no route in the application",
            "add it to the application, or remove it from api.json",
        ),
        (
            "PUT /thing/{id}/part is served, but is not in the document",
            "describe it in api.json, or remove it from the application",
        ),
    ]


# --- what cannot be tested ------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "message", "printed"),
    [
        (
            "import nothing_of_this_name",
            (
                "web:app does not start: web:app could not be imported: "
                "ModuleNotFoundError: No module named 'nothing_of_this_name'"
            ),
            "Traceback",
        ),
        (
            "print('bye')\nimport sys; sys.exit(3)",
            "web:app does not start: web:app could not be imported: it called sys.exit(3)",
            "bye",
        ),
        (
            "print('bye', flush=True)\nimport os; os._exit(0)",
            "web:app does not start: it exited before it answered",
            "bye",
        ),
        (
            "other = 1",
            (
                "web:app does not start: web:app could not be imported: AttributeError: "
                "module 'web' has no attribute 'app'"
            ),
            "",
        ),
        (
            ASGI.replace(
                "state[",
                "await send({'type': 'lifespan.startup.failed', 'message': 'no database'}); state[",
            ),
            "web:app does not start: it exited before it answered",
            "no database",
        ),
    ],
)
def test_an_application_that_does_not_start_shows_what_it_printed(
    project, source, message, printed
):
    project.write("api.json", document()).write("web.py", source)
    proved = project.prove("openapi", CONTRACT)
    (finding,) = proved.findings
    assert finding.message == message
    assert printed in finding.detail
    assert proved.proof.verdict is Verdict.FAIL


def test_an_application_that_never_answers_is_not_waited_for(project):
    project.write("api.json", document()).write("web.py", "import time; time.sleep(60)")
    (message,) = project.said("openapi", CONTRACT, timeout=20)
    assert message == "web:app does not start: it did not answer within 8 s"


def test_an_application_that_hangs_on_requests_is_told_soon(project):
    slow = WSGI.replace(
        "    known",
        '    import time; "thing" in environ["PATH_INFO"] and time.sleep(30)\n    known',
    )
    project.write("api.json", document()).write("web.py", slow)
    said = project.said("openapi", CONTRACT, timeout=12)
    assert said == ["GET /thing gives no answer within 1.2 s"]


def test_an_exception_of_the_application_is_an_answer_500_with_its_traceback(project):
    raising = '    if scope["path"] == "/thing": raise OSError("no disk")\n    status ='
    project.write("api.json", document())
    project.write("web.py", ASGI.replace("    status =", raising, 1))
    (finding,) = project.prove("openapi", CONTRACT).findings
    assert finding.message == "GET /thing answers 500: the application failed"
    assert finding.detail.startswith("curl -X GET http://127.0.0.1:8000/thing\n# answered 500")
    assert "OSError: no disk" in finding.detail


def test_an_application_that_dies_is_told_with_its_last_words(project):
    deadly = WSGI.replace(
        "    known",
        '    import os; "no-such" in environ["PATH_INFO"] or '
        "(print('argh', flush=True), os._exit(9))\n    known",
    )
    project.write("api.json", document()).write("web.py", deadly)
    proved = project.prove("openapi", CONTRACT)
    assert proved.findings[0].message == "web:app: the application exited during the test"
    assert "argh" in proved.findings[0].detail


def test_an_application_may_print_as_much_as_it_likes(project):
    loud = "for _ in range(100): print('x' * 1_000_000)\n" + WSGI
    project.write("api.json", document()).write("web.py", loud)
    assert project.said("openapi", CONTRACT) == []


def test_a_port_in_use_is_told_and_nothing_is_tested(project):
    project.write("api.json", document()).on(sandbox=NoSandbox())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        value = f'api.json url=http://127.0.0.1:{port} start="touch started"'
        assert project.said("openapi", value) == [f"port {port} is already in use"]
    assert not (project.tree / "started").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"openapi": "3.1.0", "paths": {}}',
            'the document is not valid OpenAPI: "info" is a required property',
        ),
        (
            document(**{"/x": {"get": {"responses": {"200": {}}}}}),
            "the document is not valid OpenAPI: ",
        ),
        (
            '{"swagger": "2.0"}',
            "the document is not valid OpenAPI: its `openapi` field is not a 3.x version",
        ),
        (
            document(**{"/x": {"$ref": "#/nowhere"}}),
            "the document is not valid OpenAPI: its reference #/nowhere has no target",
        ),
        ("[]", "the file is not an OpenAPI document"),
        ('{"openapi"', "the file is not JSON: Expecting ':' delimiter"),
        (
            '{"paths": {"$ref": "http://example.org/x.json"}}',
            "the file refers to http://example.org/x.json, outside the repository",
        ),
    ],
)
def test_a_document_that_is_none_is_refused(project, text, message):
    project.write("api.json", text).write("web.py", WSGI)
    proved = project.prove("openapi", CONTRACT)
    assert proved.findings[0].message.startswith(message)
    assert proved.findings[0].path == "api.json"
    assert proved.proof.verdict is Verdict.FAIL


def test_without_the_extra_nothing_is_proven(project, monkeypatch):
    monkeypatch.setattr(entries, "_PACKAGES", {"openapi": ("schemathesis", "a_package_nobody_has")})
    project.write("api.json", document()).write("web.py", WSGI)
    (finding,) = project.prove("openapi", CONTRACT).findings
    assert finding.message == "tool missing: a-package-nobody-has"
    assert finding.hint == "pip install 'task-graph-runner[contracts]'"
    assert finding.refuses


def test_a_report_that_is_forged_in_shape_is_not_believed(project):
    forging = (
        "import sys, pathlib\n"
        + WSGI
        + """
pathlib.Path(sys.argv[2]).with_name("report.json").mkdir()
"""
    )
    project.write("api.json", document()).write("web.py", forging)
    proved = project.prove("openapi", CONTRACT)
    assert proved.proof.verdict is Verdict.FAIL
    assert proved.findings


def test_what_could_not_be_tried_stands_behind_differences_and_refuses_nothing(tmp_path):
    def listed(*problems):
        told = Report(str(tmp_path / "report.json"))
        for label, kind in problems:
            told.add_problem((label, kind, label), "answers 500: the application failed")
        found = [openapi.OpenapiProblem(*one.values()) for one in told.problems.values()]
        said = openapi.OpenapiReport("tested", "", "", 50, 50, tuple(found))
        check = Check(id="contract:openapi", kind="contract", command="", limits=Limits())
        return [*openapi._findings(check, entries.OpenApi("api.json", app="web:app"), said)]

    untried = [(f"GET /{number}", "error") for number in range(100, 160)]
    assert not any(one.refuses for one in listed(*untried))
    assert listed(*untried)[-1].message == "20 more differences from api.json"
    first, *others = listed(*untried, ("GET /z", "ServerError"))
    assert (first.message, first.refuses) == ("GET /z answers 500: the application failed", True)
    assert not any(one.refuses for one in others)
    assert listed(*untried[:21])[-1].message == "1 more difference from api.json"


def test_two_proofs_of_the_same_say_the_same(project):
    project.write("api.json", document()).write("web.py", WSGI)
    one, two = (project.prove("openapi", CONTRACT) for _ in range(2))
    assert one.proof.output == two.proof.output
    assert replace(one.proof, seconds=0) == replace(two.proof, seconds=0)


def test_a_method_that_is_served_beside_the_documented_ones_is_found(project):
    project.write("api.json", document()).write("web.py", METHODICAL)
    proved = project.prove("openapi", CONTRACT)
    assert [(one.message, one.hint) for one in proved.findings] == [
        (
            "DELETE /thing is served, but is not in the document",
            "describe it in api.json, or remove it from the application",
        )
    ]
