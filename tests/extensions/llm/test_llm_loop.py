""""""

import json
import threading

import pytest
from msgspec.structs import replace
from settings_of import settings_of

from runner.config.shell_rules import Permission, Permit
from runner.implementers.agents.transcript import LOOP, Calls, ToolCall
from runner.implementers.base import Allowance, Mode
from runner.journal.session_events import ToolCalled, ToolReturned
from runner.model import Failure, Finding, Phase, TaskPlan

KEY = "sk-" + "ant-api03-" + "Zx8" * 31 + "AA"


def write(path, content="x = 1\n"):
    return ("write_file", {"path": path, "content": content})


def read(path):
    return ("read_file", {"path": path})


# --- the work -------------------------------------------------------------------------


def test_it_reads_then_writes_and_says_what_it_did(chat):
    chat.shop.write("src/a.py", "old = 1\n")
    said = chat.run(
        [("list_files", {}), read("src/a.py")],
        [write("src/b.py", "new = 2\n")],
        "Looked around.\nAdded src/b.py.",
    )
    assert (said.findings, said.failure) == ((), None)
    assert said.summary == "Added src/b.py."
    assert chat.files == {"src/a.py": "old = 1\n", "src/b.py": "new = 2\n"}
    assert chat.answers == ["src/a.py (8 bytes)", "old = 1\n", "create of src/b.py: done"]
    assert said.usage.tool_calls == 3
    assert said.usage.input_tokens > 0 < said.usage.output_tokens


def test_each_call_is_shown_and_recorded_by_its_digest_alone(chat):
    chat.run([write("src/b.py", "secret plans")], "One line.\nAnother one.")
    assert chat.told[1:] == ["write_file src/b.py", "One line.", "Another one."]
    called, returned = chat.events
    assert called == ToolCalled("write_file", called.arguments, path="src/b.py")
    assert returned == ToolReturned("write_file", called.arguments, returned.seconds, "ok")
    assert returned.seconds >= 0
    assert called.arguments.startswith("sha256:")
    log = chat.attempt.log.read_text()
    assert log.startswith("> write_file src/b.py: create of src/b.py: done\n")
    assert "secret plans" not in log


def test_no_digest_tells_one_key_from_another(chat):
    calls = [("search", {"pattern": key}) for key in (KEY, KEY.replace("Zx8", "Yw7"), "another")]
    chat.run(calls, "Done.")
    one, _, two, _, three, _ = chat.events
    assert one == two != three


def test_a_refused_write_is_repaired_in_the_same_session(chat):
    said = chat.run(
        [write("docs/a.md")],
        [write("src/a.py", f'key = "{KEY}"\n')],
        [write(".github/workflows/ci.yml"), write("../outside"), write("TASK-GRAPH.md")],
        [write("src/a.py", "import os\n")],
        "Done.",
    )
    scope, secret, control, outside, plan, done = chat.answers
    assert scope.startswith("refused, nothing was written: scope (error) at docs/a.md")
    assert "- Output files: `src/**`, `tests/**`, `docs/a.md`" in scope
    assert "secret-scan" in secret
    assert KEY not in repr(chat.script.seen[2][-1])
    assert all("refused" in answer for answer in (control, outside, plan))
    assert done == "create of src/a.py: done"
    assert chat.files == {"src/a.py": "import os\n"}
    assert said.findings == ()


def test_work_is_held_to_the_files_of_the_approved_plan(chat):
    phases = (Phase("second", files=("src/c.py",)),)
    chat.set(plan=TaskPlan(("write it",), ("src/a.py",), phases=phases))
    chat.run([write("src/a.py"), write("src/b.py"), write("src/c.py")], "Done.")
    assert list(chat.files) == ["src/a.py", "src/c.py"]
    assert "'src/b.py' is not a file of the approved plan" in chat.answers[1]
    assert "the plan allows src/a.py, src/c.py" in chat.answers[1]


def test_a_check_is_run_by_its_name_and_its_failure_is_the_answer(chat):
    failed = Finding("TC-001", "`pytest` ended with exit code 1", detail="assert 1 == 2")
    outcomes = [(failed,), ()]
    chat.gates["TC-001"] = lambda: outcomes.pop(0)
    gate = ("run_gate", {"name": "TC-001"})
    chat.run([gate], [write("src/a.py")], [gate], "Done.")
    assert chat.answers[0].endswith("exit code 1\nassert 1 == 2")
    assert chat.answers[2] == "TC-001 passes"


def test_decisions_come_by_tool_and_by_the_last_message_each_once(chat):
    made = ("record_decision", {"title": "SQLite", "context": f"small, {KEY}"})
    said = chat.run(
        [made, ("record_decision", {"title": "SQLite", "context": f"small, {KEY}"})],
        "Done.\n\nDECISION: WAL\nContext: readers\n",
    )
    assert said.summary == "Done."
    assert [one.title for one in said.decisions] == ["SQLite", "WAL"]
    assert KEY not in repr(said)


