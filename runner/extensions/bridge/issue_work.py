"""Work on one issue step by step: read its state, do one thing, read it again.

Nothing is kept between steps but what the forge, the branch and the clone's journal have, so a
kill anywhere is a step that is taken again. The forge's calls that make something come after a
look whether it is there; the lease of the bridge keeps two from looking at once.

What a person's word does to an issue: a plan is decided, a task revised, all of it stopped.

A stage's label that somebody put on by hand: what they want by it, by whom its event says.

A label names no plan. It approves the one that the comment showed, unchanged, since before the
label was put on; what was shown later has to be approved anew.

A review that asks for changes: what it wants of which task, by the files that it speaks of.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.extensions.bridge.admission import (
    SlashCommand,
    Verb,
    find_admission,
    find_reviews,
    take_hidden_out,
)
from runner.extensions.bridge.comment_text import (
    TOO_LONG,
    Stage,
    code,
    digest_shown,
    fits_fence,
    format_used_up,
    list_naming,
    name_branch,
    write_history,
)
from runner.extensions.bridge.forge import ForgeError
from runner.extensions.bridge.issue_state import (
    LIMIT,
    BridgeStoppedError,
    IssueContext,
)
from runner.extensions.bridge.issue_text import (
    TOO_MUCH,
    approve_text,
    begin_with,
    choose_parts,
    compare_late,
    compose_request_text,
    find_approval,
    find_late,
    is_part,
    mirror_tasks,
    names_text,
)
from runner.extensions.bridge.pull_request import (
    clear_before,
    describe,
    disclaim,
    end_issue,
    hold_back,
    open_early,
    propose,
)
from runner.model import ReviewMode
from runner.plan.globs import matches
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runner.extensions.bridge.admission import Admission
    from runner.extensions.bridge.builder import BuildFacts, CommandExit, IssueTask
    from runner.extensions.bridge.forge import LabelEvent, Review
    from runner.journal.session_events import DraftProposed

_STEPS = 60
_BUSY, _STOPPED = "a run is active in its folder", "stopped"
AGAIN = frozenset({_BUSY, _STOPPED})
"""Results after which the next check may find more without an event."""


class IssueWork(IssueContext):
    """The work on one issue."""

    poll: float = 0.0
    """Seconds between checks of the forge during work."""
    _looked: float = 0.0

    def advance(self) -> str:
        """Advance until someone else must act, and return what it waits for. Raises RunnerError."""
        self._looked = effects.monotonic()
        is_stopped = False
        for _ in range(_STEPS):
            if not self.may_go_on():
                return _STOPPED
            try:
                waits = self._step()
            except BridgeStoppedError:
                # One more step reports what happened meanwhile: ending the round here would leave a
                # comment that says the build is running.
                if is_stopped or not self._is_unwanted():
                    return _STOPPED
                is_stopped = True
                continue
            if waits is not None:
                return waits
        raise RunnerError(f"issue {self.number} makes no progress: a bug in the bridge")

    def is_halted(self) -> bool:
        """Return whether to stop the work: issue closed, label removed, or bridge stopping.

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

    def _step(self) -> str | None:
        """Do the next step; return what it waits for, or None to continue."""
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
        has_wish = bool(self.builder.read_request_text())
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
        wish = compose_request_text(self.issue, parts)
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
        """Choose the branch by the title; once chosen it stays, even if the title changes.

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
        # Anyone who can edit the comment could insert a commit: the journal has to agree.
        if not self.memory.proven == facts.proven == facts.head:
            return self._prove(facts)
        return propose(self, facts)

    def _plan(self) -> str | None:
        self.show(Stage.PLANNING)
        ended = self.builder.draft()
        if self.builder.look().draft is not None:
            return None
        return self.hand_over_ended("The runner could not draft a plan.", ended)

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
        """Have a reviewer other than the author decide on the draft, but never on its commands."""
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

    def _build(self, facts: BuildFacts) -> str | None:
        open_early(self, facts)
        self._show_building(facts)
        ended = self.builder.build(is_retried=self.memory.revised > 0)
        after = self.builder.look()
        self._mirror(after)
        if after.is_done:
            return None
        return self._hand_over_built("The runner could not build all tasks.", ended, after)

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
        what = "All tasks are built, but their tests do not all pass together."
        return self._hand_over_built(what, ended, after)

    def _hand_over_built(self, what: str, ended: CommandExit, after: BuildFacts) -> str:
        if ended.code != ExitCode.INTERRUPTED:
            describe(self, after)
        return self.hand_over_ended(what, ended, after)


# --- what a word does -----------------------------------------------------------------


def refuse_plan(
    context: IssueContext, draft: DraftProposed, reason: str, by: str, place: str = ""
) -> None:
    """Reject the draft, so that another plan is written."""
    ended = context.builder.reject(draft, reason, place)
    if ended.code == ExitCode.INTERRUPTED:
        raise BridgeStoppedError
    history = write_history(context.memory, f"{by} rejected DRAFT-{draft.number}: {reason}")
    context.memory = context.memory._replace(rejected=context.memory.rejected + 1, history=history)


def approve_plan(context: IssueContext, draft: DraftProposed, by: str) -> None:
    """Approve the plan and build it; the pull request goes back to a draft first."""
    hold_back(context)
    context.builder.approve(draft, by)


def hear(context: IssueContext) -> bool:
    """Carry out the next command and remember it; return False for nothing new.

    Done twice, it is done once. A comment comes before a review, and both before a moved label,
    which counts for nothing where a comment says more.
    """
    commands = context.list_commands()
    if commands:
        command = commands[0]
        answer = command.wrong or _carry_out(context, command)
        moved = find_last_label(context)
        context.memory = context.memory._replace(seen=command.comment, answer=answer, moved=moved)
    elif review := find_review(context):
        answer = _revise(context, review.author, read_wishes(context, review))
        context.memory = context.memory._replace(answer=answer, reviewed=review.id)
    elif moved_by_hand := find_moved(context):
        wish = read_moved(context, moved_by_hand)
        answer = wish if isinstance(wish, str) else _carry_out(context, wish)
        context.memory = context.memory._replace(answer=answer, moved=moved_by_hand.id)
    else:
        return False
    _show_stage(context)
    return True


def _show_stage(context: IssueContext) -> None:
    """Show the stage that a command leads to, until the next step shows more.

    A word that changes nothing moves no label: it would ring for whoever watches.
    """
    if context.memory.is_paused or context.memory.handed:
        context.show(Stage.PAUSED if context.memory.is_paused else Stage.PERSON)
        return
    facts = context.builder.look()
    if facts.draft is not None and facts.is_planned and Stage.PLAN_REVIEW in context.issue.labels:
        context.remember()
    elif facts.draft is not None or not facts.tasks or not facts.is_planned:
        context.show(Stage.PLANNING)
    elif facts.is_done and context.memory.proven == facts.proven == facts.head:
        context.show(Stage.REVIEW, facts)
    else:
        context.show(Stage.ITERATION if context.memory.revised else Stage.BUILDING, facts)


def _carry_out(context: IssueContext, command: SlashCommand) -> str:
    who = command.author
    match command.verb:
        case Verb.STOP:
            context.memory = context.memory._replace(is_paused=True)
            return f"Stopped by {who}."
        case Verb.RETRY:
            return _retry(context, who)
        case Verb.CHANGE:
            return _change(context, command)
        case _:
            return _decide(context, command)


def _retry(context: IssueContext, who: str) -> str:
    if context.memory.handed and context.memory.revised >= LIMIT:
        return format_used_up(LIMIT, "revisions failed", context.trigger)
    is_paused = Stage.PAUSED in context.issue.labels
    if not (context.memory.handed or context.memory.is_paused or is_paused):
        return "Nothing to retry: the issue is not paused, and needs no input."
    if is_paused:
        context.forge.remove_label(context.number, Stage.PAUSED)
    if context.memory.handed:
        entry = f"{context.memory.handed.splitlines()[0]} Retried by {who}."
        context.memory = context.memory._replace(history=write_history(context.memory, entry))
    revised = context.memory.revised + bool(context.memory.handed)
    context.memory = context.memory._replace(is_paused=False, handed="", revised=revised)
    return f"Retried by {who}."


def _decide(context: IssueContext, command: SlashCommand) -> str:
    """Approve or refuse the plan that was named."""
    if command.verb is Verb.APPROVE and names_text(context, command):
        return approve_text(context, command)
    draft = context.builder.look().draft
    if draft is None or not draft.digest.removeprefix("sha256:").startswith(command.digest):
        return f"No plan with the digest {command.digest[:12]} needs review: read the current one."
    if command.verb is Verb.APPROVE:
        if draft.mistakes:
            return "This plan has mistakes. To get another one, comment `/runner reject`."
        if not fits_fence(draft.text):
            return TOO_LONG
        approve_plan(context, draft, f"{command.author} ({command.place})")
        return f"The plan was approved by {command.author}."
    if context.memory.rejected >= LIMIT:
        used_up = format_used_up(LIMIT, "plans rejected", context.trigger)
        context.memory = context.memory._replace(handed=used_up)
        return used_up
    context.show(Stage.PLANNING)
    refuse_plan(context, draft, command.text, command.author, command.place)
    return f"{command.author} rejected the plan and requested another one."


def _change(context: IssueContext, command: SlashCommand) -> str:
    if command.task not in {one.id for one in context.builder.look().tasks}:
        return f"Unknown task {command.task}: see the table for the tasks of this issue."
    wish = f"{command.text} ({command.place})"
    return _revise(context, command.author, {command.task: wish})


def _revise(context: IssueContext, who: str, wishes: Mapping[str, str]) -> str:
    """Request changes of tasks, which count as one revision, and return the reply."""
    if not wishes:
        say = f"`/runner change {context.name_task()} …`"
        return f"{who} requested changes without naming a task; to name one, comment {say}."
    if context.memory.revised >= LIMIT:
        used_up = format_used_up(LIMIT, "revisions failed", context.trigger)
        context.memory = context.memory._replace(handed=used_up)
        return f"{who} requested another revision, but the limit is reached."
    hold_back(context)
    history = context.memory
    for task, wish in wishes.items():
        ended = context.builder.change(task, wish)
        if ended.code == ExitCode.INTERRUPTED:
            raise BridgeStoppedError
        if ended.code:
            handed = f"The change could not be recorded.\n{ended.stderr}"
            context.memory = context.memory._replace(handed=handed)
            return "The change could not be recorded."
        history = history._replace(
            history=write_history(history, f"{who} requested a change of {task}: {wish}")
        )
    context.memory = history._replace(revised=context.memory.revised + 1, handed="")
    return f"{who} requested a revision of {', '.join(wishes)}."


# --- a label moved by hand ------------------------------------------------------------


_SAYING = frozenset({Stage.READY.value, Stage.BUILDING.value, Stage.ITERATION.value})
"""Labels that request something; `paused` is checked separately, and the others only display."""


def find_last_label(context: IssueContext) -> int:
    """Return the ID of the newest label event."""
    events = context.forge.list_label_events(context.number)
    return max([context.memory.moved, *(one.id for one in events if one.label in _SAYING)])


def find_moved(context: IssueContext) -> LabelEvent | None:
    """Return the newest active label event by a user with push permission, or None."""
    found = [
        one
        for one in context.forge.list_label_events(context.number)
        if one.id > context.memory.moved
        and one.label in _SAYING & context.issue.labels
        and one.actor != context.login
    ]
    last = found[-1] if found else None
    return last if last is not None and context.forge.may_write(last.actor) else None


def read_moved(context: IssueContext, event: LabelEvent) -> SlashCommand | str:
    """Return the command of a moved label, or why the label is not enough."""
    who = event.actor

    def say(verb: Verb, *, digest: str = "", text: str = "") -> SlashCommand:
        return SlashCommand(verb, 0, who, digest, text=text, label=event.id)

    if context.memory.handed or context.memory.is_paused:
        return say(Verb.RETRY)
    draft = context.builder.look().draft
    if draft is None:
        example = f"`/runner change {context.name_task()} …`"
        return f"{who} moved the label; to describe the change, comment {example}."
    digest = digest_shown(draft)
    if event.label != Stage.BUILDING:
        return say(Verb.REJECT, digest=digest, text=f"sent back by {who} without a reason")
    comment = context.comment
    if comment is None or digest not in comment.body or not comment.updated < event.time:
        return f"{who} moved the label before this plan was shown: read it, then move it back."
    return say(Verb.APPROVE, digest=digest)


# --- a review that asks for changes ---------------------------------------------------


_TASK = re.compile(r"\bTASK-\d{1,9}\b")
_LONGEST = 4000


def find_review(context: IssueContext) -> Review | None:
    """Return the next review that requests changes on the pull request, or None."""
    if context.pull is None:
        return None
    reviews = context.forge.list_reviews(context.pull.number)
    found = find_reviews(context.forge, reviews, context.memory.reviewed)
    return found[0] if found else None


def read_wishes(context: IssueContext, review: Review) -> dict[str, str]:
    """Return the requested changes by task; empty if the review names no task.

    A line's comment goes to the tasks that may write its file, a general comment to those
    that it names; where only one task could be meant, that one.
    """
    if context.pull is None:
        return {}
    rows = context.builder.look().tasks
    comments: dict[str, list[str]] = {}
    named = _TASK.findall(review.body)
    for id_ in _find_meant(rows, (one.id for one in rows if one.id in named)):
        comments.setdefault(id_, []).append(review.body)
    for line in context.forge.list_line_comments(context.pull.number, review.id):
        owners = (one.id for one in rows if any(matches(out, line.path) for out in one.outputs))
        place = f"{line.path}:{line.line}" if line.line else line.path
        for id_ in _find_meant(rows, owners):
            comments.setdefault(id_, []).append(f"{place}: {line.body}")
    wishes = {id_: _write(texts) for id_, texts in comments.items()}
    return {id_: f"{text} (review {review.id})" for id_, text in wishes.items() if text}


def _find_meant(rows: Sequence[IssueTask], found: Iterable[str]) -> list[str]:
    return list(found) or [one.id for one in rows[:1] if len(rows) == 1]


def _write(texts: Iterable[str]) -> str:
    plain = (" ".join(display(redact(take_hidden_out(one)), lines=True).split()) for one in texts)
    return "; ".join(filter(None, plain))[:_LONGEST]
