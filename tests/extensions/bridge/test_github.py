"""GitHub's API through the adapter, against a forge on loopback that keeps GitHub's rules."""

import json
import socket
import subprocess
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import pytest
from forge_server import ForgeServer

from runner.app.forge_wake import find_bridge_folder, wake_bridge
from runner.errors import RunnerError
from runner.extensions.bridge import forge_http
from runner.extensions.bridge.forge import ForgeBusyError, ForgeError
from runner.extensions.bridge.forge_http import ForgeHttp
from runner.extensions.bridge.github import GitHub


@pytest.fixture
def bare(tmp_path, alone):
    """A bare repository with a branch that is one commit ahead of main."""
    folder = tmp_path / "shop.git"

    def git(*words):
        told = (
            "git",
            f"--git-dir={folder}",
            "-c",
            "user.name=Ada",
            "-c",
            "user.email=a@example.org",
        )
        return subprocess.run([*told, *words], capture_output=True, check=True).stdout.decode()

    git("init", "-q", "--bare", "-b", "main")
    tree = subprocess.run(
        ["git", f"--git-dir={folder}", "mktree"], input=b"", capture_output=True, check=True
    ).stdout.decode()
    first = git("commit-tree", tree.strip(), "-m", "one").strip()
    second = git("commit-tree", tree.strip(), "-p", first, "-m", "two").strip()
    git("update-ref", "refs/heads/main", first)
    git("update-ref", "refs/heads/runner/1", second)
    return folder


@pytest.fixture
def server(bare, monkeypatch):
    monkeypatch.setattr(forge_http, "_PAUSE", 0.01)
    with ForgeServer("acme/shop", bare) as server:
        server.people |= {"ada": "write", "tom": "triage", "boss": "admin", "mia": "maintain"}
        server.people["zoe_acme"] = "write"  # as an enterprise names those that it manages
        yield server
    assert server.mismatches == []


@pytest.fixture
def forge(server):
    return GitHub(ForgeHttp(server.address, server.token), "acme/shop")


def test_what_an_issue_says_is_read_whole(server, forge):
    number = server.open_issue("eve", "Export", "as CSV")
    server.open_issue("eve", "Not asked for")
    server.label("ada", number, "runner")
    (issue,) = forge.list_issues("runner")
    assert (issue.number, issue.title, issue.body, issue.author) == (1, "Export", "as CSV", "eve")
    assert issue.labels == {"runner"}
    assert issue.is_open
    assert forge.load_issue(number) == issue
    (event,) = forge.list_label_events(number)
    assert (event.label, event.actor) == ("runner", "ada")
    assert forge.list_text_edits(number) == []
    server.edit_issue("eve", number, title="Else", body="else")
    texts = [(one.editor, one.text) for one in forge.list_text_edits(number)]
    assert texts == [("eve", "as CSV"), ("eve", "else")]
    events = forge.list_label_events(number)
    assert [(one.label, one.title) for one in events] == [("runner", ""), ("", "Export")]
    assert forge.find_login() == "runner-bot"
    assert forge.find_default_branch() == "main"


def test_all_pages_are_read_and_what_did_not_change_costs_nothing(server, forge):
    server.page = 2
    number = server.open_issue("ada", "Many")
    for text in "abcde":
        server.comment("ada", number, text)
    assert [one.body for one in forge.list_comments(number)] == [*"abcde"]
    before = forge.http.requests
    assert [one.body for one in forge.list_comments(number)] == [*"abcde"]
    assert forge.http.requests == before
    assert [status for _, _, status in server.calls[-3:]] == [304, 304, 304]
    server.comment("ada", number, "f")
    assert [one.body for one in forge.list_comments(number)] == [*"abcdef"]


def test_what_comes_behind_a_page_that_was_full_is_seen(server, forge, monkeypatch):
    """The page stays the same then, and so does its tag."""
    monkeypatch.setattr("runner.extensions.bridge.github._PAGE", "per_page=2")
    number = server.open_issue("ada", "Many")
    for many in ("ab", "abc", "abcd", "abcde"):
        for text in many[len(server.comments_of(number)) :]:
            server.comment("ada", number, text)
        assert [one.body for one in forge.list_comments(number)] == [*many]
        assert [one.body for one in forge.list_comments(number)] == [*many]


