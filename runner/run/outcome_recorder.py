"""Record an outcome in the journal and the write log, and preserve its work.

Static analysis that runs behind the tasks: its findings are kept when they come.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner.journal.events import AttemptFinished, DecisionMade, TaskBlocked, TaskDone
from runner.model import Ending, Reason, Usage
from runner.repo.refs import drop_drafts
from runner.run.landing import drafts
from runner.run.landing.status_writer import why_unproven
from runner.writes.log import Fate
from runner.writes.log import WriteReview as Approval
from runner.writes.sast import record_findings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from runner.journal.task_state import HeldWork
    from runner.model import Decision, Digest, Finding, Outcome, Task
    from runner.repo.read import Repository
    from runner.run.journal_writer import JournalWriter
    from runner.writes.log import WriteLog
    from runner.writes.sast import SastScan
    from runner.writes.sast_report import SastReport
    from runner.writes.staging import Staging


_WRITE_LOG = "could not record writes in WRITE_LOG.jsonl"


class OutcomeRecorder(Struct):
    """Writes down what became of work; decides nothing."""

    journal: JournalWriter
    repository: Repository
    staging: Staging
    write_log: WriteLog
    next_decision: Callable[[int], int]
    """Returns the number of the next decision, after those in the journal and the file."""
    applied: dict[str, tuple[str, ...]]
    """IDs of the patterns in each task's brief."""
    decided: set[tuple[str, Decision]] = field(default_factory=set)
    """Recorded pairs of task and decision: a proof or a new attempt may repeat them."""
    observe: Callable[[str, Outcome], None] | None = None
    """Stores which files and lines the tests of a newly DONE task ran."""
    drop_held_out: Callable[[Task], None] | None = None
    """Deletes a task's held-out files from the store, once its commit has them."""
    held_before: Mapping[str, HeldWork] = field(default_factory=dict)
    """Held work of tasks, from before this run read anything."""
    _recorded: dict[str, tuple[int, tuple[tuple[str, Digest | None], ...]]] = field(
        default_factory=dict
    )
    """Last attempt and writes of each task in the write log."""
    _unwritten: list[Callable[[], None]] = field(default_factory=list)
    """Write log entries that could not be appended yet, oldest first."""
    _tried: set[str] = field(default_factory=set)
    """Tasks with a ref to the work of a failed attempt."""

    # --- an attempt -------------------------------------------------------------------

    def record_finished(
        self, task: Task, outcome: Outcome, *, held: str = "", ref: str = "", draft: str = ""
    ) -> None:
        """Record the end of an attempt; `held` is why passing work may not land now."""
        self.journal.note(
            AttemptFinished(
                ending=outcome.ending,
                tree=outcome.tree,
                seconds=outcome.seconds,
                reason=outcome.reason,
                findings=outcome.findings,
                proofs=outcome.proofs,
                decisions=len(outcome.decisions),
                held=held,
                ref=ref,
                draft=draft,
                summary=outcome.summary,
                coverage=outcome.coverage,
                usage=outcome.usage if outcome.usage != Usage() else None,
                failure=outcome.failure,
                unproven=self._explain_unproven(task, outcome),
            ),
            task=task.id,
            attempt=outcome.attempt,
            # A passed check is followed by its DONE, which also syncs this record.
            durable=bool(outcome.changes) or outcome.ending is not Ending.PASSED,
        )

    def record_interrupted(self, task: Task) -> None:
        """Record an attempt that was ended from outside, which does not count."""
        known = self.journal.state.task(task.id)
        attempt = known.open_attempt.attempt if known.open_attempt else known.last_attempt
        event = AttemptFinished(ending=Ending.INTERRUPTED, tree="", seconds=0.0)
        self.journal.note(event, task=task.id, attempt=attempt, durable=True)

    def decisions(self, task: Task, outcome: Outcome) -> None:
        """Record the decisions of an outcome before it lands, each once per run."""
        for decision in outcome.decisions:
            if (task.id, decision) in self.decided:
                continue
            self.decided.add((task.id, decision))
            number = self.next_decision(self.journal.state.decisions)
            event = DecisionMade(number=number, decision=decision)
            self.journal.note(event, task=task.id, attempt=outcome.attempt, durable=True)

    def keep_tried(self, task: Task, outcome: Outcome) -> None:
        """Save the work of a failed attempt, since later ones may produce none."""
        with self.journal.tolerate(f"{task.id}: could not save the work of its attempt"):
            if drafts.keep_tried(self.repository, task, outcome):
                self._tried.add(task.id)

    def keep_draft(self, task: Task, outcome: Outcome) -> str:
        """Save rejected work on a draft branch; returns the branch or empty."""
        with self.journal.tolerate(f"{task.id}: could not save its work on a draft branch"):
            return drafts.keep_draft(self.repository, task, outcome)
        return ""

    def _drop_tried(self, task: Task) -> None:
        if task.id in self._tried:
            self._tried.discard(task.id)
            with self.journal.tolerate(f"{task.id}: an old attempt remains in refs/runner/tried"):
                drafts.drop_tried(self.repository, task.id)

    # --- its writes -------------------------------------------------------------------

    def record_approved(self, task: Task, outcome: Outcome, how: str) -> None:
        """Write down what was approved, once an attempt: a second proof approves nothing new."""
        writes = tuple((change.path, change.after) for change in outcome.changes)
        if self._recorded.get(task.id) == (outcome.attempt, writes):
            return
        self._unwritten.append(
            partial(
                self.write_log.record,
                outcome.changes,
                run=self.journal.run,
                task=task.id,
                attempt=outcome.attempt,
                review=Approval(how),
            )
        )
        self.catch_up()
        self._recorded[task.id] = (outcome.attempt, writes)

    def close_writes(self, outcome: Outcome, fate: Fate, commit: str = "") -> None:
        """Record the fate of approved writes."""
        self._recorded.pop(outcome.task, None)
        self._close(outcome.task, outcome.attempt, fate, commit)

    def drop_left(self, task: str) -> None:
        """Record the writes that this run approved as dropped, unless they are held."""
        approved = self._recorded.pop(task, None)
        if approved:
            self._drop(task, approved[0])

    def drop_released(self) -> None:
        """Record writes that were held at the start and no longer are as dropped."""
        for task, held in self.held_before.items():
            # work waiting for a review, an author, or the tasks it breaks is not approved yet
            if held.kind not in (Reason.REVIEW, Reason.TEST_AUTHOR, Reason.REGRESSION):
                self._drop(task, held.attempt)
        self.held_before = {}
        self.catch_up()

    def _drop(self, task: str, attempt: int) -> None:
        held = self.journal.state.task(task).held
        if held is None or held.attempt != attempt:
            self._close(task, attempt, Fate.DROPPED)

    def _close(self, task: str, attempt: int, fate: Fate, commit: str = "") -> None:
        run = self.journal.run
        self._unwritten.append(
            partial(
                self.write_log.close, run=run, task=task, attempt=attempt, fate=fate, commit=commit
            )
        )
        self.catch_up()

    def catch_up(self) -> None:
        """Append to the write log, in order, what a full disk may have kept from it before."""
        with self.journal.tolerate(_WRITE_LOG):
            while self._unwritten:
                self._unwritten[0]()
                self._unwritten.pop(0)

    # --- the task ---------------------------------------------------------------------

    def record_done(
        self, task: Task, outcome: Outcome, *, commit: str, tree: str, note: str = ""
    ) -> None:
        """Record that a task is DONE, with its evidence."""
        self.decisions(task, outcome)
        drafted = bool(self.journal.state.task(task.id).draft)
        self.journal.note(
            TaskDone(
                spec=task.spec,
                commit=commit,
                tree=tree,
                proofs=outcome.proofs,
                coverage=outcome.coverage,
                patterns=self.applied.get(task.id, ()),
                note=note,
                tools=dict(outcome.tools),
                unproven=self._explain_unproven(task, outcome),
            ),
            task=task.id,
            attempt=outcome.attempt,
            durable=True,
        )
        self._drop_tried(task)
        if drafted:
            with self.journal.tolerate(f"{task.id}: could not delete its draft branch"):
                drop_drafts(self.repository, task.id)
        if self.observe:
            self.observe(task.id, outcome)
        if self.drop_held_out and task.held_out_files and commit:
            self.drop_held_out(task)

    def _explain_unproven(self, task: Task, outcome: Outcome) -> str:
        """Return why work that passed is unproven, for the status note."""
        if outcome.ending is not Ending.PASSED:
            return ""
        return why_unproven(task, outcome.proofs, outcome.changes, self.journal.state.tasks)

    def hold(
        self,
        task: Task,
        outcome: Outcome,
        kind: str,
        note: str,
        reason: Reason = Reason.REVIEW,
    ) -> None:
        """Keep proven changes, which land later without calling the implementer again."""
        if self.keep_held(task, outcome, kind):
            event = TaskBlocked(reason=reason, note=note)
            self.journal.note(event, task=task.id, attempt=outcome.attempt, durable=True)

    def keep_held(self, task: Task, outcome: Outcome, kind: str, draft: str = "") -> bool:
        """Save proven changes under a ref and as files for a person.

        False where no ref can be made: the task is blocked, and the next run builds it again.
        """
        # The ref before the record that names it: otherwise a kill would leave a record of
        # unreferenced objects, which `git gc` deletes.
        ref = ""
        with self.journal.tolerate(f"{task.id}: could not save its proven work"):
            ref = drafts.hold(self.repository, task, outcome)
        if not ref:
            self.record_finished(task, replace(outcome, ending=Ending.FAILED))
            self.block(task, outcome, Reason.TOOL, "the runner could not save its proven work")
            return False
        with self.journal.tolerate(
            f"{task.id}: could not copy its proven work to artifacts/build/staged"
        ):
            self.staging.stage(
                outcome.changes, run=self.journal.run, task=task.id, attempt=outcome.attempt
            )
        self.record_finished(task, outcome, held=kind, ref=ref, draft=draft)
        self.decisions(task, outcome)
        return True

    def let_go(self, task: str) -> None:
        """Delete held work that has landed."""
        with self.journal.tolerate(f"{task}: could not remove its held work from refs/runner/held"):
            drafts.let_go(self.repository, task)
        with self.journal.tolerate(f"{task}: could not remove its staged copies"):
            self.staging.remove(self.staging.list(task))

    def block(self, task: Task, outcome: Outcome, reason: Reason, note: str) -> None:
        """Block a task and save its work on a draft branch."""
        branch, findings = self.keep_draft(task, outcome), outcome.findings
        if not branch:
            branch, findings = self._of_before(task, outcome)
        note = f"{note}; work kept on {branch}" if branch else note
        self.journal.note(
            TaskBlocked(reason=reason, note=note, draft=branch, findings=findings),
            task=task.id,
            attempt=outcome.attempt,
            durable=True,
        )
        self._drop_tried(task)

    def _of_before(self, task: Task, outcome: Outcome) -> tuple[str, tuple[Finding, ...]]:
        """Return the branch of an earlier attempt's work, if any, and the open findings."""
        known = self.journal.state.task(task.id)
        branch, attempts = "", {one.attempt for one in known.tries}
        with self.journal.tolerate(f"{task.id}: could not save its work on a draft branch"):
            branch = drafts.draft_of_tried(self.repository, task, attempts)
        if branch:
            self._tried.add(task.id)  # perhaps by a run before this one
        open_still = (one for one in known.findings if one not in outcome.findings)
        return branch, (*outcome.findings, *(open_still if branch else ()))


