"""What of the machine's file system may be read where nothing can be mounted over the rest."""

from __future__ import annotations

import os
from functools import lru_cache

from runner.process.mounts import MASKED, find_hidden_folders

_UNREAD = ("/dev", "/boot", "/lost+found")


@lru_cache(maxsize=8)
def files_below(home: str, shown: str, others: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The outermost paths of the machine that hold nothing personal.

    A rule of Landlock holds for all below it, so a folder that holds something closed is
    given by its entries. `shown` is closed: the repository's own files are no part of a proof;
    and so are `others`, work trees of other repositories.
    """
    named = (*find_hidden_folders(home), *MASKED, *_UNREAD, shown, *others)
    closed = {os.path.realpath(path) for path in named}
    # /proc is given whole: its entries come and go, and what is closed there needs privileges.
    closed = {path for path in closed if not path.startswith("/proc/")}
    return tuple(_open_in("/", frozenset(closed - {"/"})))


def _open_in(folder: str, closed: frozenset[str]) -> list[str]:
    found = []
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return []
    for entry in entries:
        if entry.is_symlink() or entry.path in closed:
            continue
        if any(path.startswith(entry.path + "/") for path in closed):
            found += _open_in(entry.path, closed)
        else:
            found.append(entry.path)
    return found
