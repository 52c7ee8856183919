"""Find a file's owners in FILE_OWNERSHIP_MAP.md, and the commands and globs that name it.

The map is kept in a store and read again when it differs: 100,000 rows take seconds to read and
microseconds to query. Its faults are files without owner, rows without file, and unknown owners.
Commands of test contracts are found by the files, folders and modules they name.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from runner.impact.change import is_own_document
from runner.impact.reasons import Proven
from runner.impact.targets import target_of
from runner.model import digest_of
from runner.plan.globs import Claims, folders_of, is_glob
from runner.plan.ownership import OwnershipMap, glob_folder, names_file
from runner.plan.task_ids import task_id
from runner.repo.git import text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from runner.impact.reach import References
    from runner.impact.store import ImpactStore
    from runner.impact.targets import CommandTarget
    from runner.model import Task
    from runner.repo.read import Repository

# --- owners ---------------------------------------------------------------------------


_DIGEST = "owners.digest"
_PROBLEMS = "owners.problems"
MISSING = "FILE_OWNERSHIP_MAP.md not found: only Output files define owners"
_MOST = 20


class Owners:
    """The rows of one map, as they were kept."""

    def __init__(
        self, store: ImpactStore, data: bytes | None, prefixes: tuple[str, ...] = ()
    ) -> None:
        """Read the map from `data` unless it is cached; None means that there is no file."""
        self._store = store
        stamp = json.dumps([digest_of(data or b""), *prefixes])
        self.problems: tuple[str, ...] = (MISSING,) if data is None else ()
        """Problems of the map, as text; its other rows still apply."""
        if store.note(_DIGEST) != stamp:
            self._keep(OwnershipMap.read(data or b"", prefixes=prefixes), stamp)
        self.problems += tuple(json.loads(store.note(_PROBLEMS) or "[]"))

    def of(self, path: str) -> tuple[str, ...]:
        """Return the tasks that own a file in row order, as `OwnershipMap.owners` does."""
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
        problems = [f"{one.path}:{one.line}: {one.message}" for one in read.problems[:_MOST]]
        notes = ((_DIGEST, stamp), (_PROBLEMS, json.dumps(problems)))
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


# --- ownership check ------------------------------------------------------------------


_EVERYTHING = frozenset({"*", "**", "/**", "**/*", "/", "*/", "./", "."})


class MapFault(Struct, frozen=True):
    """One thing that is wrong: its kind, the file or row it is about, and what to do."""

    kind: str
    """`map`, `unowned`, `no-file`, `unknown-owner`, `no-owner` or `everything`."""
    path: str
    message: str
    hint: str = ""


def faults(
    owners: OwnershipMap, files: Sequence[str], tasks: Collection[Task], written: Collection[str]
) -> tuple[MapFault, ...]:
    """Return all faults of the map, those of its rows first; `written` tasks are DONE."""
    known = frozenset(task.id for task in tasks)
    return (
        *(MapFault("map", one.path, one.message, one.hint) for one in owners.problems),
        *_rows(owners, files, known, frozenset(written)),
        *_find_unowned(owners, files, tasks),
    )


def _rows(
    owners: OwnershipMap, files: Sequence[str], known: frozenset[str], written: frozenset[str]
) -> Iterator[MapFault]:
    there = frozenset(files)
    for file, ids in owners.rows:
        for id_ in ids:
            if id_ not in known:
                hint = "remove it from the row, or add the task to the plan"
                yield MapFault("unknown-owner", file, f"owned by unknown task {id_}", hint)
        if not ids:
            yield MapFault("no-owner", file, "its row names no task", "name the tasks that own it")
        if file in _EVERYTHING and ids:
            message = f"this row makes {', '.join(ids)} the owner of every file"
            yield MapFault(
                "everything",
                file,
                message,
                "every change would affect these tasks; name fewer files",
            )
        elif not _names_any(file, files, there) and (not ids or set(ids) & written):
            # a file of a task that is not DONE may not exist yet
            yield MapFault("no-file", file, "file not found", _suggest_move(file, files))


def _names_any(file: str, files: Sequence[str], there: frozenset[str]) -> bool:
    """Return whether a row names an existing file or folder."""
    if file in there:
        return True
    if not is_glob(file):
        return any(_in_folder(files, file))
    return any(names_file(file, one) for one in _in_folder(files, glob_folder(file)))


def _in_folder(files: Sequence[str], folder: str) -> Iterator[str]:
    """Yield the files below a folder from a sorted list."""
    start = f"{folder.rstrip('/')}/" if folder else ""
    for at in range(bisect_left(files, start), len(files)):
        if not files[at].startswith(start):
            return
        yield files[at]


def _suggest_move(file: str, files: Iterable[str]) -> str:
    name = file.rpartition("/")[2]
    same = [one for one in files if one.rpartition("/")[2] == name] if not is_glob(file) else []
    return f"did it move to {same[0]}?" if len(same) == 1 else "remove the row"


def _find_unowned(
    owners: OwnershipMap, files: Iterable[str], tasks: Iterable[Task]
) -> Iterator[MapFault]:
    written = (task for task in tasks if not task.writes_everything)
    outputs = Named((task.id, path) for task in written for path in task.outputs)
    for file in files:
        if not is_own_document(file) and not owners.owners(file) and not outputs.of(file):
            hint = "runner plan ownership propose"
            yield MapFault("unowned", file, "no task owns it", hint)


_TRAILER = re.compile(r"^Task:[ \t]*(\S.*)$", re.MULTILINE)
_NAMED = re.compile(r"[A-Za-z][A-Za-z0-9]*[ _-]*\d+")
_TWO_PATHS = ("R", "C")


class TouchedCommit(NamedTuple):
    """One commit: the tasks it names, and what it did to files."""

    tasks: tuple[str, ...]
    certain: bool
    """Whether a trailer names the task, not only the message text."""
    paths: tuple[str, ...]
    moves: tuple[tuple[str, str], ...]
    """Old and new path of each rename."""


class Proposal(NamedTuple):
    """A row that history proposes."""

    path: str
    tasks: tuple[str, ...]
    certain: bool


def find_touching_commits(
    repository: Repository, tip: str, known: Collection[str], prefixes: tuple[str, ...] = ()
) -> Iterator[TouchedCommit]:
    """Yield the commits reachable from a tip, oldest first; merges have no own changes."""
    words = ("log", "-z", "--no-color", "--no-show-signature", "--no-notes", "--reverse")
    messages = text(repository.git.run(*words, "--format=%H%n%B", "--end-of-options", tip, "--"))
    message_of = dict(entry.split("\n", 1) for entry in messages.split("\0") if "\n" in entry)
    diff = ("--name-status", "-M", "--no-ext-diff", "--no-textconv", "--format=%H")
    listed = text(repository.git.run(*words, *diff, "--end-of-options", tip, "--"))
    for commit, entries in _commits(iter(listed.split("\0"))):
        tasks, certain = _tasks(message_of.get(commit, ""), known, prefixes)
        inside = [tuple(repository.prefix.inside(path) for path in paths) for paths in entries]
        yield TouchedCommit(
            tasks,
            certain,
            tuple(paths[-1] for paths in inside),
            tuple((paths[0], paths[1]) for paths in inside if len(paths) > 1),
        )


def _commits(fields: Iterator[str]) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Yield commits with the paths of each entry (git-log(1): `--name-status -z`)."""
    commit = next(fields, "")
    entries: list[tuple[str, ...]] = []
    for field in fields:
        status = field.removeprefix("\n")
        # A status is a capital letter (git-diff(1), --name-status), a commit name lowercase hex:
        # only this tells them apart.
        if status[:1].isupper():
            count = 2 if status.startswith(_TWO_PATHS) else 1
            entries.append(tuple(next(fields, "") for _ in range(count)))
            continue
        yield commit, entries
        commit, entries = status, []


