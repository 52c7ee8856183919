"""Check whether a task's proof is sufficient, before an attempt and on the proof itself.

`proof.assurance` may require independent evidence for every acceptance item.

What a person set DONE is proven before anything is built on it; what has no proof is reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.gates import registry
from runner.implementers import blocks
from runner.journal.grading import grade_one
from runner.model import Finding, ProvenBy, Reason, Severity, Status
from runner.model.grades import CANNOT_FAIL, grade_of, is_code, strongest, without_proof, would_show
from runner.model.words import PROVES_NOTHING
from runner.model.work import items_of
from runner.plan.shell.shell_commands import starts_no_program, tests_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runner.config.settings import Settings
    from runner.implementers.base import Implementer
    from runner.journal.state import RunState
    from runner.journal.task_state import TaskState
    from runner.model import Proof, Task


def is_by_word(known: TaskState) -> bool:
    """Return whether a task is DONE without a proof and without a waiver."""
    return known.status is Status.DONE and not known.verified and known.waived is None


def has_proof(task: Task, settings: Settings) -> bool:
    """Return whether a task names a proof other than static checks."""
    return strongest_possible(task, settings) not in (None, *PROVES_NOTHING)


def format_unprovable(tasks: Mapping[str, Task], words: Iterable[str], settings: Settings) -> str:
    """Return a note on DONE tasks that cannot be proven; empty if there are none."""
    unproven = [id_ for id_ in tasks if id_ in set(words) and not has_proof(tasks[id_], settings)]
    if not unproven:
        return ""
    return f"{', '.join(unproven)}: marked DONE, but no check can prove it"


def stands_on_words(
    task: Task, tasks: Mapping[str, Task], state: RunState, settings: Settings
) -> str:
    """Return why a task must not start when all dependencies must be proven; empty if it may."""
    if settings.proof.require_proof != "always":
        return ""
    lacking = [one for one in task.depends_on if one in tasks and _is_weak(tasks[one], state)]
    if not lacking:
        return ""
    return f"prove or waive the dependencies {', '.join(lacking)} first (proof.require_proof)"


def _is_weak(task: Task, state: RunState) -> bool:
    known = state.task(task.id)
    if known.status is not Status.DONE or known.waived is not None or task.is_milestone:
        return False
    return not (grade_one(known).is_proven or without_proof(task.no_proof, task.outputs))


def find_unproven_dependencies(
    needs: Iterable[str], states: Mapping[str, TaskState]
) -> dict[str, str]:
    """Return by task why a dependency is unproven, for the evidence of the dependent task."""
    found = ((one, states.get(one)) for one in needs)
    return {
        one: grade_one(known).words
        for one, known in found
        if known is not None and known.status is Status.DONE and not known.verified
    }


CHECK = "proof"
"""Check name of findings that require a proof."""
WISH = "nothing in its section can be built or checked"
WISH_HINT = (
    "add Output files with a code block for each, a Command or an Implementer; for a check, add"
    " Test contracts, Contracts or Gates; for a grouping task use `Type: milestone`"
)
PROOF_HINT = (
    "add - Test contracts: with an entry such as TC-001 (unit): `command`, or Contracts, or Gates;"
    " if nothing can prove the task: - Proof: none — reason"
)
_BY_A_PERSON = ("", blocks.NAME, blocks.CHECK_ONLY)
"""Manual work, and implementers that only do what the plan contains."""
_STRONG = (ProvenBy.INDEPENDENT, ProvenBy.TESTS, ProvenBy.CONTRACT)
_RANKS = {by: rank for rank, by in enumerate(ProvenBy)}
_BEST = ProvenBy.TESTS
_CONTRACT = {"api": "openapi", "data": "schema"}


def unprovable(
    task: Task, settings: Settings, implementer: Implementer
) -> tuple[Reason, str] | None:
    """Return why a task cannot succeed, whatever its implementer does; None if it may start."""
    if task.has_nothing_to_build and implementer.name == blocks.CHECK_ONLY:
        return Reason.WISH, WISH
    if lacks_contracts(task, settings):
        return Reason.PROOF, f"{contracts_message(task)}; {contracts_hint(task)}"
    if implementer.name not in _BY_A_PERSON and lacks_items(task, settings):
        return Reason.PROOF, f"{NO_ITEMS}; {ITEMS_HINT}"
    if not task.writes_anything or without_proof(task.no_proof, task.outputs):
        return None
    most = strongest_possible(task, settings)
    short = _too_little(most, task.outputs, settings, implementer.name)
    return (Reason.PROOF, f"{short}; {_SHORT_HINT}") if short else None


_SHORT_HINT = "add Test contracts, Contracts or Gates, or Proof: none — reason"


def lacks_proof(note: str) -> bool:
    """Return whether a task's note reports an insufficient proof."""
    return note.endswith(_SHORT_HINT)


