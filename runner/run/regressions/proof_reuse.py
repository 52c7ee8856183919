"""Decide whether a task's proof still holds on a branch that moved.

That needs what they ran to be known, and unchanged with all that may lead to it. In any doubt they
run again. Contracts are reused with the tests beside them, if no change leads to their document or
the code behind it. All else of the proof (compilers, gates, tests of other tasks) always runs on
the merged tree.

Changes reach a contract by its document, its instances and the code behind them. The journal of
earlier runs shows which tests fail soonest.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from runner.contracts import entries
from runner.impact import inputs, reach
from runner.impact.change import Changed, explain_undeclared
from runner.impact.python_blocks import is_quiet
from runner.impact.reasons import Affected, Basis, Depth, Impacted, Why, Width
from runner.lazy_module import lazy_module
from runner.model import Ending, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from runner.contracts import touched_contracts
    from runner.contracts.touched_contracts import Held, Touching
    from runner.impact.inputs import Knowledge
    from runner.impact.reach import Reached
    from runner.journal.task_state import TaskState
    from runner.model import Digest, Outcome, Proof, Task
    from runner.repo.read import Repository
    from runner.run.worker_assignment import Assignment

    Explain: TypeAlias = Callable[[Task, Outcome, Sequence[Changed], Knowledge], str]
    """How changes reach what a proposal's proof depends on; "" if they do not."""
else:
    touched_contracts = lazy_module("runner.contracts.touched_contracts")

_OWN = ("test", "coverage", "mutation")
"""Kinds of proofs that only depend on the task's own tests."""
_CONTRACT = "contract"
_SHOWN = 12


def _never(_task: Task, _outcome: Outcome, _head: str) -> str:
    return "it is unknown"


class ProofReuse(Struct):
    """The proven part of tasks whose branch moved on, until the rest of their proof is complete."""

    why_not: Callable[[Task, Outcome, str], str] = _never
    """Why a task's own tests must run again on a commit; "" if they need not."""
    why_not_contracts: Callable[[Task, Outcome, str], str] = _never
    """The same for its contracts, called if its tests are reused."""
    _earlier: dict[str, Outcome] = field(default_factory=dict)
    _spent: dict[str, float] = field(default_factory=dict)
    """Seconds of each such attempt so far: it continues, so its next round adds to them."""

    def spare_tests(self, assignment: Assignment, outcome: Outcome) -> Assignment:
        """Return the assignment for another proof, without own tests that are still valid."""
        self._spent[outcome.task] = outcome.seconds
        asked = assignment.task, outcome, assignment.base
        if self.why_not(*asked) or assignment.author_tests.files:
            return assignment
        contracts = not self.why_not_contracts(*asked)
        kinds = (*_OWN, _CONTRACT) if contracts else _OWN
        kept = tuple(proof for proof in outcome.proofs if proof.kind in kinds)
        self._earlier[outcome.task] = replace(outcome, proofs=kept)
        return replace(assignment, stands=True, contracts_stand=contracts)

    def join(self, outcome: Outcome) -> Outcome:
        """Combine an outcome with its earlier proofs that are still valid."""
        earlier, spent = self._earlier.pop(outcome.task, None), self._spent.pop(outcome.task, 0.0)
        if outcome.ending not in (Ending.PASSED, Ending.FAILED):
            return outcome
        if spent:
            outcome = replace(outcome, seconds=round(outcome.seconds + spent, 3))
        return outcome if earlier is None else join_outcomes(earlier, outcome)


def explain_unseen(task: Task, proofs: Iterable[Proof], is_seen: Callable[[str], bool]) -> str:
    """Return what is unknown about the tests that ran; "" if enough is known.

    `is_seen` says of a test contract, by its id, whether it is known what it executed.
    """
    if not task.test_contracts or task.writes_everything:
        return "no proof can be reused"
    verdicts = {proof.id: proof.verdict for proof in proofs if proof.kind == "test"}
    for contract in task.test_contracts:
        if verdicts.get(contract.id) is not Verdict.PASS:
            return f"{contract.id} did not fully pass"
        if not is_seen(contract.id):
            return f"it is unknown what {contract.id} runs"
    return ""


