"""The tools that write nothing themselves: running a check, and telling a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.implementers.llm.desk import Desk, told
from runner.model import Decision
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from runner.implementers.llm.arguments import RecordDecision, RunGate

_MOST_DECISIONS = 50


def run_gate(desk: Desk, asked: RunGate) -> str:
    """Whether one check passes on the files as they are."""
    findings = desk.bench.run_gate(asked.name)
    if not any(finding.refuses for finding in findings):
        return "\n\n".join(filter(None, (f"{asked.name} passes", told(findings))))
    return told(findings)


def record_decision(desk: Desk, asked: RecordDecision) -> str:
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