# --- plan mode ------------------------------------------------------------------------

PLAN = {"steps": ["write it"], "files": ["src/a.py"], "gates": ["TC-001"], "type": "feature"}


def test_in_plan_mode_there_is_no_tool_that_writes_and_a_plan_comes_back(chat):
    chat.shop.write("src/a.py", "x = 1\n")
    chat.set(mode=Mode.PLAN)
    said = chat.run([read("src/a.py")], [("final_result", PLAN)])
    assert chat.script.tools == ["list_files", "read_file", "search"]
    assert said.plan == TaskPlan(("write it",), ("src/a.py",), (), "feature", ("TC-001",))
    assert (said.findings, said.failure) == ((), None)


def test_a_plan_that_nobody_can_read_is_asked_for_again_then_a_semantic_failure(chat):
    chat.set(mode=Mode.PLAN)
    said = chat.run([("final_result", {"steps": []})], [("final_result", PLAN)])
    assert said.plan.files == ("src/a.py",)
    said = chat.run(*["I would rather talk about it."] * 5)
    assert (said.plan, said.failure) == (None, Failure.SEMANTIC)
    assert said.findings[0].message.startswith("the model's answer cannot be used: ")


def test_a_plan_that_is_written_as_text_is_read_as_an_agents_is(chat):
    chat.set(mode=Mode.PLAN)
    said = chat.run("So be it.\n\n```json plan\n" + json.dumps(PLAN) + "\n```\n")
    assert said.plan == TaskPlan(("write it",), ("src/a.py",), (), "feature", ("TC-001",))
    assert (said.findings, said.failure) == ((), None)


# --- limits ---------------------------------------------------------------------------


def test_the_same_call_three_times_in_a_row_ends_it(chat):
    said = chat.run(*[[read("src/a.py")]] * 3, "never said")
    (finding,) = said.findings
    assert finding.check == "loop"
    assert finding.message == (
        "read_file src/a.py was called 3 times in a row with the same arguments"
    )
    assert said.failure is None
    assert said.usage.tool_calls == 3


def test_two_calls_in_turn_end_it(chat):
    said = chat.run([read("a")], [read("b")], [read("a")], [read("b")], "never said")
    assert "read_file a and read_file b were called alternately" in said.findings[0].message


def test_tool_calls_tokens_and_dollars_are_held_to_what_is_left(chat):
    chat.set(left=Allowance(tool_calls=2))
    said = chat.run([read("a"), read("b"), read("c")], "never said")
    assert (said.findings[0].check, said.findings[0].message) == (
        "budget",
        "the budget is used up: 2 tool calls",
    )
    chat.set(left=Allowance(tokens=60))
    said = chat.run([read("a")], "never said")
    assert said.findings[0].message == "the budget is used up: 60 tokens"
    assert said.usage.tokens > 0


def test_a_call_that_comes_twice_under_one_id_is_done_once(chat):
    chat.shop.write("src/a.py", "a a\n")
    step = ("modify_file", {"path": "src/a.py", "old": "a a", "new": "a a a"}, "id-1")
    chat.run([step], [read("src/a.py")], [step], "Done.")
    assert chat.files == {"src/a.py": "a a a\n"}
    assert chat.answers == ["modify of src/a.py: done", "a a a\n", "modify of src/a.py: done"]


def test_ids_that_begin_again_with_each_answer_tell_nothing(chat):
    chat.shop.write("src/a.py", "a")
    there = ("modify_file", {"path": "src/a.py", "old": "a", "new": "b"}, "0")
    chat.run([("read_file", {"path": "src/a.py"}, "0")], [there], [there], "Done.")
    assert chat.answers[1] == "modify of src/a.py: done"
    assert chat.answers[2].startswith("refused, nothing was written: old occurs 0 times")


def test_each_request_carries_an_id_of_its_own(chat):
    chat.run([read("a")], "Done.")
    keys = [one["extra_headers"]["Idempotency-Key"] for one in chat.script.settings]
    assert len(set(keys)) == 2
    assert keys[0].rpartition("-")[0] == keys[1].rpartition("-")[0]
    assert {one["max_retries"] for one in chat.script.settings} == {0}


def test_arguments_that_do_not_fit_are_answered_with_what_is_wrong(chat):
    chat.run([("read_file", {"file": "x", "first_line": 0})], "Done.")
    (answer,) = chat.answers
    assert answer == (
        "invalid arguments for read_file: path: Field required; first_line: Input should be "
        "greater than or equal to 1; file: Extra inputs are not permitted"
    )


def test_calls_that_nobody_can_read_or_of_no_tool_are_a_semantic_failure_in_the_end(chat):
    said = chat.run([("read_file", '{"path": ')], [read("a")], "Done.")
    assert said.failure is None
    said = chat.run(*[[("delete_everything", {})]] * 6)
    assert said.failure is Failure.SEMANTIC


