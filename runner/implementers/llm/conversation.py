"""The conversation with a model: its tools, its limits, what is heard while it speaks.

Imported only where a model is asked: its libraries take a second to start.
"""

from __future__ import annotations

import asyncio
import warnings
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

import httpx2
from pydantic_ai import Agent, ModelRetry, RunContext, Tool, UsageLimits
from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models import create_async_httpx2_client
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RunUsage

from runner import effects
from runner.implementers.base import Mode
from runner.implementers.llm import system_prompt
from runner.implementers.llm.answer_bounds import AnswerBounds, limit_response
from runner.implementers.llm.arguments import PlanAnswer
from runner.model import Usage
from runner.secrets.redact import StreamRedactor
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Callable

    from pydantic_ai.messages import AgentStreamEvent
    from pydantic_ai.models import Model

    from runner.implementers.llm.tool_session import Session
    from runner.implementers.llm.tools import Tool as OurTool

Client: TypeAlias = "Callable[[httpx2.AsyncClient], Model]"
"""Makes what asks the model, over a client of HTTP that the conversation closes."""

_RETRIES = 3
"""Times in a row that a model may call a tool with arguments nobody can read."""
_MOST_REQUESTS = 250
_CONNECT = 10.0
_LOOK = 0.1
_SHORTEST = 0.001
"""Seconds of a session for which no time is left: none at all would mean no limit."""
_LONGEST_LINE = 200

warnings.filterwarnings("ignore", module=r"pydantic_ai(\..*)?")  # they would stand in the live view


@dataclass
class Conversation:
    """One session with one model: from the brief to its last word."""

    session: Session
    mode: Mode
    client: Client
    used: RunUsage = field(default_factory=RunUsage)
    """What it cost so far, also where it ended in an error."""
    cut_short: bool = False
    """Whether its last words end where its provider's limit of an answer is."""

    def hold(self, brief: str) -> str | PlanAnswer:
        """Its last words, or its plan. Raises what `llm_errors.classify_error` knows."""
        return asyncio.run(self._hold(brief))

    @property
    def usage(self) -> Usage:
        """What it used; dollars only where the model's price is known."""
        return Usage(
            self.used.input_tokens,
            self.used.output_tokens,
            float(self.used.cost or 0),
            self.session.count,
        )

    async def _hold(self, brief: str) -> str | PlanAnswer:
        limits = self.session.desk.bench.limits
        patience = httpx2.Timeout(limits.idle or None, connect=_CONNECT)
        async with create_async_httpx2_client(timeout=patience) as http:
            http.headers["Accept-Encoding"] = "identity"  # so that what is counted is what comes
            http.event_hooks["response"].append(self._limit)
            agent = self._agent(self.client(http))
            run = asyncio.create_task(self._run(agent, brief))
            try:
                while not run.done():
                    await asyncio.wait({run}, timeout=_LOOK)
                    self.session.check_cancelled()
                self.session.check_ended()  # a client may have taken it for a broken connection
                return run.result()
            finally:
                run.cancel()
                await asyncio.wait({run})

    async def _limit(self, response: httpx2.Response) -> None:
        await limit_response(response, self.session.end)

    def _agent(self, model: Model) -> Agent[None, str | PlanAnswer]:
        planning = self.mode is Mode.PLAN
        agent = Agent[None, str | PlanAnswer](
            model,
            output_type=[PlanAnswer, str] if planning else str,
            instructions=system_prompt.PLAN if planning else system_prompt.EXECUTE,
            tools=[self._tool(tool) for tool in self.session.tools.values()],
            retries=_RETRIES,
        )
        if planning:
            agent.output_validator(_with_a_plan)
        return agent

    def _tool(self, tool: OurTool) -> Tool[None]:
        """One tool as the model is shown it; every call goes through the session."""

        async def call_tool(context: RunContext[None], /, **given: object) -> str:
            return self.session.call(tool.name, context.tool_call_id or "", given)

        return Tool.from_schema(
            call_tool, tool.name, tool.purpose, dict(tool.schema), takes_ctx=True, sequential=True
        )

    async def _run(self, agent: Agent[None, str | PlanAnswer], brief: str) -> str | PlanAnswer:
        result = await agent.run(
            brief,
            model_settings=self._settings(),
            usage=self.used,
            usage_limits=self._limits(),
            timeout=self._seconds(),
            event_stream_handler=self._hear,
        )
        self.cut_short = result.response.finish_reason == "length"
        return result.output

    def _settings(self) -> Callable[[RunContext[None]], ModelSettings]:
        """No retries of the client's own, and one id for each request, whoever repeats it."""
        session = effects.new_id()

        def of(context: RunContext[None]) -> ModelSettings:
            key = f"{session}-{context.run_step}"
            effects.step("ask", key)
            headers = {"Idempotency-Key": key}
            return ModelSettings(max_retries=0, extra_headers=headers, cache=True)

        return of

    def _limits(self) -> UsageLimits:
        left = self.session.desk.bench.left
        return UsageLimits(
            request_limit=_MOST_REQUESTS,
            total_tokens_limit=left.tokens,
            cost_limit=None if left.dollars is None else Decimal(str(left.dollars)),
        )

    def _seconds(self) -> float | None:
        """How long the whole session may take."""
        bench = self.session.desk.bench
        left = None if bench.left.minutes is None else max(bench.left.minutes * 60, _SHORTEST)
        return min((one for one in (left, bench.limits.hard or None) if one), default=None)

    async def _hear(
        self, _context: RunContext[None], events: AsyncIterable[AgentStreamEvent]
    ) -> None:
        """Show each line of what the model says, when it is whole: half a key is not redacted.

        Nor is one line of a key that has several: what is said passes as one stream.
        """
        safe = StreamRedactor(self.session.desk.known_secrets)
        said = b""
        bounds = AnswerBounds(self.session.end)
        async for event in events:
            bounds.count(event)
            self.session.check_cancelled()
            if not (spoken := _text_of_event(event)):
                continue
            *whole, said = (said + safe.feed(spoken.encode("utf-8", "replace"))).split(b"\n")
            for one in whole:
                self._show(one.decode("utf-8", "replace"))
        for one in (said + safe.finish()).split(b"\n"):
            self._show(one.decode("utf-8", "replace"))

    def _show(self, line: str) -> None:
        if text := line.strip():
            safe = display(self.session.desk.safe(text))[:_LONGEST_LINE]
            self.session.desk.bench.tell(safe)
            self.session.transcript.append(safe)


def _text_of_event(event: AgentStreamEvent) -> str:
    """The text that an event brings, where it is one of the model's own words."""
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


def _with_a_plan(answer: str | PlanAnswer) -> str | PlanAnswer:
    """A plan, also one that is written as text. Raises ModelRetry where there is none in it."""
    from runner.implementers.plan_answer import plan_in, why_no_plan

    if isinstance(answer, str) and plan_in(answer) is None:
        raise ModelRetry(f"Answer with the plan: {why_no_plan(answer)}.")
    return answer
