"""Whether a command opens a document of the tree, as inotify(7) tells; also inside a sandbox."""

from __future__ import annotations

import os
import posixpath
import stat
import sys
from typing import TYPE_CHECKING

from runner.model.grades import is_document
from runner.process import syscalls
from runner.repo.trees import Prefix

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from runner.process.base import Place

_MOST = 2000
"""Documents that are watched at once: each watch takes memory of the kernel."""
_ONE_EVENT = 4096


class DocumentWatch:
    """Watches the documents among some paths of a tree while entered.

    By their inodes, so that a mount or another name of the same file counts.
    """

    def __init__(self, paths: Iterable[str], place: Place) -> None:
        inside = Prefix(place.start).inside
        named = filter(is_document, paths) if sys.platform == "linux" else ()
        found = [path for path in named if _is_plain(f"{place.tree}/{path}")]
        self._files = [f"{place.tree}/{path}" for path in found]
        self._kinds = tuple(sorted({kind_of(inside(path)) for path in found}))
        self._descriptor: int | None = None
        self.unopened: tuple[str, ...] = ()
        """Kinds of the documents where none was opened; empty where that is not known."""

    def __enter__(self) -> Self:
        if 0 < len(self._files) <= _MOST:
            try:
                self._descriptor = syscalls.watch_opens(self._files)
            except OSError:  # too many watches on this machine, or a file that is gone
                self._descriptor = None
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor is None:
            return
        try:
            os.read(self._descriptor, _ONE_EVENT)
        except BlockingIOError:
            self.unopened = self._kinds
        finally:
            os.close(self._descriptor)


def kind_of(path: str) -> str:
    """Return the folder and the ending of a document, `docs/*.md`: what a pattern finds it by."""
    folder, name = posixpath.split(path)
    return f"{folder}/*{posixpath.splitext(name)[1].casefold() or name}"


def _is_plain(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False
