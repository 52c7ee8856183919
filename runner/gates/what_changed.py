"""List side effects of a change: public names, dependencies, checker settings, leftover files.

A family of the registry; it runs no command. What breaks others and the plan does not name is a
question; everything else is a note for whoever reviews the change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner import surface
from runner.gates.base import Proved
from runner.model import Finding, Severity
from runner.model.words import WHAT_CHANGED
from runner.repo import tree_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.gates.base import Check, GateContext
    from runner.surface import Fact

_LARGEST = 512 * 1024


def prove(check: Check, context: GateContext) -> Proved:  # noqa: ARG001 - a family's shape
    """Compare both trees, and return what they differ in besides the task's own work."""
    return Proved(None, tuple(_make_finding(one, context) for one in find_facts(context)))


def find_facts(context: GateContext) -> tuple[Fact, ...]:
    """Return the facts about a change, for its reviewer."""
    return surface.facts_of(
        context.task,
        context.changes,
        context.before,
        is_test=context.is_test,
        read_files=lambda: _read_files(context),
    )


def _make_finding(fact: Fact, context: GateContext) -> Finding:
    asks = fact.asks and not context.origin.by_person
    return Finding(
        check=WHAT_CHANGED,
        message=fact.message,
        path=fact.path,
        line=fact.line,
        severity=Severity.QUESTION if asks else Severity.NOTE,
        hint="revert this, or name it in the task's text if it is intended" if asks else "",
        detail=fact.detail,
    )


def _read_files(context: GateContext) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the proposal; no hidden ones, and none that were installed."""
    root = context.place.project
    for where, folders, files in tree_files.walk(str(root)):
        folders[:] = sorted(one for one in folders if one[:1] != "." and one != "node_modules")
        folders[:] = [one for one in folders if not (root / where / one).is_symlink()]
        for name in sorted(files):
            file = root / where / name
            if file.is_file() and not file.is_symlink() and file.stat().st_size <= _LARGEST:
                yield file.relative_to(root).as_posix(), file.read_bytes()
