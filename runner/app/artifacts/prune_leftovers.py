"""Find, list, remove and count old leftovers of runs that nothing needs any more.

Never what a task's evidence names, what an open task may go on from, what is still to be stored,
or what a person made: a branch that is checked out, or has commits that are nowhere else.
"""

from __future__ import annotations

import math
import os
import re
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner import effects
from runner.app.artifacts.artifact_export import read_cursor
from runner.errors import RunnerError
from runner.journal.lock import RunLock
from runner.journal.log import Journal
from runner.journal.records import read_journal
from runner.journal.session_events import Pruned
from runner.model import Status
from runner.project import BUILD
from runner.repo.clone import measure_folder
from runner.repo.read import Repository
from runner.repo.refs import find_drafts, forget_draft
from runner.run.worker_setup import LOGS
from runner.text.wording import read_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from runner.journal.state import RunState
    from runner.project import Project
    from runner.repo.refs import DraftBranch

_AGE = re.compile(r"(\d{1,5})\s*(h|d|w)")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


class Leftover(Struct, frozen=True):
    """One thing that may go."""

    kind: str
    """`logs`, `draft`, `slot` or `packs`."""
    name: str
    bytes: int = 0
    why: str = ""


class PruneRecord(Struct):
    """The leftovers that were found, and those that were removed."""

    before: str
    found: tuple[Leftover, ...]
    gone: list[Leftover] = field(default_factory=list)

    def count(self, kind: str) -> int:
        """Return how many items of one kind were removed."""
        return sum(one.kind == kind for one in self.gone)

    @property
    def bytes(self) -> int:
        """Of all that went."""
        return sum(one.bytes for one in self.gone)


def parse_age(text: str) -> timedelta:
    """Parse an age such as `90d`, `12w` or `36h`. Raises RunnerError for an invalid or zero age."""
    match = _AGE.fullmatch(text.strip().lower())
    age = int(match[1]) * _UNITS[match[2]] if match else timedelta()
    if not age:
        raise RunnerError("not a valid age", where=text, hint="runner prune --older-than 90d")
    return age


def prune(
    project: Project,
    age: timedelta,
    tell: Callable[[tuple[Leftover, ...]], None],
    *,
    dry_run: bool = False,
) -> PruneRecord:
    """Report the leftovers that are old enough and remove them. Raises RunnerError during a run."""
    moment = effects.now() - age
    with RunLock(project.root / BUILD), Repository.open(project.root) as repository:
        drafts = {one.branch: one for one in _find_old_drafts(project, repository, moment)}
        slots = dict(_find_slots(project, moment))
        packs = dict(_find_packs(project, moment))
        found = (
            *_find_logs(project, moment),
            *(Leftover("draft", branch, why=one.why) for branch, one in drafts.items()),
            *(Leftover("slot", str(path), measure_folder(path)) for path in slots.values()),
            *(Leftover("packs", str(path), measure_folder(path)) for path in packs.values()),
        )
        done = PruneRecord(moment.isoformat(timespec="seconds"), found)
        tell(found)
        if not dry_run:
            for one in found:
                if one.kind == "draft":
                    gone = forget_draft(repository, drafts[one.name])
                else:
                    gone = _take_away(project, one)
                if gone:
                    done.gone.append(one)
            _record(project, done)
    return done


def _record(project: Project, done: PruneRecord) -> None:
    if not done.gone:
        return
    event = Pruned(
        done.before,
        logs=done.count("logs"),
        drafts=tuple(one.name for one in done.gone if one.kind == "draft"),
        slots=done.count("slot"),
        packs=done.count("packs"),
        bytes=done.bytes,
    )
    with Journal.open(project.journal_path) as journal:
        journal.append(event, durable=True)


def _take_away(project: Project, one: Leftover) -> bool:
    if one.kind == "logs":
        return _remove(project.root / one.name)
    if one.kind == "slot":
        # Take the lock again: a manual proof does not take the run's lock and may have started.
        # Keep the lock file: with a new file of that name, two processes could hold one slot.
        with _held(project.cache / "slots" / f"{one.name.rpartition('/')[2]}.lock") as ours:
            return ours and _remove(project.cache / "slots" / one.name.rpartition("/")[2])
    return _remove(project.places.cache / "cluster" / one.name.rpartition("/")[2])


def _remove(folder: Path) -> bool:
    effects.step("remove", folder)
    with suppress(OSError):
        effects.remove_tree(folder)  # it follows no links
    return not folder.exists()


