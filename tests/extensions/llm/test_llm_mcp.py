import sys
import threading
import time
from pathlib import Path

import pytest
from settings_of import settings_of

from runner.config.setting_values import McpServer
from runner.config.shell_rules import Permission, Permit
from runner.extensions.llm.mcp import McpClient
from runner.extensions.llm.tool_context import ToolContext
from runner.implementers.base import Mode
from runner.process.base import Place
from runner.process.sandbox import ReadOnly, choose_sandbox

SERVER = f"{sys.executable} {Path(__file__).with_name('mcp_server.py')}"


def descriptors():
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def shout(text):
    return ("mcp__tiny__shout", {"text": text})


def show(text=""):
    return ("mcp__tiny__show", {"text": text})


@pytest.fixture
def served(chat, monkeypatch):
    monkeypatch.setenv("FOR_SERVER", "yes")
    monkeypatch.setenv("NOT_FOR_SERVER", "no")

    def with_server(command=SERVER, rules=(), **fields):
        server = McpServer("tiny", command, env=("FOR_SERVER",), **fields)
        chat.settings = settings_of(mcp=(server,), permission=rules)

    with_server()
    chat.again = with_server
    return chat


def test_the_tools_of_a_server_are_the_models_under_names_of_their_own(served):
    before = descriptors()
    said = served.run([shout("hello"), show()], "Done.")
    assert said.findings == ()
    assert {"mcp__tiny__shout", "mcp__tiny__show"} <= set(served.script.tools)
    assert len(served.script.tools) == 9  # a name that no provider takes is left out
    assert served.answers == [
        "HELLO\n(image, not shown)",
        '{"FOR_SERVER": "yes", "NOT_FOR_SERVER": null}',
    ]
    assert [event.name for event in served.events] == ["mcp__tiny__shout"] * 2 + [
        "mcp__tiny__show"
    ] * 2
    assert descriptors() <= before


def test_of_a_key_that_a_server_prints_before_it_ends_no_last_line_is_told(served, tmp_path):
    lines = [f"{'a1B2c3D4' * 7}{number:08d}" for number in range(9)]
    label = "PRIVATE KEY-----"
    key = "\n".join([f"-----BEGIN {label}", *lines, f"-----END {label}"])
    (tmp_path / "said").write_text(f"it begins\n{key}\n")
    served.again(f"sh -c 'cat {tmp_path}/said >&2; exit 1'")
    said = str(served.run([show()], "Done.").findings)
    assert "REDACTED" in said
    assert not any(line in said for line in lines)


def test_what_a_server_fails_at_is_an_answer(served):
    served.again(seconds=0.8)
    said = served.run([show("fail"), show("stale")], [show("hang")], "Done.")
    assert served.answers[0].startswith("failed: {")
    assert served.answers[1].startswith('{"FOR_SERVER"')  # not an answer to something else
    assert served.answers[2] == "failed: the MCP server tiny did not answer in time"
    assert said.failure is None


@pytest.mark.parametrize("how", ["spin", "chatter"])
def test_who_goes_on_talking_has_not_answered(served, how):
    served.again(seconds=0.8)
    began = time.monotonic()
    served.run([show(how)], "Done.")
    assert served.answers == ["failed: the MCP server tiny did not answer in time"]
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("how", ["spin", "chatter"])
def test_a_run_that_ends_does_not_wait_for_who_goes_on_talking(served, how):
    cancelled = threading.Event()
    served.set(cancelled=cancelled)
    threading.Timer(1.5, cancelled.set).start()
    began = time.monotonic()
    said = served.run([show(how)], "Done.")
    assert said.findings[0].message == "the model's session was cancelled"
    assert time.monotonic() - began < 20


def test_a_server_that_dies_takes_nothing_along(served):
    served.run([show("die")], [shout("still there?")], "Done.")
    assert served.answers == ["failed: the MCP server tiny ended; its output: to be logged"] * 2


def test_a_server_that_does_not_start_is_a_warning(served):
    served.again("no-such-program-anywhere")
    said = served.run([("list_files", {})], "Done.")
    (warning,) = said.findings
    assert not warning.refuses
    assert warning.message.startswith("the MCP server tiny ended; its output: ")
    assert warning.message.endswith("not found: the model works without this server's tools")
    assert warning.hint == "run it yourself: no-such-program-anywhere"


def test_permission_rules_hold_for_them_by_wildcards(served):
    rules = (
        Permission("mcp__*", "**", Permit.DENY),
        Permission("mcp__tiny__sh*", '*"ok"*', Permit.ALLOW),
    )
    served.again(rules=rules)
    served.run([shout("ok"), shout("no")], "Done.")
    assert served.answers[0].startswith("OK")
    assert served.answers[1].startswith('denied: the rule "deny mcp__* **" of your settings')


