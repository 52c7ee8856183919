"""Read a branch's commits of tasks, and the content that they recorded.

What the commits of a branch tell: whose each one is, and which files it changed.

The recorded, accepted bytes of what landed before: to land again without an implementer.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner import effects
from runner.plan.globs import is_glob, matches
from runner.repo.git import text
from runner.repo.landed_commits import is_own
from runner.repo.trailers import (
    CHECKPOINT,
    RESTORES,
    UNDOES,
    parse_checked,
    parse_message,
    parse_row,
)
from runner.run.landing.lander import changes_between
from runner.run.landing.record_commit import SUBJECT as RECORD
from runner.run.reviewers import diff_of
from runner.run.worker_assignment import RecordedWork
from runner.text.wording import read_number

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from runner.model import Change, Task
    from runner.repo.read import Repository
    from runner.repo.trailers import RecordedCheck

# --- commits --------------------------------------------------------------------------


class LogEntry(Struct, frozen=True):
    """One commit: its message taken apart, and the paths it changed against its parents."""

    commit: str
    tree: str
    parents: tuple[str, ...]
    subject: str
    trailers: Mapping[str, tuple[str, ...]]
    paths: tuple[str, ...]
    of_another: bool = False
    """Whether it is about tasks of another plan in the repository."""

    @property
    def parent(self) -> str:
        """The first parent; empty for a root commit."""
        return self.parents[0] if self.parents else ""

    @property
    def task(self) -> str:
        """The task that landed with it; else empty."""
        return self.trailers.get("Task", ("",))[-1]

    @property
    def attempt(self) -> int:
        """The attempt that landed with it; 0 where nothing says so."""
        return max(0, read_number(self.trailers.get("Attempt", ("",))[-1]))

    @property
    def spec(self) -> tuple[str, str]:
        """Both digests of the task as it was built; empty where nothing says so."""
        words = self.trailers.get("Spec", ("",))[-1].split()
        return (words[0], words[1]) if len(words) > 1 else ("", "")

    @property
    def undoes(self) -> tuple[str, ...]:
        """The tasks that it took back."""
        return tuple(line.split()[0] for line in self.trailers.get(UNDOES, ()) if line.split())

    @property
    def restores(self) -> str:
        """The task whose checkpoint it restored; else empty."""
        return self.trailers.get(RESTORES, ("",))[-1]

    @property
    def checkpoint(self) -> str:
        """The commit whose bytes it restored; else empty."""
        return self.trailers.get(CHECKPOINT, ("",))[-1]

    @property
    def checked(self) -> tuple[RecordedCheck, ...]:
        """Tasks without a commit of their own that it tells of."""
        found = map(parse_checked, self.trailers.get("Checked", ()))
        return tuple(one for one in found if one is not None)

    @property
    def is_record(self) -> bool:
        """Whether it holds the runner's documents alone."""
        return self.subject == RECORD and not self.task and not self.of_another

    @property
    def by_runner(self) -> bool:
        """Whether the runner made it: a landing, a record, or something taken back."""
        return bool(self.task or self.undoes or self.restores or self.is_record)


_OURS = ("--fixed-strings", *(f"--grep={name}: " for name in ("Task", "Checked", UNDOES)))


def story(
    repository: Repository, tip: str, *, since: str = "", ours: bool = False
) -> Iterator[LogEntry]:
    """Yield the commits reachable from `tip` but not from `since`, newest first.

    With `ours` only those that tell of tasks; what tells of another plan's tells
    nothing. Of a merge the paths are those that differ from all its parents. Raises GitError.
    """
    tips = (tip, f"^{since}") if since else (tip,)
    names = ("--name-only", "-c", "--no-renames", "--no-ext-diff", "--no-textconv")
    which = (*(_OURS if ours else ()), "--topo-order")
    for one in _read(repository, *names, *which, "--end-of-options", *tips, "--"):
        outside = any(path.startswith("../") for path in one.paths)
        is_ours = is_own(repository.prefix, one.trailers, outside=outside)
        yield one if is_ours else replace(one, trailers={}, of_another=True)


def read_commits(repository: Repository, commits: Iterable[str]) -> dict[str, LogEntry]:
    """Read these commits by name, without their paths."""
    wanted = list(dict.fromkeys(commits))
    if not wanted:
        return {}
    found = _read(repository, "--no-walk=unsorted", "--end-of-options", *wanted, "--")
    return {one.commit: one for one in found}