def test_an_answer_without_any_tool_is_a_semantic_failure(chat):
    said = chat.run("I am sorry, I cannot do that.")
    assert said.failure is Failure.SEMANTIC
    assert said.findings[0].message == "the model answered without using its tools"
    assert said.findings[0].detail.startswith("I am sorry")
    assert chat.run("Nothing to do.", outputs=()).findings == ()


def test_a_cancelled_run_ends_the_session_at_once(chat):
    chat.set(cancelled=threading.Event())
    chat.gates["slow"] = lambda: chat.attempt.cancelled.set() or ()
    said = chat.run([("run_gate", {"name": "slow"})], [write("src/a.py")], "Done.")
    assert said.findings[0].message == "the model's session was cancelled"
    assert chat.files == {}


def test_a_session_for_which_no_time_is_left_does_nothing(chat):
    chat.set(left=Allowance(minutes=0.0))
    chat.gates["slow"] = lambda: threading.Event().wait(0.1) or ()
    said = chat.run([("run_gate", {"name": "slow"})], [write("src/a.py")], "Done.")
    assert said.findings[0].message.startswith("the session exceeded the time limit of the attempt")
    assert chat.files == {}


def test_a_session_takes_no_longer_than_the_attempt_may(chat):
    chat.set(left=Allowance(minutes=0.002))
    chat.gates["slow"] = lambda: threading.Event().wait(0.2) or ()
    said = chat.run([("run_gate", {"name": "slow"})], [write("src/a.py")], "Done.")
    assert said.findings[0].message.startswith("the session exceeded the time limit of the attempt")


# --- permission rules -----------------------------------------------------------------


def test_rules_are_checked_before_a_tool_does_anything(chat):
    chat.shop.write("src/private/a.py", "hidden = 1\n")
    chat.settings = settings_of(
        permission=(
            Permission("*", "src/private/**", Permit.DENY),
            Permission("write_file", "tests/**", Permit.ASK),
            Permission("run_gate", "deploy*", Permit.DENY),
        )
    )
    chat.run(
        [read("src/private/a.py"), write("./src/private/b.py"), write("tests/test_a.py")],
        [("search", {"pattern": "hidden"}), ("list_files", {}), ("run_gate", {"name": "deploy-x"})],
        "Done.",
    )
    denied = 'denied: the rule "deny * src/private/**" of your settings does not allow'
    assert chat.answers[0] == f"{denied} read_file src/private/a.py"
    assert chat.answers[1] == f"{denied} write_file src/private/b.py"
    assert "needs a person's approval for write_file tests/test_a.py, and nobody" in chat.answers[2]
    assert chat.answers[3:] == [
        "no matches",
        "no matching files",
        (
            'denied: the rule "deny run_gate deploy*" of your settings does not allow '
            "run_gate deploy-x"
        ),
    ]
    assert list(chat.files) == ["src/private/a.py"]


def test_a_key_of_several_lines_stands_in_no_log(chat):
    body = "\n".join(["MIIEvQIBADANBg" + "Zx8K" * 12, *["Zx8Kq2Lm9Rt4" * 5] * 4])
    mark = "PRIVATE" + " KEY-----"
    chat.run([read("a")], f"-----BEGIN {mark}\n{body}\n-----END {mark}\nDone.")
    assert "Zx8K" not in chat.attempt.log.read_text()


def test_known_secrets_are_shown_nowhere(chat):
    chat.set(known_secrets=("a-value-" + "of-a-task",))
    chat.shop.write("src/a.py", "token = 'a-value-" + "of-a-task'\n")
    chat.attempt = replace(chat.attempt)
    said = chat.run([read("src/a.py")], "It is a-value-" + "of-a-task.")
    shown = repr((chat.script.seen[-1][-1], said, chat.told, chat.attempt.log.read_text()))
    assert "of-a-task" not in shown
    assert "[REDACTED:secret]" in shown


def seen(letters):
    calls = Calls()
    for letter in letters:
        calls = calls.after(ToolCall(f"tool-{letter.lower()}", f"sha256:{letter}", letter))
    return calls


@pytest.mark.parametrize(
    "letters", ["", "A", "AA", "AAB", "AABAAC", "ABAB"[:3], "ABCABC", "ABAC", "ABCB"]
)
def test_what_goes_on_is_no_circle(letters):
    assert (seen(letters).repeated, seen(letters).finding) == ("", None)


@pytest.mark.parametrize("letters", ["AAA", "BAAA", "ABAB", "CABAB"])
def test_a_circle_is_seen_as_soon_as_it_closes(letters):
    assert seen(letters[:-1]).finding is None
    finding = seen(letters).finding
    assert finding.check == LOOP
    assert finding.refuses
    assert "tool-a A" in finding.message
