"""Which provider a model's name means, the key it is asked with, and the client that asks it.

Keys come from the person's environment at the moment of the call, and reach that client alone.
"""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from runner.implementers.base import CHECK
from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.model import Finding
from runner.text.display import display
from runner.text.wording import did_you_mean

if TYPE_CHECKING:
    from httpx2 import AsyncClient
    from pydantic_ai.models import Model

    from runner.config.settings import Settings
    from runner.implementers.llm import llm_errors
else:
    llm_errors = lazy_module("runner.implementers.llm.llm_errors")

COMPATIBLE = "openai-compatible"
KEYS: dict[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openai-chat": ("OPENAI_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    COMPATIBLE: (),
}
"""Every provider, with the variables that can hold its key, the first that is set."""
_PACKAGES = {"anthropic": "anthropic", "google": "google.genai"}
_NO_KEY = "none"
"""What a server without keys is told: its client wants to send something."""


@dataclass(frozen=True, slots=True)
class Named:
    """A model by its provider's name and its own."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"


def parse_model(text: str) -> Named | Finding:
    """What `anthropic:claude-…` means, or why it means nothing."""
    provider, _, model = text.partition(":")
    if provider in KEYS and model:
        return Named(provider, model)
    known = ", ".join(f"{name}:…" for name in KEYS)
    hint = did_you_mean(provider, KEYS) or f"one of {known}"
    return Finding(CHECK, f'"{display(text)}" names no model', hint=hint)


def find_lacking(named: Named, settings: Settings) -> Finding | None:
    """What is missing to ask this model: a package, a key, an address."""
    if not _is_installed(named.provider):
        hint = "pip install 'task-graph-runner[llm]'"
        return Finding(CHECK, f"the packages to ask {named} are not installed", hint=hint)
    if named.provider == COMPATIBLE and not settings.model_base_url:
        hint = '[model] base_url = "http://…/v1" in your own settings'
        return Finding(CHECK, f"nobody says where the server of {named} is", hint=hint)
    names = _key_names(named, settings)
    if names and not key_of(named, settings):
        hint = f"export {names[0]}=… in the shell that starts the runner"
        return Finding(CHECK, f"{named} needs a key: {' or '.join(names)} is not set", hint=hint)
    return None


def key_of(named: Named, settings: Settings) -> str:
    """The key it is asked with; empty for none."""
    found = (os.environ.get(name, "").strip() for name in _key_names(named, settings))
    return next(filter(None, found), "")


def _key_names(named: Named, settings: Settings) -> tuple[str, ...]:
    if named.provider == COMPATIBLE:
        return (settings.model_key_env,) if settings.model_key_env else ()
    return KEYS[named.provider]


@cache
def _is_installed(provider: str) -> bool:
    wanted = ("pydantic_ai", _PACKAGES.get(provider, "openai"))
    try:
        return all(find_spec(name) is not None for name in wanted)
    except ModuleNotFoundError:  # the parent of a dotted name is not there
        return False


def client_of(named: Named, settings: Settings, http: AsyncClient) -> Model:
    """What asks this model over `http`, which the caller closes."""
    return llm_errors.WholeAnswers(_client_of(named, settings, http))


def _client_of(named: Named, settings: Settings, http: AsyncClient) -> Model:
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


def _of_openai(named: Named, settings: Settings, http: AsyncClient, key: str) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    whole = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    if named.provider == COMPATIBLE:
        server = OpenAICompatibleProvider(
            COMPATIBLE,
            base_url=settings.model_base_url,
            api_key=key or _NO_KEY,
            http_client=http,
        )
        return OpenAIChatModel(named.model, provider=server, profile=whole)
    provider = OpenAIProvider(api_key=key, http_client=http)
    if named.provider == "openai-chat":
        return OpenAIChatModel(named.model, provider=provider, profile=whole)
    return OpenAIResponsesModel(named.model, provider=provider)
