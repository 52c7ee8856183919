"""A stage's label that somebody put on by hand: what they want by it, by whom its event says.

A label names no plan. It approves the one that the comment showed, unchanged, since before the
label was put on; what was shown later has to be approved anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.bridge.slash_commands import SlashCommand, Verb
from runner.bridge.status_comment import Stage, digest_shown

if TYPE_CHECKING:
    from runner.bridge.forge import LabelEvent
    from runner.bridge.issue_desk import IssueDesk

_SAYING = frozenset({Stage.READY.value, Stage.BUILDING.value, Stage.ITERATION.value})
"""Labels that say what is wanted; `paused` is looked at by itself, and the others only show."""


def find_last_label(desk: IssueDesk) -> int:
    """The newest label event that is known, or was taken in before."""
    events = desk.forge.list_label_events(desk.number)
    return max([desk.memory.moved, *(one.id for one in events if one.label in _SAYING)])


def find_moved(desk: IssueDesk) -> LabelEvent | None:
    """The newest label that somebody who may push put on since, and that is on still."""
    found = [
        one
        for one in desk.forge.list_label_events(desk.number)
        if one.id > desk.memory.moved
        and one.label in _SAYING & desk.issue.labels
        and one.actor != desk.login
    ]
    last = found[-1] if found else None
    return last if last is not None and desk.forge.may_write(last.actor) else None


def read_moved(desk: IssueDesk, event: LabelEvent) -> SlashCommand | str:
    """What a comment would have said; in words, where a label says too little."""
    who = event.actor

    def say(verb: Verb, *, digest: str = "", text: str = "") -> SlashCommand:
        return SlashCommand(verb, 0, who, digest, text=text, label=event.id)

    if desk.memory.handed or desk.memory.is_paused:
        return say(Verb.RETRY)
    draft = desk.builder.look().draft
    if draft is None:
        said = f"`/runner change {desk.name_task()} …`"
        return f"{who} moved the label; {said} says what is to be different."
    digest = digest_shown(draft)
    if event.label != Stage.BUILDING:
        return say(Verb.REJECT, digest=digest, text=f"sent back by {who}, who gave no reason")
    comment = desk.comment
    if comment is None or digest not in comment.body or not comment.updated < event.time:
        return f"{who} moved the label before this plan was shown: read it, and move it again."
    return say(Verb.APPROVE, digest=digest)
