"""Servers of the Model Context Protocol, whose tools a model may call."""

from __future__ import annotations

from dataclasses import dataclass

from runner.model import Network


@dataclass(frozen=True, slots=True)
class McpServer:
    """One `[mcp.NAME]` of a person's own settings: a program that speaks on its pipes."""

    name: str
    command: str
    """A shell line."""
    env: tuple[str, ...] = ()
    """Names of the person's variables that it gets."""
    network: Network = Network.NO
    seconds: float = 60.0
    """How long one call may take."""

    def __str__(self) -> str:
        return f"{self.name}: {self.command}"
