"""What whoever implements a task is told, as one markdown text and in its parts.

Everything in it is redacted, what cannot be seen is spelled out, and each long part is bounded;
where the whole would be too long, its long parts are cut shorter, never the task's own words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.context import sections
from runner.context.bounds import Bounds
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from runner.context.patterns import MatchedPattern
    from runner.model import Finding, GateSpec, Task

CHARACTERS_A_TOKEN = 4
"""A usual measure for English and code; good enough to bound a text by."""
LONGEST_DRAFT = 1 << 20
_SCALES = (1.0, 0.5, 0.25, 0.1, 0.03)


@dataclass(frozen=True, slots=True)
class Brief:
    """What an implementer is told of one attempt at one task."""

    task: Task
    attempt: int
    findings: tuple[Finding, ...]
    """What the attempts before it failed by."""
    patterns: tuple[MatchedPattern, ...]
    previous: str
    """The diff of the last failed attempt, redacted; empty for none, or one that is too long."""
    text: str
    """The whole brief as markdown."""


def compose_brief(  # noqa: PLR0913  each is a part of the brief
    task: Task,
    attempt: int,
    *,
    findings: tuple[Finding, ...] = (),
    patterns: tuple[MatchedPattern, ...] = (),
    previous: str = "",
    former: str = "",
    plan_title: str = "",
    dependencies: Mapping[str, str] | None = None,
    gates: tuple[GateSpec, ...] = (),
    coverage: float | None = None,
    tokens: int = 8000,
    known_secrets: Collection[str] = (),
) -> Brief:
    """The brief of an attempt.

    `previous` is the diff of the last failed attempt, `former` that of what it built before, which
    is in the files. `dependencies` are the titles of the tasks it builds on, by id; `gates` are
    the project's for this type of task, beside the task's own; `coverage` is in percent where one
    is asked for; `tokens` bounds the whole; `known_secrets` are values that must never be shown.
    """
    draft = redact(previous, known_secrets)
    parts = sections.Parts(
        task=task,
        attempt=attempt,
        findings=findings,
        patterns=patterns,
        previous=draft,
        former=redact(former, known_secrets),
        plan_title=plan_title,
        dependencies=tuple((dependencies or {}).items()),
        gates=gates,
        coverage=task.coverage if task.coverage is not None else coverage,
    )
    return Brief(
        task=task,
        attempt=attempt,
        findings=findings,
        patterns=patterns,
        previous=draft if len(draft) <= LONGEST_DRAFT else "",
        text=_fitting(parts, tokens * CHARACTERS_A_TOKEN, known_secrets),
    )


def _fitting(parts: sections.Parts, most: int, known_secrets: Collection[str]) -> str:
    """The text at the first scale at which it fits; the smallest where none does."""
    text = ""
    for scale in _SCALES:
        text = sections.written(parts, Bounds(scale, tuple(known_secrets)))
        if len(text) <= most:
            break
    return redact(text, known_secrets)
