"""What kind of failure a provider's error is: the one border to pydantic-ai's exceptions.

Answers that end before their end: a stream that stops politely is not taken for a whole one.
"""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from pydantic_ai import exceptions as ai
from pydantic_ai.exceptions import ModelConnectionError
from pydantic_ai.models.wrapper import WrapperModel

from runner.extensions.llm.tool_session import SessionEnded, make_limit_finding
from runner.implementers.base import CHECK
from runner.lazy_dataclass import dataclass
from runner.model import Failure, Finding
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from pydantic_ai import RunContext
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import ModelRequestParameters, StreamedResponse
    from pydantic_ai.settings import ModelSettings


_LONGEST = 600
_TRANSIENT = (
    ai.ModelRateLimitError,
    ai.ModelUnavailableError,
    ai.ModelServerError,
    ai.ModelConnectionError,
    ai.ModelRequestTimeout,
    ai.ConcurrencyLimitExceeded,
)
_DETERMINISTIC = (ai.ModelRequestRejectedError, ai.ModelQuotaExceededError, ai.UserError)
_UNITS = {"total_tokens": "tokens", "cost": "dollars", "request": "requests"}
# Of all 4xx these two may be asked again as they are (RFC 9110, 15.5.9; RFC 6585, 4).
_TIMED_OUT, _TOO_MANY, _SERVER = 408, 429, 500
_REFUSED = 400


@dataclass(frozen=True, slots=True)
class Failed:
    """How a session failed."""

    finding: Finding
    failure: Failure | None = None
    retry_after: float = 0.0
    """Seconds that the provider asked to wait; 0 where it asked nothing."""


def classify_error(error: Exception) -> Failed | None:
    """What an exception means for the attempt; None for one that is a bug."""
    if isinstance(error, SessionEnded):
        return Failed(error.finding)
    if isinstance(error, ai.UsageLimitExceeded):
        return Failed(make_limit_finding(_limit(error)))
    if isinstance(error, ai.RunCancelled):
        return Failed(_finding("the session exceeded the time limit of the attempt", error))
    kind = _kind(error)
    if kind is None:
        return None
    wait = getattr(error, "retry_after", None) if kind is Failure.TRANSIENT else None
    return Failed(_finding(_ABOUT[kind], error), kind, float(wait or 0.0))


_ABOUT = {
    Failure.TRANSIENT: "the provider could not answer",
    Failure.DETERMINISTIC: "the provider rejected the request",
    Failure.SEMANTIC: "the model's answer cannot be used",
}


def _kind(error: Exception) -> Failure | None:
    if isinstance(error, ai.ModelContextWindowExceededError):
        return Failure.SEMANTIC  # it read too much; another attempt may read less
    if isinstance(error, _TRANSIENT):
        return Failure.TRANSIENT
    if isinstance(error, _DETERMINISTIC):
        return Failure.DETERMINISTIC
    if isinstance(error, ai.ModelHTTPError):
        return _by_status(error.status_code)
    if isinstance(error, ai.ModelAPIError):  # an answer that broke off, or one nobody can read
        return Failure.TRANSIENT
    return Failure.SEMANTIC if isinstance(error, ai.UnexpectedModelBehavior) else None


def _by_status(status: int) -> Failure:
    if status in (_TIMED_OUT, _TOO_MANY) or status >= _SERVER:
        return Failure.TRANSIENT
    return Failure.DETERMINISTIC if status >= _REFUSED else Failure.SEMANTIC


def _finding(message: str, error: Exception) -> Finding:
    return Finding(CHECK, f"{message}: {_words(error)}")


def _limit(error: Exception) -> str:
    """Which limit was reached, from the library's own sentence."""
    found = re.search(r"`?(total_tokens|cost|request)_limit`? of (\S+)", str(error))
    return f"{found[2]} {_UNITS[found[1]]}" if found else _words(error)


def _words(error: Exception) -> str:
    return display(str(error).partition("\n")[0] or type(error).__name__)[:_LONGEST]


# --- truncation -----------------------------------------------------------------------


class WholeAnswers(WrapperModel):
    """A model of whose answers only those count that say why they ended.

    Every provider ends an answer with its reason (`stop_reason`, `finish_reason`, the status of
    a response). A proxy that gives up may close the stream in good order, in the middle.
    """

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[object] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Raises ModelConnectionError for an answer that has no end."""
        asked = super().request_stream(
            messages, model_settings, model_request_parameters, run_context
        )
        async with asked as answer:
            yield answer
            reason = (answer.provider_details or {}).get("finish_reason")
            if answer.finish_reason is None and not reason:
                raise ModelConnectionError(self.model_name, "the answer was cut off")