def _tasks(
    message: str, known: Collection[str], prefixes: tuple[str, ...]
) -> tuple[tuple[str, ...], bool]:
    """Return the known tasks in a message, and whether a trailer names them."""
    trailers = [task_id(found, prefixes) for found in _TRAILER.findall(message)]
    certain = tuple(dict.fromkeys(one for one in trailers if one in known and one))
    if certain:
        return certain, True
    named = [task_id(found, prefixes) for found in _NAMED.findall(message)]
    return tuple(dict.fromkeys(one for one in named if one in known and one)), False


def proposals(history: Iterable[TouchedCommit], files: Collection[str]) -> tuple[Proposal, ...]:
    """Propose for each file the tasks that wrote it, in order, across renames.

    Where commits with a trailer tell of a file, those that only mention a task do not count.
    """
    sure: dict[str, dict[str, None]] = {}
    mentioned: dict[str, dict[str, None]] = {}
    for commit in history:
        for old, new in commit.moves:
            for rows in (sure, mentioned):
                rows.setdefault(new, {}).update(rows.pop(old, {}))
        rows = sure if commit.certain else mentioned
        for path in commit.paths:
            rows.setdefault(path, {}).update(dict.fromkeys(commit.tasks))
    found = []
    for path in sorted(files):
        tasks = sure.get(path) or mentioned.get(path)
        if tasks:
            found.append(Proposal(path, tuple(tasks), bool(sure.get(path))))
    return tuple(found)


