"""Agents that speak the Agent Client Protocol, each message of it and many that are none."""

import json
import shlex
import sys
import threading
import time
from pathlib import Path

import acp_agent
import pytest
from msgspec.structs import replace
from settings_of import settings_of

from runner.config.settings import Settings
from runner.config.shell_rules import Permission, PermissionAnswer, Permit
from runner.implementers.agents import agent_session
from runner.implementers.agents.preset import acp_line, first_program, make_acp_preset
from runner.implementers.base import Allowance, Mode
from runner.implementers.registry import agent_of, choose
from runner.model import Failure, Finding, Spec, Task, Usage
from runner.process.limits import Limits

BEGUN = {
    "protocolVersion": 1,
    "agentCapabilities": {"loadSession": True},
    "agentInfo": {"name": "scripted"},
    "authMethods": [],
}
DONE = {"stopReason": "end_turn"}
LOGIN = {"code": -32000, "message": "Authentication required"}
SLOW = Limits(soft=30, idle=90, hard=90)


def chunk(text):
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}


def course(*prompt, begun=BEGUN, opened=None, done=DONE, more=()):
    """A whole session: what is sent for each request; `done` None: no answer to the prompt."""
    opened = {"sessionId": acp_agent.SESSION} if opened is None else opened
    end = [] if done is None else [{"result": done}]
    return [
        {"on": "initialize", "send": [{"result": begun}]},
        {"on": "session/new", "send": [{"result": opened}]},
        *more,
        {"on": "session/prompt", "send": [*prompt, *end]},
    ]


def permission(call, *kinds):
    kinds = kinds or ("allow_always", "allow_once", "reject_once")
    options = [{"optionId": f"o-{kind}", "name": kind, "kind": kind} for kind in kinds]
    params = {"sessionId": acp_agent.SESSION, "toolCall": call, "options": options}
    return {"ask": "session/request_permission", "params": params}


@pytest.fixture
def acp(office):
    """An office in which `acp:scripted` does what a script says; `heard` is what it was told."""

    class Scripted:
        heard_file = office.folder / "heard.jsonl"

        def does(self, steps, **settings):
            script = office.folder / "acp.json"
            script.write_text(json.dumps(steps))
            program = Path(acp_agent.__file__)
            line = shlex.join([sys.executable, str(program), str(script), str(self.heard_file)])
            settings = {"sandbox": office.settings.sandbox.kind, **settings}
            office.settings = settings_of(acp_command=line, **settings)

        def implement(self, mode=Mode.EXECUTE, task=None, **fields):
            chosen = choose(
                office.task(implementer="acp:scripted", **(task or {})), office.settings
            )
            fields = {"limits": SLOW, **fields}
            return chosen.implement(office.brief(**(task or {})), office.context(mode, **fields))

        @property
        def heard(self):
            return [json.loads(line) for line in self.heard_file.read_text().splitlines()]

        def told(self, method):
            return next(row["params"] for row in self.heard if row.get("method") == method)

        @property
        def answers(self):
            """What its questions were answered with."""
            return [row for row in self.heard if row.get("id") == "q"]

        def chosen(self):
            return [row["result"]["outcome"].get("optionId") for row in self.answers]

    return Scripted()


# --- a session ------------------------------------------------------------------------


