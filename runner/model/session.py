"""What an implementer's session comes to: what it used, how it failed, what it plans."""

from __future__ import annotations

from enum import StrEnum

from runner.lazy_dataclass import dataclass


class Failure(StrEnum):
    """What kind of failure ended an attempt: what is done next depends on it alone."""

    TRANSIENT = "transient"
    """A time-out, a rate limit, an overload, a connection: the same again, a little later."""
    DETERMINISTIC = "deterministic"
    """Bad input, no right, a missing tool, policy: the same again would end the same."""
    SEMANTIC = "semantic"
    """An answer nobody can read, or work that a check refuses: again, with what failed."""
    INFRASTRUCTURE = "infrastructure"
    """The runner or a worker died: the journal says where to go on."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What an implementer used, as far as it tells; zero where it says nothing."""

    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0
    tool_calls: int = 0

    @property
    def tokens(self) -> int:
        """Read and written together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        """Both together."""
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.dollars + other.dollars,
            self.tool_calls + other.tool_calls,
        )


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a task's plan that is proven and kept before the next one begins."""

    title: str
    steps: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """How an implementer means to build one task; nothing is written before it is approved."""

    steps: tuple[str, ...]
    files: tuple[str, ...] = ()
    """Paths it will create or modify: execution is held to them."""
    context: tuple[str, ...] = ()
    """Paths it needs to read."""
    type: str = ""
    gates: tuple[str, ...] = ()
    """Checks it expects to pass."""
    phases: tuple[Phase, ...] = ()