def test_an_enterprise_has_its_other_interface_beside_the_first(server):
    forge = GitHub(ForgeHttp(f"{server.address}/api/v3", server.token), "acme/shop")
    number = server.open_issue("eve", "Export", "as CSV")
    server.edit_issue("eve", number, body="as TSV")
    assert [one.text for one in forge.list_text_edits(number)] == ["as CSV", "as TSV"]


@pytest.mark.parametrize(
    ("login", "may"),
    [
        *(("ada", True), ("boss", True), ("mia", True), ("tom", False), ("eve", False)),
        *(("zoe_acme", True), ("../x", False)),
    ],
)
def test_who_may_push_is_asked_of_the_forge(forge, login, may):
    assert forge.may_write(login) is may


def test_rights_that_are_taken_away_count_from_the_next_round_on(server, forge):
    assert forge.may_write("ada")
    server.people["ada"] = "read"
    forge.forget_rights()
    assert not forge.may_write("ada")


def test_what_is_said_is_said_once_and_edited_in_place(server, forge):
    number = server.open_issue("ada", "Export")
    comment = forge.create_comment(number, "one")
    assert not comment.is_edited
    forge.edit_comment(comment.id, "two")
    (there,) = forge.list_comments(number)
    assert (there.body, there.is_edited) == ("two", True)
    forge.delete_comment(comment.id)
    forge.delete_comment(comment.id)
    assert forge.list_comments(number) == []


def test_labels_and_assignees_can_be_said_twice(server, forge):
    number = server.open_issue("ada", "Export")
    for _ in "ab":
        forge.add_label(number, "runner:in review")
        forge.assign(number, "ada")
    forge.assign(number, "nobody-here")
    assert forge.load_issue(number).labels == {"runner:in review"}
    assert forge.load_issue(number).assignees == ("ada",)
    forge.remove_label(number, "runner:in review")
    forge.remove_label(number, "runner:in review")
    assert forge.load_issue(number).labels == set()


def test_one_pull_request_for_a_branch(server, forge):
    assert forge.find_pull_request("runner/1", "main", "runner-bot") is None
    made = forge.create_pull_request("runner/1", "main", "Export", "text", is_draft=False)
    assert made.head == server.sha_of("runner/1")
    with pytest.raises(ForgeError) as refused:
        forge.create_pull_request("runner/1", "main", "Export", "text", is_draft=True)
    assert refused.value.status == 422
    forge.edit_pull_request(made.number, "other")
    found = forge.find_pull_request("runner/1", "main", "runner-bot")
    assert (found.number, found.body, found.is_open) == (made.number, "other", True)
    assert forge.list_issues("") == []
    forge.set_status(made.head, "runner/proof", "proven")
    assert forge.list_statuses(made.head) == [("runner/proof", "success")]
    for is_draft in (True, False):
        forge.set_draft(made, is_draft=is_draft)
        assert forge.find_pull_request("runner/1", "main", "runner-bot").is_draft is is_draft
    server.merge("ada", made.number)
    with pytest.raises(ForgeError, match="Pull request is closed") as refused:
        forge.set_draft(made, is_draft=True)
    assert refused.value.status == 422, "GraphQL answers 200, and says it"
    assert forge.find_pull_request("runner/1", "main", "runner-bot").is_merged


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [
        (429, {"Retry-After": "7"}, 7),
        (403, {"Retry-After": "0"}, 1),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}, 1),
        (429, {}, 60),
        (429, {"Retry-After": "\u00b2"}, 60),  # a digit, and no number
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "\u00b2"}, 60),
        (429, {"Retry-After": "99999999999"}, 3600),  # of years
        (403, {"Retry-After": "9" * 5000}, 3600),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9" * 400}, 3600),
        (403, {"Retry-After": "Wed, 21 Oct 2099 07:28:00 GMT"}, 60),
    ],
)
def test_a_forge_that_is_busy_says_for_how_long(server, forge, status, headers, seconds):
    server.busy = [(status, headers)]
    with pytest.raises(ForgeBusyError) as busy:
        forge.find_login()
    assert busy.value.seconds == seconds


