"""One issue, step by step: what is there is read, one thing is done, and it is read again.

Nothing is kept between steps but what the forge, the branch and the clone's journal have, so a
kill anywhere is a step that is taken again. The forge's calls that make something come after a
look whether it is there; the lease of the bridge keeps two from looking at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.extensions.bridge.admission import Verb, find_admission
from runner.extensions.bridge.comment_text import code, list_naming, name_branch
from runner.extensions.bridge.forge import ForgeError
from runner.extensions.bridge.issue_context import (
    LIMIT,
    BridgeStoppedError,
    IssueContext,
)
from runner.extensions.bridge.issue_text import (
    TOO_MUCH,
    begin_with,
    choose_parts,
    compare_late,
    find_approval,
    find_late,
    is_part,
    mirror_tasks,
    write_wish,
)
from runner.extensions.bridge.own_request import (
    clear_before,
    describe,
    disclaim,
    end_issue,
    open_early,
    propose,
)
from runner.extensions.bridge.person_word import approve_plan, hear, refuse_plan
from runner.extensions.bridge.status_comment import Stage, format_used_up
from runner.model import ReviewMode

if TYPE_CHECKING:
    from runner.extensions.bridge.admission import Admission
    from runner.extensions.bridge.builder import BuildFacts, CommandExit
    from runner.journal.session_events import DraftProposed

_STEPS = 60

_BUSY, _STOPPED = "a run is active in its folder", "stopped"
AGAIN = frozenset({_BUSY, _STOPPED})
"""Results after which the next look may find more without an event."""


@dataclass
class IssueWork(IssueContext):
    """What is done for one issue."""

    poll: float = 0.0
    """Seconds between looks at the forge while something is done."""
    _looked: float = field(init=False, default=0.0)

    def advance(self) -> str:
        """Go on until somebody else has to; in words what it waits for. Raises RunnerError."""
        self._looked = effects.monotonic()
        is_stopped = False
        for _ in range(_STEPS):
            if not self.may_go_on():
                return _STOPPED
            try:
                waits = self._step()
            except BridgeStoppedError:
                # One more step reports what happened meanwhile: a round that ends here
                # would leave a comment by which it is still being built.
                if is_stopped or not self._is_unwanted():
                    return _STOPPED
                is_stopped = True
                continue
            if waits is not None:
                return waits
        raise RunnerError(f"issue {self.number} makes no progress: a bug in the bridge")

    def is_halted(self) -> bool:
        """Whether what goes on is to end: closed, unlabelled, stopped, or nobody's wish by now.

        That this bridge ends is heard each time, what people say as seldom as ever.
        """
        if not self.may_go_on():
            return True
        now = effects.monotonic()
        if now < self._looked + self.poll:
            return False
        self._looked = now
        try:
            return self._is_unwanted()
        except ForgeError:  # it says nothing for now: hours of work are not ended for that
            return False

    def _is_unwanted(self) -> bool:
        now = replace(self)  # what is being done keeps what it read
        now.read()
        is_over = now.pull is not None and not now.pull.is_open
        if not now.is_wanted() or is_over or Stage.PAUSED in now.issue.labels:
            return True
        if now.memory.by and not self.forge.may_write(now.memory.by):
            return True
        return any(one.verb is Verb.STOP for one in now.list_commands())

    # --- one step -----------------------------------------------------------------------

    def _step(self) -> str | None:
        """Do the next thing; what it waits for, where it waits."""
        self.read()
        disclaim(self)
        if not self.is_wanted():
            return end_issue(self)
        waits = self._admit()
        if waits is not None:
            return waits
        if hear(self):
            return None
        if not self.memory.is_paused and Stage.PAUSED in self.issue.labels:
            answer = f"The label {code(Stage.PAUSED)} was added."
            self.memory = self.memory._replace(is_paused=True, answer=answer)
        if self.memory.is_paused:
            return self.wait(Stage.PAUSED, "paused")
        if self.memory.handed:
            return self.wait(Stage.PERSON, "needs your input")
        if self.issue.blocked_by and not self.memory.proven:
            return self._wait_for_others()
        self.builder.prepare(self.base)
        return self._go_on(self.builder.look())

    def _wait_for_others(self) -> str:
        numbers = ", ".join(f"#{one}" for one in self.forge.list_blockers(self.number))
        self.memory = self.memory._replace(answer=f"Blocked by {numbers}.")
        return self.wait(Stage.READY, f"blocked by {numbers}")

    def _admit(self) -> str | None:
        """Begin, or begin anew, by somebody's label; None where it goes on."""
        self.late, self.is_refused = None, False
        has_wish = bool(self.builder.read_wish())
        if not has_wish and is_part(self):
            return f"part of #{self.issue.parent}"
        known = self.memory.label if has_wish or self.memory.ended else 0
        found = find_admission(self.forge, self.issue, self.trigger, known)
        if found.event is None:
            return "not labelled by anybody with push access"
        if found.event.id == known:
            is_over = self.pull is not None and not self.pull.is_open
            if is_over or self.memory.ended:
                return end_issue(self)
            self.late = find_late(self, found.event)
            return None
        parts = choose_parts(found.parts)
        wish = write_wish(self.issue, parts)
        if not wish:
            return self._refuse(replace(found, why_not=TOO_MUCH), "too much for one plan")
        seen = [one.id for one in self.comments if one.created <= found.event.time]
        if found.why_not:
            self.late = compare_late(self, found, wish)
            approval = find_approval(self)
            if approval is None:
                return self._refuse(found, "text changed by somebody without push access")
            seen.append(approval.comment)
        self._choose_branch()
        before = clear_before(self)
        moved = max(found.event.id, self.memory.moved)
        self.memory = self.memory._replace(
            seen=max([self.memory.seen, *seen]),
            moved=moved,
            label=found.event.id,
            by=found.event.actor,
            branch=self.branch,
            before=before,
        )
        begin_with(self, wish, parts)
        self.show(Stage.PLANNING)
        return None

    def _choose_branch(self) -> None:
        """By its title as it counts; once chosen it stays, whatever the title is later.

        A comment that is gone does not have it built in two places: what was begun is looked for.
        """
        if self.memory.label or self.builder.branch:
            return
        begun = self.builder.find_branch(self.number)
        self.build_on(begun or name_branch(self.number, self.issue.title))

    def _refuse(self, found: Admission, words: str) -> str:
        by = found.event.actor if found.event else ""
        self.memory = self.memory._replace(handed=found.why_not, by=by, answer="")
        self.is_refused = True
        return self.wait(Stage.PERSON, words)

    def _go_on(self, facts: BuildFacts) -> str | None:
        if facts.is_busy:
            return _BUSY
        if facts.draft is not None and facts.is_planned:
            return self._review(facts.draft, facts)
        if facts.draft is not None:
            self.builder.withdraw(facts.draft, "the text of its issue has changed")
            return None
        if not facts.tasks or not facts.is_planned:
            return self._plan()
        if facts.tip != facts.head and not facts.is_cut_off:
            return self.hand_over(
                f"The branch {self.branch} changed since the last build: somebody pushed to it or"
                " deleted it. The runner does not overwrite it."
            )
        if not facts.is_done or facts.is_cut_off:
            return self._build(facts)
        # Whoever may edit the comment could write a commit into it: the journal has to agree.
        if not self.memory.proven == facts.proven == facts.head:
            return self._prove(facts)
        return propose(self, facts)

    # --- plan ---------------------------------------------------------------------------

    def _plan(self) -> str | None:
        self.show(Stage.PLANNING)
        ended = self.builder.draft()
        if self.builder.look().draft is not None:
            return None
        return self.hand_over_ended("No plan could be drafted.", ended)

    def _review(self, draft: DraftProposed, facts: BuildFacts) -> str | None:
        unknown = self.builder.find_unknown_commands(draft)
        is_plain = not unknown and not draft.mistakes and not list_naming(draft.text)
        if self.mode is ReviewMode.OFF and is_plain:
            approve_plan(self, draft, "bridge")
            return None
        is_asked = self.mode is ReviewMode.AUTO and self.memory.unclear != draft.digest
        if is_asked and is_plain:
            return self._ask_reviewer(draft)
        links = self.find_links(facts)
        stage = Stage.PLAN_REVIEW
        self.put(self.write(stage, facts.tasks, draft=draft, unknown=unknown, links=links), stage)
        return "the plan needs review"

    def _ask_reviewer(self, draft: DraftProposed) -> str | None:
        """Somebody who did not write the plan decides, but never of commands."""
        verdict = self.builder.review(draft)
        if verdict.approved is None:
            answer = f"The review by {code(verdict.by)} gave no verdict: you decide."
            self.memory = self.memory._replace(unclear=draft.digest, answer=answer)
            self.show(Stage.PLANNING)
            return None
        if verdict.approved:
            approve_plan(self, draft, f"{verdict.by} (review in a separate session)")
            return None
        if self.memory.rejected >= LIMIT:
            why = format_used_up(LIMIT, "plans rejected", self.trigger)
            return self.hand_over(f"{why}\n{verdict.reason}")
        answer = f"The review by {code(verdict.by)} rejected the plan: {code(verdict.reason)}"
        refuse_plan(self, draft, verdict.reason, verdict.by)
        self.memory = self.memory._replace(answer=answer)
        self.show(Stage.PLANNING)
        return None

    # --- build --------------------------------------------------------------------------

    def _build(self, facts: BuildFacts) -> str | None:
        open_early(self, facts)
        self._show_building(facts)
        ended = self.builder.build(is_retried=self.memory.revised > 0)
        after = self.builder.look()
        self._mirror(after)
        if after.is_done:
            return None
        return self._hand_over_built("It could not be built.", ended, after)

    def _show_building(self, facts: BuildFacts) -> None:
        self.show(Stage.ITERATION if self.memory.revised else Stage.BUILDING, facts)
        self._mirror(facts)

    def _mirror(self, facts: BuildFacts) -> None:
        if self.has_mirrors:
            mirror_tasks(self, facts.tasks)

    def _prove(self, facts: BuildFacts) -> str | None:
        self._show_building(facts)
        ended = self.builder.verify()
        after = self.builder.look()
        is_proven = ended.code == ExitCode.OK and ended.document.get("head") == facts.head
        if is_proven and after.is_done and after.head == after.tip == facts.head:
            self.memory = self.memory._replace(proven=facts.head)
            self._show_building(after)
            return None
        what = "All tasks are built, but could not be proven together."
        return self._hand_over_built(what, ended, after)

    def _hand_over_built(self, what: str, ended: CommandExit, after: BuildFacts) -> str:
        if ended.code != ExitCode.INTERRUPTED:
            describe(self, after)
        return self.hand_over_ended(what, ended, after)
