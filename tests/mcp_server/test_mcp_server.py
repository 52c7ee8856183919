"""`runner mcp`: what an assistant asks and what it is told, by the real program over its pipes."""

import io
import json
import os
import signal
import time
from pathlib import Path

import held_out_plans
import pytest
from held_out_plans import TESTS, told
from mcp_client import MODERN, McpClient

from runner.mcp_server.server import TOOLS, CallResult, Server

GREET = """\
## TASK-001: Greeting
- Status: PENDING
- Output files: `greet.py`
- Test contracts:
  - TC-001 (unit): `python3 -c "import greet; assert greet.TEXT == 'hello'"`

```python file=greet.py
TEXT = "hello"
```
"""
SLOW = """\
## TASK-002: Slow
- Status: PENDING
- Command: `sleep 5`
"""


NOTE = """\
## TASK-003: Note
- Status: PENDING
- Output files: `note.txt`

```text file=note.txt
yes
```
"""


@pytest.fixture
def client(workplace):
    started = []

    def start(*words, folder=None):
        started.append(McpClient(folder or workplace.root, *words))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()


def trusted(workplace):
    """The person has looked at the plan's commands, and said yes."""
    ended = workplace.runner("run", "--trust", "--only", "TASK-001")
    assert ended.code == 0, ended.said


