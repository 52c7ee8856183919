"""What another site, another server on this host, or a broken client can do here: nothing."""

import hashlib
import json
import os
import signal
import time

import pytest
from site_plans import GREET, NOTE
from site_process import PATIENCE

from runner.config.paths import Places
from runner.serve import application, listener
from runner.serve.builds import Builds
from runner.serve.pages import HERE

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
BIG = (1 << 20) + 1

# each: method, path, headers that differ (None: left out), body, the statuses that are right
STRANGE = {
    "no host": ("GET", "/", {"Host": None}, None, {400, 421}),
    "another host": ("GET", "/", {"Host": "evil.example"}, None, {421}),
    "another host with our port": ("GET", "/", {"Host": "evil.example:{port}"}, None, {421}),
    "a host that rebinds": (
        "GET",
        "/api/v1/builds",
        {"Host": "127.0.0.1.nip.io:{port}"},
        None,
        {421},
    ),
    "a host without its port": ("GET", "/", {"Host": "127.0.0.1"}, None, {421}),
    "a host with another port": ("GET", "/", {"Host": "127.0.0.1:1"}, None, {421}),
    "a host with a user": ("GET", "/", {"Host": "a@127.0.0.1:{port}"}, None, {400, 421}),
    "a host with a dot": ("GET", "/", {"Host": "localhost.:{port}"}, None, {421}),
    "a host of IPv6": ("GET", "/", {"Host": "[::1]:{port}"}, None, {421}),
    "a forwarded host": (
        "GET",
        "/",
        {"Host": "x", "X_Forwarded_Host": "127.0.0.1:{port}"},
        None,
        {421},
    ),
    "no cookie": ("GET", "/", {"Cookie": None}, None, {401}),
    "no cookie for the API": ("GET", "/api/v1/builds", {"Cookie": None}, None, {401}),
    "a cookie that is none": ("GET", "/", {"Cookie": "runner-x=1"}, None, {401}),
    "a cookie of odd bytes": ("GET", "/", {"Cookie": "a=\x01;;==;\\"}, None, {400, 401}),
    "a cookie of 60 kB": ("GET", "/", {"Cookie": "a=" + "b" * 60_000}, None, {400, 401, 431}),
    "a session in the address": ("GET", "/?{cookie}", {"Cookie": None}, None, {401}),
    "the API with the cookie alone": (
        "GET",
        "/api/v1/builds",
        {"X_Runner_Secret": None},
        None,
        {401},
    ),
    "the API with a wrong secret": ("GET", "/api/v1/builds", {"X_Runner_Secret": "x"}, None, {401}),
    "an empty secret": ("GET", "/api/v1/builds", {"X_Runner_Secret": ""}, None, {401}),
    "the secret in the address": (
        "GET",
        "/api/v1/builds?secret={secret}",
        {"X_Runner_Secret": None},
        None,
        {401},
    ),
    "a stream with the cookie alone": (
        "GET",
        "/api/v1/builds/{build}/events",
        {"X_Runner_Secret": None, "Accept": "text/event-stream"},
        None,
        {401},
    ),
    "a stream from another site": (
        "GET",
        "/api/v1/builds/{build}/events",
        {"Sec_Fetch_Site": "cross-site", "Accept": "text/event-stream"},
        None,
        {403},
    ),
    "a read from another site": ("GET", "/", {"Sec_Fetch_Site": "cross-site"}, None, {403}),
    "a read from another port": ("GET", "/", {"Sec_Fetch_Site": "same-site"}, None, {403}),
    "a read with a foreign origin": ("GET", "/", {"Origin": "http://evil.example"}, None, {403}),
    "a picture from another site": (
        "GET",
        "/favicon.ico",
        {"Sec_Fetch_Site": "cross-site"},
        None,
        {403},
    ),
    "a script from another site": (
        "GET",
        "/static/page.js",
        {"Sec_Fetch_Site": "cross-site"},
        None,
        {403},
    ),
    "a post without origin": (
        "POST",
        "{do}/run",
        {"Origin": None, "Content_Type": FORM},
        b"",
        {403},
    ),
    "a post from null": ("POST", "{do}/run", {"Origin": "null", "Content_Type": FORM}, b"", {403}),
    "a post from another origin": (
        "POST",
        "{do}/run",
        {"Origin": "http://evil.example", "Content_Type": FORM},
        b"",
        {403},
    ),
    "a post from another port": (
        "POST",
        "{do}/run",
        {"Origin": "http://127.0.0.1:1", "Content_Type": FORM},
        b"",
        {403},
    ),
    "a post from https": (
        "POST",
        "{do}/run",
        {"Origin": "https://127.0.0.1:{port}", "Content_Type": FORM},
        b"",
        {403},
    ),
    "a post that a navigation made": (
        "POST",
        "{do}/run",
        {"Sec_Fetch_Site": "none", "Content_Type": FORM},
        b"",
        {403},
    ),
    "a post from another site": (
        "POST",
        "{do}/run",
        {"Sec_Fetch_Site": "cross-site", "Content_Type": FORM},
        b"",
        {403},
    ),
    "a post with the cookie alone": (
        "POST",
        "{do}/run",
        {"X_Runner_Secret": None, "Content_Type": FORM},
        b"",
        {401},
    ),
    "a post with a wrong secret": (
        "POST",
        "{do}/run",
        {"X_Runner_Secret": "x" * 43, "Content_Type": FORM},
        b"",
        {401},
    ),
    "a post without cookie": (
        "POST",
        "{do}/run",
        {"Cookie": None, "Content_Type": FORM},
        b"",
        {401},
    ),
    "a post of text": ("POST", "{do}/run", {"Content_Type": "text/plain"}, b'{"a":1}', {415}),
    "a post of a multipart form": (
        "POST",
        "{do}/run",
        {"Content_Type": "multipart/form-data; boundary=a"},
        b"--a--",
        {415},
    ),
    "a post of no type": ("POST", "{do}/run", {}, b"", {415}),
    "a body that is too large": ("POST", "{do}/plan", {"Content_Type": FORM}, b"a" * BIG, {413}),
    "a length that is too large": (
        "POST",
        "{do}/plan",
        {"Content_Type": FORM, "Content_Length": str(1 << 40)},
        b"",
        {413},
    ),
    "a form to the API": ("POST", "{api}/run", {"Content_Type": FORM}, b"", {400}),
    "JSON that is none": ("POST", "{api}/run", {"Content_Type": JSON}, b"{", {400}),
    "JSON that is a list": ("POST", "{api}/run", {"Content_Type": JSON}, b"[]", {400}),
    "JSON that is deep": ("POST", "{api}/run", {"Content_Type": JSON}, b"[" * 200_000, {400}),
    "tasks that are no texts": (
        "POST",
        "{api}/run",
        {"Content_Type": JSON},
        b'{"tasks": [1]}',
        {400},
    ),
    "tasks that are options": (
        "POST",
        "{api}/run",
        {"Content_Type": JSON},
        b'{"tasks": ["--trust"]}',
        {400},
    ),
    "an approval without a digest": (
        "POST",
        "{api}/approve",
        {"Content_Type": JSON},
        b'{"item": "TASK-001"}',
        {400},
    ),
    "an approval of everything": (
        "POST",
        "{api}/approve",
        {"Content_Type": JSON},
        b'{"item": "--all", "seen": "x"}',
        {400},
    ),
    "a path of dots": ("GET", "/static/../access.py", {}, None, {400, 404}),
    "a path of coded dots": ("GET", "/static/..%2f..%2faccess.py", {}, None, {400, 404}),
    "a path of double coded dots": ("GET", "/static/%252e%252e/access.py", {}, None, {400, 404}),
    "a path with a NUL": ("GET", "/static/a%00.css", {}, None, {400, 404}),
    "a build that is a path": ("GET", "/b/..%2f..%2fetc/plan", {}, None, {404}),
    "a build that is none": ("GET", "/api/v1/builds/x", {}, None, {404}),
    "a task that is a script": (
        "GET",
        "{page}/tasks/%3Cscript%3Ealert(1)%3C%2Fscript%3E",
        {},
        None,
        {400, 404},
    ),
    "a task that is an option": ("GET", "{page}/tasks/--help", {}, None, {400, 404}),
    "a number that is none": ("GET", "/api/v1/builds/{build}/events?after=-1", {}, None, {400}),
    "a number that is huge": (
        "GET",
        "/api/v1/builds/{build}/events?limit=99999999999999999999",
        {},
        None,
        {400},
    ),
    "a number of other digits": (
        "GET",
        "/api/v1/builds/{build}/events?after=%D9%A3",
        {},
        None,
        {400},
    ),
    "a method that deletes": ("DELETE", "/", {}, None, {405}),
    "a method that puts": ("PUT", "{api}/plan", {}, b"", {405}),
    "a question before a foreign post": (
        "OPTIONS",
        "{api}/run",
        {"Origin": "http://evil.example", "Access_Control_Request_Method": "POST"},
        None,
        {403, 405},
    ),
    "a method that traces": ("TRACE", "/", {}, None, {405}),
    "a method of one's own": ("PROPFIND", "/", {}, None, {405}),
}