def _read(repository: Repository, *words: str) -> Iterator[LogEntry]:
    mark = effects.new_id()  # nothing that a message could hold
    out = repository.git.run(
        *("log", "-z", "--no-color", "--no-decorate", "--no-show-signature", "--no-notes"),
        *(f"--format={mark}%H%x00%T%x00%P%x00%B%x00", *words),
    )
    for entry in text(out).split(mark)[1:]:
        commit, tree, parents, message, *rest = entry.split("\0")
        parsed = parse_message(message)
        paths = (name.removeprefix("\n") for name in rest)
        yield LogEntry(
            commit=commit,
            tree=tree,
            parents=tuple(parents.split()),
            subject=parsed.subject,
            trailers=parsed.trailers,
            paths=tuple(repository.prefix.inside(path) for path in paths if path),
        )


def find_standing(commits: Iterable[LogEntry]) -> tuple[LogEntry, ...]:
    """Return the landings, newest first, that no later commit has undone."""
    gone: set[str] = set()
    found = []
    for one in commits:
        gone.update(one.undoes)
        if one.task and one.task not in gone:
            found.append(one)
    return tuple(found)


# --- recorded bytes -------------------------------------------------------------------


class Records(Struct, dict=True):
    """Each task's facts from all available commits, read on first use.

    At hand is what HEAD reaches (what was taken back is in its past), and what a replay kept under
    `refs/runner/replay/`.
    """

    repository: Repository
    documents: Collection[str]
    """The runner's own documents, which no task writes."""
    _none: tuple[Change, ...] = ()

    def find(self, task: Task, base: str) -> RecordedWork:
        """Return the recorded changes of a task with the same specification, if they fit `base`.

        It does where both digests are the same, every file it changes is as it was before, and so
        are the files among its Inputs. Nothing otherwise.
        """
        spec = (task.spec.what, task.spec.proof)
        for one in self._landed.get(task.id, ()) if base else ():
            if one.spec == spec and one.parent:
                found = self._find_fitting(task, one, base)
                if found:
                    rows = filter(None, map(parse_row, one.trailers.get("Acceptance", ())))
                    return RecordedWork(found, tuple(row for row, _ in rows))
        return RecordedWork()

    def diff(self, commit: str) -> str:
        """Return the unified diff of a commit; empty if the commit is gone."""
        parent = self.repository.resolve(f"{commit}^") if commit else None
        if not commit or self.repository.resolve(commit) is None:
            return ""
        found = changes_between(self.repository, parent, commit)

        def before(path: str) -> bytes | None:
            return self.repository.blob(parent, path) if parent else None

        shown = (change for change in found if change.path not in self.documents)
        return "".join(part for change in shown for part in diff_of(change, before))

    @cached_property
    def _landed(self) -> dict[str, list[LogEntry]]:
        found: dict[str, list[LogEntry]] = {}
        seen: set[str] = set()
        for tip in self._tips():
            for one in story(self.repository, tip, ours=True):
                if one.task and one.commit not in seen:
                    seen.add(one.commit)
                    found.setdefault(one.task, []).append(one)
        return found

    def _tips(self) -> list[str]:
        head = self.repository.head().commit
        kept = text(
            self.repository.git.run(
                "for-each-ref",
                "--sort=-creatordate",
                "--format=%(objectname)",
                "refs/runner/replay/",
            )
        )
        return list(dict.fromkeys((*([head] if head else []), *kept.split())))

    def _find_fitting(self, task: Task, one: LogEntry, base: str) -> tuple[Change, ...]:
        recorded = tuple(
            change
            for change in changes_between(self.repository, one.parent, one.commit)
            if change.path not in self.documents
        )
        moved = {change.path for change in self.repository.diff_trees(one.parent, base)}
        touched = {change.path for change in recorded}
        if not touched.isdisjoint(moved) or any(_reads(task, path) for path in moved):
            return self._none
        return recorded


def _reads(task: Task, path: str) -> bool:
    """Return whether a task's inputs contain a path."""
    return any(path == one or (is_glob(one) and matches(one, path)) for one in task.inputs)
