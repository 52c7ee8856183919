"""The scripts that run in the sandbox, one piece at a time, in this process."""

import asyncio
import contextlib
import dataclasses
import datetime as dt
import decimal
import enum
import http.client
import io
import json
import os
import socket
import threading
import types
import typing
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.contracts.inside import application, describe, drive, instances, report, serve
from runner.contracts.inside.application import Inventory
from runner.contracts.inside.report import DriveEnded, Report
from runner.contracts.json_schemas import differences

# --- describe -------------------------------------------------------------------------


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


Name = typing.NewType("Name", str)


@dataclasses.dataclass
class Part:
    above: "Part | None"
    when: dt.datetime
    cost: decimal.Decimal = decimal.Decimal(0)


@dataclasses.dataclass
class Whole:
    name: Name
    colour: Colour
    parts: list[Part]
    pair: tuple[int, str]
    many: tuple[float, ...]
    tags: frozenset[str]
    counts: dict[str, int]
    raw: typing.Any
    bounded: typing.Annotated[int, "small"]
    hidden: int = dataclasses.field(default=0, init=False)


def test_annotations_become_a_schema():
    whole = describe.Annotations().whole(Whole)
    part, thing = (whole["$defs"][f"{__name__}.{name}"] for name in ("Part", "Whole"))
    reference = {"$ref": f"#/$defs/{__name__}.Part"}
    assert whole["$ref"] == f"#/$defs/{__name__}.Whole"
    assert part == {
        "type": "object",
        "properties": {
            "above": {"anyOf": [reference, {"type": "null"}]},
            "when": {"type": "string", "format": "date-time"},
            "cost": {"type": "string"},
        },
        "required": ["above", "when"],
    }
    assert thing["properties"] == {
        "name": {"type": "string"},
        "colour": {"enum": ["red", "blue"]},
        "parts": {"type": "array", "items": reference},
        "pair": {
            "type": "array",
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
            "minItems": 2,
            "maxItems": 2,
        },
        "many": {"type": "array", "items": {"type": "number"}},
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
        "raw": {},
        "bounded": {"type": "integer"},
    }


def test_an_annotation_without_words_is_told():
    with pytest.raises(TypeError, match="has no JSON Schema form"):
        describe.Annotations().schema(complex)


def test_pydantic_says_a_type_where_it_is_there():
    said = describe.describe(Part, "x:Part")
    assert (said["by"], said["loose"], len(said["schemas"])) == ("pydantic", True, 2)


SCALARS = (str, int, float, bool, type(None), dt.datetime, dt.date)
INNER = dataclasses.make_dataclass("Inner", [("a", int), ("b", "str | None")])
PLAIN = st.recursive(
    st.sampled_from((*SCALARS, INNER)),
    lambda part: st.one_of(
        part.map(lambda one: list[one]),
        st.tuples(part, part).map(lambda pair: typing.Union[pair]),  # noqa: UP007 - made of values
    ),
    max_leaves=5,
)


@settings(max_examples=50, deadline=None)
@given(st.lists(PLAIN, min_size=1, max_size=4))
def test_of_a_plain_dataclass_pydantic_says_what_its_annotations_say(kinds):
    kind = dataclasses.make_dataclass("Made", [(f"f{n}", one) for n, one in enumerate(kinds)])
    own = describe.Annotations().whole(kind)
    said = describe.by_adapter(kind)
    assert len(said) == 2
    for one in said:
        assert (differences(own, one), differences(one, own)) == ((), ())


def test_the_type_is_written_down_or_why_there_is_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(describe.sys.path))
    out = tmp_path / "out.json"
    for target, key in (("fractions:Fraction", "error"), (f"{__name__}:Part", "schemas")):
        monkeypatch.setattr("sys.argv", ["describe", target, str(out)])
        with pytest.raises(SystemExit):
            describe.main()
        assert key in json.loads(out.read_text())


# --- serve ----------------------------------------------------------------------------


def test_a_starlette_table_says_its_routes():
    def a_route(path, *methods, **more):
        return types.SimpleNamespace(path=path, methods=set(methods) or None, **more)

    class Mount:
        path, methods, routes = "/static", None, None

    below = types.SimpleNamespace(path="/v1", methods=None, routes=[a_route("/b/{id:int}", "PUT")])
    table = [
        a_route("/a", "GET", "HEAD"),
        below,
        Mount(),
        a_route("/docs", "GET", include_in_schema=False),
    ]
    assert serve.routes(types.SimpleNamespace(routes=table)) == [
        ["*", "/static"],
        ["GET", "/a"],
        ["PUT", "/v1/b/{id}"],
    ]
    assert serve.routes(types.SimpleNamespace(routes=[7])) == []
    assert serve.routes(object()) is None


def test_a_werkzeug_map_says_its_routes():
    from werkzeug.routing import Map, Rule

    rules = [
        Rule("/a/<int:id>/b", endpoint="x", methods=["GET"]),
        Rule("/static/<path:name>", endpoint="static"),
    ]
    app = types.SimpleNamespace(url_map=Map(rules))
    assert serve.routes(app) == [["GET", "/a/{id}/b"]]


async def echo(scope, receive, send):
    if scope["type"] == "lifespan":
        raise ValueError("no lifespan here")
    asked = await receive()
    if scope["path"] == "/fail":
        raise OSError("no disk")
    said = json.dumps([scope["method"], scope["path"], asked["body"].decode()]).encode()
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 299, "headers": headers})
    await send({"type": "http.response.body", "body": said[:3], "more_body": True})
    await send({"type": "http.response.body", "body": said[3:]})


