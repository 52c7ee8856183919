"""Who owns a file by FILE_OWNERSHIP_MAP.md, kept in a store: the map is read again when it differs.

A map of 100,000 rows takes seconds to read and microseconds to ask.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from runner.model import digest_of
from runner.plan.globs import folders_of, is_glob
from runner.plan.ownership import OwnershipMap, glob_folder, names_file

if TYPE_CHECKING:
    from runner.impact.store import Store

_DIGEST = "owners.digest"
_PROBLEMS = "owners.problems"
MISSING = "there is no FILE_OWNERSHIP_MAP.md: owners are known from Output files alone"
_MOST = 20


class Owners:
    """The rows of one map, as they were kept."""

    def __init__(self, store: Store, data: bytes | None, prefixes: tuple[str, ...] = ()) -> None:
        """`data` is the map's file, None where there is none; it is read if it is a new one."""
        self._store = store
        stamp = json.dumps([digest_of(data or b""), *prefixes])
        self.problems: tuple[str, ...] = (MISSING,) if data is None else ()
        """What is wrong with the map, in words; its other rows hold all the same."""
        if store.note(_DIGEST) != stamp:
            self._keep(OwnershipMap.read(data or b"", prefixes=prefixes), stamp)
        self.problems += tuple(json.loads(store.note(_PROBLEMS) or "[]"))

    def of(self, path: str) -> tuple[str, ...]:
        """The tasks that own a file, in the order of their rows; as `OwnershipMap.owners`."""
        folders = tuple(folders_of(path))
        found: list[str] = []
        for place in (path, *folders[:-1]):
            for (tasks,) in self._store.ask("select tasks from owners where path = ?", place):
                found += tasks.split()
        marks = ",".join("?" * len(folders))
        question = f"select glob, tasks from globs where folder in ({marks}) order by number"  # noqa: S608 - question marks only
        for glob, tasks in self._store.ask(question, *folders):
            if names_file(glob, path):
                found += tasks.split()
        return tuple(dict.fromkeys(found))

    def _keep(self, read: OwnershipMap, stamp: str) -> None:
        exact: dict[str, tuple[str, ...]] = {}
        for file, tasks in read.rows:
            if not is_glob(file):
                exact[file] = exact.get(file, ()) + tasks
        said = [f"{one.path}:{one.line}: {one.message}" for one in read.problems[:_MOST]]
        notes = ((_DIGEST, stamp), (_PROBLEMS, json.dumps(said)))
        with self._store.change() as database:
            database.execute("delete from owners")
            database.execute("delete from globs")
            owned = ((file, " ".join(tasks)) for file, tasks in exact.items())
            database.executemany("insert into owners values(?, ?)", owned)
            globs = (
                (number, glob_folder(file), file, " ".join(tasks))
                for number, (file, tasks) in enumerate(read.rows)
                if is_glob(file)
            )
            database.executemany("insert into globs values(?, ?, ?, ?)", globs)
            database.executemany("insert or replace into notes values(?, ?)", notes)