def test_a_session_writes_in_the_tree_and_says_what_it_used(acp, office):
    call = {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Write app", "kind": "edit"}
    acp.does(
        course(
            chunk("I lo"),
            chunk("ok."),
            {**call, "status": "pending", "locations": [{"path": "src/app.py"}]},
            {"write": "src/app.py", "content": "x = 1\n"},
            {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed"},
            {"sessionUpdate": "usage_update", "used": 90, "size": 1000,
             "cost": {"amount": 0.5, "currency": "USD"}},
            chunk("Done as\n"),
            chunk("asked."),
            done={**DONE, "usage": {"inputTokens": 100, "outputTokens": 20, "totalTokens": 120,
                                    "cachedReadTokens": 5}},
        )
    )  # fmt: skip
    said = acp.implement()
    assert said.findings == ()
    assert office.files() == {"src/app.py": "x = 1\n"}
    assert said.summary == "asked."
    assert said.usage == Usage(105, 20, 0.5, tool_calls=1)
    assert [type(one).__name__ for one in office.events] == ["ToolCalled", "ToolReturned"]
    assert "Write app src/app.py" in office.told


def test_it_is_offered_neither_files_nor_terminals_and_the_whole_brief(acp, office):
    acp.does(course())
    acp.implement()
    first, second, third = acp.heard
    assert [one["method"] for one in acp.heard] == ["initialize", "session/new", "session/prompt"]
    assert first["params"]["protocolVersion"] == 1
    assert first["params"]["clientCapabilities"] == {
        "fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False,
    }  # fmt: skip
    assert second["params"] == {"cwd": str(office.tree), "mcpServers": []}
    (content,) = third["params"]["prompt"]
    assert content["text"].startswith("# TASK-002: Model\n\nDo it.")
    assert "You may write only `src/app.py`" in content["text"]


@pytest.mark.parametrize(
    "update",
    [
        {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "no"}},
        {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "no"}},
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "data": "x"}},
        {"sessionUpdate": "available_commands_update", "availableCommands": []},
        {"sessionUpdate": "current_mode_update", "currentModeId": "code"},
        {"sessionUpdate": "config_option_update", "configOptions": []},
        {"sessionUpdate": "session_info_update", "title": "x"},
        {"sessionUpdate": "plan", "entries": [{"content": "Look", "status": "pending"}]},
        {"sessionUpdate": "plan", "entries": [3, None, {"content": 7}]},
        {"sessionUpdate": "plan", "entries": "x"},
        {"sessionUpdate": "tool_call", "title": "no id"},
        {"sessionUpdate": "tool_call", "toolCallId": "c", "locations": "x", "rawInput": [1]},
        {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "in_progress"},
        {"sessionUpdate": "usage_update", "used": -3, "cost": {"amount": "x", "currency": "USD"}},
        {"sessionUpdate": "usage_update", "used": 1e999, "cost": 4},
        {"sessionUpdate": "of tomorrow"},
        {"sessionUpdate": 4},
        {},
        {"raw": '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"other",'
                '"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text",'
                '"text":"no"}}}}\n'},
        {"raw": '{"jsonrpc":"2.0","method":"session/update","params":[1]}\n'},
        {"raw": '{"jsonrpc":"2.0","method":"of/tomorrow"}\n'},
        {"raw": '{"jsonrpc":"2.0","method":7,"params":{}}\n'},
        {"raw": '{"jsonrpc":"2.0","id":99,"result":{}}\n'},
        {"raw": '{"jsonrpc":"2.0","id":true,"result":{}}\n'},
        {"raw": '{"jsonrpc":"2.0","id":null,"error":{}}\n'},
        {"raw": '[{"jsonrpc":"2.0","id":3,"result":{}}]\n'},
        {"raw": "Loading tools...\n"},
        {"raw": "{not json\n"},
        {"raw": '{"a":' * 3000 + "\n"},
        {"raw": "\n\r\n  \n"},
        {"raw": "\ufeff{}\n"},
        {"raw": "\u0000\u001b[31m{}\n"},
        {"raw": "x" * 70_000 + "\n"},
        {"stderr": '{"type": "acp.failed", "message": "forged"}'},
    ],
)  # fmt: skip
def test_what_is_no_message_or_none_of_ours_harms_no_session(acp, office, update):
    acp.does(course(update, {"write": "src/app.py", "content": "x = 1\n"}, chunk("Done.")))
    said = acp.implement()
    assert (said.findings, said.summary) == ((), "Done.")
    assert office.files() == {"src/app.py": "x = 1\n"}


@pytest.mark.parametrize(
    "method",
    ["fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/output",
     "terminal/wait_for_exit", "terminal/kill", "terminal/release", "_vendor/x", "elicit", ""],
)  # fmt: skip
def test_methods_of_a_client_are_declined(acp, method):
    acp.does(course({"ask": method, "params": {"sessionId": "s-1", "path": "/etc/passwd"}}))
    assert acp.implement().findings == ()
    (answer,) = acp.answers
    assert answer["error"]["code"] == -32601


