"""The client against a real server that speaks the providers' own formats."""

import os
import threading
import time
from pathlib import Path

import pytest
from llm_server import Answer, Server, says
from msgspec.structs import replace
from settings_of import settings_of
from wire import FORMATS, sse

from runner.config.sizes import parse_rate
from runner.extensions.llm.model import ModelLoop
from runner.implementers import base
from runner.implementers.base import Allowance, Mode, Pacer
from runner.model import Failure

pytest.importorskip("pydantic_ai", reason="the extra `llm` is not installed")

from runner.config.settings import Settings
from runner.extensions.llm import conversation
from runner.extensions.llm.tool_session import MOST_REFUSED

MODELS = ("anthropic:claude-x", "openai:gpt-x", "openai-chat:gpt-x", "google:gemini-x")
EVERY = pytest.mark.parametrize("model", [*MODELS, "openai-compatible:local-x"])
WRITE = ("write_file", {"path": "src/a.py", "content": "x = 1\n"})


def descriptors():
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def ends_with(most):
    """Whether no more descriptors are open soon: what a thread closes may come a moment later."""
    until = time.monotonic() + 10
    while descriptors() > most and time.monotonic() < until:
        time.sleep(0.05)
    return descriptors() <= most


@pytest.fixture
def ask(chat, monkeypatch):
    """Asks a model of a server that answers so."""

    def asked(model, *answers, mode=Mode.EXECUTE, calls=""):
        with Server(*answers) as server:
            for name, value in server.environment.items():
                monkeypatch.setenv(name, value)
            settings = settings_of(
                model_execute=model, model_base_url=f"{server.url}/v1", model_calls=calls
            )
            brief = chat.shop.brief(outputs=chat.outputs, prose="Build it.")
            loop = ModelLoop.for_task(brief.task, settings)
            said = loop.implement(brief, replace(chat.attempt, mode=mode))
        asked.server = server
        return said

    return asked


@EVERY
def test_a_task_is_built_over_the_wire(ask, chat, model):
    before = descriptors()
    said = ask(model, says("I begin.\n", WRITE), says("All ", "done.\n"))
    assert (said.findings, said.failure, said.summary) == ((), None, "All done.")
    assert chat.files == {"src/a.py": "x = 1\n"}
    assert (said.usage.input_tokens, said.usage.output_tokens, said.usage.tool_calls) == (
        200,
        40,
        1,
    )
    assert chat.told == [f"asking {model}", "I begin.", "write_file src/a.py", "All done."]
    first, second = ask.server.asked
    assert "Build it." in str(first[2])
    assert "create of src/a.py: done" in str(second[2])
    assert ends_with(before)


@pytest.mark.filterwarnings("ignore:A `cost_limit` is set")
def test_dollars_are_counted_where_the_price_is_known_and_it_is_told_where_not(ask, chat):
    said = ask("openai:gpt-5", says(WRITE), says("Done."))
    assert said.usage.dollars > 0
    chat.set(left=Allowance(dollars=0.0001))
    said = ask("openai:gpt-5", says(WRITE), says("never said"))
    assert said.findings[0].message == "the budget is used up: 0.0001 dollars"
    assert len(ask.server.asked) == 1
    (warning,) = ask("openai-compatible:local-x", says(WRITE), says("Done.")).findings
    assert warning.message.startswith("the price of openai-compatible:local-x is unknown")


def test_a_key_reaches_its_provider_alone_and_a_server_without_one_gets_none(ask):
    ask("anthropic:claude-x", says("Sorry."))
    assert ask.server.asked[0][1]["authorization"] == f"Bearer {os.environ['ANTHROPIC_API_KEY']}"
    ask("openai-compatible:local-x", says("Sorry."))
    assert ask.server.asked[0][1]["authorization"] == "Bearer none"


@pytest.mark.parametrize("model", MODELS)
def test_a_plan_comes_over_the_wire(ask, chat, model):
    plan = ("final_result", {"steps": ["one"], "files": ["src/a.py"]})
    said = ask(model, says(plan), mode=Mode.PLAN)
    assert said.plan.files == ("src/a.py",)
    tools = str(ask.server.asked[0][2]["tools"])
    assert "read_file" in tools
    assert "write_file" not in tools


def error(model, status, kind, message, **headers):
    """An error as the provider words it."""
    bodies = {
        "anthropic": {"type": "error", "error": {"type": kind, "message": message}},
        "google": {"error": {"code": status, "status": kind.upper(), "message": message}},
    }
    openai = {"error": {"type": kind, "message": message, "code": kind}}
    body = bodies.get(model.partition(":")[0], openai)
    return Answer(status=status, headers=headers, body=body)


