"""Land a proven change: one commit on the run's branch, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from runner.held_out.store import MissingFilesError
from runner.journal.events import TaskLanded, TaskLanding
from runner.lazy_module import lazy_module
from runner.model import Action, Change, digest_of, grade_of
from runner.model.grades import without_proof
from runner.repo.commit import Commit, commit_tree, find_filtered
from runner.repo.landed_commits import name_project
from runner.repo.trailers import build_message, coverage_line, subject, task_trailers, tools_line
from runner.run.landing.git_locks import move_branch, prepare_index
from runner.writes import safe_io
from runner.writes.safe_io import sweep_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from runner.journal.events import Record
    from runner.model import Outcome, Task
    from runner.repo import remote
    from runner.repo.head import Head
    from runner.repo.index_lock import HeldIndex
    from runner.repo.read import Repository
    from runner.run.journal_writer import JournalWriter
    from runner.writes.staging import Staging
else:
    remote = lazy_module("runner.repo.remote")


def note_members(
    repository: Repository, journal: JournalWriter, tip: str, parent: str
) -> tuple[str, ...] | None:
    """Record the commits between `parent` and `tip` as landed, and return the tip's own paths.

    None where it landed alone.
    """
    if not parent or repository.resolve(parent) is None:
        return None  # a group stands on commits that there were
    found = repository.log_trailers(tip, since=parent)
    before = [one for one in found if not one.checked and one.commit != tip]
    for one in reversed(before):
        known = journal.state.task(one.task).landed
        if known is None or known.commit != one.commit:
            paths = _paths(repository, one.commit)
            landed = TaskLanded(commit=one.commit, tree=one.tree, paths=paths)
            journal.note(landed, task=one.task, attempt=one.attempt, durable=True)
    return _paths(repository, tip) if before else None


def _paths(repository: Repository, commit: str) -> tuple[str, ...]:
    """Return the paths that a commit changed."""
    changed = repository.diff_trees(repository.resolve(f"{commit}^"), commit)
    return tuple(one.path for one in changed)


class Landed(Struct, frozen=True):
    """The commit is on the branch; `late` are paths where a person's file was kept."""

    commit: str
    tree: str
    late: tuple[str, ...] = ()


class Made(Struct, frozen=True):
    """A task's commit, and the one it stands on."""

    commit: str
    tree: str
    parent: str | None


class Link(Struct, frozen=True):
    """A task's proven outcome, and its commit on the one before; a check has none of its own."""

    task: Task
    outcome: Outcome
    how: str
    commit: str
    """Commit of the outcome; the previous one if it changed nothing."""
    tree: str

    @property
    def own_commit(self) -> str:
        """The task's commit, empty where it changed nothing."""
        return self.commit if self.outcome.changes else ""


class Moved(Struct, frozen=True):
    """The branch is elsewhere than the work began: prove the same changes on `base`."""

    base: str


class Conflict(Struct, frozen=True):
    """The branch moved, and these files of the task with it."""

    base: str
    paths: tuple[str, ...]


class ConflictingFiles(Struct, frozen=True):
    """A person's edits or untracked files stand where the task wants to write."""

    paths: tuple[str, ...]


class Elsewhere(Struct, frozen=True):
    """Another branch is checked out than the run began on: nothing lands."""

    message: str


class Filtered(Struct, frozen=True):
    """Paths under a git filter such as LFS: their bytes are not what git would store."""

    paths: tuple[str, ...]


class Unavailable(Struct, frozen=True):
    """Held-out files that are to land are not on this machine any more."""

    message: str


Refusal: TypeAlias = Moved | Conflict | ConflictingFiles | Filtered | Elsewhere | Unavailable
Result: TypeAlias = Landed | Refusal


