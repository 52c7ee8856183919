"""Format the cost of agents, models and proofs as text and data."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner.model import Usage
from runner.text.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.model import Proof

_CENT = 0.01


class ProofCosts(Struct):
    """The time of proof commands by kind, and of those that need not run again."""

    ran: Counter[str] = field(default_factory=Counter)
    stood: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    saved: float = 0.0
    """Seconds saved by reusing results for other tasks."""

    def add(self, proof: Proof) -> None:
        """Count one check that came to its end."""
        if not proof.command:
            return
        if proof.stands_from:
            self.stood[proof.kind] += 1
            self.saved += proof.seconds
            return
        self.ran[proof.kind] += 1
        self.seconds[proof.kind] = self.seconds.get(proof.kind, 0.0) + proof.seconds

    @property
    def words(self) -> str:
        """`12 commands, 3.1 s; 4 cached, 0.9 s saved`; empty for nothing."""
        if not (self.ran or self.stood):
            return ""
        ran = plural(self.ran.total(), "command")
        stood = f"; {self.stood.total()} cached, {self.saved:.1f} s saved" if self.stood else ""
        return f"{ran}, {sum(self.seconds.values()):.1f} s{stood}"

    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield kind, commands, seconds and number of cached runs, most expensive first."""
        kinds = {**self.ran, **self.stood}
        for kind in sorted(kinds, key=lambda kind: -self.seconds.get(kind, 0.0)):
            spent = f"{self.seconds.get(kind, 0.0):.1f} s"
            yield kind, str(self.ran[kind]), spent, str(self.stood[kind])

    def data(self) -> dict[str, object]:
        """Return the costs of proofs as JSON data."""
        kinds = {
            kind: {
                "commands": self.ran[kind],
                "seconds": round(self.seconds.get(kind, 0.0), 3),
                "stood": self.stood[kind],
            }
            for kind in sorted({**self.ran, **self.stood})
        }
        return {"proofs": kinds, "savedSeconds": round(self.saved, 3)}


def cost(usage: Usage) -> str:
    """Return a cost as `12,345 tokens, $0.42, 17 tool calls`; empty for none."""
    tokens = f"{usage.tokens:,} token{'' if usage.tokens == 1 else 's'}" if usage.tokens else ""
    calls = usage.tool_calls
    called = f"{calls:,} tool call{'' if calls == 1 else 's'}" if calls else ""
    return ", ".join(part for part in (tokens, dollars(usage.dollars), called) if part)


def dollars(amount: float) -> str:
    """Return an amount as `$0.42`, with four digits below a cent; empty for none."""
    if not amount:
        return ""
    return f"${amount:.2f}" if amount >= _CENT else f"${amount:.4f}"


def per_proven(tasks: Iterable[tuple[Usage, bool]]) -> str:
    """Return the cost per proven task, `$0.40 a proven task`, including that of failed tasks.

    `tasks` are what each used, and whether it is DONE and proven; empty where nothing was paid.
    """
    paid = [(usage.dollars, is_proven) for usage, is_proven in tasks if usage.dollars]
    proven = sum(is_proven for _, is_proven in paid)
    return f"{dollars(sum(one for one, _ in paid) / proven)} a proven task" if proven else ""


def cost_part(usage: Usage) -> dict[str, object]:
    """Return the field `usage` of a JSON object; empty for none."""
    data = cost_data(usage)
    return {"usage": data} if data else {}


def cost_data(usage: Usage) -> dict[str, object] | None:
    """Return a usage as JSON data; None if nothing was used."""
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
    """Return the sum of these usages."""
    return sum(usages, Usage())