def send(site, name):
    method, path, changes, body, _ = STRANGE[name]
    build = site.build
    places = {
        "port": site.port,
        "build": build,
        "secret": site.secret,
        "cookie": site.cookie,
        "do": f"/b/{build}/do",
        "api": f"/api/v1/builds/{build}",
        "page": f"/b/{build}",
    }
    headers = {"Cookie": site.cookie, "X_Runner_Secret": site.secret}
    if method == "POST":
        headers["Origin"] = site.origin
    for key, value in changes.items():
        headers[key] = value if value is None else value.replace("{port}", str(site.port))
    for key, value in places.items():
        path = path.replace(f"{{{key}}}", str(value))
    return site.ask(method, path, body, **headers)


def test_hostile_requests_are_refused_and_change_nothing(workplace, site):
    assert len(STRANGE) >= 60
    wrong = {}
    for name, (*_, right) in STRANGE.items():
        site.until(lambda: site.get("/open")[0] == 200)  # the bucket of strangers fills again
        status, headers, _ = send(site, name)
        if status not in right:
            wrong[name] = status
        if status != 400 or "content-security-policy" in headers:  # else h11's own refusal
            assert headers["content-security-policy"].startswith("default-src 'none'"), name
            assert headers["x-content-type-options"] == "nosniff", name
        assert headers["access-control-allow-origin"] is None, name
    assert wrong == {}
    assert not workplace.has("artifacts/build/journal.jsonl")
    assert site.get("/b/" + site.build)[0] == 200


