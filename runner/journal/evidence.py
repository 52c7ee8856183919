"""What a task's DONE rests on, and whether it still stands for the task as it is written now."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runner.journal.task_state import TaskState
    from runner.model import Coverage, Digest, Proof, Spec


class Standing(StrEnum):
    """How the evidence of a task relates to its present digests."""

    NONE = "none"
    """There is no evidence: at most somebody's word."""
    CURRENT = "current"
    PROOF_CHANGED = "proof-changed"
    """It is the same work, to be proven another way: prove it again, without approval."""
    WORK_CHANGED = "work-changed"
    """Other work is asked for than what was done: STALE."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The commit, tree and proofs under which a task became DONE."""

    task: str
    spec: Spec
    commit: str
    """Empty when the task changed nothing."""
    tree: str
    verified: bool
    """False for a task that was adopted on somebody's word."""
    proofs: tuple[Proof, ...]
    coverage: Coverage | None
    patterns: tuple[str, ...]
    done_at: str
    """RFC 3339 in UTC."""
    record: str
    """Id of the journal's record that says so."""

    @property
    def outputs(self) -> tuple[Digest, ...]:
        """Digests of what the proofs printed."""
        return tuple(proof.output for proof in self.proofs)


def evidence_of(task: TaskState) -> Evidence | None:
    """The evidence of a task, also of one that is STALE by now; None where there is none."""
    if task.spec is None:
        return None
    return Evidence(
        task.id,
        task.spec,
        task.commit,
        task.tree,
        task.verified,
        tuple(task.proofs),
        task.coverage,
        task.patterns,
        task.done_at,
        task.cause,
    )


def standing(task: TaskState, spec: Spec) -> Standing:
    """What the evidence is worth for the task as it is written now."""
    if task.spec is None:
        return Standing.NONE
    if task.spec.what != spec.what:
        return Standing.WORK_CHANGED
    return Standing.CURRENT if task.spec.proof == spec.proof else Standing.PROOF_CHANGED
