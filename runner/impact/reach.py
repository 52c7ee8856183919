"""From a changed file to all files that reach it, by imports and by text that names it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.impact.change import Changed, with_moves
from runner.languages.registry import folder_keys, is_source, language_of, literal_keys
from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from runner.impact.reverse_imports import References


_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Reached:
    """A file that reaches the changed one, and how."""

    path: str
    by: Reached | None = None
    """The file it refers to; None for the changed file itself."""
    named: bool = False
    """Whether a text on the way names a file: such a way may lead through other processes."""

    @property
    def depth(self) -> int:
        """How many steps it is away from the changed file."""
        return self.by.depth + 1 if self.by else 0

    def describe(self) -> str:
        """The way in words: `tests/test_api.py imports src/db.py through src/api.py`."""
        way = [self.path]
        at = self.by
        while at:
            way.append(at.path)
            at = at.by
        if len(way) == 1:
            return way[0]
        verb = "names" if self.named else "imports"
        inner = way[1:-1]
        more = f" and {len(inner) - _SHOWN} more" if len(inner) > _SHOWN else ""
        through = f" through {', '.join(inner[:_SHOWN])}{more}" if inner else ""
        return f"{way[0]} {verb} {way[-1]}{through}"


def find_reaching(
    references: References, path: str, deepest: int | None, *, quiet: bool = False
) -> Iterator[Reached]:
    """The file itself, then every file that reaches it, the nearest first.

    `deepest` bounds the steps. With `quiet` the change does nothing when it is run, so only who
    reads the file itself is reached. A file that is reached by imports and by naming comes twice.
    """
    start = Reached(path)
    level, done = [start], {(path, False)}
    yield start
    while level and (deepest is None or level[0].depth < deepest):
        following: list[Reached] = []
        for found in _find_referring(references, level, quiet=quiet):
            # Who reaches it by a text is not looked at again by imports: the text says more.
            mark = (found.path, found.named)
            if mark not in done and (found.path, True) not in done:
                done.add(mark)
                following.append(found)
        yield from following
        level = [] if quiet else following


def _find_referring(
    references: References, level: list[Reached], *, quiet: bool
) -> Iterator[Reached]:
    """What refers to any of these files, asked all at once."""
    texts: dict[str, list[Reached]] = {}
    codes: dict[str, list[Reached]] = {}
    for at in level:
        # who names its folder reads the changed file, but nothing of what stands for it
        for key in literal_keys(at.path) + (folder_keys(at.path) if at.by is None else ()):
            texts.setdefault(key, []).append(at)
        for key in () if quiet else references.keys(at.path):
            codes.setdefault(key, []).append(at)
    for importer, key in references.find_by_keys(texts):
        yield from (Reached(importer, at, named=True) for at in texts[key] if importer != at.path)
    for importer, key in references.find_by_keys(codes):
        for at in codes[key]:
            if references.leads(importer, key, at.path):
                yield Reached(importer, at, at.named)


def find_unseen_importers(references: References, path: str) -> Iterator[Reached]:
    """Files that may import a file though nobody can see it: by names made at run time."""
    language = language_of(path)
    if language is None:
        return
    start = Reached(path)
    for importer, key in references.find_by_keys(language.wide):
        if importer != path and key.startswith("*"):
            yield Reached(importer, start)


def find_unparsed(references: References, path: str) -> Iterator[Reached]:
    """Files in the same language that cannot be parsed: what they import is not known."""
    language = language_of(path)
    keys = [key for key in language.wide if key.startswith("?")] if language else []
    start = Reached(path)
    for importer, _ in references.find_by_keys(keys):
        if importer != path:
            yield Reached(importer, start)


_NAMED = 3
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
    names = ", ".join(one.path for one in differing[:_NAMED])
    more = f" and {len(differing) - _NAMED} more" if len(differing) > _NAMED else ""
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
