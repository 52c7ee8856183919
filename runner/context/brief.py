"""The brief for whoever implements a task, as one markdown text and in its parts.

Everything in it is redacted, what cannot be seen is spelled out, and each long part is bounded;
where the whole would be too long, its long parts are cut shorter, never the task's own words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runner.context.gather import GatheredContext
from runner.context.tree import CHARACTERS_A_TOKEN, BriefBounds
from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from runner.context import sections
    from runner.context.patterns import MatchedPattern
    from runner.context.sections import BriefSection
    from runner.context.skills import Skill
    from runner.journal.task_state import Try
    from runner.model import Finding, GateSpec, Task
else:
    sections = lazy_module("runner.context.sections")

_ALL_FINDINGS = 2
"""After so many failed attempts the brief has only what still refuses."""
LONGEST_DRAFT = 1 << 20
_SCALES = (1.0, 0.5, 0.25, 0.1, 0.03)


class BriefPart(NamedTuple):
    """One part of a brief and what it costs."""

    name: str
    """`task`, `acceptance`, `findings`, `files`, `index` …"""
    tokens: int


@dataclass(frozen=True, slots=True)
class Brief:
    """The brief of one attempt at one task."""

    task: Task
    attempt: int
    findings: tuple[Finding, ...]
    """What the attempts before it failed by."""
    patterns: tuple[MatchedPattern, ...]
    previous: str
    """The diff of the last failed attempt, redacted; empty for none, or one that is too long."""
    text: str
    """The whole brief as markdown."""
    parts: tuple[BriefPart, ...] = ()
    """What it is made of, in its order."""
    kind: str = ""
    """The type that the task was taken for and by what, `bugfix (title: fix)`; empty for none."""
    searched: tuple[str, ...] = ()
    """By what the pattern index was searched; empty where there is none."""
    skills: tuple[Skill, ...] = ()
    """Skills whose bodies may be read on demand."""
    warnings: tuple[Finding, ...] = ()
    """What a person should hear of what was left out, such as a skill that cannot be read."""

    @property
    def tokens(self) -> int:
        """What the whole costs."""
        return tokens_of(self.text)


def tokens_of(text: str) -> int:
    """About how many tokens a text is."""
    return -(-len(text) // CHARACTERS_A_TOKEN)


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
    around: GatheredContext | None = None,
    plan_text: str = "",
    failed: int | None = None,
    since: Mapping[str, int] | None = None,
    searched: tuple[str, ...] = (),
    has_variables: bool = True,
) -> Brief:
    """The brief of an attempt.

    `previous` is the diff of the last failed attempt, `former` that of what it built before, which
    is in the files. `dependencies` are the titles of the tasks it builds on, by id; `gates` are
    the project's for this type of task, beside the task's own; `coverage` is in percent where one
    is asked for; `tokens` bounds the text beside context files and index, which have bounds of
    their own; `known_secrets` are values that must never be shown; `around` is what was gathered
    beside the task; `plan_text` the approved plan; `failed` how many attempts in a row failed
    before this one, else all before it; `since` says since which attempt a check fails;
    `has_variables` whether its reader is a program that gets `$RUNNER_DRAFT` and the like.
    """
    around = around or GatheredContext()
    findings = _still_open(findings, attempt - 1 if failed is None else failed)
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
        around=around,
        plan=plan_text,
        since=since,
        searched=searched,
        has_variables=has_variables,
    )
    written = _fit_sections(parts, tokens * CHARACTERS_A_TOKEN, tuple(known_secrets))
    return Brief(
        task=task,
        attempt=attempt,
        findings=findings,
        patterns=patterns,
        previous=draft if len(draft) <= LONGEST_DRAFT else "",
        text=redact("\n\n".join(map(str, written)) + "\n", known_secrets),
        parts=tuple(BriefPart(one.name, tokens_of(f"{one}\n\n")) for one in written),
        kind=str(around.work),
        searched=searched,
        skills=around.skills.found,
        warnings=around.skills.warnings,
    )


def _still_open(findings: Sequence[Finding], failed: int) -> tuple[Finding, ...]:
    """Return all findings at first; after the second failure only those that refuse."""
    if failed < _ALL_FINDINGS:
        return tuple(findings)
    return tuple(finding for finding in findings if finding.refuses)


def _fit_sections(
    parts: sections.Parts, most: int, known_secrets: tuple[str, ...]
) -> tuple[BriefSection, ...]:
    """The sections at the first scale at which they fit; at the smallest where none does.

    Files and index are bounded already, and how to report is short.
    """
    bounded: tuple[BriefSection, ...] = ()
    for scale in _SCALES:
        bounded = sections.task_sections(parts, BriefBounds(scale, known_secrets))
        if sum(len(str(section)) + 2 for section in bounded) <= most:
            break
    return (*bounded, *sections.background_sections(parts, BriefBounds(1.0, known_secrets)))


def open_since(tries: Sequence[Try]) -> dict[str, int]:
    """Since which attempt each check that failed last has failed without a break."""
    since: dict[str, int] = {}
    for one in tries:
        since = {check: since.get(check, one.attempt) for check in one.checks}
    last = tries[-1].attempt if tries else 0
    return {check: first for check, first in since.items() if first < last}
