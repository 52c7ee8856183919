"""The API for programs: its document, by the product's own contract gate, and its stream."""

import contextlib
import http.client
import http.server
import os
import random
import threading
import types

import pytest
from site_plans import GREET, journal

from runner.contracts.inside import drive
from runner.contracts.inside.application import Inventory
from runner.contracts.inside.report import Report
from runner.journal.events import TaskApproved
from runner.journal.log import Journal

CUTS = 200 if "CAMPAIGN_SECONDS" in os.environ else 40
LEFT_OUT = ("run", "draft")  # each would begin a process
_SENT = ("Content-Type", "Accept")


@contextlib.contextmanager
def let_in(site):
    """A server that adds what lets one in to every request, and changes nothing else of it."""

    class Forwards(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self):
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length) if length or self.command == "POST" else None
            headers = {name: self.headers[name] for name in _SENT if name in self.headers}
            status, said, answer = site.ask(
                self.command,
                self.path,
                body,
                Cookie=site.cookie,
                X_Runner_Secret=site.secret,
                Origin=site.origin,
                **headers,
            )
            self.send_response(status)
            self.send_header("Content-Type", said.get("content-type", ""))
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer)

        def __getattr__(self, name):
            if name.startswith("do_"):  # whatever the method is
                return self.forward
            raise AttributeError(name)

        def log_message(self, *_):
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Forwards)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/api/v1"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def home(tmp_path):
    from hypothesis import configuration
    from schemathesis import hooks

    yield str(tmp_path / "hypothesis")
    configuration.set_hypothesis_home_dir(None)
    hooks.unregister_all()


@pytest.mark.nightly(
    sibling="tests/serve/test_serve_api.py::test_every_path_of_the_document_is_answered"
)
def test_the_document_of_the_api_holds_against_our_own_contract_gate(held, tmp_path, home):
    status, document = held.api("/openapi.json")
    assert status == 200
    drive.validate(document)
    for path, ways in list(document["paths"].items()):
        for operation in ways.values():
            for one in operation["parameters"]:
                known = {"build": [held.build], "task": ["TASK-001", "TASK-002", "nobody"]}
                if one["in"] == "path":
                    one["schema"] = {"enum": known[one["name"]]}
        if path.rpartition("/")[2] in LEFT_OUT:
            del document["paths"][path]
    document.pop("security")  # whoever stands between has it
    told = Report(str(tmp_path / "report.json"))
    job = {"document": document, "seed": 1, "examples": 12, "answer_seconds": 60, "home": home}
    with let_in(held) as url:
        inventory = Inventory(list(drive.operations_of(document)), None, url, 60, told)
        output = types.SimpleNamespace(ended=False, tail=lambda: "")
        drive.Tester(job, url, inventory, output, told).test()
    found = {f"{one['operation']}: {one['text']}": one for one in told.problems.values()}
    assert found == {}
    assert told.requests > 100
    assert held.api(f"/builds/{held.build}")[0] == 200


def test_every_path_of_the_document_is_answered(site):
    status, document = site.api("/openapi.json")
    assert status == 200
    for path, ways in document["paths"].items():
        if "get" in ways:
            real = path.replace("{build}", site.build).replace("{task}", "TASK-001")
            assert site.api(real)[0] == 200, path


def test_a_stream_cut_again_and_again_has_no_gap_and_no_double_campaign(workplace, site):
    assert workplace.run().code == 0
    chance, numbers, last, over = random.Random(7), [], "", threading.Event()
    writer = threading.Thread(target=keep_writing, args=(workplace, over))
    writer.start()
    try:
        for _ in range(CUTS):
            heard = follow(site, last, chance.randrange(1, 4_000))
            numbers += [int(one.rpartition(":")[2]) for one in heard]
            last = heard[-1] if heard else last
    finally:
        over.set()
        writer.join()
    wanted = [one["seq"] for one in journal(workplace)]
    while len(numbers) < len(wanted):  # a busy machine reads more slowly than it writes
        left = len(wanted) - len(numbers)
        heard = follow(site, last, 400 * max(left - 1, 1))
        numbers += [int(one.rpartition(":")[2]) for one in heard]
        last = heard[-1] if heard else last
    assert numbers == wanted == list(range(1, len(wanted) + 1))
    assert len(wanted) > CUTS / 2
    other = follow(site, "another-journal:5", 10_000)
    assert other[0].endswith(":1")


def keep_writing(workplace, over):
    """Records come while they are read."""
    path = workplace.root / "artifacts/build/journal.jsonl"
    with Journal.open(path) as written:
        while not over.wait(0.02):
            written.append(TaskApproved(by="person", note="again"), task="TASK-002", attempt=1)


def test_one_stream_over_all_folders_cut_anywhere_has_no_gap_and_no_double(workplace, serve):
    from workplace import Workplace

    workplace.plan(GREET)
    assert workplace.run().code == 0
    other = Workplace.begin(workplace.root.parent / "other", workplace.root.parent)
    other.plan(GREET)
    assert other.run().code == 0
    site = serve("--also", str(other.root))
    both = [journal(where)[0]["id"] for where in (workplace, other)]
    chance, heard, last, over = random.Random(3), [], "", threading.Event()
    least = 40 + sum(len(journal(where)) for where in (workplace, other))
    writer = threading.Thread(target=keep_writing, args=(other, over))
    writer.start()
    try:
        while len(heard) < least:
            some = follow(site, last, chance.randrange(1, 3_000), "/api/v1/events")
            heard += [one.partition(",")[0] for one in some]
            last = some[-1] if some else last
    finally:
        over.set()
        writer.join()
    mine, theirs = (
        [int(one.rpartition(":")[2]) for one in heard if one.startswith(name)] for name in both
    )
    assert mine == [one["seq"] for one in journal(workplace)]
    assert theirs == list(range(1, len(theirs) + 1))
    assert len(mine) + len(theirs) == len(heard)
    assert last.count(",") == 1  # how far both of them are


@pytest.mark.parametrize("wrong", ["runner.toml", "artifacts/build/journal.jsonl"])
def test_a_folder_that_cannot_be_read_keeps_no_other_from_the_stream(workplace, serve, wrong):
    from workplace import Workplace

    workplace.plan(GREET)
    other = Workplace.begin(workplace.root.parent / "other", workplace.root.parent)
    other.plan(GREET)
    assert other.run().code == 0
    site = serve("--also", str(other.root))
    workplace.write({wrong: "{}\n{}\n"})
    heard = follow(site, "", 2_000, "/api/v1/events")
    assert heard[0].partition(",")[0] == f"{journal(other)[0]['id']}:1"


def follow(site, last, most, path=""):
    """The ids of the events that were whole when the connection was cut after so many bytes."""
    client = http.client.HTTPConnection("127.0.0.1", site.port, timeout=90)
    client.request(
        "GET",
        path or f"/api/v1/builds/{site.build}/events",
        headers={
            "Cookie": site.cookie,
            "X-Runner-Secret": site.secret,
            "Accept": "text/event-stream",
            "Last-Event-ID": last,
        },
    )
    answer, heard = client.getresponse(), b""
    while len(heard) < most:
        heard += answer.read1(most - len(heard))
        if heard.count(b"\n\n") > most // 400:
            break
    client.close()
    whole = heard.rpartition(b"\n\n")[0].decode().split("\n\n")
    lines = [line for one in whole for line in one.split("\n")]
    return [line.removeprefix("id: ") for line in lines if line.startswith("id: ")]
