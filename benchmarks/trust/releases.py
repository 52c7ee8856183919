"""Good changes that somebody really made: from each release of the library to the next."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from cases import Case
from grounds import RELEASES, TIDY, release, released

if TYPE_CHECKING:
    from pathlib import Path

    from grounds import Place

_PACKAGE = ("src/", "tests/")
_TEST = "python3 -m pytest -q tests"


def cases(place: Place) -> list[Case]:
    """Of each pair of releases the whole change, and what it changes around the code alone."""
    found = []
    for old, new in pairwise(RELEASES):
        before, after = (_texts(release(place, version)) for version in (old, new))
        changed = sorted(
            path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
        )
        around = [path for path in changed if not path.startswith(_PACKAGE)]
        found.append(_case(f"release-{new}", old, changed, after, (_TEST,)))
        found.append(_case(f"release-{new}-around-the-code", old, around, after, ()))
    return found


def _case(
    name: str, old: str, paths: list[str], after: dict[str, str], tests: tuple[str, ...]
) -> Case:
    """A person who takes over a release names its files."""
    edits = {path: after.get(path) for path in paths}
    return Case(name, f"{TIDY}-{old}", lambda _: edits, tuple(paths), tests, by_person=True)


def _texts(unpacked: Path) -> dict[str, str]:
    return {
        str(path.relative_to(unpacked)): path.read_text(encoding="utf-8")
        for path in released(unpacked)
    }