def test_a_server_runs_in_the_sandbox_and_read_only_while_planning(served, tmp_path):
    sandbox = choose_sandbox("auto", (Path(__file__).parent,))
    if not sandbox.contains:
        pytest.skip(sandbox.reason)
    place = Place(tree=served.shop.tree, shown=tmp_path / "shown", box=served.shop.box)
    served.set(place=place, sandbox=sandbox)
    served.run([show("write")], "Done.")
    assert list(served.files) == ["made-by-server"]
    (served.shop.tree / "made-by-server").unlink()
    served.set(sandbox=ReadOnly(sandbox), mode=Mode.PLAN)
    plan = {"steps": ["one"], "files": ["src/a.py"]}
    said = served.run([show("write")], [("final_result", plan)])
    assert said.plan is not None
    assert served.files == {}


def test_why_a_sandbox_could_not_be_made_is_told(served):
    sandbox = choose_sandbox("auto")
    if not sandbox.contains:
        pytest.skip(sandbox.reason)
    place = Place(tree=served.shop.tree, shown=Path("/proc/nowhere"), box=served.shop.box)
    served.set(place=place, sandbox=sandbox)
    said = served.run([("list_files", {})], "Done.")
    assert "could not be put into the sandbox: bwrap: " in said.findings[0].message


def test_a_server_that_cannot_work_is_told_with_its_own_words(served):
    served.again(command="echo starting >&2; echo 'no token in /etc/tiny' >&2; exit 3")
    (warning,) = served.run([("list_files", {})], "Done.").findings
    assert "the MCP server tiny" in warning.message
    assert "its output: starting | no token in /etc/tiny" in warning.message
    assert not list(served.attempt.place.box.glob("mcp-*"))


@pytest.mark.parametrize("value", ["a value of nobody's shape", "refused, of nobody's shape"])
def test_the_key_of_a_server_reaches_neither_model_nor_journal(served, monkeypatch, value):
    monkeypatch.setenv("TINY_TOKEN", value)
    served.settings = settings_of(mcp=(McpServer("tiny", SERVER, env=("TINY_TOKEN",)),))
    called = [show("token")] if value.startswith("a") else [("list_files", {})]
    said = served.run(called, "Done.")
    assert "[REDACTED:secret]" in f"{served.answers}{said.findings}"
    assert value not in f"{served.answers}{said}{served.events}"


def test_no_half_of_a_key_is_told_at_the_end_of_a_long_purpose(served, monkeypatch):
    key = "gh" + "p_" + "a1B2" * 9
    monkeypatch.setenv("PURPOSE", f"{'word ' * 196}{key}")
    server = McpServer("tiny", SERVER, env=("PURPOSE",))
    task = served.shop.brief().task
    client = McpClient(server, ToolContext(served.attempt, task, settings_of(mcp=(server,))))
    try:
        (purpose,) = (tool.purpose for tool in client.tools() if tool.own_name == "shout")
    finally:
        client.close()
    assert key[:12] not in purpose
    assert len(purpose) <= 1000


# --- rules on commands ------------------------------------------------------------------

DENY, ASK, ALLOW = Permit.DENY, Permit.ASK, Permit.ALLOW


def on_commands(*rules):
    return tuple(Permission("bash", pattern, action) for pattern, action in rules)


@pytest.mark.parametrize(
    ("mine", "theirs", "runs"),
    [
        (on_commands(), on_commands(), True),
        (on_commands(("git *", DENY), ("git push *", ALLOW)), on_commands(), True),
        (on_commands(("git push *", ALLOW), ("git *", DENY)), on_commands(), False),
        (on_commands(("git push *", ALLOW)), on_commands(("git *", DENY)), False),
        (on_commands(("git *", DENY)), on_commands(("git push *", ALLOW)), False),
        (on_commands(("git *", ASK)), on_commands(("git *", ALLOW)), False),
    ],
)
def test_a_tool_that_is_a_shell_is_held_to_the_rules_on_commands(served, mine, theirs, runs):
    server = McpServer("shell", SERVER, env=("FOR_SERVER",))
    served.settings = settings_of(mcp=(server,), permission=mine, permission_floor=theirs)
    call = ("mcp__shell__shout", {"text": "pushed", "command": "cd a && git push origin"})
    served.run([call], "Done.")
    (answer,) = served.answers
    assert answer.startswith("PUSHED") if runs else answer.startswith("denied"), answer
