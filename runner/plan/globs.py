"""Paths with wildcards: which ones can name the same file, found without comparing all pairs."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_WILD = re.compile(r"[*?\[]")


def is_glob(path: str) -> bool:
    """Whether a path has wildcards or names a whole folder (`src/`)."""
    return bool(_WILD.search(path)) or path.endswith("/")


def literal_folder(glob: str) -> str:
    """The folder every match lies in, as far as it is written without wildcards."""
    wild = _WILD.search(glob)
    before = glob[: wild.start()] if wild else glob
    return before.rpartition("/")[0]


def folders_of(path: str) -> Iterator[str]:
    """The folders a path lies in, innermost first, and the empty one last."""
    while path:
        path = path.rpartition("/")[0]
        yield path


@lru_cache(maxsize=4096)
def _pattern(glob: str) -> re.Pattern[str]:
    parts = ("**/" if "/" not in glob.rstrip("/") else "") + glob.removeprefix("/")
    parts += "**" if parts.endswith("/") else ""
    return re.compile(
        "".join(map(_translated, re.findall(r"\*\*/?|\[[^\]]+\]|.", parts))) + r"\Z", re.DOTALL
    )


def _translated(part: str) -> str:
    if part.startswith("["):
        return part.replace("[!", "[^", 1)
    return {"**/": r"(?:.*/)?", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}.get(part, re.escape(part))


def matches(glob: str, path: str) -> bool:
    """Whether a glob names a path (gitignore's wildcards: `**` crosses folders, `*` does not)."""
    return bool(_pattern(glob).match(path))


def may_overlap(one: str, other: str) -> bool:
    """Whether two globs can name one file; never False when they can."""
    return _meet(tuple(_segments(one)), tuple(_segments(other)))


def _segments(glob: str) -> list[str]:
    whole = glob + ("**" if glob.endswith("/") else "")
    return whole.split("/") if "/" in glob.rstrip("/") else ["**", *whole.split("/")]


def _meet(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    if not one or not other:
        return all(part == "**" for part in one + other)
    if one[0] == "**":
        return _meet(one[1:], other) or _meet(one, other[1:])
    if other[0] == "**":
        return _meet(other, one)
    return _names_meet(one[0], other[0]) and _meet(one[1:], other[1:])


def _names_meet(one: str, other: str) -> bool:
    """Whether two names with wildcards can be equal: their literal ends must agree."""
    heads = _WILD.split(one, maxsplit=1)[0], _WILD.split(other, maxsplit=1)[0]
    if not _WILD.search(one):
        return matches(other, one) if _WILD.search(other) else one == other
    if not _WILD.search(other):
        return matches(one, other)
    tails = re.split(r"[*?\]]", one)[-1], re.split(r"[*?\]]", other)[-1]
    return _agree(*heads) and _agree(tails[0][::-1], tails[1][::-1])


def _agree(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


class Claims:
    """Who names which path or glob; asked for everybody who may mean one file."""

    def __init__(self, rows: Iterable[tuple[str, str]]) -> None:
        """`rows` are pairs of an owner and a path or glob."""
        self._exact: dict[str, list[str]] = {}
        self._globs: dict[str, list[str]] = {}
        self._by_folder: dict[str, list[str]] = {}
        for owner, path in rows:
            into = self._globs if is_glob(path) else self._exact
            if into is self._globs and path not in into:
                self._by_folder.setdefault(_folder_key(path), []).append(path)
            into.setdefault(path, []).append(owner)

    def of(self, path: str) -> list[str]:
        """Owners of one path without wildcards, in the order they were given."""
        owners = list(self._exact.get(path, ()))
        for glob in self._globs_around(path):
            if matches(glob, path):
                owners += self._globs[glob]
        return owners

    def shared(self) -> Iterator[tuple[str, list[str]]]:
        """Every path or glob that several owners may mean, with all of them."""
        for path in self._exact:
            if len(owners := self.of(path)) > 1:
                yield path, owners
        for glob, owners in self._globs.items():
            others = [
                owner
                for other in self._globs_around(glob)
                if other != glob and may_overlap(glob, other)
                for owner in self._globs[other]
            ]
            if len(owners) + len(others) > 1:
                yield glob, owners + others

    def _globs_around(self, path: str) -> Iterator[str]:
        """Globs that begin in a folder the path lies in."""
        start = literal_folder(path) + "/x" if is_glob(path) else path
        for folder in folders_of(start):
            yield from self._by_folder.get(folder, ())


def _folder_key(glob: str) -> str:
    return literal_folder(glob) if "/" in glob.rstrip("/") else ""