@pytest.fixture
def served():
    listener = socket.create_server(("127.0.0.1", 0))
    address = listener.getsockname()
    loop = asyncio.new_event_loop()
    serving = loop.create_task(serve.Asgi(echo).serve(listener))
    thread = threading.Thread(target=lambda: loop.run_until_complete(asyncio.wait([serving])))
    thread.start()
    yield address
    loop.call_soon_threadsafe(serving.cancel)
    thread.join()
    loop.close()


def test_the_small_server_speaks_http_to_an_asgi_application(served):
    connection = http.client.HTTPConnection(*served, timeout=10)
    connection.request(
        "POST",
        "/a%20b?q=1",
        body=iter([b"one", b"two"]),
        encode_chunked=True,
        headers={"Transfer-Encoding": "chunked"},
    )
    answer = connection.getresponse()
    assert (answer.status, json.load(answer)) == (299, ["POST", "/a b", "onetwo"])
    connection.request("PUT", "/c", body=b"body")
    assert json.load(connection.getresponse()) == ["PUT", "/c", "body"]
    connection.request("GET", "/fail")
    assert connection.getresponse().status == 500
    assert application.answers(f"http://127.0.0.1:{served[1]}", 10)


def plain(scope, receive, send):
    """An application that is no coroutine itself."""


def other(environ, start_response):
    """A WSGI application."""


def test_an_application_is_asgi_or_wsgi():
    class Called:
        async def __call__(self, scope, receive, send):
            """Answer."""

    assert serve.is_asgi(echo)
    assert serve.is_asgi(Called())
    assert serve.is_asgi(plain)
    assert not serve.is_asgi(other)


# --- drive's parts --------------------------------------------------------------------


def test_a_report_keeps_the_shortest_request_of_each_problem(tmp_path, capsys):
    told = Report(str(tmp_path / "report.json"))
    for request in ("long request", "short", "longest request"):
        told.add_problem(("GET /a", "Kind"), "text", request)
    told.end("tested")
    told.end("late", "too late to be said")
    said = json.loads((tmp_path / "report.json").read_text())
    assert said["ended"] == "tested"
    assert said["problems"] == [
        {"operation": "GET /a", "kind": "Kind", "text": "text", "request": "short"}
    ]
    assert capsys.readouterr().out == "tested: 0 requests, 1 problems\n"


@pytest.mark.parametrize(
    ("kind", "fields", "said"),
    [
        ("ServerError", {"status_code": 503}, "answers 503: the application failed"),
        (
            "MissingHeaders",
            {"missing_headers": ["Location"]},
            "answers without the header Location, which the document requires",
        ),
        (
            "Other",
            {"title": "Odd", "message": "why\n so"},
            "fails a check of schemathesis: Odd: why so",
        ),
        ("Other", {"title": "Odd", "message": ""}, "fails a check of schemathesis: Odd"),
    ],
)
def test_failures_are_put_in_words(kind, fields, said):
    assert report.describe_failure(kind, types.SimpleNamespace(**fields))[1] == said


def test_an_inventory_knows_what_is_missing_without_a_table_of_routes(served, tmp_path):
    told = Report(str(tmp_path / "report.json"))
    url = f"http://127.0.0.1:{served[1]}"
    inventory = Inventory([("GET", "/a"), ("GET", "/b"), ("GET", "/c")], None, url, 10, told)
    inventory.compare()
    nowhere = inventory.nowhere("GET")
    inventory.record_answer("GET /a", 405, "", b"")
    inventory.record_answer("GET /b", 404, *nowhere)
    inventory.record_answer("GET /c", 404, "text/plain", b"no such thing")
    inventory.record_missing_operations()
    assert [key[0] for key in told.problems] == ["GET /a", "GET /b"]


def test_an_inventory_believes_routes_but_not_below_what_is_mounted(tmp_path):
    told = Report(str(tmp_path / "report.json"))
    operations = [("GET", "/a/{id}"), ("GET", "/static/x"), ("GET", "/gone")]
    routes = [["GET", "/v1/a/{key}"], ["*", "/v1/static"], ["GET", "/v1/more"]]
    Inventory(operations, routes, "http://127.0.0.1:1/v1", 10, told).compare()
    assert [key[:2] for key in told.problems] == [
        ("GET /v1/more", "undocumented-operation"),
        ("GET /gone", "missing-operation"),
    ]


def test_nothing_beyond_this_machine_is_called():
    application.only_loopback("socket.connect", (None, ("127.0.0.1", 80)))
    application.only_loopback("open", ("x",))
    with pytest.raises(ConnectionRefusedError):
        application.only_loopback("socket.connect", (None, ("192.0.2.1", 80)))


def test_the_path_of_a_server_counts_unless_the_address_has_its_own():
    assert application.with_prefix("http://127.0.0.1:1", "/v1") == "http://127.0.0.1:1/v1"
    assert application.with_prefix("http://127.0.0.1:1/api/", "/v1") == "http://127.0.0.1:1/api"


def test_an_application_that_is_not_there_is_told(tmp_path):
    job = {"handshake": str(tmp_path / "no.json"), "url": "", "start_seconds": 0.1, "prefix": ""}
    output = types.SimpleNamespace(ended=False)
    with pytest.raises(DriveEnded, match="did not answer within"):
        application.reachable(job, output)
    output.ended = True
    with pytest.raises(DriveEnded, match="exited before it answered"):
        application.reachable({**job, "start_seconds": 5}, output)


def test_instances_are_validated_with_formats():
    schema = {"format": "ipv4"}
    (problem,) = instances.problems_of(schema, "x.json", "999.1.1.1")
    assert problem == {"path": "x.json", "where": "$", "text": "'999.1.1.1' is not a 'ipv4'"}


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
def drive_served(app):
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
    with drive_served(an_app) as address:
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

    with drive_served(once) as url:
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
