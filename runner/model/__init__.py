"""The nouns of the house: frozen, without I/O, known to every room."""

from __future__ import annotations

from runner.model.grades import Grade, Graded, ProvenBy, grade_of
from runner.model.session import (
    Failure,
    Phase,
    TaskPlan,
    Usage,
)
from runner.model.task import (
    Block,
    Budget,
    Contract,
    GateSpec,
    Requirement,
    Resource,
    Spec,
    Task,
    TestContract,
)
from runner.model.words import (
    Action,
    BlockKind,
    Digest,
    Level,
    Network,
    Reason,
    ReviewMode,
    Severity,
    Status,
    digest_of,
)
from runner.model.work import (
    Change,
    Coverage,
    Decision,
    Ending,
    Finding,
    Observed,
    Outcome,
    Proof,
    Verdict,
)

__all__ = [
    "Action",
    "Block",
    "BlockKind",
    "Budget",
    "Change",
    "Contract",
    "Coverage",
    "Decision",
    "Digest",
    "Ending",
    "Failure",
    "Finding",
    "GateSpec",
    "Grade",
    "Graded",
    "Level",
    "Network",
    "Observed",
    "Outcome",
    "Phase",
    "Proof",
    "ProvenBy",
    "Reason",
    "Requirement",
    "Resource",
    "ReviewMode",
    "Severity",
    "Spec",
    "Status",
    "Task",
    "TaskPlan",
    "TestContract",
    "Usage",
    "Verdict",
    "digest_of",
    "grade_of",
]
