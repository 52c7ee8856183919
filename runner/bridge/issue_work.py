"""One issue, step by step: what is there is read, one thing is done, and it is read again.

Nothing is kept between steps but what the forge, the branch and the clone's journal have, so a
kill anywhere is a step that is taken again. The forge's calls that make something come after a
look whether it is there; the lease of the bridge keeps two from looking at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runner.bridge.admission import find_admission
from runner.bridge.comment_text import (
    Memory,
    code,
    names_others,
    plain_title,
)
from runner.bridge.issue_desk import LIMIT, IssueDesk, StoppedError
from runner.bridge.issue_end import clear_before, end_issue
from runner.bridge.person_word import obey, refuse_plan
from runner.bridge.slash_commands import Verb
from runner.bridge.status_comment import Stage, format_used_up, write_request, write_status
from runner.errors import ExitCode, RunnerError
from runner.model import ReviewMode

if TYPE_CHECKING:
    from runner.bridge.forge import PullRequest
    from runner.bridge.issue_clone import BuildFacts
    from runner.journal.draft_events import DraftProposed

PROOF = "runner/proof"  # the context of the commit status
_STEPS = 60

_BUSY, _STOPPED = "a run goes on in its folder", "stopped"
AGAIN = frozenset({_BUSY, _STOPPED})
"""What it says where the next look may find more, though nobody said anything."""


@dataclass
class IssueWork(IssueDesk):
    """What is done for one issue."""

    def advance(self) -> str:
        """Go on until somebody else has to; in words what it waits for. Raises RunnerError."""
        try:
            for _ in range(_STEPS):
                if not self.may_go_on():
                    return _STOPPED
                waits = self._step()
                if waits is not None:
                    return waits
        except StoppedError:
            return _STOPPED
        raise RunnerError(f"issue {self.number} goes round in circles: a defect of the bridge")

    def is_halted(self) -> bool:
        """Whether what goes on for it is to end: it was closed, unlabelled, paused or stopped."""
        if not self.may_go_on():
            return True
        return replace(self)._is_unwanted()  # noqa: SLF001 - what is being done keeps what it read

    def _is_unwanted(self) -> bool:
        self.read()
        is_merged = self.pull is not None and self.pull.is_merged
        if not self.is_wanted() or is_merged or Stage.PAUSED in self.issue.labels:
            return True
        return any(one.verb is Verb.STOP for one in self.list_commands())

    # --- one step -----------------------------------------------------------------------

    def _step(self) -> str | None:
        """Do the next thing; what it waits for, where it waits."""
        self.read()
        if not self.is_wanted():
            return end_issue(self)
        waits = self._admit()
        if waits is not None:
            return waits
        commands = self.list_commands()
        if commands:
            obey(self, commands[0])
            return None
        if self.memory.is_paused or Stage.PAUSED in self.issue.labels:
            self.memory = self.memory._replace(is_paused=True)
            return self.wait(Stage.PAUSED, "paused")
        if self.memory.handed:
            return self.wait(Stage.PERSON, "waits for a person")
        self.builder.prepare(self.base)
        return self._go_on(self.builder.look())

    def _admit(self) -> str | None:
        """Begin, or begin anew, by somebody's label; None where it goes on."""
        has_wish = self.builder.has_wish()
        known = self.memory.label if has_wish or self.memory.ended else 0
        found = find_admission(self.forge, self.issue, self.trigger, known)
        if found.event is None:
            return "labelled by nobody who may push"
        if found.event.id == known:
            is_merged = self.pull is not None and self.pull.is_merged
            return end_issue(self) if is_merged or self.memory.ended else None
        if found.why_not:
            self.memory = self.memory._replace(handed=found.why_not, by=found.event.actor)
            return self.wait(Stage.PERSON, "its text was changed by somebody who may not push")
        before = clear_before(self)
        self.builder.keep_wish(f"# {self.issue.title}\n\n{self.issue.body}\n")
        said = [one.id for one in self.comments if one.created <= found.event.time]
        seen = max([self.memory.seen, *said])
        self.memory = Memory(seen, found.event.id, found.event.actor, before=before)
        self.show(Stage.PLANNING)
        return None

    def _go_on(self, facts: BuildFacts) -> str | None:
        if facts.is_busy:
            return _BUSY
        if facts.draft is not None:
            return self._review(facts.draft, facts)
        if not facts.tasks:
            return self._plan()
        if facts.tip != facts.head:
            if self.pull is not None and self.pull.is_open:
                self._describe(self.pull, facts)
            return self.hand_over(
                f"The branch {self.branch} is not where the last build left it: somebody pushed to"
                " it, or it is gone. Nothing is pushed over that."
            )
        if not facts.is_done:
            return self._build(facts)
        # Whoever may edit the comment could write a commit into it: the journal has to agree.
        if not self.memory.proven == facts.proven == facts.head:
            return self._prove(facts)
        return self._request(facts)

    # --- plan ---------------------------------------------------------------------------

    def _plan(self) -> str | None:
        self.show(Stage.PLANNING)
        ended = self.builder.draft()
        if self.builder.look().draft is not None:
            return None
        return self.hand_over_ended("No plan could be drafted.", ended)

    def _review(self, draft: DraftProposed, facts: BuildFacts) -> str | None:
        unknown = self.builder.find_unknown_commands(draft)
        is_plain = not unknown and not draft.mistakes and not names_others(draft.text)
        if self.mode is ReviewMode.OFF and is_plain:
            self.builder.approve(draft, "bridge")
            return None
        is_asked = self.mode is ReviewMode.AUTO and self.memory.unclear != draft.digest
        if is_asked and is_plain:
            return self._ask_reviewer(draft)
        said = write_status(Stage.PLAN_REVIEW, self.memory, facts.tasks, draft, unknown)
        self.put(said, Stage.PLAN_REVIEW)
        return "a plan waits for a review"

    def _ask_reviewer(self, draft: DraftProposed) -> str | None:
        """Somebody who did not write the plan decides, but never of commands."""
        verdict = self.builder.review(draft)
        if verdict.approved is None:
            answer = f"The review by {code(verdict.by)} said neither yes nor no: a person decides."
            self.memory = self.memory._replace(unclear=draft.digest, answer=answer)
            self.show(Stage.PLANNING)
            return None
        if verdict.approved:
            self.builder.approve(draft, f"{verdict.by} (a review in a session of its own)")
            return None
        if self.memory.rejected >= LIMIT:
            why = format_used_up(LIMIT, "plans", self.trigger)
            return self.hand_over(f"{why}\n{verdict.reason}")
        said = f"The review by {code(verdict.by)} refused the plan: {code(verdict.reason)}"
        refuse_plan(self, draft, verdict.reason)
        self.memory = self.memory._replace(answer=said)
        self.show(Stage.PLANNING)
        return None

    # --- build --------------------------------------------------------------------------

    def _build(self, facts: BuildFacts) -> str | None:
        self.show(Stage.BUILDING, facts)
        ended = self.builder.build(is_retried=self.memory.revised > 0)
        after = self.builder.look()
        if after.is_done:
            return None
        return self.hand_over_ended("It could not be built.", ended, after)

    def _prove(self, facts: BuildFacts) -> str | None:
        self.show(Stage.BUILDING, facts)
        ended = self.builder.verify()
        after = self.builder.look()
        is_proven = ended.code == ExitCode.OK and ended.document.get("head") == facts.head
        if is_proven and after.is_done and after.head == after.tip == facts.head:
            self.memory = self.memory._replace(proven=facts.head)
            self.show(Stage.BUILDING, after)
            return None
        return self.hand_over_ended("It is built, and could not be proven together.", ended, after)

    def _request(self, facts: BuildFacts) -> str | None:
        """Status, pull request, its text: each only where it is not there."""
        proven = self.memory.proven
        if (PROOF, "success") not in self.forge.list_statuses(proven):
            text = f"{len(facts.tasks)} of {len(facts.tasks)} tasks DONE, proven together"
            self.forge.set_status(proven, PROOF, text)
        pull = self.pull
        if pull is None:
            title = plain_title(self.issue.title)
            body = write_request(self.number, facts.tasks, proven, is_proven=True)
            self.pull = self.forge.create_pull_request(self.branch, self.base, title, body)
            return None
        if not pull.is_open:
            return self.hand_over("Its pull request was closed without being merged.")
        self._describe(pull, facts)
        return self.wait(Stage.REVIEW, "a pull request waits for a review", facts)

    def _describe(self, pull: PullRequest, facts: BuildFacts) -> None:
        """Its text; where another head than what was proven would be merged, it closes nothing."""
        proven = self.memory.proven
        body = write_request(self.number, facts.tasks, proven, is_proven=pull.head == proven)
        if pull.body.replace("\r\n", "\n") != body:
            self.forge.edit_pull_request(pull.number, body)
