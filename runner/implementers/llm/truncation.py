"""Answers that end before their end: a stream that stops politely is not taken for a whole one."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from pydantic_ai.exceptions import ModelConnectionError
from pydantic_ai.models.wrapper import WrapperModel

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from pydantic_ai import RunContext
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import ModelRequestParameters, StreamedResponse
    from pydantic_ai.settings import ModelSettings


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
            said = (answer.provider_details or {}).get("finish_reason")
            if answer.finish_reason is None and not said:
                raise ModelConnectionError(self.model_name, "the answer broke off before its end")