def test_both_forms_of_the_protocol_list_the_same_tools(workplace, client):
    workplace.plan(GREET)
    shaken, modern = client(), client()
    assert shaken.shake()["protocolVersion"] == "2025-11-25"
    assert shaken.shake("2024-11-05")["protocolVersion"] == "2024-11-05"
    assert shaken.shake("1999-01-01")["protocolVersion"] == "2025-11-25"
    told = modern.ask("server/discover", _meta=MODERN)["result"]
    assert told["supportedVersions"] == ["2026-07-28"]
    assert told["resultType"] == "complete"
    assert "do not write statuses" in told["instructions"]
    old = shaken.ask("tools/list")["result"]
    new = modern.ask("tools/list", _meta=MODERN)["result"]
    assert old["tools"] == new["tools"]
    assert [tool["name"] for tool in old["tools"]] == list(TOOLS)
    assert "ttlMs" not in old
    assert new["ttlMs"] > 0
    assert new["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "runner"
    assert shaken.close() == 0
    assert modern.close() == 0


def test_a_tool_says_what_its_command_says(workplace, client):
    workplace.plan(GREET)
    trusted(workplace)
    asked = client()
    asked.shake()
    for tool, given, words in (
        ("status", {}, ["status"]),
        ("status", {"status": "done"}, ["list", "--status", "done"]),
        ("next", {}, ["next"]),
        ("why", {}, ["why"]),
        ("why", {"task": "1"}, ["why", "1"]),
        ("show", {"task": "TASK-001"}, ["show", "1"]),
        ("brief", {"task": "1"}, ["brief", "1"]),
        ("evidence", {"task": "1"}, ["evidence", "1"]),
        ("impact", {"paths": ["greet.py"]}, ["impact", "greet.py"]),
        ("impact", {"task": "1"}, ["impact", "--task", "1"]),
        ("validate", {}, ["validate"]),
        ("validate", {"strict": True}, ["validate", "--strict"]),
        ("log", {"limit": 3}, ["log", "--last", "3"]),
        ("log", {"after": 5, "task": "1"}, ["log", "--after", "5", "--task", "1"]),
        ("log", {"after": 2, "limit": 2}, ["log", "--after", "2", "--first", "2"]),
    ):
        said = asked.call(tool, **given)
        typed = workplace.runner(*words, "--json")
        assert not said["isError"], (tool, said)
        assert said["structuredContent"] == typed.document, tool
        assert json.loads(said["content"][0]["text"]) == said["structuredContent"]


def test_who_follows_the_log_by_its_numbers_is_told_every_record(workplace, client):
    workplace.plan(GREET)
    trusted(workplace)
    whole = [one["seq"] for one in workplace.runner("log", "--json").document["records"]]
    asked = client()
    asked.shake()
    heard = []
    while True:
        after = heard[-1] if heard else 0
        said = asked.call("log", after=after, limit=3)["structuredContent"]["records"]
        if not said:
            break
        assert len(said) <= 3
        heard += [one["seq"] for one in said]
    assert heard == whole
    newest = asked.call("log", limit=3)["structuredContent"]["records"]
    assert [one["seq"] for one in newest] == whole[-3:]


def test_what_a_command_refuses_is_an_error_with_its_hint(workplace, client):
    workplace.plan(GREET)
    asked = client()
    asked.shake()
    said = asked.call("why", task="TASK-009")
    assert said["isError"]
    assert "unknown task" in said["content"][0]["text"]
    assert "hint:" in said["content"][0]["text"]
    assert "structuredContent" not in said
    nothing = asked.call("evidence", task="1")  # an answer: there is none
    assert not nothing["isError"]
    assert nothing["structuredContent"]["evidence"] is None


def test_a_plan_with_mistakes_is_told_as_an_answer(workplace, client):
    workplace.plan(GREET.replace("Status: PENDING", "Depends on: TASK-007"))
    asked = client()
    asked.shake()
    said = asked.call("validate")
    assert not said["isError"]
    assert said["structuredContent"]["errors"] == 1


@pytest.mark.parametrize(
    ("tool", "given", "told"),
    [
        ("status", {"stats": "done"}, "status: unknown argument 'stats'"),
        ("status", {"status": 3}, "status must be of type string"),
        ("status", {"status": ""}, "empty"),
        ("why", {"task": "--trust"}, "is not a valid task ID"),
        ("why", {"task": "a b"}, "is not a valid task ID"),
        ("show", {}, "show needs task"),
        ("impact", {"paths": "greet.py"}, "paths must be of type array"),
        ("impact", {"paths": ["a", 1]}, "each of paths must be of type string"),
        ("impact", {"paths": ["a\0b"]}, "NUL"),
        ("log", {"after": -1}, "must be 0 or more"),
        ("log", {"limit": 100_000}, "must be 1 to 1000"),
        ("log", {"limit": True}, "must be of type integer"),
        ("run", {"jobs": 0}, "must be 1 to 256"),
        ("run", {"tasks": ["--trust"]}, "is not a valid task ID"),
        ("run", {"trust": True}, "run: unknown argument 'trust'"),
        ("wait", {"seconds": 10_000}, "must be 1 to 600"),
        ("wait", [], "must be an object"),
    ],
)
def test_arguments_that_a_tool_does_not_take_are_told(workplace, client, tool, given, told):
    workplace.plan(GREET)
    asked = client()
    asked.shake()
    said = asked.ask("tools/call", name=tool, arguments=given)["result"]
    assert said["isError"]
    assert told in said["content"][0]["text"]


def test_no_argument_becomes_an_option(workplace, client):
    workplace.plan(GREET)
    asked = client()
    asked.shake()
    for tool, given in (
        ("impact", {"paths": ["--run", "--trust"]}),
        ("impact", {"since": "--output=stolen"}),
        ("status", {"status": "--watch"}),
    ):
        said = asked.call(tool, **given)
        assert said["isError"] or said["structuredContent"]["kind"] == "impact"
    assert not workplace.has("stolen")
    assert not workplace.has("artifacts/build/journal.jsonl")


def test_commands_that_nobody_trusted_are_not_run(workplace, client):
    workplace.plan(GREET)
    asked = client()
    asked.shake()
    said = asked.call("run")
    assert said["isError"] or said["structuredContent"]["exit"] == 3
    assert "trust" in said["content"][0]["text"]
    assert not workplace.has("greet.py")


def test_a_run_goes_on_without_the_server(workplace, client):
    workplace.plan(GREET, SLOW)
    assert workplace.runner("run", "--trust", "--only", "TASK-001").code == 0
    asked = client()
    asked.shake()
    began = asked.call("run")["structuredContent"]
    assert began["running"] is True
    still = asked.call("wait", seconds=1)["structuredContent"]
    assert still == {"running": True, "next": "call wait again"}
    asked.process.send_signal(signal.SIGKILL)
    other = client()
    other.shake()
    waits = other.begin("tools/call", name="wait", arguments={}, _meta={"progressToken": "w"})
    while not other.others:
        other.others.append(other.next())
    assert other.others[0]["method"] == "notifications/progress"
    assert other.others[0]["params"]["progressToken"] == "w"
    os.kill(began["pid"], 0)
    said = other.answer(waits)["result"]["structuredContent"]
    assert said["run"] is None
    assert said["kind"] == "status"


def test_a_run_that_ends_says_how(workplace, client):
    workplace.plan(GREET)
    trusted(workplace)
    workplace.edit_plan("## TASK-001", f"{NOTE}\n## TASK-001")
    workplace.commit(message="more")
    asked = client()
    asked.shake()
    look = asked.call("run", dry_run=True)
    assert not look["isError"]
    assert "TASK-003" in look["content"][0]["text"]
    assert not workplace.has("note.txt")
    began = asked.call("run", tasks=["3"], jobs=1)["structuredContent"]
    said = began if not began["running"] else asked.call("wait")["structuredContent"]
    assert said["exit"] == 0
    assert said["summary"]["kind"] == "run"
    assert workplace.read("note.txt") == "yes\n"


def test_a_wait_is_cancelled_and_the_run_goes_on(workplace, client):
    workplace.plan(GREET, SLOW)
    trusted(workplace)
    asked = client()
    asked.shake()
    assert asked.call("run")["structuredContent"]["running"]
    waits = asked.begin("tools/call", name="wait", arguments={"seconds": 600})
    assert asked.call("status")["structuredContent"]["run"] is not None  # beside the wait
    asked.say(method="notifications/cancelled", params={"requestId": waits})
    assert "cancelled" in asked.answer(waits)["result"]["content"][0]["text"]
    assert asked.call("status")["structuredContent"]["run"] is not None
    assert asked.call("wait")["structuredContent"]["exit"] == 0


def test_a_wait_that_is_asked_for_beside_the_run_keeps_to_its_time(workplace, client):
    """As assistants call tools: several in one message."""
    workplace.plan(GREET, SLOW.replace("sleep 5", "sleep 20"))
    trusted(workplace)
    asked = client()
    asked.shake()
    runs = asked.begin("tools/call", name="run", arguments={})
    waits = asked.begin("tools/call", name="wait", arguments={"seconds": 1})
    began = time.monotonic()
    said = asked.answer(waits)["result"]["structuredContent"]
    assert said == {"running": True, "next": "call wait again"}
    assert time.monotonic() - began < 15
    heard = next((one for one in asked.others if one.get("id") == runs), None)
    assert (heard or asked.answer(runs))["result"]["structuredContent"]["running"]
    assert asked.call("wait")["structuredContent"]["exit"] == 0


def test_two_runs_at_once_are_refused_by_name(workplace, client):
    workplace.plan(GREET, SLOW)
    trusted(workplace)
    asked = client()
    asked.shake()
    assert asked.call("run")["structuredContent"]["running"]
    second = asked.call("run")
    assert "exit" in second["content"][0]["text"]
    assert json.loads(second["content"][0]["text"])["exit"] == 6
    assert asked.call("wait")["structuredContent"]["exit"] == 0  # the first one's


HOSTILE = (
    (b"no json\n", -32700),
    (b"[" * 100_000 + b"\n", -32700),
    (b"[]\n", -32600),
    (b'"text"\n', -32600),
    (b'{"id": 1, "method": "ping"}\n', -32600),
    (b'{"jsonrpc": "2.0", "id": 1}\n', -32600),
    (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}\n', -32600),
    (b'{"jsonrpc": "2.0", "id": [1], "method": "ping"}\n', -32600),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}\n', -32602),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/no"}\n', -32601),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "rm"}}\n', -32602),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": {}}}\n', -32602),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": "2"}}\n', -32602),
    (b"\xff\xfe\x00\n", -32700),
    (b"x" * (5 << 20) + b"\n", -32600),
)


