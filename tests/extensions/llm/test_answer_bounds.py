"""What a model's server may say is bounded: it is a stranger, and memory is not its own."""

import threading
import time

import pytest
from llm_server import Server, says
from msgspec.structs import replace

pytest.importorskip("pydantic_ai", reason="the extra `llm` is not installed")

from settings_of import settings_of

from runner.config.settings import Settings
from runner.extensions.llm import conversation
from runner.extensions.llm.model import ModelLoop
from runner.extensions.llm.tool_session import MOST_REFUSED

MODELS = ("anthropic:claude-x", "openai:gpt-x", "openai-chat:gpt-x", "google:gemini-x")


@pytest.fixture
def ask(chat, monkeypatch):
    def asked(model, *answers):
        with Server(*answers) as server:
            for name, value in server.environment.items():
                monkeypatch.setenv(name, value)
            brief = chat.shop.brief(outputs=chat.outputs, prose="Build it.")
            loop = ModelLoop.for_task(brief.task, settings_of(model_execute=model))
            return loop.implement(brief, chat.attempt)

    return asked


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
