"""Who names a path: paths, folders and globs looked up by the file they may mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.plan.globs import Claims, folders_of, is_glob

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Named:
    """Rows of a path or glob and who names it. A path that is a folder names all below it."""

    def __init__(self, rows: Iterable[tuple[str, str]]) -> None:
        """`rows` are pairs of the one who names and what is named."""
        kept = [(who, path.removeprefix("./")) for who, path in rows]
        self._globs = Claims((who, path) for who, path in kept if is_glob(path))
        self._exact: dict[str, list[str]] = {}
        for who, path in kept:
            if not is_glob(path):
                self._exact.setdefault(path.rstrip("/"), []).append(who)

    def of(self, path: str) -> tuple[str, ...]:
        """Everyone who names a file or a folder of it, each once."""
        return tuple(dict.fromkeys(self._all(path)))

    def _all(self, path: str) -> Iterator[str]:
        for place in (path, *folders_of(path)):
            yield from self._exact.get(place, ())
        yield from self._globs.of(path)