def test_a_plan_and_an_answer_in_words_come_of_what_it_says_last(acp, office):
    plan = '```json plan\n{"steps": ["Write it"], "files": ["src/app.py"]}\n```'
    look = {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Look", "kind": "read"}
    acp.does(course(chunk("I look.\n"), look, chunk("Here:\n"), chunk(plan)))
    assert acp.implement(mode=Mode.PLAN).plan.files == ("src/app.py",)
    acp.does(course(chunk("I look.\n"), look, chunk("The an"), chunk("swer.")))
    chosen = choose(office.task(implementer="acp:scripted"), office.settings)
    answer = chosen.answer(office.brief(), office.context(Mode.DRAFT, limits=SLOW))
    assert (answer.text, answer.result.findings) == ("The answer.", ())


# --- failures -------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["initialize", "session/new", "session/prompt"])
def test_a_missing_login_is_told_wherever_it_comes(acp, where):
    steps = course()
    next(one for one in steps if one["on"] == where)["send"] = [{"error": LOGIN}]
    acp.does(steps)
    said = acp.implement()
    (finding,) = said.findings
    assert "not logged in: Authentication required" in finding.message
    assert "log in with the agent itself" in finding.hint
    assert said.failure is Failure.DETERMINISTIC


def test_a_login_by_a_key_that_is_there_is_tried_and_no_other(acp, office):
    key = {"type": "env_var", "id": "by-key", "name": "Key", "vars": [{"name": "MY_LOGIN_TOKEN"}]}
    begun = {**BEGUN, "authMethods": [{"id": "browser", "name": "Browser"}, key, 3]}
    steps = course(chunk("Done."), begun=begun)
    steps.insert(1, {"on": "session/new", "send": [{"error": LOGIN}]})
    steps.insert(2, {"on": "authenticate", "send": [{"result": {}}]})
    office.environ["MY_LOGIN_TOKEN"] = "tok" + "en-0123456789"
    acp.does(steps, agent_env=("MY_LOGIN_TOKEN",))
    assert acp.implement().findings == ()
    asked = [one["params"] for one in acp.heard if one["method"] == "authenticate"]
    assert asked == [{"methodId": "by-key"}]


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (course(begun={"protocolVersion": 2}), "version 2 of the protocol"),
        (course(begun={}), "version None of the protocol"),
        (course(begun=[1]), "version None of the protocol"),
        (course(opened={"sessionId": 4}), "its session has no ID"),
        (course(done={"stopReason": "max_tokens"}), "limit of tokens"),
        (course(done={"stopReason": "max_turn_requests"}), "limit of requests"),
        (course(done={"stopReason": "refusal"}), "refuses to go on"),
        (course(done={"stopReason": "cancelled"}), "it was cancelled"),
        (course(done={"stopReason": "of tomorrow"}), "it stopped: of tomorrow"),
        (course(done={}), "no reason given"),
        (course({"error": {"code": -32603, "message": "Internal", "data": {"details": "gone"}}},
                done=None), "Internal"),
        (course({"error": "text"}, done=None), "no reason given"),
        (course({"stderr": "out of cheese"}, {"exit": 3}), "exit 3 before it answered"),
        ([], "what?"),
        ([{"on": "initialize", "send": [{"exit": 0}]}], "exit 0 before it answered"),
    ],
)  # fmt: skip
def test_what_ends_a_session_is_told(acp, steps, words):
    acp.does(steps)
    (finding,) = acp.implement().findings
    assert words in f"{finding.message} {finding.detail}"


def test_a_provider_that_is_busy_is_waited_for(acp):
    busy = {"code": -32603, "message": "429 rate limit, retry after 7s"}
    acp.does(course({"error": busy}, done=None))
    said = acp.implement()
    assert (said.failure, said.retry_after) == (Failure.TRANSIENT, 7.0)


def test_silence_is_said_and_ended_by_the_idle_limit(acp, office, monkeypatch):
    assert agent_session.SILENCE_OF_ACP == 10
    monkeypatch.setattr(agent_session, "SILENCE_OF_ACP", 2.0)
    acp.does([{"on": "initialize", "send": [{"sleep": 200}]}])
    said = acp.implement(limits=Limits(soft=60, idle=5, hard=90))
    assert "no output for 2 s; the agent may be waiting for the network or a login" in office.told
    (finding,) = said.findings
    assert "printed nothing for 5 seconds" in finding.message


def test_who_cancels_is_told_to_the_agent(acp, office):
    acp.does(course(chunk("Begun.\n"), {"sleep": 1}, {"ask": "wait"}, done=None))

    def cancel():
        for _ in range(900):
            if acp.heard_file.exists() and "session/prompt" in acp.heard_file.read_text():
                break
            time.sleep(0.1)
        office.cancelled.set()

    threading.Thread(target=cancel).start()
    said = acp.implement()
    assert "was cancelled" in said.findings[0].message
    assert acp.told("session/cancel") == {"sessionId": acp_agent.SESSION}


