"""The `model` implementer: a language model edits the scratch tree with the runner's tools."""

from __future__ import annotations

import os
from contextlib import nullcontext
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner import effects
from runner.implementers.base import CHECK, ImplementerAnswer, Mode, WorkResult
from runner.implementers.command import decisions_in, summarize
from runner.implementers.plan_answer import plan_in, why_no_plan
from runner.implementers.registry import PROVIDER_KEYS
from runner.lazy_module import lazy_module
from runner.model import Failure, Finding, Severity
from runner.text.display import display
from runner.text.wording import did_you_mean

if TYPE_CHECKING:
    from httpx2 import AsyncClient
    from pydantic_ai.models import Model

    from runner.config.settings import Settings
    from runner.context.brief import Brief
    from runner.extensions.llm import conversation, mcp, tool_context, tool_session, tools
    from runner.extensions.llm.conversation import Client, Conversation
    from runner.extensions.llm.tool_context import PlanAnswer, ToolContext
    from runner.extensions.llm.tools import SessionTool
    from runner.implementers.base import ImplementerContext
    from runner.model import Task
else:
    conversation = lazy_module("runner.extensions.llm.conversation")
    mcp = lazy_module("runner.extensions.llm.mcp")
    tool_context = lazy_module("runner.extensions.llm.tool_context")
    tool_session = lazy_module("runner.extensions.llm.tool_session")
    tools = lazy_module("runner.extensions.llm.tools")


NAME = "model"
_ANSWERS = (Mode.DRAFT, Mode.REVIEW, Mode.AUTHOR)
"""Modes in which the complete last message is the answer."""


class ModelLoop(Struct, frozen=True):
    """Asks a model, and does what its calls of tools may do."""

    execute: NamedModel
    plan: NamedModel
    settings: Settings
    client: Client | None = None
    """Makes the model's client; None for its provider's own."""
    name: str = NAME
    is_agent: bool = True
    repeatable: bool = False

    @classmethod
    def for_task(cls, task: Task, settings: Settings) -> ModelLoop | Finding:  # noqa: ARG003  fits any task
        """Create the loop with the configured models; a finding if a requirement is missing."""
        if not settings.model.execute:
            hint = 'set [model] execute = "anthropic:…" (or openai:…, google:…) in the settings'
            return Finding(CHECK, "no model is set to implement tasks", hint=hint)
        execute = parse_model(settings.model.execute)
        plan = parse_model(settings.model.plan or settings.model.execute)
        for named in (execute, plan):
            if isinstance(named, Finding):
                return named
            if missing := find_lacking(named, settings):
                return missing
        assert isinstance(execute, NamedModel)  # the loop above returned any finding
        assert isinstance(plan, NamedModel)
        return cls(execute, plan, settings)

    def instructions(self, mode: Mode) -> str:
        """Return the instructions that go with the brief."""
        return conversation.PLAN if mode is Mode.PLAN else conversation.EXECUTE

    def implement(self, brief: Brief, attempt: ImplementerContext) -> WorkResult:
        """Let the model work until it finishes or reaches a limit."""
        named = self.execute if attempt.mode.writes else self.plan
        key = key_of(named, self.settings)
        served = mcp.find_secrets(self.settings) if self.settings.mcp else ()
        known = (*attempt.known_secrets, *((key,) if key else ()), *served)
        context = tool_context.ToolContext(attempt, brief.task, self.settings, known)
        attempt.tell(f"asking {named}")
        alone = attempt.mode in _ANSWERS  # what others offer may write, or know of other sessions
        with (
            nullcontext(((), ())) if alone else mcp.tools_of_servers(context) as (others, warnings)
        ):
            every: tuple[SessionTool, ...] = (*tools.own_tools(context, attempt.mode), *others)
            session = tool_session.ToolSession(context, {tool.name: tool for tool in every})
            talk = conversation.Conversation(
                session, attempt.mode, self.client or _client(named, self.settings)
            )
            try:
                result = _run_conversation(talk, brief, context)
            finally:
                _keep(session.transcript, context)
        more = (*warnings, *_check_price(talk, attempt, named), *_cut_short(talk, named))
        return replace(result, findings=(*result.findings, *more))

    def answer(self, brief: Brief, attempt: ImplementerContext) -> ImplementerAnswer:
        """Return a model's final answer: a draft, a review, or a report on written tests."""
        if attempt.mode is Mode.AUTHOR:
            result = self.implement(brief, attempt)
            return ImplementerAnswer(result.summary, result)
        reviews = attempt.mode is Mode.REVIEW
        named = self.settings.model.review if reviews else self.settings.model.draft
        model = parse_model(named) if ":" in named else self.plan
        missing = model if isinstance(model, Finding) else find_lacking(model, self.settings)
        if isinstance(model, Finding) or missing:
            return ImplementerAnswer("", WorkResult(findings=(missing,) if missing else ()))
        mode = Mode.REVIEW if reviews else Mode.DRAFT
        result = replace(self, plan=model).implement(brief, replace(attempt, mode=mode))
        return ImplementerAnswer(result.summary, result)