RAW = {
    "two hosts": b"GET / HTTP/1.1\r\nHost: {host}\r\nHost: evil.example\r\n\r\n",
    "no host at all": b"GET / HTTP/1.1\r\n\r\n",
    "an old protocol": b"GET / HTTP/1.0\r\n\r\n",
    "two lengths": b"POST /session HTTP/1.1\r\nHost: {host}\r\nContent-Length: 2\r\nContent-Length: 9\r\n\r\n{}",
    "a length and chunks": b"POST /session HTTP/1.1\r\nHost: {host}\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a header that is folded": b"GET / HTTP/1.1\r\nHost: {host}\r\n evil\r\n\r\n",
    "a whole address": b"GET http://evil.example/ HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "a header without an end": b"GET / HTTP/1.1\r\nHost: {host}\r\nX: " + b"a" * 200_000,
    "a web socket": b"GET / HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n",
    "a body that never ends": b"POST /session HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
}


def test_strange_bytes_get_no_page(site):
    for name, text in RAW.items():
        site.until(lambda: site.get("/open")[0] == 200)  # the bucket of strangers fills again
        said = site.raw(text.replace(b"{host}", site.host.encode()))
        refused = {b"400", b"401", b"403", b"415", b"421", b"431"}
        assert not said or said.split()[1] in refused, (name, said)
        assert site.get("/b/" + site.build)[0] == 200, name


