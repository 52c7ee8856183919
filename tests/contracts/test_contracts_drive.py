"""The driver of schemathesis in this process, against a small server of its own."""

import contextlib
import io
import json
import os
import threading
import types
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest

from runner.contracts.inside import drive
from runner.contracts.inside.application import Inventory
from runner.contracts.inside.report import DriveEnded, Report

THING = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
BODY = {"content": {"application/json": {"schema": THING}}}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Things", "version": "1"},
    "paths": {
        "/things": {
            "post": {
                "requestBody": {"required": True, **BODY},
                "responses": {"201": {"description": "", **BODY}},
            }
        },
        "/things/{id}": {
            "parameters": [
                {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
            ],
            "get": {"responses": {"200": {"description": "", **BODY}}},
        },
    },
}


def an_app(environ, start_response):
    """Makes things, loses their id when they are shown, and reads JSON alone."""
    kind = [("Content-Type", "application/json")]
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    if environ["REQUEST_METHOD"] == "GET":
        start_response("200 OK", kind)
        return [b"{}"]
    try:
        json.loads(body)
    except ValueError:
        start_response("400 Bad Request", kind)
        return [b"{}"]
    start_response("201 Created", kind)
    return [b'{"id": "thing-1"}']


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        """Say nothing."""


@contextlib.contextmanager
def served(app):
    with make_server("127.0.0.1", 0, app, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_variables_of_the_project_do_not_change_its_test(monkeypatch):
    for name in ("SCHEMATHESIS_HOOKS", "OPENAPI_SPEC_VALIDATOR_RESOLVED_CACHE_MAXSIZE", "HOME"):
        monkeypatch.setenv(name, "1")
    drive.forget_settings()
    left = [one for one in os.environ if one.startswith(("SCHEMATHESIS_", "OPENAPI_"))]
    assert (left, os.environ["HOME"]) == ([], "1")


@pytest.fixture
def url():
    with served(an_app) as address:
        yield address


@pytest.fixture
def home(tmp_path):
    from hypothesis import configuration
    from schemathesis import hooks

    yield str(tmp_path / "home")
    configuration.set_hypothesis_home_dir(None)
    hooks.unregister_all()


def test_the_driver_notes_what_differs_with_the_request_that_made_the_thing(tmp_path, url, home):
    told = Report(str(tmp_path / "report.json"))
    job = {"document": DOCUMENT, "seed": 1, "examples": 5, "answer_seconds": 5, "home": home}
    inventory = Inventory(list(drive.operations_of(DOCUMENT)), None, url, 5, told)
    output = types.SimpleNamespace(ended=False, tail=lambda: "")
    drive.Tester(job, url, inventory, output, told).test()
    texts = {key[0]: problem["text"] for key, problem in told.problems.items()}
    assert texts["GET /things/{id}"] == (
        'answers with a body that differs from the document: "id" is a required property'
    )
    assert told.requests > 5


@pytest.mark.no_cover
def test_what_succeeded_is_asked_for_twice_so_that_a_conflict_answers(tmp_path, home):
    told = Report(str(tmp_path / "report.json"))
    job = {"document": DOCUMENT, "seed": 1, "examples": 5, "answer_seconds": 5, "home": home}
    inventory = Inventory(list(drive.operations_of(DOCUMENT)), None, "", 5, told)
    output = types.SimpleNamespace(ended=False, tail=lambda: "")
    made = set()

    def once(environ, start_response):
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(length)
        if environ["REQUEST_METHOD"] == "POST" and body in made:
            start_response("423 Locked", [("Content-Type", "application/json")])
            return [b"{}"]
        made.add(body)
        return an_app(environ | {"wsgi.input": io.BytesIO(body)}, start_response)

    with served(once) as url:
        inventory.url = url
        drive.Tester(job, url, inventory, output, told).test()
    (problem,) = (one for key, one in told.problems.items() if key[1] == "UndefinedStatusCode")
    assert problem["operation"] == "POST /things"
    assert "answers 423" in problem["text"]


def test_the_driver_stops_when_the_application_has_ended(tmp_path, url, home):
    told = Report(str(tmp_path / "report.json"))
    job = {"document": DOCUMENT, "seed": 1, "examples": 5, "answer_seconds": 5, "home": home}
    inventory = Inventory([], None, url, 5, told)
    output = types.SimpleNamespace(ended=True, tail=lambda: "")
    with pytest.raises(DriveEnded, match="exited during the test"):
        drive.Tester(job, url, inventory, output, told).test()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"openapi": "2.0"}, "its `openapi` field is not a 3.x version"),
        ({"info": {}}, r'"title" is a required property \(at info\)'),
        ({"paths": {"/x": {"$ref": "#/no"}}}, "its reference #/no has no target"),
        (
            {"components": {"schemas": {"A": {"$ref": "#/components/schemas/A"}}}},
            "form an endless loop|maximum recursion",
        ),
    ],
)
def test_a_document_is_validated(change, why):
    drive.validate(DOCUMENT)
    with pytest.raises(DriveEnded, match=why):
        drive.validate({**DOCUMENT, **change})


@pytest.mark.parametrize(
    ("status", "body", "kind", "expected"),
    [
        (500, b"{}", "application/json", True),
        (400, b"\xff", "application/json", True),
        (400, b"{}", "application/json", False),
        (400, b"\xff", "text/plain", False),
        (400, b"", "application/json", False),
        (418, b"\xff", "application/json", False),
    ],
)
def test_what_no_document_could_say_is_no_difference(status, body, kind, expected):
    request = types.SimpleNamespace(body=body, headers={"Content-Type": [kind]})
    call = types.SimpleNamespace(request=request)
    assert drive.is_reported_otherwise(status, call) is expected
