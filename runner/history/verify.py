"""All that landed, proven again from its recorded bytes: the same trees, or where they differ.

Each task's commit is rebuilt on its own parent: the recorded bytes are put into a scratch tree of
it, pass the write pipeline and the gates, and the tree is compared. Since the first parent is the
first task's base, and every next one the tree that was just compared (with people's commits in
between as they are), this is the whole history, rebuilt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner import effects
from runner.history.commit_log import story
from runner.model import Spec
from runner.run.landing.lander import changes_between

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from runner.model import Change, Digest, Outcome, Task
    from runner.repo.read import Repository


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that landed: a task's commit, or a check that changed nothing."""

    task: str
    attempt: int
    spec: Spec | None
    commit: str
    """The commit that landed; of a check the record that tells of it."""
    parent: str
    """What it was built on; empty for a root commit."""
    is_check: bool = False


@dataclass(frozen=True, slots=True)
class Verified:
    """What rebuilding one step came to."""

    step: Step
    divergence: str = ""
    """Where it differs from what landed; empty when it is identical."""
    detail: str = ""
    unproven: str = ""
    """Why only its bytes could be compared; else empty."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Rebuilding:
    """What is needed to rebuild: the history, the plan's texts, and a scratch tree to prove in."""

    repository: Repository
    documents: Collection[str]
    task_of: Callable[[Step], Task | None]
    """The task as it was written then, or None where that text is nowhere any more."""
    prove: Callable[[Task, tuple[Change, ...], str, int], Outcome]
    """Puts changes on a base through pipeline and gates: (task, changes, base, attempt)."""
    approved: Callable[[str, int], Mapping[str, Collection[Digest | None]]]
    """What the write log has of a task's attempt: path to digests; nothing in a clone."""


def steps(repository: Repository, tip: str) -> tuple[Step, ...]:
    """Everything that landed, the oldest first; what was taken back later, too."""
    found: list[Step] = []
    told = reversed(tuple(story(repository, tip, ours=True)))
    trees: dict[str, str] | None = None
    for one in told:
        if one.task:
            spec = Spec(*one.spec) if all(one.spec) else None
            found.append(Step(one.task, one.attempt, spec, one.commit, one.parent))
        for check in one.checked:
            if trees is None:
                trees = {each.tree: each.commit for each in story(repository, tip)}
            base = trees.get(check.tree, one.parent)
            spec = Spec(check.spec_what, check.spec_proof)
            found.append(Step(check.task, check.attempt, spec, one.commit, base, is_check=True))
    return tuple(found)


def select_steps(found: Sequence[Step], ids: Collection[str]) -> tuple[Step, ...]:
    """The steps of these tasks; all of them for none."""
    return tuple(step for step in found if not ids or step.task in ids)


def rebuild(rebuilding: Rebuilding, todo: Iterable[Step]) -> Iterator[Verified]:
    """Rebuild step by step; the one that diverges is the last."""
    for step in todo:
        one = _rebuild_step(rebuilding, step)
        yield one
        if one.divergence:
            return


def _rebuild_step(rebuilding: Rebuilding, step: Step) -> Verified:
    began = effects.monotonic()
    changes = _find_committed(rebuilding, step)
    other = _differs_from_log(rebuilding, step, changes)
    if other:
        return Verified(step, other, seconds=_since(began))
    task = rebuilding.task_of(step)
    if task is None:
        why = "the text of the task is nowhere in the history any more"
        return Verified(step, unproven=why, seconds=_since(began))
    outcome = rebuilding.prove(task, changes, step.parent, step.attempt)
    divergence, detail = _refusal(outcome) or _difference(rebuilding, step, changes, outcome)
    return Verified(step, divergence, detail, seconds=_since(began))


def _since(began: float) -> float:
    return round(effects.monotonic() - began, 3)


def _find_committed(rebuilding: Rebuilding, step: Step) -> tuple[Change, ...]:
    """What the commit changed, the runner's own documents left out."""
    if step.is_check:
        return ()
    found = changes_between(rebuilding.repository, step.parent or None, step.commit)
    return tuple(change for change in found if change.path not in rebuilding.documents)


def _differs_from_log(rebuilding: Rebuilding, step: Step, changes: Sequence[Change]) -> str:
    """The first file that is not what was approved, where the write log still knows."""
    approved = rebuilding.approved(step.task, step.attempt)
    for change in changes if approved else ():
        if change.after not in approved.get(change.path, ()):
            return f"{change.path} is not what was approved for attempt {step.attempt}"
    return ""


def _refusal(outcome: Outcome) -> tuple[str, str] | None:
    """What pipeline or gates say against the recorded bytes today."""
    for finding in outcome.findings:
        if finding.refuses:
            place = f"{finding.path}: " if finding.path else ""
            return f"{finding.check}: {place}{finding.message}", finding.detail
    return None


def _difference(
    rebuilding: Rebuilding, step: Step, changes: Sequence[Change], outcome: Outcome
) -> tuple[str, str]:
    """The first path at which the rebuilt tree is another one."""
    wanted = {change.path: (change.after, change.mode) for change in changes}
    got = {change.path: (change.after, change.mode) for change in outcome.changes}
    for path in sorted(wanted.keys() | got.keys()):
        if wanted.get(path) != got.get(path):
            return f"{path} differs in the rebuilt tree", ""
    if step.is_check:
        return "", ""
    landed = rebuilding.repository.diff_trees(step.parent or None, step.commit)
    whole = all(change.path not in rebuilding.documents for change in landed)
    if whole and outcome.tree != rebuilding.repository.tree_of(step.commit):
        return "the rebuilt tree has another name than the original", ""
    return "", ""
