"""Skip gates whose last passing run opened none of the changed files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.gates import proof_cache, script_targets
from runner.gates.check_run import standing_key
from runner.gates.touched_files import kind_of
from runner.model.grades import is_document

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from runner.gates.base import Check, GateContext
    from runner.gates.check_run import CheckRun

_PLAIN = (0o100644, 0o100755)


def explain_unopened(check: Check, context: GateContext) -> str:
    """Return why a gate need not run for a change; empty where it has to.

    It passed on a tree that differs from this one only in files that it did not open. Of a gate
    that is one call of pytest any file counts that was there: other tools keep caches by which
    they know a file without opening it, so of them only documents count. A new document counts
    where its folder held others of its ending, and none was opened. A deletion, and a document
    that the command names by its ending, reach the gate.
    """
    changes = context.changes
    own = {f"gate:{gate.name}" for gate in context.task.gates}
    if check.id in own or not changes:
        return ""
    if any(one.content is None or one.mode not in _PLAIN for one in changes):
        return ""
    known = proof_cache.load_entry(context.kept, *_record(check, context))
    match known:
        case {"tree": str(tree), "files": list(files), "kinds": list(kinds), "task": str(task)}:
            differing = context.find_differing(tree)
        case _:
            return ""
    if differing is None or any(context.after(path) is None for path in differing):
        return ""
    paths = {*differing, *(one.path for one in changes)}
    if not _are_unopened(paths, set(files), set(kinds)) or _names_ending(check, context, paths):
        return ""
    return f"the gate opened none of the changed files in {task}'s proof"


def _are_unopened(paths: Iterable[str], files: Collection[str], kinds: Collection[str]) -> bool:
    return all(path in files or (is_document(path) and kind_of(path) in kinds) for path in paths)


def keep_unopened(trial: CheckRun, context: GateContext) -> None:
    """Save on which tree a gate passed and which files it did not open, or drop the entry."""
    if trial.proof.stands_from:
        return
    key = _record(trial.check, context)
    passed = trial.passed and trial.unopened and not trial.touched.changed
    if passed and context.tree and standing_key(trial.check, context) is not None:
        entry: dict[str, object] = {"tree": context.tree, "files": trial.unopened}
        entry |= {"kinds": trial.unopened_kinds, "task": context.task.id}
        proof_cache.remember(context.kept, entry, *key)
    elif proof_cache.load_entry(context.kept, *key):
        proof_cache.remember(context.kept, {}, *key)


def _record(check: Check, context: GateContext) -> tuple[str, ...]:
    place = context.place
    return ("unopened", str(place.shown), place.start, context.sandbox.name, check.command)


def _names_ending(check: Check, context: GateContext, paths: Iterable[str]) -> bool:
    behind = script_targets.behind(check.command, context.before)
    texts = (check.command, *(text for _, text in behind))
    endings = {kind_of(path).rpartition("*")[2] for path in paths if is_document(path)}
    return any(ending in text.casefold() for ending in endings for text in texts)