# --- logs -----------------------------------------------------------------------------


def _find_logs(project: Project, moment: datetime) -> Iterator[Leftover]:
    """Yield attempt folders of DONE tasks whose logs no evidence refers to."""
    state = project.state()
    top = project.root / LOGS
    needed = {f"{LOGS}/{path}" for path in _named_by_evidence(state)}
    waiting = frozenset(_attempts_to_store(project))
    for folder in sorted(top.glob("*/*")) if _is_folder(top) else ():
        task, number = folder.parent.name, read_number(folder.name)
        shown = folder.relative_to(project.root).as_posix()
        if not (number >= 0 and _is_folder(folder.parent) and _is_folder(folder)):
            continue
        known = state.tasks.get(task)
        is_open = known is None or known.status is not Status.DONE
        if is_open or shown in needed or (task, number) in waiting:
            continue
        if _newest(folder) < moment.timestamp():
            yield Leftover("logs", shown, measure_folder(folder), f"{task} is DONE")


def _named_by_evidence(state: RunState) -> Iterator[str]:
    """Yield the folders below LOGS that contain evidence of a task or its last attempt."""
    for known in state.tasks.values():
        passed = known.passed.proofs if known.passed else ()
        for proof in (*known.proofs, *passed):
            parts = proof.log.removeprefix(f"{LOGS}/").split("/")
            yield "/".join(parts[:2])
        yield f"{known.id}/{known.last_attempt}"


def _attempts_to_store(project: Project) -> Iterator[tuple[str, int]]:
    """Yield the attempts of runs whose artifacts are not all stored yet."""
    if not project.settings.artifacts.store:
        return
    waiting = frozenset(read_cursor(project).waiting)
    for record in read_journal(project.journal_path, wanted=("attempt.started",)):
        if record.run in waiting:
            yield record.task, record.attempt


# --- drafts ---------------------------------------------------------------------------


def _find_old_drafts(
    project: Project, repository: Repository, moment: datetime
) -> Iterator[DraftBranch]:
    """Yield old branches of rejected work that is merged by now or whose task is done or gone."""
    tasks = project.state().tasks
    planned = {task.id for task in project.outline().tasks}

    def is_over(task: str) -> bool:
        known = tasks.get(task)
        done = known is not None and known.status is Status.DONE
        return task not in planned or done

    for one in find_drafts(repository, is_over):
        if one.time < moment.timestamp():
            yield one


# --- slots and packs ------------------------------------------------------------------


def _find_slots(project: Project, moment: datetime) -> Iterator[tuple[str, Path]]:
    """Yield scratch trees that no process holds and that were not used since `moment`."""
    for lock in sorted((project.cache / "slots").glob("*.lock")):
        folder = lock.with_suffix("")
        if not _is_folder(folder) or _last_use(folder, "owner") >= moment.timestamp():
            continue
        with _held(lock) as ours:
            if ours:
                yield folder.name, folder


def _find_packs(project: Project, moment: datetime) -> Iterator[tuple[str, Path]]:
    """Yield this machine's repository caches of cluster workers that are unused since `moment`."""
    for folder in sorted((project.places.cache / "cluster").glob("*")):
        if _is_folder(folder) and _newest(folder, deep=2) < moment.timestamp():
            yield folder.name, folder


@contextmanager
def _held(lock: Path) -> Iterator[bool]:
    """Try to hold the slot's lock, the one that runs use, and yield whether it was acquired."""
    with ExitStack() as stack:
        try:
            is_ours = stack.enter_context(effects.try_lock(lock, create=False))
        except OSError:
            is_ours = False
        yield is_ours


def _last_use(folder: Path, name: str) -> float:
    with suppress(FileNotFoundError):
        return max((folder / name).lstat().st_mtime, folder.lstat().st_mtime)
    with suppress(FileNotFoundError):
        return folder.lstat().st_mtime
    return math.inf


def _newest(folder: Path, deep: int = 8) -> float:
    """Return the newest modification time down to a depth; infinity if an entry vanishes."""
    # A folder's mtime changes when names are added or removed, not when files are written.
    try:
        newest = folder.lstat().st_mtime
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False) and deep:
                newest = max(newest, _newest(folder / entry.name, deep - 1))
            else:
                newest = max(newest, entry.stat(follow_symlinks=False).st_mtime)
    except FileNotFoundError:
        return math.inf
    return newest


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
