"""What a task cannot go on without, known before anything of it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.implementers.registry import choose
from runner.implementers.requirements import unmet_requirements
from runner.model import Finding, Reason
from runner.process.tools import which
from runner.run.claims import capacities, too_much

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.config.settings import Settings
    from runner.model import Task


def lacking(
    task: Task, settings: Settings, environ: Mapping[str, str]
) -> tuple[Reason, str] | None:
    """A reason code and a note for a person, or None where the task may start."""

    def found(name: str) -> str | None:
        place = which(name, environ)
        return None if place is None else str(place)

    unmet = unmet_requirements(
        task,
        environ,
        found,
        gates=settings.gates_for(task.type),
        permitted=settings.secrets,
    )
    if unmet:
        return unmet[0][0], "; ".join(text for _, text in unmet)
    if task.contracts:
        from runner.gates.contracts.extra import missing_tools

        missing = missing_tools(task, environ)
        if missing:
            return Reason.TOOL, "; ".join(missing)
    chosen = choose(task, settings)
    if isinstance(chosen, Finding):
        return Reason.POLICY, _advised(chosen)
    much = too_much(task, capacities(settings.resources))
    return (Reason.POLICY, much) if much else None


def _advised(finding: Finding) -> str:
    """A note of one line with what would help, where that is no text of Markdown itself."""
    short = finding.hint and "`" not in finding.hint
    return f"{finding.message}; {finding.hint}" if short else finding.message
