"""The session of one run, from lock to record commit: open its parts in order, close in reverse.

The runner's documents as they are committed, so that git can pull before the next run.

`git pull --rebase` refuses changed files, and untracked ones that the remote has. What a run wrote
into its documents and did not record is in the journal, and is written again by the next run.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import cached_property, partial
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner import effects
from runner.app.prove.verified_tree import Moment, carry_known, grades_in
from runner.errors import ExitCode, RunnerError
from runner.held_out.part import split_task
from runner.held_out.workspace import as_changes
from runner.history import change, revert
from runner.history.change import ChangeContext, ChangesDocument, QuotedPlan, Quotes
from runner.journal.events import TaskDone, TaskLanded
from runner.journal.lock import RunLock
from runner.journal.log import Journal
from runner.journal.records import read_journal
from runner.lazy_module import lazy_module
from runner.model import Change, Status, digest_of
from runner.plan.edit import set_statuses
from runner.plan.patterns import PatternIndex
from runner.project import BUILD, PATTERNS
from runner.repo.head import find_waiting_above
from runner.repo.index_lock import free_dead_locks
from runner.repo.trailers import WAIVED
from runner.report.checkpoint import CheckpointDocument
from runner.report.decisions_file import DecisionsDocument, IgnoreDocument
from runner.report.results import Manifest
from runner.report.task_report import ReportsDocument
from runner.run import crash_cleanup, recovery
from runner.run.crash_cleanup import WANTED, UnfinishedRuns, format_checked_line
from runner.run.journal_writer import JournalWriter, finish
from runner.run.landing.drafts import let_go
from runner.run.landing.lander import Lander
from runner.run.landing.manual_commit import ManualCommit
from runner.run.landing.record_commit import LastRecord, follow, record
from runner.run.landing.status_writer import OwnershipDocument, PlanDocument
from runner.run.outcome_recorder import Scans
from runner.text.wording import plural
from runner.writes.log import WriteLog
from runner.writes.staging import Staging

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    from runner.app.build import build_branch
    from runner.held_out.store import HeldOutFolders
    from runner.journal.events import Event, Record
    from runner.journal.state import RunState
    from runner.model import Change, Decision, Graded, Task
    from runner.project import Project
    from runner.repo import remote
    from runner.repo.head import Head
    from runner.repo.read import Repository
    from runner.run.journal_writer import Listener
    from runner.run.landing.branch_lease import BranchLease
    from runner.run.landing.record_commit import RunDocument
    from runner.run.reconcile import Facts
else:
    build_branch = lazy_module("runner.app.build.build_branch")
    remote = lazy_module("runner.repo.remote")

_ATTEMPTS = frozenset({"attempt.started", "attempt.finished", "task.landed"})
"""Records of who made an attempt, its result and the files that landed."""


class Session(Struct, dict=True):
    """A run in progress; use it as a context, so that lock, slots and journal are given back."""

    project: Project
    tasks: Sequence[Task]
    """The plan's tasks, used by the documents."""
    listeners: Sequence[Listener] = ()
    landed: int = 0
    """Number of commits of this run."""
    checked: list[str] = field(default_factory=list)
    """Tasks that this run proved without changes: they have no commit of their own."""
    waived: list[str] = field(default_factory=list)
    """Waivers of this run, as listed in its record commit."""
    decided: set[tuple[str, Decision]] = field(default_factory=set)
    """Decisions of tasks that a killed run already recorded."""
    lease: BranchLease | None = None
    """Lease under which the remote's branch moves first, if landings are published."""
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        """Take the lock, open the journal, finish what a crash left. Raises RunnerError."""
        folder = self.project.root / BUILD
        try:
            # First of all: a process without the lock must repair no journal and remove no lock of
            # git's.
            self._stack.enter_context(RunLock(folder))
            self.journal_file = self._stack.enter_context(
                Journal.open(self.project.journal_path, run=effects.new_id())
            )
            self.repository = self._stack.enter_context(self.project.open_repository())
            self.journal = JournalWriter(self.journal_file, self.project.state())
            self._finish_left_index()
            self.began = effects.monotonic()
            waits = self.shadow.begin(self.journal)
            # Before reading the branch: a commit left only in the remote by a crash moves it.
            self._take_lease()
            self.branch: Head = self.repository.head()
            self._stack.callback(self._documents_written)
            crashed = self.journal.state.run_open
            if crashed:
                # Before recovery: what it lands gets its rows after these.
                self._own(self._load_unfinished())
            self._listen()
            self.recovered = recovery.recover(self.lander, self.journal) or waits
            recovery.finish_landed(self.journal)
            if crashed:
                # Read again: the journal now includes what was just recovered.
                self._repair_documents(self._load_unfinished())
            elif self.journal.state.unrecorded and self._is_recorded():
                story = self._load_unfinished()
                self.checked = crash_cleanup.find_unrecorded_checks(self.repository, story)
                self._own(story)
        # Python does not call exit if enter raises ("With Statement Context Managers"), even on
        # Ctrl-C: lock and lease would remain.
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _finish_left_index(self) -> None:
        """Finish the landing of a killed run that still holds the index, or remove its lock."""
        folders = self.repository.folders
        free_dead_locks(folders.git)
        if os.path.lexists(folders.git / "index.lock"):
            crash_cleanup.finish_left_index(folders, lambda: self.journal.state.open_landing)

    def _take_lease(self) -> None:
        """Acquire the lease of the remote branch. Raises RunnerError if it cannot be acquired.

        What a crash left in the remote alone comes here first: the rest is as for any crash.
        """
        if self.project.settings.git.publish:
            lease = build_branch.open_session_lease(self.project, self.repository, self.journal.run)
            lease.doing = plural(len(self.tasks), "task")
            try:
                self.lease = self._stack.enter_context(lease)
            except RunnerError as error:
                if isinstance(error, remote.PublishError) and error.code is ExitCode.CONFLICT:
                    self._make_way()
                raise
            build_branch.begin_under(lease, self.repository, self.journal)

    def take_in(self, tasks: Sequence[Task]) -> tuple[Facts, frozenset[str]]:
        """Note what plan and git say that the journal does not know yet; see `recovery.take_in`."""
        return recovery.take_in(self.repository, self.journal, tasks, self.project.plan_file)

    def _make_way(self) -> None:
        """Restore unrecorded documents of a run so that `git pull` does not refuse."""
        documents = (self.ownership, self.checkpoint)
        put_back_documents(self.project, self.repository, self.journal.state, documents)

    def confirm_lease(self, say: Callable[[str], object]) -> frozenset[ExitCode]:
        """Return the exit codes of a lost branch, and explain the loss; empty while it is ours."""
        return build_branch.confirm(self.lease, self.journal, say) if self.lease else frozenset()

    def _listen(self) -> None:
        exclude = self.repository.folders.common / "info" / "exclude"
        crash_cleanup.sweep(self.project.root, (*self.own_documents, str(exclude)))
        with self.journal.tolerate(self.ignore.path):
            self.ignore.exclude()
        self.checkpoint.know(self.by_id, self.journal.state)
        self.reports.know(self.by_id, self.journal.state)
        self.journal.listen(self._remember)
        for document in (self.checkpoint, self.decisions):
            self.journal.listen(document.hear, document.path)
        self.journal.listen(self.reports.hear, "report of a blocked task")
        for listener in (self.manifest.hear, *self.listeners):
            self.journal.listen(listener)
        with self.journal.tolerate(self.checkpoint.path):
            self.checkpoint.catch_up(self.journal)

    def _remember(self, record: Record, state: RunState) -> None:
        """Record the files of a landed task as its own, and note tasks that wrote none."""
        del state
        event = record.event
        if self.lease is not None and record.task:
            self.lease.doing = f"{record.task} of {len(self.tasks)}"
        if isinstance(event, TaskLanded):
            self.landed += 1
            self.ownership.add(record.task, event.paths)
        elif isinstance(event, TaskDone) and not event.commit:
            self.checked.append(format_checked_line(record))

    def _grades(self) -> Mapping[str, Graded]:
        return grades_in(self.project, self.tasks, self.journal.state, self.repository)

    def _load_unfinished(self) -> UnfinishedRuns:
        return UnfinishedRuns.of(read_journal(self.project.journal_path, wanted=WANTED))

    def _own(self, story: UnfinishedRuns) -> None:
        """Add ownership rows that a killed run may have missed, in landing order."""
        for (task, _), landed in story.landed.items():
            self.ownership.add(task, landed.paths)

    def _repair_documents(self, story: UnfinishedRuns) -> None:
        """Write what a killed run did and had not yet recorded into each of its documents."""
        follow(self.repository, sorted(self.own_documents), self.journal.state.recorded_head)
        crash_cleanup.sweep_temporary_folders()
        for one in story.changes:
            change.complete(self.context, one)
        if story.moving is not None:
            revert.finish(self.lander, story.moving)
        crash_cleanup.adopt_unknown(self.lander, self.journal, story)
        commits = {which: landed.commit for which, landed in story.landed.items()}
        with self.journal.tolerate("documents of a killed run"):
            crash_cleanup.close_writes(WriteLog(self.project.root), self.journal, commits)
            self.decisions.catch_up(story.decisions)
        self.decided = story.decided
        self.checked = crash_cleanup.find_unrecorded_checks(self.repository, story)

    def _documents_written(self) -> None:
        with self.journal.tolerate(self.ownership.path):
            self.ownership.write()

    # --- the parts --------------------------------------------------------------------

    @cached_property
    def by_id(self) -> Mapping[str, Task]:
        """The plan's tasks by id, for all who tell of them."""
        return {task.id: task for task in self.tasks}

    @cached_property
    def ignore(self) -> IgnoreDocument:
        """`artifacts/build/.gitignore`, for the files of a run."""
        return IgnoreDocument(self.project.root)

    @cached_property
    def checkpoint(self) -> CheckpointDocument:
        """CHECKPOINT.md, drawn from the journal."""
        return CheckpointDocument(
            self.project.root,
            self.project.settings.build.checkpoint_every,
            self._note,
            self.scans.find_counts,
            lambda pattern: self.pattern_titles.get(pattern, ""),
            sync=self.journal.sync,
            sync_lines=lambda: self.journal.sync(everything=True),
            attempts=lambda: read_journal(self.project.journal_path, wanted=_ATTEMPTS),
        )

    @cached_property
    def decisions(self) -> DecisionsDocument:
        """DECISIONS.md, of it the entries that tasks made."""
        return DecisionsDocument(self.project.root)

    @cached_property
    def reports(self) -> ReportsDocument:
        """Report document of tasks that an attempt left BLOCKED."""
        return ReportsDocument(self.project.root)

    @cached_property
    def manifest(self) -> Manifest:
        """The run's manifest: what it was asked to do and did."""
        loaded = self.project.loaded
        settings = {name: str(loaded.value_of(name)) for name in loaded.list_given()}
        return Manifest(self.project.root, settings)

    @cached_property
    def context(self) -> ChangeContext:
        """Context that records specification changes: CHANGES.md and quotes."""
        project = self.project
        return ChangeContext(
            journal=self.journal,
            document=ChangesDocument(project.root),
            quotes=Quotes(project.settings.build.id_prefixes),
            plan=project.root / project.plan_path,
        )

    @cached_property
    def ownership(self) -> OwnershipDocument:
        """FILE_OWNERSHIP_MAP.md."""
        journal = self.project.journal_path
        return OwnershipDocument(self.project.root, lambda: crash_cleanup.all_landings(journal))

    @cached_property
    def patterns(self) -> PatternIndex:
        """PATTERN_INDEX.md, as it was when the run began."""
        file = self.project.root / PATTERNS
        return PatternIndex.read(file.read_bytes() if file.is_file() else b"")

    @cached_property
    def pattern_titles(self) -> dict[str, str]:
        """Titles of the patterns by id."""
        return {pattern.id: pattern.title for pattern in self.patterns.patterns}

    @cached_property
    def scans(self) -> Scans:
        """Static analysis that runs behind."""
        return Scans(self.project.root)

    @cached_property
    def staging(self) -> Staging:
        """Writes that wait for a review."""
        return Staging(self.project.root)

    def let_go(self, task: str) -> None:
        """Discard the held changes of a task."""
        with self.journal.tolerate(f"cannot remove the held files of {task}"):
            let_go(self.repository, task)
            self.staging.remove(self.staging.list(task))

    @cached_property
    def lander(self) -> Lander:
        """Lander that commits accepted outcomes to the branch."""
        return Lander(
            root=self.project.root,
            repository=self.repository,
            journal=self.journal,
            staging=self.staging,
            branch=self.branch,
            own_documents=self.own_documents,
            held_out=self._list_landing,
            catch_up=self.shadow.catch_up,
        )

    @cached_property
    def shadow(self) -> ManualCommit:
        """Record of landed changes that wait for a person's commit in manual commit mode."""
        manual = self.project.settings.git.commit == "manual"
        return ManualCommit(self.repository, self.own_documents, manual=manual)

    def head(self) -> Head:
        """Return the head that new work starts from."""
        here = self.repository.find_head()
        if self.shadow.catch_up(here):
            return self.repository.head()
        above = find_waiting_above(here)
        return replace(here, commit=above, beneath=here.commit) if above else here

    @cached_property
    def held_out(self) -> HeldOutFolders | None:
        """Folders of held-out files; None if the plan holds out none."""
        held = any(one.held_out_contracts or one.test_author for one in self.tasks)
        return self.project.held_out if held else None

    def drop_landed(self, task: Task) -> None:
        """Remove held-out files from the store that the branch has: they are public now."""
        head = self.repository.head().commit
        if self.held_out is None or not head:
            return
        with self.journal.tolerate(f"landed files of {task.id} stay in the held-out store"):
            for one in task.held_out_files:
                blob = self.repository.blob(head, one.path)
                if blob is not None and digest_of(blob) == one.digest:
                    self.held_out.store.drop(task.id, one.path)

    def _list_landing(self, task: Task, base: str) -> tuple[Change, ...]:
        """Return the held-out files to land with a task. Raises MissingFilesError."""
        if self.held_out is None or not self.project.settings.proof.held_out_land:
            return ()
        _, part = split_task(task, partial(self.repository.has_file, base))
        return as_changes(self.held_out.store.read_all(replace(task, held_out_files=part.files)))

    @property
    def own_documents(self) -> frozenset[str]:
        """Files that the runner writes into: they may be dirty, and move no task's base."""
        return self.project.documents

    def _note(self, event: Event, task: str) -> None:
        self.journal.note(event, task=task)

    def _find_waiting(self) -> dict[str, str]:
        """Return the notes of PENDING tasks by id, such as those of an undo or a replay."""
        tasks = self.journal.state.tasks.values()
        return {one.id: one.note for one in tasks if one.status is Status.PENDING and one.note}

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return effects.monotonic() - self.began

    def on_close(self, callback: Callable[[], object]) -> None:
        """Register a callback to run before the lock is released, last one first."""
        self._stack.callback(callback)

    def write_closing_record(
        self,
        plan: PlanDocument,
        ids: Sequence[str],
        code: ExitCode,
        publish: Callable[[ExitCode], ExitCode] | None = None,
        *,
        by_person: bool = False,
    ) -> ExitCode:
        """Write the documents, commit them as the record, and say in the journal how it ended.

        `publish` moves the remote between the two, where that is still to be done. A run that built
        nothing leaves no record; a person's decision (`by_person`) does.
        """
        found = Moment.of(self.repository.head().commit, self.journal)
        self._documents_written()
        # Before the checkpoint, which counts static analysis findings.
        with self.journal.tolerate("static analysis"):
            self.scans.collect(wait=True)
        with self.journal.tolerate(self.checkpoint.path):
            self.checkpoint.close(self.journal)
        self.shadow.catch_up()
        is_due = self._is_recorded() and (by_person or self._has_built(plan))
        commit = self._record(plan) if is_due else None
        # After the record commit, so that one push includes it.
        code = publish(code) if publish else code
        head = commit or self.repository.head().commit or ""
        now = Moment.of(head, self.journal)
        # Only if the record commit was added on top of the checked commit: one that replaced the
        # last record has a different parent.
        if commit and self.repository.parents_of(commit) == (found.head,):
            carry_known(self.project, found, now)
        run, ending = self.journal.run, (int(code), head, self.elapsed)
        # Before the journal records the end of the run: after that a file lost to a kill would not
        # be noticed.
        with self.journal.tolerate("summary of the run"):
            self.manifest.write(self.journal.state, run, *ending, self._grades)
        stopped = self.lease is not None and bool(self.lease.trouble) and not commit
        untold = bool(self.checked) or (stopped and self.landed > 0)
        finish(
            self.journal,
            exit_code=code,
            head=head,
            began=self.began,
            ids=ids,
            unrecorded=commit is None and (untold or self.journal.state.unrecorded),
            record=commit or "",
        )
        carry_known(self.project, now, Moment.of(head, self.journal))
        if stopped and self.lease is not None and self.lease.lost_to is None:
            with self.journal.tolerate("documents before a pull"):
                self._make_way()
        return code

    def _is_recorded(self) -> bool:
        """Return whether this run ends with a record commit.

        Not before the person committed the plan: a first try leaves no commit of ours behind.
        """
        if self.project.settings.git.record == "never":
            return False
        head = self.repository.head()
        if head.beneath is not None or not head.commit:
            return head.beneath is not None
        return self.repository.blob(head.commit, self.project.plan_path) is not None

    def _has_built(self, plan: PlanDocument) -> bool:
        """Return whether the committed plan would be wrong of what is DONE, or lack a proof."""
        if self.landed or self.checked or self.waived:
            return True
        head = self.repository.head().commit or ""
        there = self.repository.blob(head, self.project.plan_path) or b""
        now = plan.edited(there, plan.statuses())
        return now != there and self._list_done(now) != self._list_done(there)

    def _list_done(self, text: bytes) -> dict[str, str]:
        """Return the DONE tasks in a text of the plan, with what each is worth."""
        tasks = self.project.plan(text).tasks
        return {task.id: task.note for task in tasks if task.status is Status.DONE}

    def _record(self, plan: PlanDocument) -> str | None:
        documents = (
            QuotedPlan(plan, self.context.quotes, self._find_waiting, self.project.plan),
            *(self.ownership, self.checkpoint, self.decisions, self.context.document, self.ignore),
        )
        trailers = [("Checked", line) for line in self.checked]
        trailers += [(WAIVED, line) for line in self.waived]
        state = self.journal.state
        proven = {one.base for one in state.tasks.values() if one.status is Status.DONE}
        last = LastRecord(state.recorded_head, proven)
        is_new = self.ignore.write()
        commit = record(self.repository, self.project.root, self.branch, documents, trailers, last)
        if is_new and commit is None:
            self.ignore.withdraw()
        return commit


