"""Whether a task's own tests would end the same on a branch that moved: then they need not run.

Only where it is known what they ran, and nothing of that, nor what may lead to it, has changed.
In any doubt they run again. Everything else of the proof (compilers, contracts, gates, tests of
other tasks) looks at the tree as a whole, and always runs on the merged one.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from runner.impact.change import Changed
from runner.lazy_dataclass import dataclass
from runner.model import Ending, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runner.impact.inputs import Knowledge
    from runner.model import Outcome, Proof, Task
    from runner.repo.read import Repository
    from runner.run.assignment import Assignment

_OWN = ("test", "coverage", "mutation")
"""Kinds of proofs that rest on the task's own tests alone."""
_SHOWN = 12


def _never(_task: Task, _outcome: Outcome, _head: str) -> str:
    return "nobody is there to ask"


@dataclass(slots=True)
class ProofReuse:
    """What was proven of tasks whose branch moved on, until the rest of their proof is there."""

    why_not: Callable[[Task, Outcome, str], str] = _never
    """Why a task's own tests have to run again on a commit; "" where they need not."""
    _earlier: dict[str, Outcome] = field(default_factory=dict)
    _spent: dict[str, float] = field(default_factory=dict)
    """Seconds of each such attempt until now: it goes on, so its next round counts beside them."""

    def spare_tests(self, assignment: Assignment, outcome: Outcome) -> Assignment:
        """The assignment to prove an outcome again, without its own tests if these stand."""
        self._spent[outcome.task] = outcome.seconds
        if self.why_not(assignment.task, outcome, assignment.base):
            return assignment
        self._earlier[outcome.task] = outcome
        return replace(assignment, stands=True)

    def join(self, outcome: Outcome) -> Outcome:
        """What came back, with what still stands of before."""
        earlier, spent = self._earlier.pop(outcome.task, None), self._spent.pop(outcome.task, 0.0)
        if outcome.ending not in (Ending.PASSED, Ending.FAILED):
            return outcome
        if spent:
            outcome = replace(outcome, seconds=round(outcome.seconds + spent, 3))
        return outcome if earlier is None else join_outcomes(earlier, outcome)


def explain_unseen(task: Task, outcome: Outcome) -> str:
    """What is not known of the tests that ran; "" where everything is that it takes."""
    if not task.test_contracts or not outcome.base or task.writes_everything:
        return "there is nothing that could stand"
    verdicts = {proof.id: proof.verdict for proof in outcome.proofs if proof.kind == "test"}
    seen = {row.contract for row in outcome.observed}
    for contract in task.test_contracts:
        if verdicts.get(contract.id) is not Verdict.PASS:
            return f"{contract.id} did not plainly pass"
        if contract.id not in seen:
            return f"nobody saw what {contract.id} runs"
    return ""


def find_moved(repository: Repository, base: str, head: str) -> tuple[Changed, ...]:
    """What became of every file from one commit to another."""
    return tuple(
        Changed(
            one.path,
            repository.content(one.old_sha) if one.old_mode else None,
            repository.content(one.new_sha) if one.new_mode else None,
        )
        for one in repository.diff_trees(base, head)
    )


def explain_reach(
    task: Task, outcome: Outcome, changes: Sequence[Changed], knowledge: Knowledge
) -> str:
    """How changes reach what a task's tests ran, on the tree that `knowledge` is of; "" if not."""
    from runner.impact.answer import Dependents, Width, judge

    changed = {one.path for one in changes}
    for row in outcome.observed:
        if row.path in changed:
            return f"{row.contract} ran {row.path}, which has changed"
    # Transitive, whatever the settings say: here a dependent that was passed over would be a proof
    # that nobody made.
    answer = judge(changes, knowledge, Width(Dependents.TRANSITIVE))
    if answer.doubts:
        return answer.doubts[0].text
    mine = (one for one in answer.affected if one.task == task.id)
    return next((one.reasons[0].text for one in mine), "")


def join_outcomes(earlier: Outcome, now: Outcome) -> Outcome:
    """The outcome of a proof without the task's own tests, and these as they ran before.

    Where they did run again, it is what it is.
    """
    if any(proof.kind == "test" for proof in now.proofs):
        return now
    kept = tuple(_keep_proof(proof, earlier, now) for proof in earlier.proofs if proof.kind in _OWN)
    ids = {proof.id for proof in kept}
    said = tuple(one for one in earlier.findings if one.check in ids and not one.refuses)
    own = tuple(row for row in earlier.observed if ":" not in row.contract)
    return replace(
        now,
        proofs=(*kept, *now.proofs),
        findings=(*now.findings, *said),
        coverage=earlier.coverage,
        observed=(*own, *now.observed),
        tools=tuple({**dict(earlier.tools), **dict(now.tools)}.items()),
    )


def _keep_proof(proof: Proof, earlier: Outcome, now: Outcome) -> Proof:
    """A proof that says on which commit it ran; one that was kept before says so still."""
    base = proof.base or earlier.base
    places = f"proven on {base[:_SHOWN]}, landed on {now.base[:_SHOWN]}"
    before = proof.note.partition("; proven on ")[0].partition("proven on ")[0]
    note = f"{before}; " if before else ""
    return replace(proof, base=base, note=f"{note}{places}: nothing it ran has changed")
