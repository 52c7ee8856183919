"""What the tools of one session work with, and the words in which they answer."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from runner.config.permissions import Rulebook
from runner.lazy_dataclass import dataclass
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.config.shell_rules import PermissionAnswer
    from runner.implementers.base import ImplementerContext
    from runner.model import Decision, Finding, Task

LONGEST_ANSWER = 32_000
"""Characters of one tool's answer: about 8,000 tokens."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """One session's work place; the decisions that are made at it are collected."""

    bench: ImplementerContext
    task: Task
    settings: Settings
    known_secrets: tuple[str, ...] = ()
    """What no answer may show: the task's secrets and the provider's key."""
    decisions: list[Decision] = field(default_factory=list)
    answers: list[PermissionAnswer] = field(default_factory=list)
    """What a person said to questions of this session."""

    @property
    def project(self) -> Path:
        """The folder that all paths start from. Raises RunnerError where it is a link by now."""
        return self.bench.place.project

    @property
    def book(self) -> Rulebook:
        """What the permission rules say by now."""
        answers = (*self.bench.answers, *self.answers)
        rules, floor = self.settings.permission, self.settings.permission_floor
        return Rulebook(rules, floor, answers, self.known_secrets)

    def safe(self, text: str) -> str:
        """Text that may leave: redacted and bounded."""
        shown = redact(text, self.known_secrets)
        if len(shown) <= LONGEST_ANSWER:
            return shown
        return f"{shown[:LONGEST_ANSWER]}\n… ({len(shown) - LONGEST_ANSWER} characters more)"


class Refusal(str):
    """A tool's answer that says why nothing was done."""

    __slots__ = ()


def normalize_path(path: str) -> str:
    """A path as the tree names it."""
    return path.removeprefix("./").rstrip("/")


def format_findings(findings: Iterable[Finding]) -> str:
    """Findings as a tool's answer: what is wrong, where, and what would help."""
    return "\n\n".join(map(_finding, findings))


def _finding(finding: Finding) -> str:
    place = ":".join(str(part) for part in (finding.path, finding.line) if part)
    head = f"{finding.check} ({finding.severity}){f' at {place}' if place else ''}"
    hint = f"\nhint: {finding.hint}" if finding.hint else ""
    detail = f"\n{finding.detail.strip()}" if finding.detail.strip() else ""
    return f"{head}: {finding.message}{hint}{detail}"
