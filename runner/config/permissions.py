"""Which tool may do what: wildcard rules of a person, of which the last that matches wins."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING

from runner.model import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

FILE_TOOLS = frozenset({"list_files", "read_file", "search", "write_file", "modify_file"})
"""Tools whose subject is a path: their patterns are globs as in gitignore(5)."""
TOOLS = (*sorted(FILE_TOOLS), "record_decision", "run_gate")
"""Every tool of ours; those of MCP servers are called `mcp__SERVER__TOOL`."""
_ALL = frozenset({"*", "**", "**/*"})


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


def names_a_tool(name: str) -> bool:
    """Whether a rule of this name can ever match: one that never does would be no rule, unseen."""
    return name in TOOLS or name.startswith("mcp__") or any(sign in name for sign in "*?[")


def permitted(
    tool: str,
    subject: str,
    rules: Iterable[Permission],
    floor: Iterable[Permission] = (),
) -> Permit:
    """What may be done: by the person's rules, and never more than a repository's `floor` lets.

    The last rule that matches wins, each list by itself; where none does, the call is allowed.
    `subject` is a path for tools of files, a check's name for `run_gate`, and the arguments as
    JSON for tools of MCP servers.
    """
    return max(_last(tool, subject, rules), _last(tool, subject, floor), key=tuple(Permit).index)


def write_finding(
    path: str,
    rules: Iterable[Permission],
    floor: Iterable[Permission] = (),
    *,
    is_new: bool = False,
    reviewed: bool = False,
) -> Finding | None:
    """Why the rules do not let a file be written, whoever writes it; None where they do.

    A new file is the subject of `write_file`, a change of one that of `modify_file`. What is to
    be asked about is let through where a person reviews the change.
    """
    said = permitted("write_file" if is_new else "modify_file", path, rules, floor)
    if said is Permit.ALLOW or (said is Permit.ASK and reviewed):
        return None
    message = "the permission rules of the settings do not let this file be written"
    if said is Permit.ASK:
        message = "the permission rules of the settings want a person asked about this file"
    return Finding("permission", message, path=path, hint="leave this file as it was")


def _last(tool: str, subject: str, rules: Iterable[Permission]) -> Permit:
    said = [rule.action for rule in rules if _matches(rule, tool, subject)]
    return said[-1] if said else Permit.ALLOW


def _matches(rule: Permission, tool: str, subject: str) -> bool:
    if not fnmatchcase(tool, rule.tool):
        return False
    if rule.pattern in _ALL:
        return True
    if tool in FILE_TOOLS:
        return _glob(rule.pattern)(subject)
    return fnmatchcase(subject, rule.pattern)


@lru_cache(maxsize=256)
def _glob(pattern: str) -> Callable[[str], bool]:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines((pattern,)).match_file
