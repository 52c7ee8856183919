"""Choose the next step of a task with its own plan.

A plan is an event and a file under `artifacts/build/plans/`; a person's word is about its digest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.context.task_plan import plan_text, read_plan, redact_plan
from runner.implementers.base import Mode
from runner.journal.events import (
    TaskApproved,
    TaskBlocked,
)
from runner.journal.session_events import PlanProposed, PlanReviewed
from runner.journal.session_fold import CHECK, PHASE, PLAN, is_about_the_plan, plan_waits
from runner.lazy_module import lazy_module
from runner.model import Action, Change, Ending, Finding, Reason, ReviewMode, Status, digest_of
from runner.repo.refs import sweep_drafts
from runner.run.landing import (
    drafts,
)
from runner.run.landing.drafts import move_old_refs
from runner.run.planned import (
    phases,
)
from runner.run.planned.phases import Step, phase_step, plan_of
from runner.run.review import Answer, Spot
from runner.run.reviewers import Reviewer
from runner.secrets.redact import redact
from runner.writes.safe_io import sweep_below, write_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.implementers.base import Implementer
    from runner.journal.task_state import Planned
    from runner.model import Outcome, Task, TaskPlan
    from runner.repo.read import Repository
    from runner.run.journal_writer import JournalWriter
    from runner.run.outcome_recorder import OutcomeRecorder
    from runner.run.planned import plan_session
    from runner.run.review import Asker
else:
    plan_session = lazy_module("runner.run.planned.plan_session")

FOLDER = "artifacts/build/plans"
MOST = 3
"""Consecutive plans rejected or sent back; the next one goes to a person."""
WAITS = "its plan waits for your review: runner review"
_NO_REVIEWER = (
    "review.plan is auto, but no reviewer is set: set review.command or model.review in your own "
    'settings, or review.plan = "prompt"'
)
_MODE = 0o100644


class TaskPlans(Struct):
    """Knows which tasks are planned first, has plans reviewed, and keeps them and their phases."""

    root: Path
    settings: Settings
    journal: JournalWriter
    repository: Repository
    implementer: Callable[[Task], Implementer | Finding]
    asker: Asker | None = None
    only: bool = False
    """Whether tasks are only planned, not executed."""
    unseen: bool = False
    """Whether a person approved all plans of this run in advance."""

    @property
    def mode(self) -> ReviewMode:
        """Review mode of plans; a person at the terminal if none is set."""
        default = ReviewMode.PROMPT if self.asker is not None else ReviewMode.OFF
        return self.settings.plan_review_of(default)

    def is_wanted(self, task: Task) -> bool:
        """Return whether a task needs a plan before its implementation.

        What is built anew on a change that breaks it is not: a person has approved just that.
        """
        if self.journal.state.task(task.id).culprit:
            return False
        implementer = self.implementer(task)
        if isinstance(implementer, Finding) or not implementer.is_agent:
            return False
        return self.only or self.settings.build.plan_first or self._find_approved(task) is not None

    def release(self, tasks: Iterable[Task]) -> None:
        """Release tasks whose plans waited for a person, if one is here or none is needed.

        What a killed run left behind of others is let go of.
        """
        # Any name works: the sweep covers temporary files of the whole folder.
        sweep_below(self.root, f"{FOLDER}/TASK-001.md")
        state = self.journal.state
        with self.journal.tolerate("could not remove refs of earlier runs"):
            move_old_refs(self.repository)
            phases.sweep(self.repository, lambda id_: state.task(id_).kept is not None)
            drafts.sweep_tried(self.repository, lambda id_: bool(state.task(id_).tries))
            sweep_drafts(self.repository, lambda id_: state.task(id_).status is Status.DONE)
        if self.mode is ReviewMode.PROMPT and self.asker is None:
            return
        for task in tasks:
            if plan_waits(self.journal.state.task(task.id)):
                event = TaskApproved(by="runner", note="its plan may be reviewed now")
                self.journal.note(event, task=task.id)

    # --- what is next -----------------------------------------------------------------

    def would_ask(self, task: Task) -> bool:
        """Return whether `may_begin` would prompt at the terminal."""
        asks = self.mode is ReviewMode.PROMPT and not self.unseen
        if self.asker is None or not asks or not self.is_wanted(task):
            return False
        planned = plan_of(self.journal.state, task)
        return planned is not None and not planned.approved

    def may_begin(self, task: Task, meanwhile: Callable[[], None] | None = None) -> bool:
        """Return whether an attempt may start; otherwise the task waits or was only planned."""
        if not self.is_wanted(task):
            return True
        if self._has_no_reviewer(task):
            self._block(task, _NO_REVIEWER)
            return False
        while (planned := plan_of(self.journal.state, task)) is not None and not planned.approved:
            match self.mode:
                case ReviewMode.OFF:
                    self._note_review(task, planned, approved=True, review="off")
                case ReviewMode.AUTO:
                    return True  # a worker asks the reviewing command
                case ReviewMode.PROMPT if not self._ask(task, planned, meanwhile):
                    self._block(task, WAITS)
                    return False
        known = self.journal.state.task(task.id)
        if planned is None and known.plans_refused > MOST:
            self._give_up(task)
            return False
        return planned is None or not self.only

    def _has_no_reviewer(self, task: Task) -> bool:
        """Return whether plans are to be reviewed automatically but no reviewer is configured."""
        if self.mode is not ReviewMode.AUTO or self.settings.review.command:
            return False
        by_session = self.settings.model.review and isinstance(self.implementer(task), Reviewer)
        return not by_session and self._find_approved(task) is None

    def step(self, task: Task, base: str) -> Step:
        """Return the next step of a task on a base."""
        if not self.is_wanted(task):
            return Step()
        planned = plan_of(self.journal.state, task)
        reviewed = ReviewMode.AUTO if self.mode is ReviewMode.AUTO else ReviewMode.OFF
        if planned is None:
            return Step(Mode.PLAN, review=reviewed)
        if not planned.approved:
            return Step(Mode.PLAN, plan=planned.plan, review=reviewed)
        return self._execution(task, planned, base)

    def _execution(self, task: Task, planned: Planned, base: str) -> Step:
        """Return the next phase with the work of the earlier ones, or all of the plan."""
        plan, kept = planned.plan, self.journal.state.task(task.id).kept
        if not plan.phases:
            return Step(plan=plan)
        if kept is None or kept.digest != planned.digest:
            return phase_step(plan, 1)
        changes = phases.restate_kept(self.repository, kept, base)
        if changes is None:  # others changed the same lines meanwhile: it is built from the start
            self._propose(task, plan, planned.path, planned.digest)
            self._note_review(task, planned, approved=True, review=planned.review)
            return phase_step(plan, 1)
        return phase_step(plan, kept.phases + 1, changes)

    def _find_approved(self, task: Task) -> Planned | None:
        planned = plan_of(self.journal.state, task)
        return planned if planned is not None and planned.approved else None

    # --- what came of it --------------------------------------------------------------

    def hear(self, task: Task, outcome: Outcome, books: OutcomeRecorder) -> bool:
        """Write down what came of a session or of a phase; False where it is work to settle."""
        there = self.journal.state.task(task.id).open_attempt
        if there is not None and there.mode == PLAN:
            outcome = self._recheck_plan(task, outcome)
        match (there.mode if there else "", outcome.ending):
            case (kind, Ending.PASSED) if kind == PLAN and outcome.plan is not None:
                self._present(task, outcome.plan)
                books.record_finished(task, outcome)
                return True
            case (kind, Ending.FAILED) if kind == PLAN and is_about_the_plan(outcome.findings):
                books.record_finished(task, outcome)
                return True
            case (kind, Ending.PASSED) if kind == PHASE:
                ref = phases.keep(self.repository, task, outcome)
                books.record_finished(task, outcome, ref=ref)
                return True
            case (_, Ending.FAILED):
                self._send_back(task, outcome)
        return False

    def _recheck_plan(self, task: Task, outcome: Outcome) -> Outcome:
        """Check the plan in a session's outcome again, since a worker may have made it."""
        if outcome.ending is not Ending.PASSED:
            return outcome

        def exists(path: str) -> bool:
            base = outcome.base
            return bool(base) and self.repository.blob(base, path) is not None

        mine, floor = self.settings.permission, self.settings.floor.permission
        ruled = plan_session.make_rule_check(mine, floor, exists)
        findings = plan_session.plan_findings(task, outcome.plan, ruled)
        if not any(one.refuses for one in findings):
            return outcome
        return replace(outcome, ending=Ending.FAILED, findings=(*outcome.findings, *findings))

    def forget_landed(self, task: Task) -> None:
        """Delete what was saved for a task that has landed."""
        if self.journal.state.task(task.id).kept is not None:
            phases.let_go(self.repository, task.id)

    def _present(self, task: Task, plan: TaskPlan) -> None:
        planned = self.keep(task, plan)
        if self.mode is ReviewMode.AUTO:  # the worker has asked the command
            self._note_review(task, planned, approved=True, review="auto")

    def keep(self, task: Task, plan: TaskPlan) -> Planned:
        """Save a proposed plan as a file and in the journal."""
        content = plan_text(plan, task.id, task.title).encode("utf-8", "replace")
        # The file before the event that names it: the next plan overwrites a file left by a kill.
        path = keep_plan(self.root, task.id, content)
        return self._propose(task, plan, path, digest_of(content))

    def _propose(self, task: Task, plan: TaskPlan, path: str, digest: str) -> Planned:
        event = PlanProposed(plan, path, digest, what=task.spec.what)
        self.journal.note(event, task=task.id, attempt=self._attempt(task), durable=True)
        planned = self.journal.state.task(task.id).planned
        assert planned is not None
        return planned

    def _send_back(self, task: Task, outcome: Outcome) -> None:
        """Reject the plan of a task whose work exceeded it twice in a row."""
        known, planned = self.journal.state.task(task.id), self._find_approved(task)
        before = known.tries[-1].checks if known.tries else ()
        if planned is None or before != (CHECK,) or not is_about_the_plan(outcome.findings):
            return
        paths = [one.path for one in outcome.findings if one.refuses]
        reason = f"the build wrote files outside the plan twice: {', '.join(dict.fromkeys(paths))}"
        self._note_review(task, planned, approved=False, reason=reason, by="runner")

    # --- the review -------------------------------------------------------------------

    def _ask(
        self, task: Task, planned: Planned, meanwhile: Callable[[], None] | None = None
    ) -> bool:
        """Ask a person at the terminal about a plan; False if they want to decide later."""
        if self.asker is None:
            return False
        if self.unseen:  # a yes to all of them: nobody has read this one
            self._note_review(task, planned, approved=True, review="off", by="person")
            return True
        content = plan_text(planned.plan, task.id, task.title).encode("utf-8", "replace")
        change = Change(planned.path, Action.CREATE, _MODE, None, planned.digest, content)
        more = 1 if self.settings.floor.plan_review is ReviewMode.PROMPT else 2
        spot = Spot(left=more, is_plan=True, meanwhile=meanwhile)
        reply = self.asker.ask(task, change, None, spot)
        match reply.answer:
            case Answer.APPROVED:
                self.unseen = reply.for_all and more > 1  # who tightened it wants each one read
                self._note_review(task, planned, approved=True, review="applied", by="person")
            case Answer.REJECTED:
                reason = reply.reason
                self._note_review(task, planned, approved=False, reason=reason, by="person")
            case Answer.EDITED:
                self._take_edit(task, reply.content or b"")
            case Answer.WAITS:
                return False
        return True

    def _take_edit(self, task: Task, content: bytes) -> None:
        """Approve a person's edited plan by its digest; an invalid one is shown again."""
        plan = parse_edited_plan(task, content, self.settings, self.root)
        if isinstance(plan, Finding):
            if self.asker is not None:
                self.asker.choose(f"{plan.message}\nhint: {plan.hint}", "press Enter to continue ")
            return
        planned = self.keep(task, plan)
        self._note_review(task, planned, approved=True, review="edited", by="person")

    def _note_review(
        self,
        task: Task,
        planned: Planned,
        *,
        approved: bool,
        review: str = "",
        reason: str = "",
        by: str = "",
    ) -> None:
        event = PlanReviewed(planned.digest, approved, review, reason, by)
        self.journal.note(event, task=task.id, attempt=self._attempt(task), durable=True)

    def _attempt(self, task: Task) -> int:
        known = self.journal.state.task(task.id)
        return -known.plan_sessions or known.last_attempt

    def _block(self, task: Task, note: str, findings: tuple[Finding, ...] = ()) -> None:
        event = TaskBlocked(reason=Reason.REVIEW, note=note, findings=findings)
        self.journal.note(event, task=task.id, attempt=self._attempt(task), durable=True)

    def _give_up(self, task: Task) -> None:
        """Block a task without an acceptable plan until a person decides."""
        known = self.journal.state.task(task.id)
        findings = tuple(known.findings)
        last = next((one.message for one in findings if one.refuses), "the session gave no plan")
        self._block(task, f"{known.plans_refused} plans rejected; last reason: {last}", findings)


# --- what is known without a run ------------------------------------------------------


def parse_edited_plan(
    task: Task, content: bytes, settings: Settings, root: Path
) -> TaskPlan | Finding:
    """Parse a person's plan with secrets redacted; return a finding if it is invalid."""
    plan = redact_plan(read_plan(content.decode("utf-8", "replace")), redact)
    ruled = plan_session.make_rule_check(
        settings.permission, settings.floor.permission, lambda path: (root / path).is_file()
    )
    wrong = [one for one in plan_session.plan_findings(task, plan, ruled) if one.refuses]
    return wrong[0] if wrong else plan


def keep_plan(root: Path, task: str, content: bytes) -> str:
    """Write the file of a task's plan; gives its path, relative to the project."""
    path = f"{FOLDER}/{task}.md"
    write_below(root, path, content, _MODE)
    return path