class Lander(Struct):
    """Lands accepted outcomes, one at a time, in the order of the coordinator's turn."""

    root: Path
    repository: Repository
    journal: JournalWriter
    staging: Staging
    branch: Head
    """HEAD at the start of the run; nothing lands on anything else."""
    own_documents: frozenset[str] = field(default_factory=frozenset)
    """The runner's documents: commits of only these don't move the base of tasks."""
    outdated: Callable[[Outcome], bool] = lambda _outcome: False
    """Whether tests outside of an outcome's proofs may be affected by it."""
    held_out: Callable[[Task, str], tuple[Change, ...]] = lambda _task, _base: ()
    """Returns the held-out files that land with a task on a commit."""
    catch_up: Callable[[], object] = lambda: None
    """Moves landings that wait for a person's commit on top of their new commits."""

    def land(self, task: Task, outcome: Outcome, review: str) -> Result:
        """Compare, commit, lock the index, journal, swap the branch, write files and index.

        The order is what makes a crash harmless: before the swap nothing has happened, after it
        the commit's trailers say what there is to finish.
        """
        self.catch_up()
        head = self.repository.head()
        if (refusal := self.find_refusal(task, outcome, head.commit or "")) is not None:
            return refusal
        outcome = self.with_held_out(task, outcome, head.commit or "")
        # Objects become durable before the journal names them, and the journal before the branch
        # moves: whatever a step names exists already.
        commit = self.commit(task, outcome, head.commit, review)
        paths = tuple(change.path for change in outcome.changes)
        with prepare_index(self.repository, head, paths, head.commit, commit.sha) as index:
            self.note_landing(task.id, outcome.attempt, commit, paths, review, index)
            # The compare-and-swap is the landing. The checks above may be outdated: only here,
            # under git's own ref lock, is it decided.
            try:
                moved = move_branch(self.repository, head, commit.sha, index=index)
            except remote.PublishError as error:
                return Elsewhere(error.message)
            if moved:
                made = Made(commit.sha, commit.tree, head.commit)
                return self.finish(task.id, outcome.attempt, made, outcome.changes, index=index)
        self.catch_up()
        return self._refusal(self.repository.head(), outcome) or Moved(
            self.repository.head().commit or ""
        )

    def link(self, task: Task, outcome: Outcome, parent: str, how: str) -> Link:
        """Make the commit of a member of a chain; it is on no branch yet."""
        if not outcome.changes:
            return Link(task, outcome, how, parent, outcome.tree)
        outcome = self.with_held_out(task, outcome, parent)
        made = self.commit(task, outcome, parent or None, how)
        return Link(task, outcome, how, made.sha, made.tree)

    def land_chain(self, links: Sequence[Link]) -> Result:
        """Move the branch to the last commit, then write the files of all of them.

        The journal's `task.landing` is about the last commit, from the head of before. After a
        crash it is completed as any other landing; the members before it are found by their
        trailers.
        """
        self.catch_up()
        head = self.repository.head()
        tip = next(one for one in reversed(links) if one.outcome.changes)
        changes = self.diff(head.commit or "", tip.commit)
        together = replace(tip.outcome, base=links[0].outcome.base, changes=changes)
        refusal = self.refusal(head, together)
        if refusal is not None:
            return refusal
        if (head.commit or "") != together.base:  # by documents alone: the commits stand elsewhere
            return Moved(head.commit or "")
        paths = tuple(change.path for change in changes)
        commit = Commit(tip.commit, tip.tree, head.commit)
        attempt = tip.outcome.attempt
        with prepare_index(self.repository, head, paths, head.commit, tip.commit) as index:
            self.note_landing(tip.task.id, attempt, commit, paths, tip.how, index)
            try:
                moved = move_branch(self.repository, head, tip.commit, index=index)
            except remote.PublishError as error:
                return Elsewhere(error.message)
            if not moved:
                return Moved(self.repository.head().commit or "")
            self._note_landed(one for one in links if one.own_commit and one is not tip)
            made = Made(tip.commit, tip.tree, head.commit)
            own = tuple(change.path for change in tip.outcome.changes)
            return self.finish(tip.task.id, attempt, made, changes, own, index)

    def _note_landed(self, before: Iterable[Link]) -> None:
        """Say of the members before the tip that they landed.

        The open landing bears the tip's name: as long as that is open a crash is completed with all
        of them (`note_members`).
        """
        for one in before:
            paths = tuple(change.path for change in one.outcome.changes)
            landed = TaskLanded(commit=one.commit, tree=one.tree, paths=paths)
            attempt = one.outcome.attempt
            self.journal.note(landed, task=one.task.id, attempt=attempt, durable=True)

    # --- beside the branch ------------------------------------------------------------

    def head(self) -> str:
        """Return the parent of the next landing; empty before the first commit."""
        self.catch_up()
        return self.repository.head().commit or ""

    def propose(self, outcome: Outcome) -> str:
        """Make a commit of a proposal on its base, on no branch and unsigned."""
        made = (self.repository, outcome.base or None, outcome.changes, "a proposal")
        return commit_tree(*made, sign=False).sha

    def find_refusal(self, task: Task, outcome: Outcome, tip: str) -> Refusal | None:
        """Return why an outcome could not land with the branch at `tip`."""
        try:
            whole = self.with_held_out(task, outcome, tip)
        except MissingFilesError as error:
            return Unavailable(f"{error.message}: {error.hint}")
        return self.refusal(replace(self.repository.head(), commit=tip or None), whole)

    def find_moved(self, base: str, tip: str) -> frozenset[str]:
        """Return the paths in which two commits differ, without the runner's documents."""
        changed = self.repository.diff_trees(base or None, tip)
        return frozenset(one.path for one in changed) - self.own_documents

    def diff(self, base: str, commit: str) -> tuple[Change, ...]:
        """Return the changes from one commit to another, with content."""
        return changes_between(self.repository, base or None, commit)

    def with_held_out(self, task: Task, outcome: Outcome, base: str) -> Outcome:
        """Return the outcome with its task's held-out files added. Raises MissingFilesError.

        Raises MissingFilesError where one of them is not in the store.
        """
        files = self.held_out(task, base) if outcome.changes else ()
        return replace(outcome, changes=(*outcome.changes, *files)) if files else outcome

    def note_landing(
        self,
        task: str,
        attempt: int,
        commit: Commit,
        paths: tuple[str, ...],
        review: str,
        index: HeldIndex,
    ) -> None:
        """Record in the journal the commit that is about to land, and the lock of the index."""
        event = TaskLanding(
            tree=commit.tree,
            parent=commit.parent or "",
            commit=commit.sha,
            paths=paths,
            review=review,
            lock_inode=index.inode,
            lock_digest=index.digest,
        )
        self.journal.note(event, task=task, attempt=attempt, durable=True)

    def refusal(self, head: Head, outcome: Outcome) -> Refusal | None:
        """Return why an outcome must not land on this head now, or None."""
        refusal = self._refusal(head, outcome)
        if refusal is not None:
            return refusal
        # Plumbing runs no filter: raw bytes would be stored instead of a pointer.
        filtered = find_filtered(self.repository, [change.path for change in outcome.changes])
        if filtered:
            return Filtered(filtered)
        blocked = safe_io.in_the_way(self.root, outcome.changes, converts=self._converts)
        return ConflictingFiles(blocked) if blocked else None

    def commit(self, task: Task, outcome: Outcome, parent: str | None, review: str) -> Commit:
        """Create a task's commit on `parent` with its evidence, without moving a branch."""
        message = _message(task, outcome, review, name_project(self.repository.prefix))
        return commit_tree(self.repository, parent, outcome.changes, message, names_files=True)

    @property
    def _converts(self) -> bool:
        """Whether the person's checkout holds CRLF where git stores LF (core.autocrlf)."""
        return self.repository.configuration().is_true("core.autocrlf")

    def _refusal(self, head: Head, outcome: Outcome) -> Moved | Conflict | Elsewhere | None:
        """Return why the outcome cannot land on this head unchanged, or None."""
        if head.ref != self.branch.ref:
            return Elsewhere(f"the run began on {self.branch.shown}; HEAD is now {head.shown}")
        base = outcome.base or None
        if head.commit == base:
            return None
        if base is not None and not self.repository.is_ancestor(base, head.commit or ""):
            return Elsewhere(f"{head.shown} was moved to commits that this run is not based on")
        moved = {change.path for change in self.repository.diff_trees(base, head.commit)}
        moved -= self.own_documents
        if not moved:
            return None
        both = tuple(change.path for change in outcome.changes if change.path in moved)
        if both:
            return Conflict(head.commit or "", both)
        # an unproven result is equally valid on any base: it only depends on its own bytes
        return Moved(head.commit or "") if outcome.proofs or self.outdated(outcome) else None

    def finish(
        self,
        task: str,
        attempt: int,
        made: Made,
        changes: Sequence[Change],
        own: tuple[str, ...] | None = None,
        index: HeldIndex | None = None,
    ) -> Landed:
        """Update work tree and index after a commit on the branch; may be repeated.

        `own` are the task's paths where commits of others landed in the same step. `index` was
        prepared before the branch moved.
        """
        if index is None:
            paths = [change.path for change in changes]
            where = (self.repository, self.repository.head())
            with prepare_index(*where, paths, made.parent, made.commit) as prepared:
                prepared.moved = True
                return self.finish(task, attempt, made, changes, own, prepared)
        # Files come last, since only they can be restored from the commit; a person's concurrent
        # edit is kept, and ours waits as a staged write.
        late = safe_io.place(self.root, changes, converts=self._converts)
        for change in late:
            with self.journal.tolerate(f"{task}: could not stage a copy of {change.path}"):
                self.staging.stage([change], run=self.journal.run, task=task, attempt=attempt)
        late_paths = tuple(change.path for change in late)
        index.place()
        self.journal.note(
            TaskLanded(
                commit=made.commit,
                tree=made.tree,
                paths=tuple(change.path for change in changes) if own is None else own,
                late=late_paths,
            ),
            task=task,
            attempt=attempt,
            durable=True,
        )
        return Landed(made.commit, made.tree, late_paths)