@pytest.mark.parametrize(
    ("model", "status", "kind", "failure"),
    [
        ("anthropic:claude-x", 429, "rate_limit_error", Failure.TRANSIENT),
        ("anthropic:claude-x", 529, "overloaded_error", Failure.TRANSIENT),
        ("anthropic:claude-x", 401, "authentication_error", Failure.DETERMINISTIC),
        ("openai:gpt-x", 429, "rate_limit_exceeded", Failure.TRANSIENT),
        ("openai:gpt-x", 429, "insufficient_quota", Failure.DETERMINISTIC),
        ("openai-chat:gpt-x", 503, "server_error", Failure.TRANSIENT),
        ("openai-chat:gpt-x", 400, "invalid_request_error", Failure.DETERMINISTIC),
        ("openai-chat:gpt-x", 418, "teapot", Failure.DETERMINISTIC),
        ("openai-chat:gpt-x", 400, "context_length_exceeded", Failure.SEMANTIC),
        ("google:gemini-x", 429, "resource_exhausted", Failure.TRANSIENT),
        ("google:gemini-x", 503, "unavailable", Failure.TRANSIENT),
        ("google:gemini-x", 403, "permission_denied", Failure.DETERMINISTIC),
    ],
)
def test_an_error_of_a_provider_is_told_by_its_kind(ask, model, status, kind, failure):
    wait = {"Retry-After": "7"} if status == 429 else {}
    said = ask(model, error(model, status, kind, "no, not now", **wait))
    assert said.failure is failure
    assert said.retry_after == (7.0 if wait and failure is Failure.TRANSIENT else 0.0)
    assert "no, not now" in said.findings[0].message
    assert len(ask.server.asked) == 1  # nobody but the runner tries again


def test_an_error_that_repeats_the_key_does_not_show_it(ask):
    key = Server().environment["OPENAI_API_KEY"]
    said = ask("openai:gpt-x", error("openai:x", 401, "invalid_api_key", f"bad key {key}"))
    assert key not in repr(said)
    assert "[REDACTED:secret]" in said.findings[0].message


@EVERY
def test_an_answer_that_is_no_answer_is_a_failure_told(ask, model):
    said = ask(
        model, Answer(body=b"<html>Bad gateway</html>", headers={"Content-Type": "text/html"})
    )
    assert said.failure in (Failure.TRANSIENT, Failure.SEMANTIC)
    assert said.findings[0].refuses


@EVERY
@pytest.mark.parametrize("ends", [False, True], ids=["breaks", "ends early"])
def test_an_answer_that_is_cut_off_is_never_taken_for_a_whole_one(ask, chat, model, ends):
    turn = ("I will write the file now.\n", "It is a long story.", WRITE)
    said = ask(model, says(*turn, cut=2 if "google" in model else 4, ends=ends))
    assert said.failure is Failure.TRANSIENT
    assert chat.files == {}


def faulty(monkeypatch, spoil):
    """The server's streams, spoilt by a function of their events."""
    spoilt = tuple((end, lambda turn, speak=speak: spoil(speak(turn))) for end, speak in FORMATS)
    monkeypatch.setattr("llm_server.FORMATS", spoilt)


@pytest.mark.parametrize(
    ("model", "event"),
    [
        ("anthropic:claude-x", {"type": "error", "error": {"type": "overloaded_error"}}),
        ("openai-chat:gpt-x", {"error": {"message": "oops", "type": "server_error"}}),
        ("openai-chat:gpt-x", "{half an event"),
        ("google:gemini-x", {"error": {"code": 503, "status": "UNAVAILABLE"}}),
    ],
)
def test_an_error_in_the_middle_of_an_answer_is_transient(ask, chat, monkeypatch, model, event):
    faulty(monkeypatch, lambda events: [*events[:2], *sse(event, named="type" in event)])
    said = ask(model, says("I will write it.\n", WRITE))
    assert said.failure is Failure.TRANSIENT
    assert chat.files == {}


@pytest.mark.parametrize("model", ["anthropic:claude-x", "openai-chat:gpt-x", "google:gemini-x"])
def test_last_words_that_end_at_a_limit_are_told_and_the_work_is_proven(ask, monkeypatch, model):
    ends = ((b"end_turn", b"max_tokens"), (b'"stop"', b'"length"'), (b"STOP", b"MAX_TOKENS"))

    def spoil(events):
        for whole, cut in ends:
            events = [one.replace(whole, cut) for one in events]
        return events

    faulty(monkeypatch, spoil)
    said = ask(model, says(WRITE), says("Then I will also"))
    assert said.failure is None
    (warning,) = said.findings
    assert not warning.refuses
    assert warning.message.endswith("was cut off at the provider's token limit")


def test_a_silent_model_does_not_hold_up_a_run_that_ends(ask, chat):
    threading.Timer(0.3, chat.attempt.cancelled.set).start()
    said = ask("openai-compatible:x", Answer(waits=60))
    assert said.findings[0].message == "the model's session was cancelled"


