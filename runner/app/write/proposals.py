"""Stage a write that a person proposes, then apply it or refuse it with a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from runner import effects
from runner.app.write import static_checks
from runner.app.write.staged_states import (
    BY_HAND,
    StagedState,
    Standings,
    list_decided,
)
from runner.app.write.workplace import display_path, journal_path
from runner.errors import ExitCode, RunnerError
from runner.journal.events import (
    TaskApproved,
    TaskFailed,
    WriteRejected,
    WriteReviewed,
    WriteStaged,
)
from runner.journal.records import read_journal
from runner.journal.state import fold
from runner.languages.registry import language_of, row_named
from runner.model import Action, Change, Finding, Status, digest_of
from runner.report import decisions_file
from runner.run import review
from runner.secrets import scan
from runner.secrets.redact import redact
from runner.writes import sast, sast_report, suppressions
from runner.writes.log import Fate, WriteLog, WriteReview
from runner.writes.paths import check_path, is_forbidden, scope_finding
from runner.writes.safe_io import (
    in_the_way,
    mode_below,
    read_below,
    unlink_below,
    write_below,
)
from runner.writes.staging import Staging

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.app.write.workplace import Workplace
    from runner.journal.events import Event
    from runner.model import Task
    from runner.writes.sast_report import SastReport
    from runner.writes.staging import Staged

_PROPOSED, _EDITED = "by-hand", "by-hand-edited"
_PLAIN = 0o100644


class ProposalResult(Struct, frozen=True):
    """The result of a proposal: staged, or refused with findings."""

    findings: tuple[Finding, ...] = ()
    """Findings that reject it, or that a person should see with the change."""
    staged: Staged | None = None
    replaced: str = ""
    """ID of the proposal that it replaces."""


class Applied(Struct, frozen=True):
    """The result of approving one staged write."""

    staged: Staged
    report: SastReport | None = None
    """Static analysis of a manual write, which is now in the tree."""
    left: tuple[str, ...] = ()
    """Paths of a run's proposal still pending: it lands once they are approved too."""

    @property
    def is_written(self) -> bool:
        """Whether the file has the bytes; else they land with the next run."""
        return self.report is not None


