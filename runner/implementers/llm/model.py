"""The `model` implementer: a language model works in the scratch tree by tools of ours."""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from runner import effects
from runner.implementers.base import CHECK, Answer, Mode, Said
from runner.implementers.command import decisions_in
from runner.implementers.llm.providers import Named, client_of, find_lacking, key_of, parse_model
from runner.implementers.plan_answer import plan_in, why_no_plan
from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.model import Failure, Finding, Severity

if TYPE_CHECKING:
    from runner.config.settings import Settings
    from runner.context.brief import Brief
    from runner.implementers.base import ImplementerContext
    from runner.implementers.llm import (
        conversation,
        llm_errors,
        mcp,
        tool_context,
        tool_session,
        tools,
    )
    from runner.implementers.llm.arguments import PlanAnswer
    from runner.implementers.llm.conversation import Client, Conversation
    from runner.implementers.llm.tool_context import ToolContext
    from runner.implementers.llm.tools import Tool
    from runner.model import Task
else:
    conversation = lazy_module("runner.implementers.llm.conversation")
    llm_errors = lazy_module("runner.implementers.llm.llm_errors")
    mcp = lazy_module("runner.implementers.llm.mcp")
    tool_context = lazy_module("runner.implementers.llm.tool_context")
    tool_session = lazy_module("runner.implementers.llm.tool_session")
    tools = lazy_module("runner.implementers.llm.tools")

