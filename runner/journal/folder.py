"""The folder that the runner keeps its files in, held to be plain: a clone may bring links."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import ExitCode, RunnerError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_OWN_WORD = frozenset({"journal.jsonl", "run.lock", "TASK-GRAPH.md"})
"""Files for which who opens them has an answer, or which are a person's."""
_DEEPEST = 3
"""Levels that are looked at: `logs/TASK-001/1`; who opens a file there follows no link itself."""


def make_plain_folder(folder: Path) -> None:
    """Make `artifacts/build`. Raises RunnerError (exit 6) where a link is on the way or in it.

    What is written through a link would be a file of the person's anywhere, with words of a plan.
    """
    # Looked at before it is made: mkdir(2) through a link makes the folder wherever that leads.
    for path in (folder.parent, folder):
        if path.is_symlink():
            raise _in_the_way(str(path))
    effects.make_folder(folder)
    for link in _links(str(folder), _DEEPEST):
        raise _in_the_way(link)


def _links(folder: str, deeper: int) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if entry.name not in _OWN_WORD]
    except OSError:  # it is gone by now, or nobody can read it: then nobody can write there
        return
    yield from (entry.path for entry in found if entry.is_symlink())
    if deeper > 1:
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                yield from _links(entry.path, deeper - 1)


def _in_the_way(path: str) -> RunnerError:
    return RunnerError(
        "a symbolic link is in the way",
        where=path,
        hint="move it away and run again; the runner never follows links",
        code=ExitCode.CONFLICT,
    )