class Counted(Pacer):
    """One that counts the calls that it gives."""

    given: int = 0

    def take(self):
        seconds = super().take()
        self.given += not seconds
        return seconds


@EVERY
def test_each_request_waits_for_its_turn(ask, model, monkeypatch):
    pacer = Counted(parse_rate("3000/minute"))
    monkeypatch.setattr(base, "_PACERS", {"6/minute": pacer})
    said = ask(model, says(WRITE), says("All done."), calls="6/minute")
    assert (said.findings, said.summary) == ((), "All done.")
    assert pacer.given == len(ask.server.asked) == 2


def test_a_request_that_waits_for_its_turn_does_not_hold_up_a_run_that_ends(ask, chat, monkeypatch):
    pacer = Pacer(parse_rate("1/hour"))
    assert pacer.take() == 0
    monkeypatch.setattr(base, "_PACERS", {"1/hour": pacer})
    waits = "waiting to call the model, limited by model.calls = 1/hour"

    def cancel_once_it_waits():
        until = time.monotonic() + 60
        while not any(one.endswith(waits) for one in chat.told) and time.monotonic() < until:
            time.sleep(0.05)
        chat.attempt.cancelled.set()

    threading.Thread(target=cancel_once_it_waits).start()
    said = ask("openai-compatible:x", says("Done."), calls="1/hour")
    assert said.findings[0].message == "the model's session was cancelled"
    assert ask.server.asked == []
    assert chat.told[-1].endswith(waits)


def test_a_server_that_is_not_there_is_a_transient_failure(ask, chat, monkeypatch):
    with Server() as server:
        settings = settings_of(
            model_execute="openai-compatible:x", model_base_url=f"{server.url}/v1"
        )
    loop = ModelLoop.for_task(None, settings)
    said = loop.implement(chat.shop.brief(outputs=("a",)), chat.attempt)
    assert said.failure is Failure.TRANSIENT


@pytest.mark.parametrize("model", MODELS)
def test_an_argument_without_measure_ends_the_session(ask, chat, model, monkeypatch):
    monkeypatch.setattr(conversation, "ARGUMENT", 100_000)
    call = ("write_file", {"path": "src/a.py", "content": "x" * 200_000})
    said = ask(model, says(call), says("Done."))
    (finding,) = said.findings
    assert "part of the model's answer was longer" in finding.message
    assert chat.files == {}


@pytest.mark.parametrize("model", MODELS)
def test_a_response_without_measure_is_not_read_to_its_end(ask, model, monkeypatch):
    monkeypatch.setattr(conversation, "WIRE", 200_000)
    said = ask(model, says("x" * 3_000_000), says("Done."))
    (finding,) = said.findings
    assert "one response of the model's server was longer" in finding.message


def test_many_arguments_together_are_one_answer(chat, monkeypatch):
    monkeypatch.setattr(conversation, "ANSWER", 100_000)
    calls = [("write_file", {"path": f"src/{n}.py", "content": "x" * 30_000}) for n in range(5)]
    (finding,) = chat.run(calls, "Done.").findings
    assert "one answer of the model was longer" in finding.message


def test_calls_that_are_refused_in_ever_new_words_end_the_session(chat):
    refused = [[("write_file", {"path": f"other/{n}.py", "content": "x"})] for n in range(50)]
    said = chat.run(*refused, "Done.")
    assert [one.message for one in said.findings] == ["10 calls in a row were refused"]
    assert said.usage.tool_calls == MOST_REFUSED


def test_a_call_that_is_let_through_begins_the_count_anew(chat):
    turns = []
    for n in range(3 * MOST_REFUSED):
        folder = "src" if n % MOST_REFUSED == 5 else "other"
        turns.append([("write_file", {"path": f"{folder}/{n}.py", "content": "x = 1\n"})])
    assert chat.run(*turns, "Done.").findings == ()


def test_a_server_that_never_stops_talking_is_left_at_once(chat):
    class Endless:
        async def stream(self, _messages, _info):
            while True:
                yield "word "

        def model(self, _http=None):
            from pydantic_ai.models.function import FunctionModel

            return FunctionModel(stream_function=self.stream)

        answers = ()

    stop = threading.Event()
    chat.set(cancelled=stop)
    threading.Timer(0.5, stop.set).start()
    began = time.monotonic()
    script = Endless()
    chat.script = script
    said = ModelLoop(*_named(), Settings(), client=script.model).implement(
        chat.shop.brief(outputs=chat.outputs), replace(chat.attempt, cancelled=stop)
    )
    assert time.monotonic() - began < 60
    assert [one.message for one in said.findings] == ["the model's session was cancelled"]


def _named():
    from runner.extensions.llm.model import NamedModel

    named = NamedModel("anthropic", "scripted")
    return named, named
