"""From a changed file to all files that reach it, by imports and by text that names it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.languages.registry import folder_keys, language_of, literal_keys
from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

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