def complete_landing(lander: Lander, open_landing: Record) -> Landed | None:
    """Finish what a crash left between journal and tree; None when nothing had landed.

    The branch is asked, by the commit's trailers: found means landed. A commit that was made but
    never reached the branch is put there if the branch is still where it was.
    """
    event = open_landing.event
    if not isinstance(event, TaskLanding):
        return None
    repository = lander.repository
    head = repository.head()
    if not _is_branch(head, lander.journal.state.branch):
        return None  # it was to land on another branch than is checked out now
    if head.commit is None and event.parent:
        return None
    # Temporary file that `place` makes before the rename; no record has its name.
    for path in event.paths:
        sweep_below(lander.root, path)
    # By trailers, not by name alone: after the crash a person may have rebased or amended the
    # commit.
    found = (
        repository.find_landing(
            head.commit, open_landing.task, open_landing.attempt, since=event.parent or None
        )
        if head.commit
        else None
    )
    if found is None:
        reached = (head.commit or "") == event.parent and bool(event.commit)
        # `git gc` prunes unreferenced objects (two weeks, gc.pruneExpire): then the work is lost
        # and the task runs again.
        if not reached or repository.resolve(event.commit) is None:
            return None
        return _land_again(lander, open_landing, event, head)
    changes = changes_between(repository, event.parent or None, found)
    made = Made(found, event.tree, event.parent or None)
    own = note_members(repository, lander.journal, found, event.parent)
    if own is None and found != event.commit:
        own = _paths(repository, found)  # others' commits may stand between it and that parent now
    return lander.finish(open_landing.task, open_landing.attempt, made, changes, own)


