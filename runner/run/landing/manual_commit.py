"""`git.commit = "manual"`: landed work that waits for a person's commit.

Landings are commits as always, each on the one before, but on a ref of the runner's own instead of
the branch (`refs/worktree/runner/manual/tip`), and the index stays as it is. While the commit that
they stand on (`…/base`) is the one checked out, `Repository.head` says the last of them: bases,
proofs, recovery, undo and evidence work as if they were on the branch. Once a person has committed
something the rest is carried above that commit; once nothing waits any more the tasks are
recorded in the person's commits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from runner.errors import RunnerError
from runner.journal.events import TaskAdopted, TaskLanded
from runner.model import Status
from runner.repo import index_lock
from runner.repo.commit import commit_tree
from runner.repo.head import WAITING_BASE, WAITING_TIP, read_waiting
from runner.repo.objects import DURABLE
from runner.repo.refs import keep_ref
from runner.repo.repo_state import find_differing
from runner.run.landing.lander import changes_between

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.journal.task_state import TaskState
    from runner.repo.head import Head
    from runner.repo.read import Repository
    from runner.run.journal_writer import JournalWriter

_SHOWN = 5
_CARRIED = "chore(runner): move held work onto a person's commit\n"


class ManualCommit(Struct, frozen=True):
    """The branch as it will be once a person has committed what landed."""

    repository: Repository
    documents: frozenset[str]
    """The runner's documents: they need no approval, and a person's commit of them wins."""
    manual: bool = False
    """Whether new landings wait; already waiting ones do in any case."""

    def begin(self, journal: JournalWriter) -> str:
        """Catch up with the landings above the checked-out commit, and return a line to show.

        Only under the run's lock, before anybody asks what HEAD is. Raises RunnerError before the
        first commit, which has nothing below it that could wait.
        """
        carried = self.catch_up()
        head = self.repository.find_head()
        base, tip = read_waiting(head)
        if base and base != head.commit:
            self._let_go(tip)  # another branch, or history rewritten: what is in the tree is dirty
        elif base:
            self.settle(journal, carried=carried)
            if not self.manual and not self.paths:
                self._let_go("")
        if not read_waiting(head)[0] and self.manual:
            if head.commit is None:
                raise RunnerError(
                    'git.commit = "manual" needs a first commit to build on',
                    hint="git commit, then run again",
                )
            self._place(head.commit, head.commit)
        waiting = () if self.manual else self.paths
        shown = ", ".join(waiting[:_SHOWN]) + (" …" if len(waiting) > _SHOWN else "")
        return (
            f"landed and not committed yet: {shown} (runner pipeline commit-by-task)"
            if shown
            else ""
        )

    @property
    def paths(self) -> tuple[str, ...]:
        """Files that wait for a commit."""
        head = self.repository.head()
        if head.beneath in (None, head.commit):
            return ()
        changed = self.repository.diff_trees(head.beneath, head.commit)
        return tuple(one.path for one in changed if one.path not in self.documents)

    def catch_up(self, here: Head | None = None) -> bool:
        """Carry what waits above what a person has committed since; whether they had.

        Of a file that is in both, the person's commit has the last word: what stood in the tree
        was before them. `here` is where HEAD is, where that was just read.
        """
        head = here or self.repository.find_head()
        base, tip = read_waiting(head)
        if not base or not tip or not head.commit or base == head.commit:
            return False
        descends = self.repository.is_ancestor(base, head.commit)
        if descends:
            self._place(self._carry(base, tip, head.commit), head.commit)
        return descends

    def settle(self, journal: JournalWriter, *, carried: bool = False) -> None:
        """Finish waiting landings that HEAD includes, or that were removed from the tree."""
        head = self.repository.head()
        if head.beneath is None or head.commit is None or head.commit == head.beneath:
            return
        state = journal.state
        if state.landing is not None or state.run_open:
            return  # a crash comes first: what is in no tree yet was not taken away
        landed = self._find_landings(head.beneath, head.commit)
        paths = self.paths
        if paths and not find_differing(self.repository, head.beneath, paths):
            self._let_go(head.commit)
        elif not paths and (landed or carried):
            self._adopt(journal, landed, head.beneath)
            # The journal may still refer to a waiting landing, such as a STALE task's.
            named = any(known.commit in landed for known in journal.state.tasks.values())
            self._let_go(head.commit if named else "")

    # --- details ----------------------------------------------------------------------

    def _find_landings(self, base: str, tip: str) -> Mapping[str, tuple[str, int]]:
        """Return task and attempt of each waiting landing, by its commit."""
        found = self.repository.log_trailers(tip, since=base)
        return {one.commit: (one.task, one.attempt) for one in found if not one.checked}

    def _adopt(
        self, journal: JournalWriter, landed: Mapping[str, tuple[str, int]], head: str
    ) -> None:
        """Record which of the person's commits include the DONE tasks."""
        moved = {
            known.commit: known
            for known in journal.state.tasks.values()
            if known.status is Status.DONE and known.commit in landed
        }
        there = self._find_commits(head, {landed[commit] for commit in moved})
        for commit, known in moved.items():
            now = there.get(landed[commit], head)
            attempt = landed[commit][1]
            if journal.state.last_landing_head in landed:
                tree = self.repository.tree_of(head)
                journal.note(TaskLanded(head, tree), task=known.id, attempt=attempt)
            journal.note(_make_adopted(known, now), task=known.id, attempt=attempt, durable=True)

    def _find_commits(
        self, head: str, wanted: set[tuple[str, int]]
    ) -> Mapping[tuple[str, int], str]:
        """Return the commits of these attempts, found by their trailers."""
        found: dict[tuple[str, int], str] = {}
        for one in self.repository.log_trailers(head):
            if len(found) == len(wanted):
                break
            if (one.task, one.attempt) in wanted and not one.checked:
                found.setdefault((one.task, one.attempt), one.commit)
        return found

    def _carry(self, base: str, tip: str, head: str) -> str:
        """Create a commit on `head` that carries the uncommitted landings, with both parents."""
        theirs = [one.path for one in self.repository.diff_trees(base, head)]
        index_lock.sync_index(
            self.repository, theirs, base, head
        )  # commit-by-task may have been cut off
        passed = self.documents.union(theirs)
        waiting = [
            one for one in changes_between(self.repository, base, tip) if one.path not in passed
        ]
        tree = commit_tree(self.repository, head, waiting, _CARRIED, sign=False).tree
        who = self.repository.identity()
        git = self.repository.git.with_settings(
            DURABLE,
            GIT_AUTHOR_NAME=who.name,
            GIT_AUTHOR_EMAIL=who.email,
            GIT_COMMITTER_NAME=who.name,
            GIT_COMMITTER_EMAIL=who.email,
        )
        return git.line("commit-tree", "-p", head, "-p", tip, "-m", _CARRIED, tree)

    def _place(self, tip: str, base: str) -> None:
        """Name both; the base last, since nothing counts before it is the one checked out."""
        git = self.repository.git.with_settings(DURABLE)
        git.run("update-ref", WAITING_TIP, tip)
        git.run("update-ref", WAITING_BASE, base)

    def _let_go(self, kept: str) -> None:
        """Remove the waiting refs; uncommitted landings stay under a separate ref."""
        if kept:
            keep_ref(self.repository, f"manual/left-{kept[:12]}", kept)
        git = self.repository.git.with_settings(DURABLE)
        # Base first: without it the tip does not count, so a crash in between also releases it.
        git.run("update-ref", "-d", WAITING_BASE)
        git.run("update-ref", "-d", WAITING_TIP)


def _make_adopted(known: TaskState, commit: str) -> TaskAdopted:
    return TaskAdopted(
        spec=known.spec,
        commit=commit,
        verified=known.verified,
        source="commit",
        note="committed by a person",
        proofs=tuple(known.proofs),
        unproven=known.unproven,
    )


def find_kept_landings(repository: Repository) -> Mapping[tuple[str, int], str]:
    """Return the commits of landings that the branch lacks, by task and attempt."""
    head = repository.find_head().commit
    names = ("--format=%(objectname)", WAITING_TIP, "refs/runner/manual/")
    tips = repository.git.run("for-each-ref", "--sort=creatordate", *names).decode("ascii").split()
    return {
        (one.task, one.attempt): one.commit
        for tip in tips
        for one in reversed(tuple(repository.log_trailers(tip, since=head)))
        if not one.checked
    }
