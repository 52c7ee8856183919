"""What each program prints, as the versions that were tried printed it, and what is heard of it."""

import json
import sys

import pytest

from runner.implementers.agents.output_parsers import hear
from runner.implementers.agents.preset import Dialect
from runner.implementers.agents.transcript import Transcript
from runner.journal.decisions import parse_decisions
from runner.model import Usage


def heard(dialect, *lines):
    """The transcript of a session, with the names of what was recorded, and what was told."""
    events, told = [], []
    transcript = Transcript(events.append, told.append)
    for line in lines:
        hear(dialect, line if isinstance(line, str) else json.dumps(line), transcript)
    return transcript, [(type(event).__name__, event.name) for event in events], told


def claude(kind, *content, **usage):
    return {"type": kind, "message": {"id": "msg_1", "content": content, "usage": usage}}


CALL = {"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": "a.py"}}
BACK = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "All done.\nSecond line.",
    "total_cost_usd": 0.002,
    "usage": {"input_tokens": 200, "cache_read_input_tokens": 50, "output_tokens": 40},
}


@pytest.mark.parametrize("dialect", [Dialect.CLAUDE, Dialect.AIDER])
def test_a_decision_that_a_program_just_says_ends_at_the_empty_line(dialect):
    block = ("DECISION: text files", "Context: few rows", "", "Some more talk.", "", "Done.")
    transcript, _, told = heard(dialect, "", *block)
    (decision,) = parse_decisions(transcript.text)
    assert (decision.title, decision.context) == ("text files", "few rows")
    assert transcript.text.splitlines()[-3:] == ["Some more talk.", "", "Done."]
    assert "" not in told


def test_claude_tells_calls_answers_tokens_and_cost():
    transcript, events, told = heard(
        Dialect.CLAUDE,
        {"type": "system", "subtype": "init", "model": "m"},
        claude("assistant", CALL, input_tokens=100, output_tokens=1),
        claude("user", BACK),
        RESULT,
    )
    assert transcript.text == "All done.\nSecond line."
    assert transcript.usage == Usage(250, 40, 0.002, tool_calls=1)
    assert events == [("ToolCalled", "Write"), ("ToolReturned", "Write")]
    assert told == ["Write a.py", "Second line."]
    assert transcript.ended


def test_a_session_that_was_cut_off_is_counted_by_its_parts():
    transcript, _, _ = heard(
        Dialect.CLAUDE,
        claude("assistant", CALL, input_tokens=100, output_tokens=1),
        claude("assistant", {"type": "text", "text": "hm"}, input_tokens=100, output_tokens=9),
    )
    assert transcript.usage == Usage(100, 9, tool_calls=1)  # one message, told twice
    assert not transcript.ended


def test_claude_that_tries_a_refused_key_again_is_hopeless():
    retry = {"type": "system", "subtype": "api_retry", "error_status": 529, "error": "overloaded"}
    transcript, _, told = heard(Dialect.CLAUDE, retry)
    assert (transcript.hopeless, told) == (
        False,
        ["the provider answered 529 overloaded; retrying"],
    )
    retry |= {"error_status": 401, "error": "authentication_failed"}
    assert heard(Dialect.CLAUDE, retry)[0].hopeless


def test_a_result_that_is_an_error_is_a_failure():
    transcript, _, _ = heard(Dialect.CLAUDE, RESULT | {"is_error": True, "result": "API Error"})
    assert (transcript.error, transcript.ended) == ("API Error", False)


def codex(kind, what, **fields):
    return {"type": f"item.{kind}", "item": {"id": "item_1", "type": what, **fields}}


def test_codex_tells_commands_and_tokens():
    usage = {"input_tokens": 200, "cached_input_tokens": 50, "output_tokens": 40}
    transcript, events, told = heard(
        Dialect.CODEX,
        "WARNING: proceeding, even though",
        {"type": "error", "message": "Reconnecting... 2/5"},
        codex("started", "command_execution", command="ls", status="in_progress"),
        codex("completed", "command_execution", command="ls", exit_code=0),
        codex("completed", "agent_message", text="All done."),
        {"type": "turn.completed", "usage": usage},
    )
    assert (transcript.text, transcript.error) == ("All done.", "")
    assert transcript.usage == Usage(200, 40, tool_calls=1)
    assert events == [("ToolCalled", "command_execution"), ("ToolReturned", "command_execution")]
    assert told == ["command_execution ls", "All done."]