def _client(named: NamedModel, settings: Settings) -> Client:
    return lambda http: client_of(named, settings, http)


def _run_conversation(talk: Conversation, brief: Brief, context: ToolContext) -> WorkResult:
    """Hold the conversation and return its result."""
    from pydantic_ai.exceptions import AgentRunError, UserError

    try:
        answer = talk.hold(brief.text)
    except (tool_session.SessionEnded, AgentRunError, UserError) as error:
        how = conversation.classify_error(error)
        if how is None:
            raise
        finding = _redact_finding(how.finding, context)
        return WorkResult(
            decisions=tuple(context.decisions),
            findings=(finding,),
            usage=talk.usage,
            failure=how.failure,
            retry_after=how.retry_after,
        )
    return _read_answer(answer, talk, brief, context)


def _read_answer(
    answer: str | PlanAnswer, talk: Conversation, brief: Brief, context: ToolContext
) -> WorkResult:
    if not isinstance(answer, str):
        return WorkResult("planned", tuple(context.decisions), usage=talk.usage, plan=answer.noun())
    text = context.safe(answer)
    if talk.mode in _ANSWERS:
        return WorkResult(text, usage=talk.usage)
    if talk.mode is Mode.PLAN:
        return _read_plan(text, talk, context)
    decisions = tuple(dict.fromkeys((*context.decisions, *decisions_in(text))))
    idle = brief.task.writes_anything and not talk.session.count
    return WorkResult(
        summarize(text),
        decisions,
        (Finding(CHECK, "the model answered without using its tools", detail=text),)
        if idle
        else (),
        usage=talk.usage,
        failure=Failure.SEMANTIC if idle else None,
    )


def _read_plan(text: str, talk: Conversation, context: ToolContext) -> WorkResult:
    """Parse a plan from the model's text into a work result."""
    plan = plan_in(text)
    findings: tuple[Finding, ...] = ()
    if plan is None:
        why = f"the model gave no readable plan: {why_no_plan(text)}"
        hint = "end with the plan in a fenced block: ```json plan"
        findings = (Finding(CHECK, why, hint=hint),)
    return WorkResult(
        "planned" if plan else summarize(text),
        tuple(dict.fromkeys((*context.decisions, *decisions_in(text)))),
        findings,
        usage=talk.usage,
        plan=plan,
        failure=None if plan else Failure.SEMANTIC,
    )


def _check_price(
    talk: Conversation, attempt: ImplementerContext, named: NamedModel
) -> tuple[Finding, ...]:
    """Return a warning if a dollar budget cannot apply because the price is unknown."""
    if attempt.left.dollars is None or talk.used.cost is not None or not talk.used.requests:
        return ()
    message = f"the price of {named} is unknown, so its dollars are not counted"
    hint = "also set a budget in tokens"
    return (Finding(CHECK, message, severity=Severity.WARNING, hint=hint),)


def _cut_short(talk: Conversation, named: NamedModel) -> tuple[Finding, ...]:
    """Return a warning if the model's last answer was cut off at the token limit."""
    if not talk.cut_short:
        return ()
    message = f"the last answer of {named} was cut off at the provider's token limit"
    hint = "the work so far is tested as usual; make the task smaller, or choose another model"
    return (Finding(CHECK, message, severity=Severity.WARNING, hint=hint),)


