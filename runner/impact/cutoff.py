"""Early cut-off: whether who depends on a task need only be proven again, and not be built anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.impact.change import Changed, with_moves
from runner.languages.registry import is_source, language_of
from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_SHOWN = 3
UNTOUCHED = "none of its files changed"
"""What is said of a task that was only proven again, or built to the very same bytes."""


@dataclass(frozen=True, slots=True)
class CutOff:
    """What a task's new version offers beside its old one."""

    same: bool
    """Whether nothing that others can use has changed: they are only proven again."""
    text: str
    """Why, in words for the journal."""


def cut_off(change: Iterable[Changed], contracts: Collection[str] = ()) -> CutOff:
    """Compare a task's files, old to new. `contracts` are its contract files: any change counts.

    A file that came or went, and one of which the exports cannot be read, counts as changed.
    """
    differing = [one for one in with_moves(change) if not _is_test(one.path)]
    for one in differing:
        text = _difference(one, contracts)
        if text:
            return CutOff(same=False, text=text)
    if not differing:
        return CutOff(same=True, text=UNTOUCHED)
    verb = "offers" if len(differing) == 1 else "offer"
    names = ", ".join(one.path for one in differing[:_SHOWN])
    more = f" and {len(differing) - _SHOWN} more" if len(differing) > _SHOWN else ""
    return CutOff(same=True, text=f"what {names}{more} {verb} to others did not change")


def _difference(change: Changed, contracts: Collection[str]) -> str:
    """What differs for others, in words; empty for nothing."""
    path = change.path
    if path in contracts:
        return f"the contract {path} changed"
    if change.before is None or change.after is None:
        return f"{path} {'is gone' if change.is_deleted else 'is new'}"
    old, new = find_exports(path, change.before), find_exports(path, change.after)
    if old is None or new is None:
        return f"{path} changed, and what it offers to others cannot be read"
    if old == new:
        return ""
    lost, come = _first(old, new), _first(new, old)
    return f"{path} offers `{_short(come or lost)}`" + (" otherwise" if lost else " now")


def find_exports(path: str, content: bytes) -> tuple[str, ...] | None:
    """The declarations that others can use, in a fixed order; comments and bodies left out.

    None where they cannot be read: then the file counts as changed.
    """
    language = language_of(path) if is_source(path) else None
    if language is None or language.exports_of is None:
        return None
    try:
        found = language.exports_of(path, content)
    except RecursionError:
        return None
    return None if found is None else tuple(sorted(found))


def _first(one: tuple[str, ...], other: tuple[str, ...]) -> str:
    return next((line for line in one if line not in other), "")


def _short(line: str) -> str:
    first = line.strip().splitlines()[0] if line.strip() else ""
    return first if len(first) <= 80 else first[:79] + "…"  # noqa: PLR2004 - a line on a terminal


def _is_test(path: str) -> bool:
    """Whether a file is a test: nobody else uses what is in it."""
    name = path.rpartition("/")[2]
    return name.startswith("test_") or name.endswith(("_test.py", "_test.go"))