def test_chunks_count_as_a_body(site):
    chunk = b"10000\r\n" + b"a" * 65536 + b"\r\n"
    head = (
        f"POST /b/{site.build}/do/plan HTTP/1.1\r\nHost: {site.host}\r\nOrigin: {site.origin}\r\n"
        f"Cookie: {site.cookie}\r\nX-Runner-Secret: {site.secret}\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    said = site.raw(head.encode() + chunk * 17 + b"0\r\n\r\n")
    assert said.split()[1] == b"413"


def test_a_link_opens_once_and_names_nothing_to_a_server(site):
    used = site.token
    assert site.enter(used) == 401
    fresh = site.new_link()
    assert fresh.startswith(site.origin + "/open#")
    token = fresh.partition("#")[2]
    assert site.enter(token) == 200
    assert site.enter(token) == 401
    for odd in (None, 1, [], "x" * 10_000, "../../x", ""):
        body = json.dumps({"token": odd}).encode()
        status, headers, _ = site.ask(
            "POST", "/session", body, Origin=site.origin, Content_Type=JSON
        )
        assert status == 401
        assert headers["set-cookie"] is None


def test_cookies_of_other_servers_on_this_host_keep_nobody_out(site):
    """A browser sends them all, the oldest first."""
    name = site.cookie.partition("=")[0]
    others = ('prefs={"theme":"dark"}', "said=a b", "a", "=", "\xe9=\xe9", "x=" + "y" * 9000)
    for theirs in others:
        for said in (f"{theirs}; {site.cookie}", f"{name}=old; {theirs}; {site.cookie}; b"):
            assert site.ask("GET", "/", Cookie=said)[0] == 303, theirs


def test_the_cookie_is_for_this_server_alone_and_no_script_sees_it(site):
    token = site.new_link().partition("#")[2]
    body = json.dumps({"token": token}).encode()
    _, headers, _ = site.ask("POST", "/session", body, Origin=site.origin, Content_Type=JSON)
    said = headers["set-cookie"].lower()
    assert "httponly" in said
    assert "samesite=strict" in said
    assert said.startswith("runner-")


def test_two_servers_do_not_take_each_other_s_sessions(workplace, site, serve):
    other = serve()
    assert other.cookie.partition("=")[0] != site.cookie.partition("=")[0]
    assert site.ask("GET", "/", Cookie=other.cookie)[0] == 401
    assert site.ask("GET", "/", Cookie=f"{other.cookie}; {site.cookie}")[0] == 303


def test_whoever_asks_too_often_waits(site):
    statuses = [site.ask("GET", "/")[0] for _ in range(80)]
    assert 429 in statuses
    _, headers, _ = site.ask("GET", "/")
    assert int(headers["retry-after"]) >= 1
    assert site.get("/b/" + site.build)[0] == 200  # a session has a bucket of its own


def test_it_ends_well_for_a_signal_and_says_nothing_more(site):
    assert site.end() == 0
    assert site.process.stderr.read() == ""


@pytest.mark.parametrize("word", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_comes_early_ends_it_too(workplace, serve, word):
    workplace.plan(GREET, NOTE)
    for _ in range(2):
        one = serve(enter=False)
        one.process.send_signal(word)
        assert one.process.wait(PATIENCE) == 0
        assert one.process.stderr.read() == ""


def test_it_does_not_end_while_its_pages_are_being_imported(workplace, monkeypatch):
    """A thread that is cut off within a library in C++ takes the process down with SIGABRT."""
    made = []

    def make_slowly(*_):
        time.sleep(1)
        made.append(True)

    monkeypatch.setattr(application, "make_application", make_slowly)
    listener.serve(
        Builds.of([workplace.root], os.environ, ""),
        listener.ListenAddress.open(0),
        Places.of(os.environ),
        lambda _: signal.raise_signal(signal.SIGTERM),
        environ=os.environ,
    )
    assert made


def test_a_port_that_is_taken_is_told(workplace, site):
    ended = workplace.runner("serve", "--port", str(site.port))
    assert ended.code == 2
    assert f"port {site.port} cannot be used" in ended.err


def test_no_server_is_running(workplace):
    ended = workplace.runner("serve", "--link")
    assert ended.code == 2
    assert "no server is running" in ended.err


HTMX = ("2.0.11", "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717")
"""Version, and SHA-256 of `dist/htmx.min.js` in the package htmx.org of that version."""


def test_htmx_is_the_file_of_its_release_with_its_licence():
    version, digest = HTMX
    content = (HERE / "static" / "htmx.min.js").read_bytes()
    assert hashlib.sha256(content).hexdigest() == digest
    assert f'version:"{version}"'.encode() in content
    assert "Zero-Clause BSD" in (HERE / "static" / "htmx.LICENSE.txt").read_text()


def test_every_script_and_style_is_one_that_is_known():
    known = {"htmx.min.js", "htmx.LICENSE.txt", "icon.svg", "page.css", "page.js"}
    assert {one.name for one in (HERE / "static").iterdir()} == known
