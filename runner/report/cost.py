"""What agents and models used, in words and as data; nothing at all where nobody used anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.model import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

_CENT = 0.01


def cost(usage: Usage) -> str:
    """`12,345 tokens, $0.42, 17 tool calls`; empty for nothing."""
    tokens = f"{usage.tokens:,} token{'' if usage.tokens == 1 else 's'}" if usage.tokens else ""
    calls = usage.tool_calls
    called = f"{calls:,} tool call{'' if calls == 1 else 's'}" if calls else ""
    return ", ".join(part for part in (tokens, dollars(usage.dollars), called) if part)


def dollars(amount: float) -> str:
    """`$0.42`; what is less than a cent keeps its digits, nothing is empty."""
    if not amount:
        return ""
    return f"${amount:.2f}" if amount >= _CENT else f"${amount:.4f}"


def cost_part(usage: Usage) -> dict[str, object]:
    """`usage` of a JSON object; nothing at all for nothing."""
    data = cost_data(usage)
    return {"usage": data} if data else {}


def cost_data(usage: Usage) -> dict[str, object] | None:
    """The same for a program; None for nothing."""
    if usage == Usage():
        return None
    return {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "tokens": usage.tokens,
        "dollars": round(usage.dollars, 6),
        "toolCalls": usage.tool_calls,
    }


def together(usages: Iterable[Usage]) -> Usage:
    """All of them as one."""
    return sum(usages, Usage())