# --- commands -------------------------------------------------------------------------


class Commands:
    """Follows the tree: what a command names is looked at again when a file comes or goes."""

    def __init__(self, tasks: Iterable[Task], references: References) -> None:
        self._references = references
        self._users: dict[str, list[Proven]] = {}
        for task in tasks:
            for contract in task.test_contracts:
                proven = Proven(task.id, contract.id)
                self._users.setdefault(contract.command, []).append(proven)
        self._targets: dict[Proven, CommandTarget] = {}
        self._by_name: dict[str, dict[Proven, None]] = {}
        self._whole: dict[Proven, None] = {}
        references.news()
        for command in self._users:
            self._look(command)

    def targets(self) -> Mapping[Proven, CommandTarget]:
        """Return the targets of each test contract's command."""
        self._follow()
        return self._targets

    def whole(self) -> tuple[Proven, ...]:
        """Return the test contracts that may test any file."""
        self._follow()
        return tuple(self._whole)

    def find_beginning_at(self, path: str) -> Iterator[Proven]:
        """Yield the test contracts whose command names a file, its folder or its module."""
        self._follow()
        for name in (
            path,
            *folders_of(path),
            *(f"key {one}" for one in self._references.keys(path)),
        ):
            yield from self._by_name.get(name, ())

    def _follow(self) -> None:
        news = self._references.news()
        if not news:
            return
        for command in self._users:
            # By substring: an unnecessary check is cheap, a missed one skips a test.
            if any(name in command for name in news):
                self._look(command)

    def _look(self, command: str) -> None:
        target = target_of(command, self._references)
        for proven in self._users[command]:
            old = self._targets.get(proven)
            if old == target:
                return
            for name in _names(old) if old else ():
                self._by_name[name].pop(proven, None)
            for name in _names(target):
                self._by_name.setdefault(name, {})[proven] = None
            self._targets[proven] = target
            self._whole.pop(proven, None)
            if target.is_whole:
                self._whole[proven] = None


def _names(target: CommandTarget) -> Iterator[str]:
    yield from target.files
    yield from target.folders
    yield from (f"key {key}" for key in target.keys)


# --- path index -----------------------------------------------------------------------


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
        """Return the distinct names of those that list a file or a folder above it."""
        return tuple(dict.fromkeys(self._all(path)))

    def _all(self, path: str) -> Iterator[str]:
        for place in (path, *folders_of(path)):
            yield from self._exact.get(place, ())
        yield from self._globs.of(path)