def test_whatever_is_said_is_answered_and_the_next_request_too(workplace, client):
    workplace.plan(GREET)
    asked = client()
    for line, code in HOSTILE:
        asked.raw(line)
        assert asked.next()["error"]["code"] == code, line[:60]
    asked.raw(b"\n\n")
    asked.say(method="notifications/unheard", params={"requestId": 7})
    asked.say(method="notifications/cancelled", params=[])
    asked.say(id=99, result={})  # an answer to nothing
    future = {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    refused = asked.ask("tools/list", _meta=future)["error"]
    assert (refused["code"], refused["data"]["supported"]) == (-32022, ["2026-07-28"])
    assert asked.ask("initialize", _meta=MODERN)["error"]["code"] == -32601
    assert asked.ask("ping")["result"] == {}
    assert asked.close() == 0


def test_a_bug_of_one_call_is_told_and_ends_no_other():
    class Broken:
        def carry_out(self, call):
            if call.tool.name == "why":
                raise ZeroDivisionError("why")
            return CallResult({"kind": "status"}, "{}")

    calls = [
        {"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": {"name": name}}
        for name in ("why", "status")
    ]
    output = io.BytesIO()
    given = b"".join(json.dumps(one).encode() + b"\n" for one in calls)
    Server(Broken(), output).serve(io.BytesIO(given))
    said = {one["id"]: one for one in map(json.loads, output.getvalue().splitlines())}
    assert said["why"]["error"] == {"code": -32603, "message": "runner bug: ZeroDivisionError: why"}
    assert said["status"]["result"]["structuredContent"] == {"kind": "status"}


def test_it_answers_outside_of_a_project_too(tmp_path, alone, client):
    asked = client(folder=tmp_path)
    asked.shake()
    said = asked.call("status")
    assert said["isError"]
    assert "git" in said["content"][0]["text"]


def test_the_project_is_another_folder(workplace, tmp_path, client):
    workplace.write({"plans/two.md": GREET.replace("Greeting", "Second plan")})
    workplace.plan(GREET)
    asked = client("--folder", str(workplace.root), "--task-graph", "plans/two.md", folder=tmp_path)
    asked.shake()
    assert asked.call("status")["structuredContent"]["tasks"][0]["title"] == "Second plan"


def test_answers_that_were_asked_for_come_before_the_end(workplace, client):
    workplace.plan(GREET)
    asked = client()
    number = asked.begin("tools/call", name="status", arguments={})
    asked.process.stdin.close()
    assert asked.answer(number)["result"]["structuredContent"]["kind"] == "status"
    assert asked.process.wait(30) == 0


def test_nothing_heavy_is_loaded_before_the_first_answer(workplace, client):
    workplace.plan(GREET)
    asked = client()
    asked.shake()
    loaded = Path(f"/proc/{asked.process.pid}/maps").read_text()
    assert "pydantic" not in loaded


def test_every_tool_that_reads_tells_states_and_counts_alone(workplace, monkeypatch):
    held_out_plans.failed(workplace, monkeypatch)
    client = McpClient(workplace.root)
    try:
        client.shake()
        tools = client.ask("tools/list")["result"]["tools"]
        reads = [one["name"] for one in tools if one["annotations"]["readOnlyHint"]]
        said = {
            name: json.dumps([client.call(name), client.call(name, task="TASK-001")])
            for name in reads
        }
    finally:
        client.process.kill()
        client.process.wait()
    assert {name: told(text) for name, text in said.items() if told(text)} == {}
    assert "3 of 3 held-out tests fail: A1, A2" in said["show"]
    assert TESTS in said["show"]
