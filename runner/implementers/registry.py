"""The registry of implementers by name, and the choice of one for a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from msgspec.structs import replace

from runner.extensions.interface import load
from runner.extensions.registry import OURS, find_reference
from runner.implementers import blocks, command
from runner.implementers.agents import preset, program
from runner.implementers.agents.preset import ACP_PREFIX, is_acp
from runner.implementers.base import CHECK, Drafter
from runner.model import Finding, Spec, Task
from runner.text.display import display
from runner.text.wording import did_you_mean

if TYPE_CHECKING:
    from runner.config.settings import Settings
    from runner.implementers.base import Implementer, ImplementerKind

MODEL = "model"
AGENTS = (MODEL, *preset.PRESETS, program.OTHER)
"""Implementers that use the user's login or key."""
DRAFT = "DRAFT"
"""The value of `RUNNER_TASK` for a program that drafts."""
PROVIDER_KEYS: dict[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openai-chat": ("OPENAI_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "openai-compatible": (),
}
"""All model providers, with the variables for their key; the first one set counts."""


class ExtensionKind(NamedTuple):
    """An implementer of an extension, imported when a task is for it."""

    reference: str

    def for_task(self, task: Task, settings: Settings) -> Implementer | Finding:
        """Create the implementer for a task; return a finding if that is not possible."""
        return cast("ImplementerKind", load(self.reference)).for_task(task, settings)


IMPLEMENTERS: dict[str, ImplementerKind] = {
    blocks.NAME: blocks.Blocks,
    command.NAME: command.CommandLine,
    blocks.CHECK_ONLY: blocks.Nothing,
    **{
        name: ExtensionKind(reference)
        for one in OURS
        for name, reference in one.implementers.items()
    },
    **{name: program.AgentKind(name) for name in (*preset.PRESETS, program.OTHER)},
}


def list_names() -> str:
    """Return all implementer names for messages."""
    return ", ".join((*IMPLEMENTERS, f"{ACP_PREFIX}NAME"))


def knows(name: str) -> bool:
    """Return whether an implementer of this name exists."""
    return _find_kind(name) is not None or is_acp(name)


def _find_kind(name: str) -> ImplementerKind | None:
    """Find an implementer by its name, in the extensions that the person named, too."""
    found = IMPLEMENTERS.get(name.casefold())
    if found is not None:
        return found
    reference = find_reference("implementers", name.casefold())
    return ExtensionKind(reference) if reference else None


NOBODY = "no implementer"
"""Message for a task without an implementer."""


def choose(task: Task, settings: Settings) -> Implementer | Finding:
    """Return the implementer of a task, or a finding with the reason and a hint if none fits."""
    name = _name_for(task, settings)
    if not name:
        return Finding(
            CHECK,
            NOBODY,
            hint="in the plan, add file blocks (```python file=PATH), or - Command: … and a test "
            "contract, or an agent: - Implementer: claude; or set build.implementer",
        )
    kind = _find_kind(name)
    if kind is None and is_acp(name):
        kind = program.AgentKind(name.casefold())
    if kind is None:
        return Finding(
            CHECK,
            f'unknown implementer "{display(name)}"',
            hint=did_you_mean(name, IMPLEMENTERS) or f"one of {list_names()}",
        )
    named = next_model(task, settings, 0)
    return kind.for_task(task, settings.with_model(execute=named) if named else settings)


def next_model(task: Task, settings: Settings, failed: int) -> str:
    """Return the model for a task after `failed` proofs; empty for the default model.

    A task that names one begins there; one that is no step of `escalate` stays with it.
    """
    steps = settings.model.escalate
    if task.model:
        steps = steps[steps.index(task.model) :] if task.model in steps else (task.model,)
    return steps[min(failed, len(steps) - 1)] if steps else ""


def has_no_implementer(task: Task, settings: Settings) -> bool:
    """Return whether no implementer is defined for a task, so it can only be verified."""
    chosen = choose(task, settings)
    return isinstance(chosen, Finding) and chosen.message == NOBODY


def choose_drafter(settings: Settings) -> Implementer | Finding:
    """Return the drafter of plans: `[model] draft` if it names a program, else the implementer."""
    named, own = settings.model.draft.casefold(), settings.build
    question = Task(DRAFT, "a draft of a plan", 0, Spec("", ""), outputs=("any",))
    if is_agent_name(named) or named == command.NAME:
        chosen = choose(replace(question, implementer=named), settings)
    elif ":" in named and not (own.implementer or own.command or settings.agent.command):
        executes = settings.model.execute or settings.model.draft
        chosen = IMPLEMENTERS[MODEL].for_task(question, settings.with_model(execute=executes))
    else:
        chosen = choose(question, settings)
    if isinstance(chosen, (Finding, Drafter)):
        return chosen
    hint = 'set [model] draft = "claude" (or another program, or a model) in the settings'
    return Finding(CHECK, f"{chosen.name} cannot draft plans", hint=hint)


def names_reviewer(settings: Settings) -> bool:
    """Return whether `[model] review` names an agent program or a provider's model."""
    named = settings.model.review.casefold()
    return is_agent_name(named) or named.partition(":")[0] in PROVIDER_KEYS


def choose_reviewer(task: Task, settings: Settings) -> tuple[Drafter, str] | None:
    """Return who reviews a task's change in a session, with its model; None where nobody can.

    `[model] review` names a program, a provider's model, or the model of the task's own agent.
    """
    named = settings.model.review
    if not named:
        return None
    if is_agent_name(named.casefold()):
        chosen = choose(replace(task, implementer=named), settings.with_model(review=""))
        named = ""
    elif names_reviewer(settings):
        executes = settings.model.execute if ":" in settings.model.execute else named
        chosen = IMPLEMENTERS[MODEL].for_task(task, settings.with_model(execute=executes))
    else:
        chosen = choose(task, settings)
    if isinstance(chosen, Finding) or not chosen.is_agent or not isinstance(chosen, Drafter):
        return None
    return chosen, named


def model_of(task: Task, settings: Settings, implementer: str) -> str:
    """Return the model that an implementer works with; empty where it is not known."""
    if not is_agent_name(implementer.casefold()):
        return ""
    return task.model or settings.model.execute


def agent_of(task: Task, settings: Settings) -> str:
    """Return the agent or `model` that implements a task; empty for other implementers."""
    name = _name_for(task, settings).casefold()
    return name if is_agent_name(name) else ""


def is_agent_name(name: str) -> bool:
    """Return whether a lower-case implementer name is an agent program or a model."""
    return name in AGENTS or is_acp(name)


def _name_for(task: Task, settings: Settings) -> str:
    """Return the implementer's name from the plan; a task that writes nothing may be a check."""
    if task.implementer:
        return task.implementer
    if task.blocks:
        return blocks.NAME
    if task.command:
        return command.NAME
    projects = settings.build.implementer or (command.NAME if settings.build.command else "")
    projects = projects or (program.OTHER if settings.agent.command else "")
    if not task.writes_anything and (not projects or is_agent_name(projects.casefold())):
        return blocks.CHECK_ONLY  # there is nothing that an agent could do
    return projects