def test_while_it_wants_to_be_left_alone_nothing_is_asked_or_written(server, forge, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("runner.effects.monotonic", lambda: clock[0])
    number = server.open_issue("ada", "Export")
    server.busy = [(403, {"Retry-After": "7"})]
    with pytest.raises(ForgeBusyError):
        forge.find_login()
    clock[0] += 6
    asked = len(server.calls)
    for call in (forge.find_login, lambda: forge.create_comment(number, "one")):
        with pytest.raises(ForgeBusyError) as busy:
            call()
        assert busy.value.seconds == pytest.approx(1)
    assert len(server.calls) == asked
    clock[0] += 2
    assert forge.find_login() == "runner-bot"


def test_the_longest_texts_that_a_forge_takes_are_read(server, forge):
    number = server.open_issue("eve", "Export")
    for _ in range(100):
        server.comment("eve", number, "\x01" * 65_536)
    server.comment("ada", number, "/runner stop")
    assert [one.author for one in forge.list_comments(number)][-2:] == ["eve", "ada"]


def test_what_is_kept_for_its_tag_is_bounded(server, forge, monkeypatch):
    monkeypatch.setattr(forge_http, "_MOST_KEPT", 9000)
    small = server.open_issue("ada", "Small")
    for _ in range(3):
        number = server.open_issue("eve", "Large", "x" * 4000)
        forge.load_issue(small)
        forge.load_issue(number)
    before = forge.http.requests
    forge.load_issue(number)
    assert forge.http.requests == before, "the last one is kept"
    assert sum(one.size for one in forge.http._kept.values()) <= 9000


def test_a_proxy_never_reads_a_token_that_goes_without_tls(server, odd, monkeypatch):
    monkeypatch.setenv("http_proxy", odd.address)
    assert GitHub(ForgeHttp(server.address, server.token), "acme/shop").find_login() == "runner-bot"
    assert odd.asked == []


def test_what_reads_is_tried_again_and_what_writes_is_not(server, forge):
    number = server.open_issue("ada", "Export")
    server.busy = [(502, {}), (503, {})]
    assert forge.load_issue(number).title == "Export"
    server.busy = [(502, {})]
    with pytest.raises(ForgeError):
        forge.create_comment(number, "one")
    assert server.comments_of(number) == []


def test_a_lost_answer_is_an_error_and_the_comment_is_there(server, forge):
    number = server.open_issue("ada", "Export")

    def lose(method, *_):
        if method == "POST":
            raise ConnectionAbortedError

    server.after = lose
    with pytest.raises(ForgeError):
        forge.create_comment(number, "one")
    assert [one["body"] for one in server.comments_of(number)] == ["one"]


def test_no_error_tells_the_token(server):
    secret = server.token + "x"
    wrong = GitHub(ForgeHttp(server.address, secret), "acme/shop")
    with pytest.raises(ForgeError) as refused:
        wrong.find_login()
    assert refused.value.status == 401
    assert "token is invalid" in refused.value.hint
    assert secret not in f"{refused.value!r} {refused.value.hint} {wrong!r}"


def test_a_limit_of_the_other_interface_is_one_and_no_refusal(odd):
    """It is told by 200: taken for a refusal, a pull request would be left a draft for ever."""
    wrong = {"type": "RATE_LIMITED", "message": "API rate limit exceeded"}
    odd.answer = (200, {}, json.dumps({"errors": [wrong]}).encode())
    http = ForgeHttp(odd.address, "t")
    with pytest.raises(ForgeBusyError, match="rate limit"):
        http.ask("mutation", {}, is_write=True)
    with pytest.raises(ForgeBusyError, match="rate limit"):
        http.read("/user")
    assert len(odd.asked) == 1


@pytest.mark.parametrize(
    "address",
    [
        "http://forge.test/api",
        "ftp://127.0.0.1",
        "nonsense",
        "https://me@forge.test",
        "https://[::1",
    ],
)
def test_a_token_goes_over_tls_or_nowhere(address):
    with pytest.raises(RunnerError, match="must begin with https"):
        ForgeHttp(address, "a token")


@pytest.mark.parametrize("name", ["shop", "acme/..", "acme/shop/x", "acme/shop.git", "a b/c", "/x"])
def test_a_name_that_is_no_repository_makes_no_address(name):
    with pytest.raises(RunnerError, match="not a valid repository name"):
        GitHub(ForgeHttp("https://forge.test", "t"), name)


def test_a_repository_may_be_of_somebody_whom_an_enterprise_manages(tmp_path):
    GitHub(ForgeHttp("https://forge.test", "t"), "zoe_acme/shop")
    places = SimpleNamespace(state=tmp_path)
    find_bridge_folder(places, "zoe_acme/shop").mkdir(parents=True)
    assert wake_bridge(places, "zoe_acme/shop")


@pytest.fixture
def odd():
    """A server that answers with what a test says; what it was asked is kept."""

    class Odd(BaseHTTPRequestHandler):
        asked, answer = [], (200, {}, b"")

        def do_GET(self):
            type(self).asked.append(self.path)
            status, headers, content = self.answer
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815 - so it is looked for

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Odd)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    Odd.address = f"http://127.0.0.1:{server.server_port}"
    yield Odd
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((200, {}, b"<html>"), "unexpected answer"),
        ((200, {}, b'{"login": 7}'), "no login"),
        ((200, {}, b"[" * 100_000), "unexpected answer"),
        ((200, {}, b" " * ((48 << 20) + 1)), "longer than 48 MB"),
        ((302, {"Location": "https://evil.test/"}, b""), "rejected GET /user: 302"),
    ],
)
def test_an_odd_answer_is_told_and_followed_nowhere(odd, answer, said):
    odd.answer = answer
    with pytest.raises(ForgeError, match=said):
        GitHub(ForgeHttp(odd.address, "t"), "acme/shop").find_login()
    assert odd.asked == ["/user"]


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nX-A: "])
def test_an_answer_that_comes_a_byte_at_a_time_is_given_up(monkeypatch, head):
    monkeypatch.setattr("runner.process.timed_http.SECONDS", 0.3)
    monkeypatch.setattr(forge_http, "_PAUSE", 0.01)
    over = threading.Event()

    def drip(listening):
        with suppress(OSError):
            while True:
                sent, _ = listening.accept()
                with sent, suppress(OSError):
                    sent.recv(4096)
                    sent.sendall(head)
                    while not over.wait(0.02):
                        sent.sendall(b" ")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=drip, args=(listening,), daemon=True)
        thread.start()
        port = listening.getsockname()[1]
        try:
            with pytest.raises(ForgeError, match=r"no complete response within 0\.3 s"):
                GitHub(ForgeHttp(f"http://127.0.0.1:{port}", "t"), "acme/shop").find_login()
        finally:
            over.set()
            listening.shutdown(socket.SHUT_RDWR)
            thread.join(10)


