"""Detect outdated texts of the plan, and commits that revert a task's work.

Between two record commits the committed plan lags behind what has landed. Restoring its text (git
stash, checkout, reset, rebase, a merge, an editor's undo) requests nothing. So a status equal to
the committed one is no request, unless a later commit set it: a person's, or another clone's
record. `Undoes:` trailers tell every clone which tasks a later commit took back.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Struct, field

from runner.model import Status
from runner.repo.git import text
from runner.repo.landed_commits import is_unnamed, make_own_test
from runner.repo.trailers import UNDOES, parse_messages
from runner.run.landing.record_commit import SUBJECT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from runner.journal.state import RunState
    from runner.repo.read import Repository

# --- an outdated text -----------------------------------------------------------------


_MOST_VERSIONS = 200
"""Versions of the plan that are examined; a longer range is examined from its newest end."""


class TaskStatus(Protocol):
    """A task as the plan's file says it."""

    @property
    def id(self) -> str:
        """The task's id."""

    @property
    def status(self) -> Status:
        """The status in the file."""


class PlanFile(Struct, frozen=True):
    """The plan in the repository: where it is, and how the statuses in a text of it are read."""

    path: str
    read: Callable[[bytes], Mapping[str, Status]]
    prefixes: tuple[str, ...] = ()
    """ID prefixes in addition to the default ones."""


class _Version(NamedTuple):
    """The plan in one commit."""

    statuses: Mapping[str, Status]
    next_is_ours: bool
    """Whether a record of this journal made the next version: it wrote the journal's state."""


class OlderText(Struct, dict=True):
    """Asks the commits of one head; git is asked nothing before the first question."""

    repository: Repository
    plan: PlanFile
    since: str
    """Commit at which statuses were last written to the plan."""
    ended: str
    """Last record of this journal; later ones come from another clone and count."""
    taken_back: Callable[[Mapping[str, Status]], Sequence[Status] | None]
    """Statuses that were written and are gone, if the whole file is at the committed ones."""
    heard_alone: Callable[[str], bool]
    """Whether a task's status counts if the rest of the file is unchanged."""
    only_retries: Callable[[TaskStatus], bool]
    """Whether a status only requests a retry: alone this is no sign of an older text."""
    _versions: dict[str, tuple[_Version, ...]] = field(default_factory=dict)
    _texts: dict[str, Mapping[str, Status]] = field(default_factory=dict)

    def holds(self, task: TaskStatus, since: str = "") -> bool:
        """Return whether commits since `since` always had the task's present status."""
        if self._committed.get(task.id) is not task.status:
            return False
        if self.heard_alone(task.id) and self._taken_back is None:
            return False
        if self.only_retries(task) and Status.DONE not in (self._taken_back or ()):
            return False
        for version in self._since(since):
            if version.statuses.get(task.id, task.status) is not task.status:
                return version.next_is_ours
        return True

    @cached_property
    def _head(self) -> str:
        """Checked-out commit; landings that wait for a person's commit have no text of the plan."""
        return self.repository.find_head().commit or ""

    @cached_property
    def _committed(self) -> Mapping[str, Status]:
        return self._text(self._head) if self._head else {}

    @cached_property
    def _taken_back(self) -> Sequence[Status] | None:
        return self.taken_back(self._committed)

    def _since(self, since: str) -> tuple[_Version, ...]:
        """Return the plan's versions in commits since then, newest first, the start last.

        Git's own simplification at merges is what is wanted: the side that the text came from.
        """
        if since not in self._versions:
            begins, knows_records = self._begin(since)
            commits = [*self._commits(begins), (begins, "")] if begins else []
            # Shifted by one: each version records who made the next, and the newest has none.
            ours = [False, *(not knows_records and subject == SUBJECT for _, subject in commits)]
            self._versions[since] = tuple(
                _Version(self._text(commit), is_next)
                for (commit, _), is_next in zip(commits, ours, strict=False)
            )
        return self._versions[since]

    def _begin(self, since: str) -> tuple[str, bool]:
        """Return the start of the relevant versions, and whether later records are all foreign.

        Where a history was rewritten nobody can tell whose its records are: they ask for nothing.
        """
        start = since or self.since
        begins = (self.repository.merge_base(start, self._head) if start else None) or ""
        if since:
            return begins, True  # whoever recorded it saw the landing
        reached = bool(self.ended) and self.repository.is_ancestor(self.ended, self._head)
        if reached and begins and self.repository.is_ancestor(begins, self.ended):
            begins = self.ended
        return begins, reached

    def _commits(self, begins: str) -> list[tuple[str, str]]:
        out = self.repository.git.run(
            *("log", f"--max-count={_MOST_VERSIONS}", "--no-show-signature", "--format=%H %s"),
            *("--end-of-options", self._head, f"^{begins}", "--"),
            self.repository.prefix.whole(self.plan.path),
        )
        lines = text(out).splitlines()
        return [(commit, subject) for commit, _, subject in (one.partition(" ") for one in lines)]

    def _text(self, commit: str) -> Mapping[str, Status]:
        if commit not in self._texts:
            data = self.repository.blob(commit, self.plan.path)
            self._texts[commit] = self.plan.read(data) if data is not None else {}
        return self._texts[commit]


def make_take_back_test(
    tasks: Iterable[TaskStatus], state: RunState
) -> Callable[[Mapping[str, Status]], Sequence[Status] | None]:
    """Return a function for the written statuses that were never committed, or None."""

    def find_gone(committed: Mapping[str, Status]) -> Sequence[Status] | None:
        written = ((task, state.task(task.id).published) for task in tasks)
        lost = [
            (task.status is committed.get(task.id), status)
            for task, status in written
            if status is not None and status is not committed.get(task.id)
        ]
        return [status for _, status in lost] if all(is_gone for is_gone, _ in lost) else None

    tasks = tuple(tasks)
    return find_gone


# --- taken back -----------------------------------------------------------------------


def find_reverts(repository: Repository, head: str) -> Mapping[str, tuple[str, ...]]:
    """Return for each task the commits reachable from `head` that undid it."""
    out = repository.git.run(
        *("log", "-z", "--no-color", "--no-show-signature", "--no-notes", "--format=%H%n%B"),
        *("--fixed-strings", f"--grep={UNDOES}: ", "--end-of-options", head, "--"),
    )
    found: dict[str, tuple[str, ...]] = {}
    entries = out.split(b"\0")
    unnamed = (text(one.partition(b"\n")[0]) for one in entries if one and is_unnamed(one))
    is_own = make_own_test(repository.git, repository.prefix, unnamed)
    for entry in map(text, entries):
        commit, _, message = entry.partition("\n")
        # --grep matches anywhere in a message (git-log(1)); only a trailer reverts.
        for trailers in (one.trailers for one in parse_messages(message)):
            for line in trailers.get(UNDOES, ()) if is_own(commit, trailers) else ():
                task = line.split(" ")[0]
                found[task] = (*found.get(task, ()), commit)
    return found


def is_undone(
    repository: Repository, undone_by: Mapping[str, tuple[str, ...]], task: str, commit: str
) -> bool:
    """Return whether a task's landing was undone by a later commit.

    What a squash joined is distinguished by its bytes.
    """
    later = (one for one in undone_by.get(task, ()) if one != commit)
    return any(repository.is_ancestor(commit, one) for one in later)
