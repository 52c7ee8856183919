"""Gates that a change of documents alone cannot reach: they opened no document when they ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.gates import proof_cache, script_targets
from runner.gates.check_run import standing_key
from runner.gates.document_watch import kind_of
from runner.model.grades import is_document

if TYPE_CHECKING:
    from runner.gates.base import Check, GateContext
    from runner.gates.check_run import CheckRun

_PLAIN = (0o100644, 0o100755)


def explain_unopened(check: Check, context: GateContext) -> str:
    """Return why a gate need not run for a change of documents; empty where it has to.

    It passed on a tree that differs from this one in documents alone, and opened none of them.
    Each changed document is one that it would have found then: of a folder and an ending that
    were there. A deletion, and a document that the command names by its ending, reach it.
    """
    changes = context.changes
    own = {f"gate:{gate.name}" for gate in context.task.gates}
    if check.id in own or not changes or not all(is_document(one.path) for one in changes):
        return ""
    if any(one.content is None or one.mode not in _PLAIN for one in changes):
        return ""
    known = proof_cache.load_entry(context.kept, *_record(check, context))
    tree, kinds, task = known.get("tree"), known.get("kinds"), known.get("task")
    if not (isinstance(tree, str) and isinstance(kinds, list) and isinstance(task, str)):
        return ""
    wanted = {kind_of(one.path) for one in changes}
    if not wanted <= set(kinds) or _names_ending(check, context, wanted):
        return ""
    differing = context.find_differing(tree)
    if differing is None or not all(map(is_document, differing)):
        return ""
    return f"only documents changed, and it opened none in {task}'s proof"


def keep_unopened(trial: CheckRun, context: GateContext) -> None:
    """Remember on which tree a gate passed and opened no document, or forget it."""
    if trial.proof.stands_from:
        return
    key = _record(trial.check, context)
    passed = trial.passed and trial.unopened and not trial.touched.changed
    if passed and context.tree and standing_key(trial.check, context) is not None:
        entry: dict[str, object] = {"tree": context.tree, "kinds": trial.unopened}
        entry["task"] = context.task.id
        proof_cache.remember(context.kept, entry, *key)
    elif proof_cache.load_entry(context.kept, *key):
        proof_cache.remember(context.kept, {}, *key)


def _record(check: Check, context: GateContext) -> tuple[str, ...]:
    place = context.place
    return ("unopened", str(place.shown), place.start, context.sandbox.name, check.command)


def _names_ending(check: Check, context: GateContext, kinds: set[str]) -> bool:
    behind = script_targets.behind(check.command, context.before)
    texts = (check.command, *(text for _, text in behind))
    endings = {kind.rpartition("*")[2] for kind in kinds}
    return any(ending in text.casefold() for ending in endings for text in texts)