def find_moved(repository: Repository, base: str, head: str) -> tuple[Changed, ...]:
    """Return the changes of every file between two commits."""
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
    """Return how changes affect what a task's tests ran; "" if they do not."""
    from runner.impact.answer import Depth, Width, judge

    changed = {one.path for one in changes}
    for row in outcome.observed:
        if row.path in changed:
            return f"{row.contract} ran {row.path}, which has changed"
    # Transitive, whatever the settings: a missed dependent here would be a proof that was never
    # made.
    answer = judge(changes, knowledge, Width(Depth.TRANSITIVE))
    if answer.doubts:
        return answer.doubts[0].text
    mine = (one for one in answer.affected if one.task == task.id)
    return next((one.reasons[0].text for one in mine), "")


def explain_contracts(
    task: Task, outcome: Outcome, changes: Sequence[Changed], knowledge: Knowledge
) -> str:
    """Return how changes affect a task's contracts, if its tests need not run; "" if they do not.

    What starts a command of the project may run anything, and what nobody finds is reached by
    nothing: both are proven again. Which files these tests ran, and what imports by names that are
    made at run time, was asked for the tests.
    """
    if why := _explain_open(task, outcome.proofs, knowledge):
        return why
    # Transitive, as above.
    width = Width(Depth.TRANSITIVE)
    held = touched_contracts.Held((task,))
    return next((at.why for at in find_reached_contracts(changes, knowledge, width, held)), "")


def _explain_open(task: Task, proofs: Iterable[Proof], knowledge: Knowledge) -> str:
    """Return which contract of a task may depend on unknown files; "" if none does."""
    verdicts = {proof.id: proof.verdict for proof in proofs if proof.kind == _CONTRACT}
    for name, contract in entries.name_checks(task):
        if verdicts.get(name) is not Verdict.PASS:
            return f"{name} did not fully pass"
        if not touched_contracts.is_closed(contract, knowledge.references.is_file):
            return f"it is unknown what {name} runs"
    return ""


def find_untouched(
    repository: Repository,
    head: str,
    done: Iterable[tuple[Task, TaskState]],
    knowledge: Knowledge,
    documents: frozenset[str],
) -> frozenset[str]:
    """Return the tasks whose own proof would have an equal result on `head`.

    `done` are DONE tasks, `knowledge` is of the tree of `head`, `documents` are the runner's own.
    Everything their tests executed is as it was then, and no change between the two trees reaches
    them in another way: by imports, inputs, settings of the tests, contracts or files they own.
    """
    from runner.impact.answer import Basis, Depth, Width, judge

    width = Width(Depth.TRANSITIVE)
    tasks = {task.id: (task, known) for task, known in done if known.verified and known.tree}
    held = touched_contracts.Held(task for task, _ in tasks.values())
    found, reached, later = set[str](), set[str](), head

    def holds(path: str, digest: Digest) -> bool:
        return knowledge.digest(path) == digest

    # From the newest tree to the oldest: each step is judged once for all tasks before it.
    for id_, (task, known) in sorted(tasks.items(), key=lambda one: one[1][1].done_at)[::-1]:
        if not repository.has_tree(known.tree):
            continue
        moved = find_moved(repository, known.tree, later) if known.tree != later else ()
        changes = [one for one in moved if one.path not in documents]
        later = known.tree
        answer = judge(changes, knowledge, width)
        if answer.doubts:
            break
        # Executions are checked below, on the current tree: a test repeated after a later change
        # counts from there.
        ways = ((one.task, one.reasons) for one in answer.affected)
        reached |= {at for at, whys in ways if any(one.kind is not Basis.OBSERVED for one in whys)}
        reached |= {one.task for one in find_reached_contracts(changes, knowledge, width, held)}
        is_seen = partial(knowledge.observed.is_current, id_, holds=holds)
        unseen = explain_unseen(task, known.proofs, is_seen)
        if id_ not in reached and not unseen and not _explain_open(task, known.proofs, knowledge):
            found.add(id_)
    return frozenset(found)


def join_outcomes(earlier: Outcome, now: Outcome) -> Outcome:
    """Return the outcome of a new proof, completed by the valid parts of an earlier one.

    Where the task's own tests did run again, it is what it is.
    """
    if any(proof.kind == "test" and not proof.held_out for proof in now.proofs):
        return now
    ran = {proof.id for proof in now.proofs}
    kept = tuple(
        _keep_proof(proof, earlier, now)
        for proof in earlier.proofs
        if proof.kind in (*_OWN, _CONTRACT) and proof.id not in ran
    )
    ids = {proof.id for proof in kept}
    notes = tuple(one for one in earlier.findings if one.check in ids and not one.refuses)
    own = tuple(row for row in earlier.observed if ":" not in row.contract)
    return replace(
        now,
        proofs=(*kept, *now.proofs),
        findings=(*now.findings, *notes),
        coverage=earlier.coverage,
        observed=(*own, *now.observed),
        tools=tuple({**dict(earlier.tools), **dict(now.tools)}.items()),
    )