def too_little(
    task: Task,
    settings: Settings,
    implementer: str,
    proofs: Iterable[Proof],
    written: Sequence[str],
) -> Finding | None:
    """Return what is wrong with a passed proof that is weaker than required, or None.

    `written` are the paths that the task changed; where it changed none, what it may write counts.
    """
    paths = written or task.outputs
    if not task.writes_anything or without_proof(task.no_proof, paths):
        return None
    proofs = tuple(proofs)
    by = strongest(proofs)
    if by is ProvenBy.PASSED and any(dict(one.counts).get("passed") for one in proofs):
        return None  # tests ran, of which this change needs none to fail: the grade says so
    short = _too_little(by, paths, settings, implementer)
    return Finding(CHECK, short, hint=PROOF_HINT) if short else None


def _too_little(
    by: ProvenBy | None, paths: Sequence[str], settings: Settings, implementer: str
) -> str:
    """Return why work proven only `by` this may not be DONE; empty if it may."""
    if settings.proof.require_proof == "never":
        return ""
    if settings.proof.require_proof == "always":
        code = any(map(is_code, paths))
        if by in (_STRONG if code else (*_STRONG, ProvenBy.COMMAND)):
            return ""
        needs = "code needs tests or a contract" if code else "work needs at least a command"
        return f"{_format_proof_kind(by)}, but {needs} (proof.require_proof)"
    if implementer in _BY_A_PERSON or by in (*_STRONG, ProvenBy.COMMAND):
        return ""
    if by is ProvenBy.PASSED:
        return f"{CANNOT_FAIL}: it also passes without what {_whose(implementer)} wrote"
    return f"{_format_proof_kind(by)} of what {_whose(implementer)} writes"


def _format_proof_kind(by: ProvenBy | None) -> str:
    if by is None:
        return "no check proves any part"
    if by is ProvenBy.COMMAND:
        return "the only proof is an exit code"
    if by is ProvenBy.PASSED:
        return CANNOT_FAIL
    return "only lint, type checks or a compiler check it, and no test runs any part"


def _whose(implementer: str) -> str:
    return "its command" if implementer == "command" else implementer or "its implementer"


def strongest_possible(task: Task, settings: Settings) -> ProvenBy | None:
    """Return the strongest evidence that the checks of a task could give, before any has run."""
    best: ProvenBy | None = None
    for one in registry.checks_that_show(task, settings):
        shown = would_show(one.kind, one.id, one.command)
        if shown is _BEST and starts_no_program(one.command):
            shown = ProvenBy.COMMAND
        if shown is _BEST:
            return shown
        if shown is not None and (best is None or _RANKS[shown] < _RANKS[best]):
            best = shown
    return best


def is_proven_by_exit_code(task: Task, settings: Settings) -> bool:
    """Return whether code would be proven by an exit code only although more is required."""
    if settings.proof.require_proof != "always" or not any(map(is_code, task.outputs)):
        return False
    if task.no_proof or strongest_possible(task, settings) is not ProvenBy.TESTS:
        return False
    every = [one for one in registry.checks_that_show(task, settings) if one.command]
    return not task.contracts and not any(tests_in(one.command) for one in every)


# --- contracts that are asked for -----------------------------------------------------


def lacks_contracts(task: Task, settings: Settings) -> bool:
    """Return whether the type of a task requires contracts and it has none."""
    asked = settings.proof.require_contracts.split(",")
    has_none = not (task.contracts or task.no_contracts)
    return task.type in asked and task.type in _CONTRACT and has_none


def contracts_message(task: Task) -> str:
    """Return the message that a task of this type has no contracts."""
    return f"type {task.type} needs Contracts, but the task has none"


def contracts_hint(task: Task) -> str:
    """Return the hint on what to write instead."""
    return f"add Contracts: {_CONTRACT[task.type]}: …, or Contracts: none — reason"


ASSURANCE = "assurance"
"""Check name of a question about work whose grade is too low."""
NO_ITEMS = "assurance needs acceptance IDs, but no line of Acceptance has an ID"
ITEMS_HINT = "write one line of Acceptance for each item: - A1: what must hold"
WAYS = "hold out tests, set Test author, or let another model review each item"
"""How a task can reach the grade."""


def find_lack(proofs: Iterable[Proof]) -> Finding | None:
    """Return the question about work that is not `independent`; None where it is."""
    if grade_of(proofs).is_independent:
        return None
    return Finding(
        ASSURANCE,
        "assurance needs independent evidence, but the acceptance items have none",
        severity=Severity.QUESTION,
        hint=f"{WAYS}; or approve the work with its current grade",
    )


def wants_independence(task: Task, settings: Settings) -> bool:
    """Return whether a task's work must be `independent`: the plan may only ask for more."""
    return "independent" in (settings.proof.assurance, task.assurance)


def lacks_items(task: Task, settings: Settings) -> bool:
    """Return whether a task can never be `independent` as it is written, and must be."""
    return wants_independence(task, settings) and task.writes_anything and not items_of(task)