def test_a_next_page_elsewhere_is_not_asked(odd):
    odd.answer = (200, {"Link": '<https://evil.test/x>; rel="next"'}, b"[]")
    with pytest.raises(ForgeError, match="leads to another server"):
        GitHub(ForgeHttp(odd.address, "t"), "acme/shop").list_issues("runner")


@pytest.mark.parametrize("place", ["{}.evil.test/x", "{}@evil.test/x", "{}0/x", "//evil.test/x"])
def test_an_address_that_only_begins_like_ours_is_another(odd, place):
    odd.answer = (200, {"Link": f'<{place.format(odd.address)}>; rel="next"'}, b"[]")
    with pytest.raises(ForgeError, match="leads to another server"):
        GitHub(ForgeHttp(odd.address, "t"), "acme/shop").list_issues("runner")
    assert len(odd.asked) == 1


def test_pages_without_an_end_are_given_up(odd):
    odd.answer = (200, {"Link": f'<{odd.address}/again>; rel="next"'}, b"[]")
    with pytest.raises(ForgeError, match="more than 50 pages"):
        GitHub(ForgeHttp(odd.address, "t"), "acme/shop").list_issues("runner")
    assert len(odd.asked) == 50


def test_a_redirect_carries_nothing_elsewhere_and_says_what_to_look_at(odd):
    odd.answer = (301, {"Location": "https://evil.test/"}, b"")
    forge = GitHub(ForgeHttp(odd.address, "t"), "acme/shop")
    for call in (forge.find_default_branch, lambda: forge.create_comment(1, "x")):
        with pytest.raises(ForgeError) as refused:
            call()
        assert "was renamed" in refused.value.hint
    assert odd.asked == ["/repos/acme/shop", "/repos/acme/shop/issues/1/comments"]