def put_back_documents(
    project: Project, repository: Repository, state: RunState, made: tuple[RunDocument, ...]
) -> None:
    """Restore the plan and the `made` documents if only the runner changed them.

    `made` are documents that the runner makes and draws from the journal.
    """
    head = repository.find_head().commit
    if head is None:
        return
    plan = project.root / project.plan_path
    working, committed = plan.read_bytes(), repository.blob(head, project.plan_path)
    if committed is not None and _has_only_our_statuses(project, state, committed, working):
        effects.write_file(plan, committed, mode=effects.mode_of(plan), expected=working)
    for document in made:
        file = project.root / document.path
        if not (file.is_file() and document.ours):
            continue
        before = repository.blob(head, document.path)
        if before is None:
            effects.unlink(file)
        else:
            effects.write_file(file, before, mode=effects.mode_of(file))


def _has_only_our_statuses(
    project: Project, state: RunState, committed: bytes, working: bytes
) -> bool:
    before = {task.id: (task.status, task.note) for task in project.plan(committed).tasks}
    now = {task.id: (task.status, task.note) for task in project.plan(working).tasks}
    if before.keys() != now.keys():
        return False
    changed = {id_: status for id_, status in now.items() if status != before[id_]}
    if any(status is not state.task(id_).status for id_, (status, _) in changed.items()):
        return False
    prefixes = project.settings.build.id_prefixes
    return set_statuses(committed, changed, prefixes=prefixes) == working
