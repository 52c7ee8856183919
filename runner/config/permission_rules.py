"""One permission rule of the settings, what it says of a call, and what a person answered."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

SHELL = "bash"
"""Shell commands of agents: a pattern is held against each simple command of a line."""


class Permit(StrEnum):
    """What a rule says of a call; later members are tighter."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Permission:
    """One `[[permission]]` of the settings."""

    tool: str
    """A name, or a wildcard such as `mcp__*`."""
    pattern: str
    """What the call is about: a path's glob for tools of files, else a wildcard of the subject."""
    action: Permit

    def __str__(self) -> str:
        return f"{self.action} {self.tool} {self.pattern}"


@dataclass(frozen=True, slots=True)
class PermissionAnswer:
    """What a person said, of one task, to exactly this call where a rule asks."""

    tool: str
    subject: str
    allowed: bool
    reason: str = ""
    once: bool = False
    """Whether it holds for one call; of a write, until the attempt that makes it is over."""


@dataclass(frozen=True, slots=True)
class Word:
    """What the rules say of one call, and which of them says it."""

    permit: Permit
    rule: Permission | None = None
    of_repository: bool = False
    reason: str = ""
    """Why a person who was asked said no."""

    def __str__(self) -> str:
        if self.rule is None:
            return "no rule"
        whose = "the repository's" if self.of_repository else "your"
        return f'the rule "{self.rule}" of {whose} settings'