class Proposals(Struct, frozen=True):
    """The writes by hand of one workplace."""

    workplace: Workplace

    @property
    def staging(self) -> Staging:
        """Staging area of the workplace."""
        return Staging(self.workplace.root)

    def standings(self) -> Standings:
        """Return the states of all staged writes."""
        state = fold(read_journal(journal_path(self.workplace.root)))
        return Standings(self.workplace.root, state, self.staging.list())

    def list(self, task: str = "") -> tuple[tuple[Staged, StagedState], ...]:
        """Return staged and recently decided writes with their states, optionally of one task."""
        wanted = self.workplace.task(task)[0] if task else ""
        standings = self.standings()
        there = {one.id for one in standings.staged}
        known = [(one, standings.of(one)) for one in standings.staged]
        known += [one for one in list_decided(self.staging) if one[0].id not in there]
        return tuple(one for one in known if wanted in {"", one[0].task})

    def is_conflicting(self, change: Change) -> bool:
        """Return whether the file has changed since the change was staged."""
        return bool(in_the_way(self.workplace.root, (change,)))

    def current(self, path: str) -> bytes | None:
        """Return the current content of a file, or None if it does not exist."""
        return read_below(self.workplace.root, path)

    # --- proposing --------------------------------------------------------------------

    def propose(self, task: str, path: str, content: bytes) -> ProposalResult:
        """Propose a file's new content for a task, both as a person types them.

        Raises RunnerError for a path that no task could ever write.
        """
        return self._propose(*self.workplace.task(task), self.workplace.path_of(path), content)

    def _propose(
        self, task_id: str, task: Task | None, path: str, content: bytes, *, edited: bool = False
    ) -> ProposalResult:
        """Check a proposed content and stage it; rejected content is not stored anywhere.

        Raises RunnerError for a path that no task could ever write.
        """
        change = self._change(path, content)
        findings = (*self._secrets(change), *self._scope(change, task_id, task))
        if any(finding.refuses for finding in findings):
            return ProposalResult(findings)
        if change.before == change.after:
            raise RunnerError(
                "the file already has this content",
                where=path,
                hint="there is nothing to review",
                code=ExitCode.OK,
            )
        # First: git must never see staged files, which a person may still reject.
        self._ignore_run_files()
        staged_by_hand = (one for one in self.staging.list(task_id) if one.attempt == BY_HAND)
        before = next((one for one in staged_by_hand if one.path == path), None)
        run = _EDITED if edited else _PROPOSED
        (staged,) = self.staging.stage((change,), run=run, task=task_id, attempt=BY_HAND)
        event = WriteStaged(
            path, change.action, change.mode, change.before, change.after, len(content), staged.id
        )
        self._journal(staged, event)
        replaced = "" if before is None or edited or before.id == staged.id else before.id
        if before is not None and replaced:
            self.staging.remember(before, StagedState.REPLACED)
        found = (*findings, *self.remarks(change))
        found += static_checks.compile_in_project(change, self.workplace)
        return ProposalResult(found, staged, replaced)

    def remarks(self, change: Change) -> tuple[Finding, ...]:
        """Return the findings for a person's decision: compile errors and suppression markers."""
        found = static_checks.compile_single_file(change, self.workplace)
        return (*found, *suppressions.marker_findings(change, self.current(change.path)))

    def _change(self, path: str, content: bytes) -> Change:
        refusal = check_path(path, _PLAIN)
        if refusal is not None and refusal.refuses:
            raise RunnerError(
                redact(refusal.message), hint=f"{refusal.hint}, relative to the project's folder"
            )
        before = self.current(path)
        mode = mode_below(self.workplace.root, path) or _PLAIN
        action = Action.CREATE if before is None else Action.MODIFY
        old = None if before is None else digest_of(before)
        return Change(path, action, mode, old, digest_of(content), content)

    def _secrets(self, change: Change) -> tuple[Finding, ...]:
        allowed = self.workplace.load_allow_list()
        return scan.scan_content(change.content or b"", change.path, allowed=allowed)

    def _scope(self, change: Change, task_id: str, task: Task | None) -> tuple[Finding, ...]:
        """Check the scope; outside of the plan only the runner's own files are forbidden."""
        found = scope_finding(
            change.path,
            (change.path,) if task is None else task.outputs,
            task_id,
            plan=self.workplace.plan_path(),
            before=self.current(change.path),
            after=change.content,
        )
        return () if found is None else (found,)

    def editable(self, staged: Staged) -> Change:
        """Return the staged change for editing. Raises RunnerError if it cannot be edited."""
        if staged.attempt != BY_HAND:
            raise RunnerError(
                "this write belongs to a proposal of a run",
                where=display_path(staged.path),
                hint=f"runner edit {staged.task} opens it; then it is re-tested",
            )
        change = self.staging.read(staged)
        if change.content is None:
            raise RunnerError("a deletion cannot be edited", where=display_path(change.path))
        return change

    def revise(self, staged: Staged, content: bytes) -> ProposalResult:
        """Propose an edited version of a staged write, and replace the old proposal with it."""
        task_id, task = self.workplace.task(staged.task)
        proposed = self._propose(task_id, task, staged.path, content, edited=True)
        # After the new one: a kill in between leaves both rather than none.
        if proposed.staged is not None and staged.attempt != BY_HAND:
            self.staging.remove((staged,))
        return proposed

    # --- deciding ---------------------------------------------------------------------

    def apply(self, staged: Staged, tell: Callable[[Change], None]) -> Applied:
        """Write the staged bytes and report each at once; a run's land with the next run.

        Raises RunnerError where they may not be written, or there is nothing to answer any more.
        """
        if staged.attempt != BY_HAND:
            self.require_waiting(staged)
            self._approve(staged)
            standings = self.standings()
            family = standings.siblings(staged)
            left = tuple(one.path for one in family if standings.of(one).is_open)
            return Applied(staged, left=left)
        change = self._write(staged)
        tell(change)
        return Applied(staged, report=self._scan(staged, change))

    def require_waiting(self, staged: Staged) -> None:
        """Raise RunnerError for a staged write that is answered already, or overtaken."""
        standing = self.standings().of(staged)
        if not standing.is_open:
            raise RunnerError(
                f"nothing to approve or reject: {standing.reason}",
                where=display_path(staged.path),
                hint="`runner pipeline staged-write list` shows the open writes",
            )

    def _approve(self, staged: Staged) -> None:
        """Approve these staged bytes of a run's proposal; they land with the rest of the task.

        Nothing is written here: what is in the tree was proven together. Raises RunnerError
        where the staged bytes are gone.
        """
        self.staging.read(staged)
        event = WriteReviewed(
            staged.path, staged.before, staged.after, WriteReview.APPLIED.value, "person"
        )
        with self.workplace.answer_at_once():
            self._journal(staged, event)
            self._let_go_on(staged)

    def _write(self, staged: Staged) -> Change:
        """Write exactly the staged bytes into the real tree, and write down who let them.

        Raises RunnerError where the file is not what it was when they were staged (exit 6), and
        where path rules or the secret scan refuse them now, or they do not compile.
        """
        change = self.staging.read(staged)
        self._recheck_staged(change)
        if in_the_way(self.workplace.root, (change,)):
            raise RunnerError(
                "the file changed since it was staged",
                where=change.path,
                hint="stage the proposal again for the current file",
                code=ExitCode.CONFLICT,
            )
        static_checks.require_compiled(change, self.workplace)
        how = WriteReview.EDITED if staged.run == _EDITED else WriteReview.APPLIED
        event = WriteReviewed(change.path, change.before, change.after, how.value, "person")
        # The approval is on disk before the bytes are in the tree: a kill in between leaves a
        # pending write, never an unapproved one.
        self._journal(staged, event)
        log = WriteLog(self.workplace.root)
        whose = {"run": staged.run, "task": staged.task}
        log.record((change,), **whose, attempt=staged.attempt, review=how)
        self._put(change)
        log.close(**whose, attempt=staged.attempt, fate=Fate.LANDED)
        self.staging.settle(staged, StagedState.LANDED)
        return change

    def _scan(self, staged: Staged, change: Change) -> sast_report.SastReport:
        """Run static analysis on an applied change and record the findings; it never rejects."""
        if change.content is None or language_of(change.path) is not row_named("python").language:
            return sast_report.SastReport()
        report = sast.scan_file(change.content, change.path)
        sast.record_findings(self.workplace.root, report, task=staged.task, attempt=staged.attempt)
        return report

    def reject(self, staged: Staged, reason: str) -> int:
        """Refuse a proposal; the reason is in the task's next brief.

        Gives how many other writes are refused with it: a run's proposal is so as a whole.
        Raises RunnerError without a reason.
        """
        reason = redact(" ".join(reason.split()))
        if not reason:
            raise RunnerError(
                "a rejection needs a reason", hint="add --reason TEXT: the next attempt reads it"
            )
        event = WriteRejected(staged.path, staged.before, staged.after, reason, "person")
        if staged.attempt == BY_HAND:
            self._journal(staged, event, *self._repair(staged, reason))
            self.staging.settle(staged, StagedState.REJECTED)
            return 0
        others = len(self.standings().siblings(staged)) - 1
        with self.workplace.answer_at_once():  # a task lands whole or not at all
            self._journal(staged, event)
            self._let_go_on(staged)
            self.staging.remove_attempt(staged.task, staged.attempt)
        return others

    def _recheck_staged(self, change: Change) -> None:
        """Re-check every staged file: it may be stale or written by somebody else."""
        plan = self.workplace.plan_path()
        refused = check_path(change.path, change.mode, kind=change.action.value)
        findings = [] if refused is None else [refused]
        if is_forbidden(change.path, plan):
            findings.append(Finding("paths", "no task may write this file", change.path))
        findings += self._secrets(change)
        for found in findings:
            if found.refuses:
                raise RunnerError(
                    found.message, where=change.path, hint=found.hint, code=ExitCode.FAILED
                )

    def _put(self, change: Change) -> None:
        root = self.workplace.root
        if change.content is None:
            unlink_below(root, change.path)
        else:
            write_below(root, change.path, change.content, change.mode)

    def _let_go_on(self, staged: Staged) -> None:
        """Record the new state of a run's task once its whole proposal has answers."""
        standings = self.standings()
        family = standings.siblings(staged)
        changes = [Change(s.path, s.action, s.mode, s.before, s.after) for s in family]
        self._journal(staged, *review.follow_up_events(standings.state, staged.task, changes))

    def _repair(self, staged: Staged, reason: str) -> tuple[Event, ...]:
        """Return events that make the reason repair context without counting as a failed attempt.

        A task that is not PENDING keeps its status; a run that holds the work reads the rejection.
        """
        if self.standings().state.task(staged.task).status is not Status.PENDING:
            return ()
        finding = Finding(
            check="review",
            path=staged.path,
            message=f"a person rejected this change: {reason}",
            hint="change the file as the reason says",
        )
        again = TaskApproved(by="review", note="try again")
        return TaskFailed(findings=(finding,)), again

    # --- books ------------------------------------------------------------------------

    def _journal(self, staged: Staged, *events: Event) -> None:
        from runner.journal.log import Journal

        with Journal.open(journal_path(self.workplace.root)) as journal:
            for event in events:
                journal.append(event, task=staged.task, attempt=staged.attempt, durable=True)

    def _ignore_run_files(self) -> None:
        if self.workplace.in_git:
            effects.make_folder(self.workplace.root / "artifacts" / "build")
            decisions_file.IgnoreDocument(self.workplace.root).exclude()