NAME = "model"
_LONGEST_SUMMARY = 200
_DECISION = regex(r"^\W*DECISION\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ModelLoop:
    """Asks a model, and does what its calls of tools may do."""

    execute: Named
    plan: Named
    settings: Settings
    client: Client | None = None
    """What asks the model; None for its provider's own."""
    name: str = NAME
    is_agent: bool = True
    repeatable: bool = False

    @classmethod
    def for_task(cls, task: Task, settings: Settings) -> ModelLoop | Finding:  # noqa: ARG003  fits any task
        """With the models of the settings, if all is there that is needed to ask them."""
        if not settings.model_execute:
            hint = '[model] execute = "anthropic:…" (or openai:…, google:…) in the settings'
            return Finding(CHECK, "no model is named that implements tasks", hint=hint)
        execute = parse_model(settings.model_execute)
        plan = parse_model(settings.model_plan or settings.model_execute)
        for named in (execute, plan):
            if isinstance(named, Finding):
                return named
            if missing := find_lacking(named, settings):
                return missing
        assert isinstance(execute, Named)  # the loop above returned any finding
        assert isinstance(plan, Named)
        return cls(execute, plan, settings)

    def implement(self, brief: Brief, bench: ImplementerContext) -> Said:
        """Let the model work until it has said its last word, or must not go on."""
        named = self.execute if bench.mode is Mode.EXECUTE else self.plan
        key = key_of(named, self.settings)
        known = (*bench.known_secrets, *((key,) if key else ()))
        desk = tool_context.ToolContext(bench, brief.task, self.settings, known)
        bench.tell(f"asking {named}")
        drafts = bench.mode is Mode.DRAFT  # what others offer may write
        with nullcontext(((), ())) if drafts else mcp.tools_of_servers(desk) as (others, warnings):
            every: tuple[Tool, ...] = (*tools.own_tools(desk, bench.mode), *others)
            session = tool_session.Session(desk, {tool.name: tool for tool in every})
            talk = conversation.Conversation(
                session, bench.mode, self.client or _client(named, self.settings)
            )
            try:
                said = _make_said(talk, brief, desk)
            finally:
                _keep(session.transcript, desk)
        more = (*warnings, *_check_price(talk, bench, named), *_cut_short(talk, named))
        return replace(said, findings=(*said.findings, *more))

    def answer(self, brief: Brief, bench: ImplementerContext) -> Answer:
        """The last words of a model that has tools which only read."""
        named = self.settings.model_draft
        model = parse_model(named) if ":" in named else self.plan
        missing = model if isinstance(model, Finding) else find_lacking(model, self.settings)
        if isinstance(model, Finding) or missing:
            return Answer("", Said(findings=(missing,) if missing else ()))
        said = replace(self, plan=model).implement(brief, replace(bench, mode=Mode.DRAFT))
        return Answer(said.summary, said)


def _client(named: Named, settings: Settings) -> Client:
    return lambda http: client_of(named, settings, http)


def _make_said(talk: Conversation, brief: Brief, desk: ToolContext) -> Said:
    """How the conversation went, as a value."""
    from pydantic_ai.exceptions import AgentRunError, UserError

    try:
        answer = talk.hold(brief.text)
    except (tool_session.SessionEnded, AgentRunError, UserError) as error:
        how = llm_errors.classify_error(error)
        if how is None:
            raise
        finding = _redact_finding(how.finding, desk)
        return Said(
            decisions=tuple(desk.decisions),
            findings=(finding,),
            usage=talk.usage,
            failure=how.failure,
            retry_after=how.retry_after,
        )
    return _read_answer(answer, talk, brief, desk)


def _read_answer(
    answer: str | PlanAnswer, talk: Conversation, brief: Brief, desk: ToolContext
) -> Said:
    if not isinstance(answer, str):
        return Said("planned", tuple(desk.decisions), usage=talk.usage, plan=answer.noun())
    text = desk.safe(answer)
    if talk.mode is Mode.DRAFT:
        return Said(text, usage=talk.usage)
    if talk.mode is Mode.PLAN:
        return _read_plan(text, talk, desk)
    decisions = tuple(dict.fromkeys((*desk.decisions, *decisions_in(text))))
    idle = brief.task.writes_anything and not talk.session.count
    return Said(
        _summary(text),
        decisions,
        (Finding(CHECK, "the model answered without using its tools", detail=text),)
        if idle
        else (),
        usage=talk.usage,
        failure=Failure.SEMANTIC if idle else None,
    )


def _read_plan(text: str, talk: Conversation, desk: ToolContext) -> Said:
    """A plan that is written as text, read as an agent's is."""
    plan = plan_in(text)
    findings: tuple[Finding, ...] = ()
    if plan is None:
        why = f"the model told no plan that can be read: {why_no_plan(text)}"
        hint = "end with the plan in a fenced block: ```json plan"
        findings = (Finding(CHECK, why, hint=hint),)
    return Said(
        "planned" if plan else _summary(text),
        tuple(dict.fromkeys((*desk.decisions, *decisions_in(text)))),
        findings,
        usage=talk.usage,
        plan=plan,
        failure=None if plan else Failure.SEMANTIC,
    )


def _check_price(
    talk: Conversation, bench: ImplementerContext, named: Named
) -> tuple[Finding, ...]:
    """A budget in dollars holds nothing where nobody knows what the model costs."""
    if bench.left.dollars is None or talk.used.cost is not None or not talk.used.requests:
        return ()
    said = f"what {named} costs is not known: its dollars are not counted"
    hint = "set a budget in tokens, too"
    return (Finding(CHECK, said, severity=Severity.WARNING, hint=hint),)


def _cut_short(talk: Conversation, named: Named) -> tuple[Finding, ...]:
    """Words that end at a limit are no last words; the proof says what the work is worth."""
    if not talk.cut_short:
        return ()
    said = f"the last answer of {named} was cut off at its provider's limit of tokens"
    hint = "what it did so far is proven all the same; make the task smaller, or name another model"
    return (Finding(CHECK, said, severity=Severity.WARNING, hint=hint),)


def _summary(text: str) -> str:
    """The last line that is said before any decision is told."""
    lines = _DECISION.split(text, maxsplit=1)[0].splitlines()
    said = [line.strip() for line in lines if line.strip()]
    return said[-1][:_LONGEST_SUMMARY] if said else ""


def _redact_finding(finding: Finding, desk: ToolContext) -> Finding:
    return replace(finding, message=desk.safe(finding.message), detail=desk.safe(finding.detail))


def _keep(transcript: list[str], desk: ToolContext) -> None:
    """Keep what was said and called, where the output of a command would be kept."""
    log = desk.bench.log
    if log is None or not transcript:
        return
    effects.make_folder(log.parent)
    effects.write_file(log, "".join(f"{line}\n" for line in transcript).encode("utf-8", "replace"))