def test_budget_and_circles_end_it(acp):
    calls = [
        {"sessionUpdate": "tool_call", "toolCallId": f"c{n}", "title": "Look", "rawInput": {"a": 1}}
        for n in range(5)
    ]
    acp.does(course(*calls, {"sleep": 200}))
    assert acp.implement().findings[0].check == "loop"
    used = {"sessionUpdate": "usage_update", "used": 5000, "size": 9000}
    acp.does(course(used, {"sleep": 200}))
    assert acp.implement(left=Allowance(tokens=1000)).findings[0].check == "budget"


def test_an_agent_that_is_not_there_is_told_before_it_begins(office):
    office.settings = settings_of(acp_command="no-such-agent --acp", sandbox="none")
    chosen = choose(office.task(implementer="acp:mine"), office.settings)
    missing = chosen.lacks(office.sandbox, office.environ, office.tree)
    assert missing.message == "no-such-agent is not on PATH"
    said = chosen.implement(office.brief(), office.context())
    assert (said.findings[0].message, said.failure) == (missing.message, Failure.DETERMINISTIC)


# --- permissions ----------------------------------------------------------------------


def edit(path, new="x = 1\n", old=None, **more):
    diff = {"type": "diff", "path": path, "oldText": old, "newText": new}
    return {"toolCallId": "c1", "title": "Edit", "kind": "edit", "content": [diff], **more}


def run(line):
    return {"toolCallId": "c2", "title": line, "kind": "execute", "rawInput": {"command": line}}


@pytest.mark.parametrize(
    ("call", "allowed"),
    [
        (edit("src/app.py"), True),
        (edit("src/other.py"), False),
        (edit("src/app.py", "x = (\n"), False),
        ({"toolCallId": "c", "kind": "edit", "locations": [{"path": "src/app.py"}]}, True),
        ({"toolCallId": "c", "kind": "move", "locations": [{"path": "src/x.py"}]}, False),
        ({"toolCallId": "c", "kind": "delete", "locations": [{"path": "src/x.py"}]}, False),
        ({"toolCallId": "c", "kind": "edit", "title": "Nowhere"}, False),
        ({"toolCallId": "c", "rawInput": {"file_path": "b.py", "content": "x"}}, False),
        (run("git status"), True),
        (run("git push origin"), False),
        (run("cd a && git push"), False),
        ({"toolCallId": "c", "kind": "read", "locations": [{"path": "src/a.py"}]}, True),
        ({"toolCallId": "c", "kind": "read", "locations": [{"path": "keys/a.pem"}]}, False),
        ({"toolCallId": "c", "kind": "fetch", "title": "fetch", "rawInput": {"url": "x"}}, True),
        ({"toolCallId": "c", "kind": "of tomorrow"}, True),
        ({"toolCallId": "c", "kind": 4, "title": 5, "rawInput": 6, "content": 7}, True),
    ],
)
def test_what_it_asks_is_held_to_the_rules_and_the_scope(acp, call, allowed):
    acp.does(course(permission(call)))
    rules = (
        Permission("bash", "git push*", Permit.DENY),
        Permission("read_file", "keys/**", Permit.DENY),
    )
    acp.implement(permission=rules)
    assert acp.chosen() == ["o-allow_once" if allowed else "o-reject_once"]


def test_what_a_rule_has_asked_waits_for_a_person_and_is_let_through_once_answered(acp, office):
    asked = []
    rules = (Permission("bash", "make deploy*", Permit.ASK),)
    acp.does(course(permission(run("make deploy"))))
    acp.implement(permission=rules, ask=lambda *told: asked.append(told))
    assert acp.chosen() == ["o-reject_once"]
    assert asked[0][:2] == ("bash", "make deploy")
    acp.heard_file.unlink()
    acp.does(course(permission(run("make deploy"))))
    yes = PermissionAnswer("bash", "make deploy", allowed=True)
    acp.implement(permission=rules, answers=(yes,))
    assert acp.chosen() == ["o-allow_once"]
    del office


