"""The tools that write nothing themselves: running a check, and telling a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.implementers.llm.tool_context import ToolContext, format_findings
from runner.model import Decision
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from runner.implementers.llm.arguments import RecordDecision, RunGate

_MOST_DECISIONS = 50


def run_gate(desk: ToolContext, asked: RunGate) -> str:
    """Whether one check passes on the files as they are."""
    findings = desk.bench.run_gate(asked.name)
    if not any(finding.refuses for finding in findings):
        return "\n\n".join(filter(None, (f"{asked.name} passes", format_findings(findings))))
    return format_findings(findings)


def record_decision(desk: ToolContext, asked: RecordDecision) -> str:
    """Keep a decision for DECISIONS.md, once."""
    made = asked.noun()
    safe = Decision(
        *(
            redact(part, desk.known_secrets)
            for part in (made.title, made.context, made.decision, made.tradeoff, made.pattern)
        )
    )
    if len(desk.decisions) >= _MOST_DECISIONS:
        return f"not recorded: more than {_MOST_DECISIONS} are no decisions"
    if safe not in desk.decisions:
        desk.decisions.append(safe)
    return "recorded"
