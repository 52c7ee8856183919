"""A model that follows a script, and a desk for it with the real write pipeline behind it."""

import json

from msgspec.structs import replace

from runner.config.settings import Settings
from runner.extensions.llm.model import ModelLoop, NamedModel
from runner.writes.pipeline import WriteContext, WriteRules, admit_writes


class Script:
    """Turns of a model: a list of calls, or its last words. Remembers what it was shown."""

    def __init__(self, *turns):
        self.turns = list(turns)
        self.seen = []
        """The messages of each request."""
        self.tools = []
        self.settings = []

    async def stream(self, messages, info):
        from pydantic_ai.models.function import DeltaToolCall

        self.seen.append(messages)
        self.tools = sorted(tool.name for tool in info.function_tools)
        self.settings.append(info.model_settings)
        turn = self.turns.pop(0)
        if isinstance(turn, Exception):
            raise turn
        if isinstance(turn, str):
            for word in turn.split(" "):
                yield f"{word} "
            return
        for number, (name, given, *ids) in enumerate(turn):
            call = ids[0] if ids else f"call-{len(self.seen)}-{number}"
            text = given if isinstance(given, str) else json.dumps(given)
            yield {number: DeltaToolCall(name, text[:9], tool_call_id=call)}
            yield {number: DeltaToolCall(None, text[9:])}

    def model(self, _http=None):
        from pydantic_ai.models.function import FunctionModel

        return FunctionModel(stream_function=self.stream)

    @property
    def answers(self):
        """What the tools answered, in their order."""
        parts = [part for message in self.seen[-1] for part in message.parts]
        return [str(part.content) for part in parts if part.part_kind == "tool-return"]


class Chat:
    """A session with a scripted model in a real scratch tree."""

    def __init__(self, shop):
        self.shop = shop
        self.told = shop.told
        self.events = []
        self.gates = {}
        self.settings = Settings()
        self.attempt = replace(
            shop.context, verdict=self.verdict, run_gate=self.gate, record=self.events.append
        )
        self.outputs = ("src/**", "tests/**")

    def verdict(self, change):
        rules = WriteRules("run", "TASK-002", 1, self.outputs)
        attempt = WriteContext(tree=self.shop.tree, before=lambda _path: None)
        return admit_writes((change,), rules, attempt).findings

    def gate(self, name):
        return self.gates[name]()

    def set(self, **fields):
        self.attempt = replace(self.attempt, **fields)

    def run(self, *turns, **brief):
        self.script = turns[0] if isinstance(turns[0], Script) else Script(*turns)
        named = NamedModel("anthropic", "scripted")
        loop = ModelLoop(named, named, self.settings, client=self.script.model)
        outputs = {"outputs": self.outputs} | brief
        return loop.implement(self.shop.brief(**outputs), self.attempt)

    @property
    def answers(self):
        return self.script.answers

    @property
    def files(self):
        return self.shop.files()
