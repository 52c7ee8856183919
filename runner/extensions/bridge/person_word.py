"""What a person's word does to an issue: a plan is decided, a task revised, all of it stopped.

A stage's label that somebody put on by hand: what they want by it, by whom its event says.

A label names no plan. It approves the one that the comment showed, unchanged, since before the
label was put on; what was shown later has to be approved anew.

A review that asks for changes: what it wants of which task, by the files that it speaks of.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.errors import ExitCode
from runner.extensions.bridge.admission import SlashCommand, Verb, find_reviews, take_hidden_out
from runner.extensions.bridge.comment_text import fits_fence, write_history
from runner.extensions.bridge.issue_context import LIMIT, BridgeStoppedError
from runner.extensions.bridge.issue_text import approve_text, names_text
from runner.extensions.bridge.own_request import hold_back
from runner.extensions.bridge.status_comment import TOO_LONG, Stage, digest_shown, format_used_up
from runner.plan.globs import matches
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runner.extensions.bridge.builder import IssueTask
    from runner.extensions.bridge.forge import LabelEvent, Review
    from runner.extensions.bridge.issue_context import IssueContext
    from runner.journal.session_events import DraftProposed

# --- what a word does -----------------------------------------------------------------


def refuse_plan(
    context: IssueContext, draft: DraftProposed, reason: str, by: str, place: str = ""
) -> None:
    """Have another plan written."""
    ended = context.builder.reject(draft, reason, place)
    if ended.code == ExitCode.INTERRUPTED:
        raise BridgeStoppedError
    history = write_history(context.memory, f"{by} rejected DRAFT-{draft.number}: {reason}")
    context.memory = context.memory._replace(rejected=context.memory.rejected + 1, history=history)


def approve_plan(context: IssueContext, draft: DraftProposed, by: str) -> None:
    """Have it built. What was proven before is to be merged no more: the branch gets the plan."""
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
    _show_heard(context)
    return True


def _show_heard(context: IssueContext) -> None:
    """Say what is to come, until the next step says more.

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
        return "Nothing to retry: it is neither paused nor waiting for your input."
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
            return "Fix the plan first; to get another one, comment `/runner reject`."
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
    """Have tasks revised; all of it counts as one revision."""
    if not wishes:
        say = f"`/runner change {context.name_task()} …`"
        return f"{who} requested changes without naming a task; to name one, comment {say}."
    if context.memory.revised >= LIMIT:
        used_up = format_used_up(LIMIT, "revisions failed", context.trigger)
        context.memory = context.memory._replace(handed=used_up)
        return f"{who} requested another revision."
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
"""Labels that say what is wanted; `paused` is looked at by itself, and the others only show."""


def find_last_label(context: IssueContext) -> int:
    """The newest label event that is known, or was taken in before."""
    events = context.forge.list_label_events(context.number)
    return max([context.memory.moved, *(one.id for one in events if one.label in _SAYING)])


def find_moved(context: IssueContext) -> LabelEvent | None:
    """The newest label that somebody who may push put on since, and that is on still."""
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
        return f"{who} moved the label before this plan was shown: read it, then move it again."
    return say(Verb.APPROVE, digest=digest)


# --- a review that asks for changes ---------------------------------------------------


_TASK = re.compile(r"\bTASK-\d{1,9}\b")
_LONGEST = 4000


def find_review(context: IssueContext) -> Review | None:
    """The next review of its pull request in which somebody who may push asks for changes."""
    if context.pull is None:
        return None
    reviews = context.forge.list_reviews(context.pull.number)
    found = find_reviews(context.forge, reviews, context.memory.reviewed)
    return found[0] if found else None


def read_wishes(context: IssueContext, review: Review) -> dict[str, str]:
    """By task what is to change; empty where the review tells no task.

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