def test_codex_has_each_of_many_turns_counted():
    turn = {"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 1}}
    transcript, _, _ = heard(Dialect.CODEX, *[turn] * 20)
    assert transcript.usage == Usage(200, 20)


def test_codex_tells_why_a_turn_failed():
    said = {"type": "turn.failed", "error": {"message": "unexpected status 401 Unauthorized"}}
    assert heard(Dialect.CODEX, said)[0].error == "unexpected status 401 Unauthorized"


def test_gemini_tells_its_answer_in_pieces():
    stats = {"input_tokens": 200, "output_tokens": 40, "tool_calls": 1}
    use = {"type": "tool_use", "tool_name": "write_file", "tool_id": "1"}
    transcript, events, _ = heard(
        Dialect.GEMINI,
        "YOLO mode is enabled.",
        {"type": "message", "role": "user", "content": "Write"},
        {"type": "message", "role": "assistant", "content": "I will", "delta": True},
        use | {"parameters": {"file_path": "a.py", "content": "x"}},
        {"type": "tool_result", "tool_id": "1", "status": "success"},
        {"type": "message", "role": "assistant", "content": "All ", "delta": True},
        {"type": "message", "role": "assistant", "content": "done.", "delta": True},
        {"type": "result", "status": "success", "stats": stats},
    )
    assert transcript.text == "All done."
    assert transcript.usage == Usage(200, 40, tool_calls=1)
    assert [name for _, name in events] == ["write_file", "write_file"]


def test_opencode_tells_tokens_and_cost_step_by_step():
    state = {"status": "completed", "input": {"filePath": "a.py"}}
    tool = {"type": "tool", "tool": "write", "callID": "c1", "state": state}
    tokens = {"input": 100, "output": 20, "reasoning": 5, "cache": {"read": 10, "write": 0}}
    steps = [
        {"type": "step_finish", "part": {"id": n, "reason": why, "tokens": tokens, "cost": 0.25}}
        for n, why in (("1", "tool-calls"), ("2", "stop"))
    ]
    transcript, events, _ = heard(
        Dialect.OPENCODE,
        {"type": "tool_use", "part": tool},
        steps[0],
        {"type": "text", "part": {"text": "All done."}},
        steps[1],
    )
    assert transcript.text == "All done."
    assert transcript.usage == Usage(220, 50, 0.5, tool_calls=1)
    assert len(events) == 2
    error = {"name": "APIError", "data": {"message": "Unauthorized"}}
    assert heard(Dialect.OPENCODE, {"type": "error", "error": error})[0].error == (
        "APIError Unauthorized"
    )


def test_aider_tells_tokens_and_cost_in_words():
    transcript, _, _ = heard(
        Dialect.AIDER,
        "Here.",
        "Tokens: 1.2k sent, 20 received. Cost: $0.01 message, $0.01 session.",
        "Tokens: 12k sent, 10k cache hit, 1,020 received. Cost: $0.02 message, $0.03 session.",
        "Applied edit to new.py",
    )
    assert transcript.usage == Usage(13_200, 1_040, 0.03)
    assert transcript.text.endswith("Applied edit to new.py\n")


def test_aider_tells_its_failure_in_words():
    transcript, _, _ = heard(
        Dialect.AIDER,
        "litellm.AuthenticationError: AuthenticationError: OpenAIException - scripted",
        "The API provider is not able to authenticate you. Check your API key.",
    )
    assert "AuthenticationError" in transcript.error


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize(
    "line",
    [
        '{"type": "assistant", "message": {"content": "text"}}',
        '{"type": "assistant", "message": [1]}',
        '{"type": "item.completed", "item": null}',
        '{"type": "result", "usage": {"input_tokens": "many"}, "stats": 3}',
        '{"type": "tool_use", "part": {"state": []}}',
        '{"type": 5, "part": {}}',
        "{" * 5000,
        '{"cut off": "in the mid',
        "[1, 2]",
        "",
    ],
)
def test_lines_of_another_shape_are_passed_over(dialect, line):
    transcript, events, _ = heard(dialect, line)
    assert transcript.usage.tokens == 0
    assert all(name == "" for _, name in events)


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize(
    "line",
    [
        '{"type": "result", "usage": {"input_tokens": 1e999}, "stats": {"input_tokens": 1e999}}',
        '{"type": "result", "total_cost_usd": 1' + "0" * 400 + "}",
        '{"type": "system", "subtype": "api_retry", "error_status": Infinity}',
        '{"type": "turn.completed", "usage": {"input_tokens": Infinity, "output_tokens": NaN}}',
        '{"type": "step_finish", "part": {"cost": 1e999, "tokens": {"input": 1e999}}}',
        "Tokens: ... sent, ,, received. Cost: $0 message, $1.2.3 session",
        f"Tokens: {'9' * 400}k sent, 2 received.",
    ],
)
def test_numbers_that_are_none_count_for_nothing_and_end_nothing(dialect, line):
    transcript, _, _ = heard(dialect, line)
    assert transcript.usage.tokens in (0, 2)
    assert transcript.usage.dollars == 0


def test_the_name_of_a_tool_is_shown_and_recorded_short_and_visible():
    call = {**CALL, "name": "\x1b[2J\ud800" + "x" * 9_000}
    _, events, told = heard(Dialect.CLAUDE, claude("assistant", call))
    assert len(events[0][1]) <= 200
    assert "\x1b" not in events[0][1] + told[0]
    events[0][1].encode()


def test_arguments_however_deeply_nested_end_nobody_who_hears():
    for depth in range(sys.getrecursionlimit() - 200, sys.getrecursionlimit()):
        nested = "[" * depth + "]" * depth
        item = f'{{"type": "mcp_tool_call", "id": "1", "arguments": {nested}}}'
        heard(Dialect.CODEX, f'{{"type": "item.completed", "item": {item}}}')