def _land_again(
    lander: Lander, open_landing: Record, event: TaskLanding, head: Head
) -> Landed | None:
    """Land a commit that a crash kept from the branch; None where the branch refuses it."""
    repository = lander.repository
    made = Made(event.commit, event.tree, event.parent or None)
    changes = changes_between(repository, made.parent, made.commit)
    paths = [change.path for change in changes]
    with prepare_index(repository, head, paths, made.parent, made.commit) as index:
        try:
            if not move_branch(repository, head, event.commit, index=index):
                return None
        except remote.PublishError:
            return None
        own = note_members(repository, lander.journal, event.commit, event.parent)
        task, attempt = open_landing.task, open_landing.attempt
        return lander.finish(task, attempt, made, changes, own, index)


def _is_branch(head: Head, shown: str) -> bool:
    """Return whether HEAD is the one that the run started on; a detached head may move."""
    return head.shown == shown or (head.detached and shown.startswith("detached head"))


def changes_between(repository: Repository, base: str | None, commit: str) -> tuple[Change, ...]:
    """Return the changes from a base to a commit, with their bytes."""
    changes = []
    for entry in repository.diff_trees(base, commit):
        before = repository.content(entry.old_sha) if entry.old_mode else None
        after = repository.content(entry.new_sha) if entry.new_mode else None
        action = (
            Action.CREATE if before is None else Action.DELETE if after is None else Action.MODIFY
        )
        changes.append(
            Change(
                path=entry.path,
                action=action,
                mode=entry.new_mode,
                before=None if before is None else digest_of(before),
                after=None if after is None else digest_of(after),
                content=after,
            )
        )
    return tuple(changes)


def _message(task: Task, outcome: Outcome, review: str, project: str) -> str:
    """Return the commit message with the evidence of the task in trailers."""
    return build_message(
        subject(task.id, task.title, task.type),
        "",
        task_trailers(
            task.id,
            outcome.attempt,
            task.spec,
            outcome.proofs,
            grade=_grade(task, outcome),
            coverage=coverage_line(outcome.coverage),
            review=review,
            tools=tools_line(outcome.tools),
            project=project,
        ),
    )


def _grade(task: Task, outcome: Outcome) -> str:
    """Return the grade for the commit: `proven by tests`, `unproven: only documents`."""
    paths = [change.path for change in outcome.changes]
    return grade_of(outcome.proofs, none=without_proof(task.no_proof, paths)).words