# --- scans behind the tasks -----------------------------------------------------------


class Scans(Struct):
    """The scans of one run, by task and attempt."""

    root: Path
    _open: dict[tuple[str, int], SastScan] = field(default_factory=dict)
    _counts: dict[str, tuple[int, dict[str, int] | str]] = field(default_factory=dict)
    """Newest attempt of each task with a finished scan, and its findings by severity."""

    def add(self, task: str, attempt: int, scan: SastScan) -> None:
        """Add a scan that has started, unless it has no files."""
        if scan.pending:
            self._open[task, attempt] = scan

    def collect(self, *, wait: bool = False) -> None:
        """Write down what has come; with `wait`, all of it: a run does not end before its scans."""
        for (task, attempt), scan in tuple(self._open.items()):
            if not wait and not scan.is_ready():
                continue
            del self._open[task, attempt]
            report = scan.result()
            record_findings(self.root, report, task=task, attempt=attempt)
            # Scans end in any order, and an older attempt's must not replace a newer one's.
            if attempt >= self._counts.get(task, (0, {}))[0]:
                self._counts[task] = attempt, _describe(report) if report.unread else report.counts

    def find_counts(self, task: str) -> dict[str, int] | str | None:
        """Return findings and notes by severity, `pending`, a message, or None if not scanned.

        In words where no analyser looks at some of its files.
        """
        self.collect()
        if any(open_task == task for open_task, _ in self._open):
            return "pending"
        known = self._counts.get(task)
        return None if known is None else known[1]


def _describe(report: SastReport) -> str:
    found = (report.summary,) if report.counts else ()
    return "; ".join((*found, *report.unread))