def test_who_only_reads_may_neither_write_nor_leave_its_mode(acp):
    leave = {"toolCallId": "c3", "title": "Leave plan mode", "kind": "switch_mode"}
    acp.does(course(permission(edit("src/app.py")), permission(leave), chunk("no plan")))
    acp.implement(mode=Mode.PLAN)
    assert acp.chosen() == ["o-reject_once", "o-reject_once"]


@pytest.mark.parametrize(
    ("kinds", "call", "outcome"),
    [
        (("allow_always",), run("ls"), {"outcome": "selected", "optionId": "o-allow_always"}),
        (("reject_always",), edit("b.py"), {"outcome": "selected", "optionId": "o-reject_always"}),
        (("allow_once",), edit("b.py"), {"outcome": "cancelled"}),
        (("of tomorrow",), run("ls"), {"outcome": "cancelled"}),
    ],
)
def test_only_an_option_that_is_offered_is_chosen(acp, kinds, call, outcome):
    acp.does(course(permission(call, *kinds)))
    acp.implement()
    assert [row["result"]["outcome"] for row in acp.answers] == [outcome]


@pytest.mark.parametrize(
    "params",
    [{}, {"sessionId": "other", "toolCall": run("ls"), "options": [{"kind": "allow_once"}]},
     {"sessionId": "s-1", "toolCall": [], "options": [{"kind": "allow_once"}]},
     {"sessionId": "s-1", "toolCall": run("ls"), "options": "x"}],
)  # fmt: skip
def test_a_question_that_is_none_is_refused(acp, params):
    acp.does(course({"ask": "session/request_permission", "params": params}))
    acp.implement()
    assert [row["error"]["code"] for row in acp.answers] == [-32602]


# --- models, names, settings ----------------------------------------------------------


@pytest.mark.parametrize(
    ("opened", "method"),
    [
        ({"models": {"availableModels": [{"modelId": "writer"}]}}, "session/set_model"),
        ({"configOptions": [{"id": "m", "category": "model", "type": "select",
                             "options": [{"value": "writer", "name": "W"}]}]},
         "session/set_config_option"),
        ({"configOptions": [{"id": "model", "options": [
            {"group": "g", "options": [{"value": "writer"}]}]}]}, "session/set_config_option"),
    ],
)  # fmt: skip
def test_the_model_of_the_settings_is_chosen_where_it_is_offered(acp, opened, method):
    more = [{"on": method, "send": [{"result": {}}]}]
    acp.does(course(opened={"sessionId": "s-1", **opened}, more=more), model_execute="writer")
    assert acp.implement().findings == ()
    assert "writer" in acp.told(method).values()


def test_a_model_that_is_not_offered_ends_it_with_words(acp):
    acp.does(course(), model_execute="writer")
    said = acp.implement()
    assert "model writer does not exist for this agent" in said.findings[0].message
    assert said.failure is Failure.DETERMINISTIC


def test_names_are_agents_with_a_line_of_their_own():
    task = Task("TASK-001", "T", 1, Spec("", ""), outputs=("a.py",), implementer="acp:Gemini")
    assert agent_of(task, Settings()) == "acp:gemini"
    assert acp_line("acp:gemini", "") == "gemini --acp"
    assert acp_line("acp:gemini", "mine") == "mine"
    preset = make_acp_preset("acp:gemini", "FOO=1 gemini --acp")
    assert (preset.starts, preset.name) == ("gemini", "acp:gemini")
    assert "GEMINI_API_KEY" in preset.variables
    assert first_program('"un closed') == '"un'
    nobody = choose(replace(task, implementer="acp:mine"), Settings())
    assert isinstance(nobody, Finding)
    assert "agent.acp_command" in nobody.hint
    assert isinstance(choose(replace(task, implementer="acp:"), Settings()), Finding)


def test_it_works_in_the_sandbox(acp, office):
    office.enclosed()
    read = (Path(acp_agent.__file__), office.folder / "acp.json")
    from runner.process.sandbox import choose_sandbox

    acp.heard_file = Path("/tmp/heard.jsonl")  # the sandbox's own
    acp.does(course({"write": "src/app.py", "content": "x = 1\n"}, chunk("Done.")))
    office.sandbox = choose_sandbox("bubblewrap", read)
    said = acp.implement()
    assert (said.findings, said.summary) == ((), "Done.")
    assert office.files() == {"src/app.py": "x = 1\n"}