def _redact_finding(finding: Finding, context: ToolContext) -> Finding:
    return replace(
        finding, message=context.safe(finding.message), detail=context.safe(finding.detail)
    )


def _keep(transcript: list[str], context: ToolContext) -> None:
    """Save the transcript as the log of the attempt."""
    log = context.attempt.log
    if log is None or not transcript:
        return
    effects.make_folder(log.parent)
    effects.write_file(log, "".join(f"{line}\n" for line in transcript).encode("utf-8", "replace"))


COMPATIBLE = "openai-compatible"
# Google's own client also prefers the first of its two names.
_PACKAGES = {"anthropic": "anthropic", "google": "google.genai"}
_NO_KEY = "none"
"""Key for a server without keys: its client requires one."""


class NamedModel(Struct, frozen=True):
    """A model by its provider's name and its own."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"


def parse_model(text: str) -> NamedModel | Finding:
    """Parse a model name such as `anthropic:claude-…`; a finding if it is invalid."""
    provider, _, model = text.partition(":")
    if provider in PROVIDER_KEYS and model:
        return NamedModel(provider, model)
    known = ", ".join(f"{name}:…" for name in PROVIDER_KEYS)
    hint = did_you_mean(provider, PROVIDER_KEYS) or f"one of {known}"
    return Finding(CHECK, f'"{display(text)}" is not a valid model', hint=hint)


def find_lacking(named: NamedModel, settings: Settings) -> Finding | None:
    """Return the missing package, key or address for this model, or None."""
    if not _is_installed(named.provider):
        hint = "pip install 'task-graph-runner[llm]'"
        return Finding(CHECK, f"the packages for {named} are not installed", hint=hint)
    if named.provider == COMPATIBLE and not settings.model.base_url:
        hint = 'set [model] base_url = "http://…/v1" in your own settings'
        return Finding(CHECK, f"no server address is set for {named}", hint=hint)
    names = _key_names(named, settings)
    if names and not key_of(named, settings):
        hint = f"export {names[0]}=… in the shell that starts the runner"
        return Finding(CHECK, f"{named} needs a key: {' or '.join(names)} is not set", hint=hint)
    return None


def key_of(named: NamedModel, settings: Settings) -> str:
    """Return the API key of a model from the environment; empty if there is none."""
    found = (os.environ.get(name, "").strip() for name in _key_names(named, settings))
    return next(filter(None, found), "")


def _key_names(named: NamedModel, settings: Settings) -> tuple[str, ...]:
    if named.provider == COMPATIBLE:
        return (settings.model.key_env,) if settings.model.key_env else ()
    return PROVIDER_KEYS[named.provider]


@cache
def _is_installed(provider: str) -> bool:
    wanted = ("pydantic_ai", _PACKAGES.get(provider, "openai"))
    try:
        return all(find_spec(name) is not None for name in wanted)
    except ModuleNotFoundError:  # the parent of a dotted name is not there
        return False


def client_of(named: NamedModel, settings: Settings, http: AsyncClient) -> Model:
    """Return the client of this model over `http`, which the caller closes."""
    return conversation.WholeAnswers(_client_of(named, settings, http))


def _client_of(named: NamedModel, settings: Settings, http: AsyncClient) -> Model:
    key = key_of(named, settings)
    if named.provider == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return AnthropicModel(
            named.model, provider=AnthropicProvider(api_key=key, http_client=http)
        )
    if named.provider == "google":
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        base = os.environ.get("GOOGLE_GEMINI_BASE_URL") or None
        google = GoogleProvider(api_key=key, http_client=http, base_url=base)
        return GoogleModel(named.model, provider=google)
    return _of_openai(named, settings, http, key)


def _of_openai(named: NamedModel, settings: Settings, http: AsyncClient, key: str) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    whole = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    if named.provider == COMPATIBLE:
        server = OpenAICompatibleProvider(
            COMPATIBLE,
            base_url=settings.model.base_url,
            api_key=key or _NO_KEY,
            http_client=http,
        )
        return OpenAIChatModel(named.model, provider=server, profile=whole)
    provider = OpenAIProvider(api_key=key, http_client=http)
    if named.provider == "openai-chat":
        return OpenAIChatModel(named.model, provider=provider, profile=whole)
    return OpenAIResponsesModel(named.model, provider=provider)