def _keep_proof(proof: Proof, earlier: Outcome, now: Outcome) -> Proof:
    """Return a reused proof with a note on the commit that it ran on."""
    base = proof.base or earlier.base
    places = f"proven on {base[:_SHOWN]}, landed on {now.base[:_SHOWN]}"
    before = proof.note.partition("; proven on ")[0].partition("proven on ")[0]
    note = f"{before}; " if before else ""
    return replace(proof, base=base, note=f"{note}{places}: nothing it ran has changed")


# --- contracts that are reached -------------------------------------------------------


def past_of(states: Mapping[str, TaskState], tasks: Iterable[Task]) -> inputs.Past:
    """Return how long each test contract took last, and how often it has failed since."""
    seconds: dict[inputs.Proven, float] = {}
    failures: dict[inputs.Proven, int] = {}
    for task in tasks:
        known = states.get(task.id)
        for proof in known.proofs if known else ():
            seconds[inputs.Proven(task.id, proof.id)] = proof.seconds
        for attempt in known.tries if known else ():
            for check in attempt.checks:
                one = inputs.Proven(task.id, check)
                failures[one] = failures.get(one, 0) + 1
    return inputs.Past(seconds, failures)


class ReachedContract(NamedTuple):
    """A contract that a task keeps to, and the changed place by which it is reached."""

    task: str
    name: str
    """Name such as `contract:schema`."""
    path: str
    line: int
    why: str


def find_reached_contracts(
    changes: Iterable[Changed], knowledge: Knowledge, width: Width, held: Held
) -> Iterator[ReachedContract]:
    """Yield the contracts whose document, instances or code a change affects.

    An additive change of a document reaches them, too: who keeps to the contract passes, and what
    the comparison of documents does not see is seen.
    """
    met: set[tuple[str, str]] = set()
    for change in changes:
        for at in _find_reaching(knowledge, change, width):
            for one in held.of(at.path):
                if one[:2] in met or not _matters(one, at):
                    continue
                met.add(one[:2])
                way = f", and {at.describe()}" if at.by else ""
                why = f"{one.task} has a contract on {at.path}{way}"
                yield ReachedContract(one.task, one.name, change.path, change.first_line, why)


def with_contracts(answer: Impacted, kept: Sequence[ReachedContract]) -> Impacted:
    """Return an answer with these contracts among the affected ones."""
    by_task: dict[str, list[ReachedContract]] = {}
    for one in kept:
        by_task.setdefault(one.task, []).append(one)
    known = {one.task for one in answer.affected}
    joined = tuple(_join(one, by_task.get(one.task, ())) for one in answer.affected)
    more = (_join(Affected(id_, (), ()), by_task[id_]) for id_ in by_task if id_ not in known)
    return Impacted((*joined, *more), filter_decided(answer.doubts, kept))


def filter_decided(doubts: Iterable[Why], kept: Iterable[ReachedContract]) -> tuple[Why, ...]:
    """Return the doubts without those about files that a contract names, whose effect is known."""
    paths = {one.path for one in kept}
    return tuple(one for one in doubts if one.path not in paths or not _nobody(one))


def _nobody(doubt: Why) -> bool:
    """Return whether a doubt is that nothing is known of the file."""
    return doubt.text == explain_undeclared(Changed(doubt.path, b"", b""))


def _join(one: Affected, kept: Iterable[ReachedContract]) -> Affected:
    kept = tuple(kept)
    reasons = (Why(Basis.CONTRACTS, at.path, at.line, at.why) for at in kept)
    known = {(why.kind, why.path) for why in one.reasons}
    new = (why for why in reasons if (why.kind, why.path) not in known)
    names = tuple(at.name for at in kept)
    return replace(one, contracts=(*one.contracts, *names), reasons=(*one.reasons, *new))


def _matters(one: Touching, at: Reached) -> bool:
    """Check whether a reference counts: imports for code and instances, names for documents."""
    return at.by is None or at.named == one.is_document


def _find_reaching(knowledge: Knowledge, change: Changed, width: Width) -> Iterator[Reached]:
    """Yield the changed file and its importers, to the requested depth."""
    deepest = 1 if width.dependents is Depth.DIRECT else None
    return reach.find_reaching(knowledge.references, change.path, deepest, quiet=is_quiet(change))
