"""Before an attempt: what a task lacks, who implements it, and everything the worker is told."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from runner.config.stack import detect_stack
from runner.context.brief import compose_brief
from runner.context.patterns import matched_patterns
from runner.implementers.registry import choose
from runner.implementers.requirements import unmet_requirements
from runner.model import Finding, Reason
from runner.process.tools import which
from runner.run.attempt import Assignment
from runner.writes.pipeline import WriteRules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.context.brief import Brief
    from runner.implementers.base import Implementer
    from runner.model import Change, Outcome, Task
    from runner.plan.patterns import PatternIndex
    from runner.run.ledger import Ledger


@dataclass
class Preparation:
    """Makes assignments; asks the journal and the plan, never the implementer."""

    root: Path
    settings: Settings
    ledger: Ledger
    patterns: PatternIndex
    plan_title: str
    plan_path: str
    environ: Mapping[str, str]
    base: Callable[[], str]
    """The commit that work starts from now."""
    titles: Mapping[str, str] = field(default_factory=dict)
    prove_first: frozenset[str] = frozenset()
    """Tasks of which only the proof was edited: tried as they are before anybody implements."""
    held: dict[str, tuple[Change, ...]] = field(default_factory=dict)
    """Proven work of earlier runs that may land now, each tried once."""
    _drafts: dict[str, str] = field(default_factory=dict)

    @cached_property
    def _stack(self) -> frozenset[str]:
        return detect_stack(self.root).words

    def missing(self, task: Task) -> tuple[Reason, str] | None:
        """What the task cannot go on without, as a reason code and a note for a person."""
        unmet = unmet_requirements(
            task,
            self.environ,
            self._which,
            gates=self.settings.gates_for(task.type),
            permitted=self.settings.secrets,
        )
        if unmet:
            return unmet[0][0], "; ".join(text for _, text in unmet)
        chosen = self.implementer(task)
        if isinstance(chosen, Finding):
            return Reason.POLICY, chosen.message
        return None

    def _which(self, name: str) -> str | None:
        found = which(name, self.environ)
        return None if found is None else str(found)

    def implementer(self, task: Task) -> Implementer | Finding:
        """Who implements a task, or why nobody can."""
        return choose(task, self.settings)

    def assignment(self, task: Task) -> Assignment:
        """The next attempt at a task."""
        attempt = self.ledger.state.task(task.id).last_attempt + 1
        held = self.held.pop(task.id, None)
        if held is not None:
            return self.carried(task, held, self.base(), attempt)
        if task.id in self.prove_first and not self.ledger.state.task(task.id).attempts_in_row:
            return self.carried(task, (), self.base(), attempt)
        chosen = self.implementer(task)
        return Assignment(
            task=task,
            attempt=attempt,
            base=self.base(),
            brief=self.brief(task, attempt),
            implementer=None if isinstance(chosen, Finding) else chosen,
            rules=self._rules(task, attempt),
            secrets=self._secrets(task),
        )

    def carried(
        self, task: Task, changes: tuple[Change, ...], base: str, attempt: int
    ) -> Assignment:
        """Changes that exist already, to be proven on `base` without calling an implementer."""
        return Assignment(
            task=task,
            attempt=attempt,
            base=base,
            brief=self.brief(task, attempt),
            implementer=None,
            carried=changes,
            rules=self._rules(task, attempt),
            secrets=self._secrets(task),
        )

    def brief(self, task: Task, attempt: int) -> Brief:
        """What whoever implements the task is told."""
        known = self.ledger.state.task(task.id)
        return compose_brief(
            task,
            attempt,
            findings=tuple(known.findings),
            patterns=matched_patterns(self.root, self.patterns, task, self._stack),
            previous=self._drafts.get(task.id, ""),
            plan_title=self.plan_title,
            gates=self.settings.gates_for(task.type),
            coverage=self.settings.coverage,
            tokens=self.settings.context_tokens,
            known_secrets=tuple(value for _, value in self._secrets(task)),
            dependencies={id_: self.titles.get(id_, "") for id_ in task.depends_on},
        )

    def remember(self, outcome: Outcome, before: Callable[[str], bytes | None]) -> None:
        """Keep what a failed attempt proposed, for the next one to read."""
        lines = [line for change in outcome.changes for line in _diff(change, before(change.path))]
        self._drafts[outcome.task] = "".join(lines)

    def _rules(self, task: Task, attempt: int) -> WriteRules:
        return WriteRules(
            run=self.ledger.run,
            task=task.id,
            attempt=attempt,
            outputs=task.outputs,
            plan=self.plan_path,
        )

    def _secrets(self, task: Task) -> tuple[tuple[str, str], ...]:
        names = [need.name for need in task.requires if need.kind == "secret"]
        allowed = self.settings.secrets
        return tuple(
            (name, self.environ[name])
            for name in names
            if name in self.environ and (allowed is None or name in allowed)
        )


def _diff(change: Change, before: bytes | None) -> list[str]:
    """One file's unified diff; bytes that are no text are only named."""
    try:
        old = (before or b"").decode().splitlines(keepends=True)
        new = (change.content or b"").decode().splitlines(keepends=True)
    except UnicodeDecodeError:
        return [f"Binary file {change.path} {change.action}\n"]
    return list(difflib.unified_diff(old, new, f"a/{change.path}", f"b/{change.path}"))
