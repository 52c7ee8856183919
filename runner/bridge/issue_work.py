"""One issue, step by step: what is there is read, one thing is done, and it is read again.

Nothing is kept between steps but what the forge, the branch and the clone's journal have, so a
kill anywhere is a step that is taken again. The forge's calls that make something come after a
look whether it is there; the lease of the bridge keeps two from looking at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from runner.bridge.admission import find_admission, find_commands
from runner.bridge.comment_text import (
    Memory,
    code,
    names_others,
    plain_title,
    read_memory,
    with_memory,
)
from runner.bridge.slash_commands import SlashCommand, Verb
from runner.bridge.stage_label import show_stage
from runner.bridge.status_comment import Stage, format_used_up, write_request, write_status
from runner.errors import ExitCode, RunnerError
from runner.model import ReviewMode, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runner.bridge.forge import Comment, Forge, Issue, PullRequest
    from runner.bridge.issue_clone import Builder, BuildFacts, Ended
    from runner.journal.draft_events import DraftProposed

PROOF = "runner/proof"  # the context of the commit status
LIMIT = 3
"""Plans that may be refused, and revisions that may be asked for, before a person goes on."""
_STEPS = 60

ENDED = frozenset({"merged", "closed", "not asked for"})
"""What `advance` says of an issue that nothing is to be done for any more."""
_BUSY, _STOPPED = "a run goes on in its folder", "stopped"
AGAIN = frozenset({_BUSY, _STOPPED})
"""What it says where the next look may find more, though nobody said anything."""


class StoppedError(Exception):
    """The bridge ends, or the issue was paused while something went on."""


@dataclass
class IssueWork:
    """What is done for one issue."""

    forge: Forge
    builder: Builder
    number: int
    trigger: str
    branch: str
    base: str
    login: str
    """Whose comments are ours."""
    mode: ReviewMode = ReviewMode.PROMPT
    """Who approves plans."""
    may_go_on: Callable[[], bool] = lambda: True
    """Whether this bridge still holds its lease and is not to end."""
    _issue: Issue = field(init=False)
    _comment: Comment | None = field(init=False, default=None)
    _memory: Memory = field(init=False, default_factory=Memory)
    _pull: PullRequest | None = field(init=False, default=None)

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
        self._read()
        if not self._is_wanted() or Stage.PAUSED in self._issue.labels:
            return True
        return any(one.verb is Verb.STOP for one in self._list_commands())

    # --- what is there ------------------------------------------------------------------

    def _read(self) -> None:
        self._issue = self.forge.load_issue(self.number)
        self._comments = list(self.forge.list_comments(self.number))
        ours = [one for one in self._comments if one.author == self.login]
        marked = [(one, memory) for one in ours if (memory := read_memory(one.body)) is not None]
        self._comment, self._memory = marked[0] if marked else (None, Memory())
        for double, _ in marked[1:]:  # of two bridges without a lease between them
            self.forge.delete_comment(double.id)
        self._pull = self.forge.find_pull_request(self.branch) if self._comment else None

    def _is_wanted(self) -> bool:
        return self._issue.is_open and self.trigger in self._issue.labels

    def _list_commands(self) -> list[SlashCommand]:
        """What was said since, by people who may push, in their own unedited words."""
        said: Sequence[Comment] = self._comments
        if self._pull is not None:
            said = (*said, *self.forge.list_comments(self._pull.number))
        return find_commands(self.forge, said, self._memory.seen)

    # --- one step -----------------------------------------------------------------------

    def _step(self) -> str | None:
        """Do the next thing; what it waits for, where it waits."""
        self._read()
        if not self._is_wanted():
            return self._end()
        waits = self._admit()
        if waits is not None:
            return waits
        commands = self._list_commands()
        if commands:
            self._obey(commands[0])
            return None
        if self._memory.is_paused or Stage.PAUSED in self._issue.labels:
            self._memory = self._memory._replace(is_paused=True)
            return self._wait(Stage.PAUSED, "paused")
        if self._memory.handed:
            return self._wait(Stage.PERSON, "waits for a person")
        self.builder.prepare(self.base)
        return self._go_on(self.builder.look())

    def _end(self) -> str:
        """Nobody wants it any more: what shows that it is under way goes."""
        is_merged = self._pull is not None and self._pull.is_merged
        why = "merged" if is_merged else "closed" if not self._issue.is_open else "not asked for"
        if self._comment is not None:
            self._memory = self._memory._replace(answer=f"It is {why}.", handed="", is_paused=False)
            self._show(Stage.ENDED)
        return why

    def _admit(self) -> str | None:
        """Begin, or begin anew, by somebody's label; None where it goes on."""
        has_wish = self.builder.has_wish()
        known = self._memory.label if has_wish else 0
        found = find_admission(self.forge, self._issue, self.trigger, known)
        if found.event is None:
            return "labelled by nobody who may push"
        if found.event.id == known:
            return None
        if found.why_not:
            self._memory = self._memory._replace(handed=found.why_not, by=found.event.actor)
            return self._wait(Stage.PERSON, "its text was changed by somebody who may not push")
        self.builder.keep_wish(f"# {self._issue.title}\n\n{self._issue.body}\n")
        before = [one.id for one in self._comments if one.created <= found.event.time]
        seen = max([self._memory.seen, *before])
        self._memory = Memory(seen, found.event.id, found.event.actor)
        self._show(Stage.PLANNING)
        return None

    def _go_on(self, facts: BuildFacts) -> str | None:
        if facts.is_busy:
            return _BUSY
        if facts.draft is not None:
            return self._review(facts.draft, facts)
        if not facts.tasks:
            return self._plan()
        if facts.tip != facts.head:
            if self._pull is not None and self._pull.is_open:
                self._describe(self._pull, facts)
            return self._hand_over(
                f"The branch {self.branch} is not where the last build left it: somebody pushed to"
                " it, or it is gone. Nothing is pushed over that."
            )
        if not facts.is_done:
            return self._build(facts)
        # Whoever may edit the comment could write a commit into it: the journal has to agree.
        if not self._memory.proven == facts.proven == facts.head:
            return self._prove(facts)
        return self._request(facts)

    # --- plan ---------------------------------------------------------------------------

    def _plan(self) -> str | None:
        self._show(Stage.PLANNING)
        ended = self.builder.draft()
        if self.builder.look().draft is not None:
            return None
        return self._hand_over_ended("No plan could be drafted.", ended)

    def _review(self, draft: DraftProposed, facts: BuildFacts) -> str | None:
        unknown = self.builder.find_unknown_commands(draft)
        is_plain = not unknown and not draft.mistakes and not names_others(draft.text)
        if self.mode is ReviewMode.OFF and is_plain:
            self.builder.approve(draft, "bridge")
            return None
        is_asked = self.mode is ReviewMode.AUTO and self._memory.unclear != draft.digest
        if is_asked and is_plain:
            return self._ask_reviewer(draft)
        said = write_status(Stage.PLAN_REVIEW, self._memory, facts.tasks, draft, unknown)
        self._put(said, Stage.PLAN_REVIEW)
        return "a plan waits for a review"

    def _ask_reviewer(self, draft: DraftProposed) -> str | None:
        """Somebody who did not write the plan decides, but never of commands."""
        verdict = self.builder.review(draft)
        if verdict.approved is None:
            answer = f"The review by {code(verdict.by)} said neither yes nor no: a person decides."
            self._memory = self._memory._replace(unclear=draft.digest, answer=answer)
            self._show(Stage.PLANNING)
            return None
        if verdict.approved:
            self.builder.approve(draft, f"{verdict.by} (a review in a session of its own)")
            return None
        if self._memory.rejected >= LIMIT:
            why = format_used_up(LIMIT, "plans", self.trigger)
            return self._hand_over(f"{why}\n{verdict.reason}")
        said = f"The review by {code(verdict.by)} refused the plan: {code(verdict.reason)}"
        self._refuse(draft, verdict.reason)
        self._memory = self._memory._replace(answer=said)
        self._show(Stage.PLANNING)
        return None

    def _refuse(self, draft: DraftProposed, reason: str) -> None:
        """Have another plan written."""
        ended = self.builder.reject(draft, reason)
        if ended.code == ExitCode.INTERRUPTED:
            raise StoppedError
        self._memory = self._memory._replace(rejected=self._memory.rejected + 1)

    # --- build --------------------------------------------------------------------------

    def _build(self, facts: BuildFacts) -> str | None:
        self._show(Stage.BUILDING, facts)
        ended = self.builder.build(is_retried=self._memory.revised > 0)
        after = self.builder.look()
        if after.is_done:
            return None
        return self._hand_over_ended("It could not be built.", ended, after)

    def _prove(self, facts: BuildFacts) -> str | None:
        self._show(Stage.BUILDING, facts)
        ended = self.builder.verify()
        after = self.builder.look()
        is_proven = ended.code == ExitCode.OK and ended.document.get("head") == facts.head
        if is_proven and after.is_done and after.head == after.tip == facts.head:
            self._memory = self._memory._replace(proven=facts.head)
            self._show(Stage.BUILDING, after)
            return None
        return self._hand_over_ended("It is built, and could not be proven together.", ended, after)

    def _request(self, facts: BuildFacts) -> str | None:
        """Status, pull request, its text: each only where it is not there."""
        proven = self._memory.proven
        if (PROOF, "success") not in self.forge.list_statuses(proven):
            text = f"{len(facts.tasks)} of {len(facts.tasks)} tasks DONE, proven together"
            self.forge.set_status(proven, PROOF, text)
        pull = self._pull
        if pull is None:
            title = plain_title(self._issue.title)
            body = write_request(self.number, facts.tasks, proven, is_proven=True)
            self._pull = self.forge.create_pull_request(self.branch, self.base, title, body)
            return None
        if pull.is_merged:
            return self._wait(Stage.REVIEW, "merged; the issue is still open", facts)
        if not pull.is_open:
            return self._hand_over("Its pull request was closed without being merged.")
        self._describe(pull, facts)
        return self._wait(Stage.REVIEW, "a pull request waits for a review", facts)

    def _describe(self, pull: PullRequest, facts: BuildFacts) -> None:
        """Its text; where another head than what was proven would be merged, it closes nothing."""
        proven = self._memory.proven
        body = write_request(self.number, facts.tasks, proven, is_proven=pull.head == proven)
        if pull.body.replace("\r\n", "\n") != body:
            self.forge.edit_pull_request(pull.number, body)

    # --- a person's word ----------------------------------------------------------------

    def _obey(self, command: SlashCommand) -> None:
        """Do what somebody said, and remember that it is done; done twice, it is done once."""
        answer = command.wrong or self._carry_out(command)
        self._memory = self._memory._replace(seen=command.comment, answer=answer)
        self._show(self._stage())

    def _stage(self) -> Stage:
        """What to show until the next step says more."""
        if self._memory.is_paused:
            return Stage.PAUSED
        return Stage.PERSON if self._memory.handed else Stage.PLANNING

    def _carry_out(self, command: SlashCommand) -> str:
        who = command.author
        match command.verb:
            case Verb.STOP:
                self._memory = self._memory._replace(is_paused=True)
                return f"Stopped by {who}."
            case Verb.RETRY:
                return self._retry(who)
            case Verb.CHANGE:
                return self._change(command)
            case _:
                return self._decide(command)

    def _retry(self, who: str) -> str:
        if self._memory.handed and self._memory.revised >= LIMIT:
            return format_used_up(LIMIT, "revisions", self.trigger)
        if Stage.PAUSED in self._issue.labels:
            self.forge.remove_label(self.number, Stage.PAUSED)
        revised = self._memory.revised + bool(self._memory.handed)
        self._memory = self._memory._replace(is_paused=False, handed="", revised=revised)
        return f"Tried again, as {who} said."

    def _decide(self, command: SlashCommand) -> str:
        """Approve or refuse the plan that was named."""
        draft = self.builder.look().draft
        if draft is None or not draft.digest.removeprefix("sha256:").startswith(command.digest):
            return f"No plan with the digest {command.digest[:12]} waits: read the one that does."
        if command.verb is Verb.APPROVE:
            if draft.mistakes:
                return "That plan has to be mended first."
            self.builder.approve(draft, f"{command.author} (comment {command.comment})")
            return f"The plan was approved by {command.author}."
        if self._memory.rejected >= LIMIT:
            self._memory = self._memory._replace(
                handed=format_used_up(LIMIT, "plans", self.trigger)
            )
            return format_used_up(LIMIT, "plans", self.trigger)
        self._show(Stage.PLANNING)
        self._refuse(draft, command.text)
        return f"The plan was refused by {command.author}, and another one was asked for."

    def _change(self, command: SlashCommand) -> str:
        facts = self.builder.look()
        if command.task not in {one.id for one in facts.tasks}:
            return f"There is no {command.task} here."
        if self._memory.revised >= LIMIT:
            return format_used_up(LIMIT, "revisions", self.trigger)
        ended = self.builder.change(command.task, f"{command.text} (comment {command.comment})")
        if ended.code == ExitCode.INTERRUPTED:
            raise StoppedError
        if ended.code:
            self._memory = self._memory._replace(
                handed=f"The change could not be recorded.\n{ended.said}"
            )
            return "The change could not be recorded."
        self._memory = self._memory._replace(revised=self._memory.revised + 1, handed="")
        return f"{command.task} is revised, as {command.author} said."

    # --- what is said -------------------------------------------------------------------

    def _hand_over_ended(self, what: str, ended: Ended, facts: BuildFacts | None = None) -> str:
        """A command of ours did not do; one that was ended is said again by the next round."""
        if ended.code == ExitCode.INTERRUPTED:
            raise StoppedError
        stuck = [
            f"{one.id}: {one.status} {one.note}"
            for one in (facts.tasks if facts else ())
            if one.status is not Status.DONE
        ]
        return self._hand_over("\n".join((what, *stuck, ended.said[-1500:])).strip(), facts)

    def _hand_over(self, why: str, facts: BuildFacts | None = None) -> str:
        """A person goes on: who asked for it is assigned."""
        self._memory = self._memory._replace(handed=why)
        self._show(Stage.PERSON, facts)
        if self._memory.by and self._memory.by not in self._issue.assignees:
            self.forge.assign(self.number, self._memory.by)
        return "waits for a person"

    def _wait(self, stage: Stage, words: str, facts: BuildFacts | None = None) -> str:
        self._show(stage, facts)
        return words

    def _show(self, stage: Stage, facts: BuildFacts | None = None) -> None:
        if facts is None and self._comment is not None and stage is not Stage.PLANNING:
            facts = self.builder.look()
        url = self._pull.url if self._pull is not None else ""
        rows = facts.tasks if facts else ()
        self._put(write_status(stage, self._memory, rows, url=url), stage)

    def _put(self, text: str, stage: Stage) -> None:
        """Have the one comment say this, and the one label that says the same."""
        if not self.may_go_on():
            raise StoppedError
        body = with_memory(text, self._memory)
        if self._comment is None:
            self._comment = self.forge.create_comment(self.number, body)
        elif self._comment.body.replace("\r\n", "\n") != body:
            self.forge.edit_comment(self._comment.id, body)
            self._comment = replace(self._comment, body=body)
        self._issue = show_stage(self.forge, self._issue, stage)
