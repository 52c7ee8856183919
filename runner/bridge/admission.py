"""Who is heard. Whether an issue may be worked on, and with which text, a writer's label says.

The text counts as it was when somebody who may push put the label on. Who may not push may edit
it afterwards: then nothing begins before the label is put on again. Times are the forge's, whole
seconds; what happened in the same second counts as after.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.bridge.comment_text import read_memory
from runner.bridge.slash_commands import read_command

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runner.bridge.forge import Comment, Forge, Issue, LabelEvent, Review
    from runner.bridge.slash_commands import SlashCommand


@dataclass(frozen=True, slots=True)
class Admission:
    """By which label, or why not: empty words where it is nothing to tell in the issue."""

    event: LabelEvent | None = None
    why_not: str = ""
    parts: tuple[Issue, ...] = ()
    """Issues below it, as they were before it was asked who changed them."""


def find_admission(forge: Forge, issue: Issue, trigger: str, known: int = 0) -> Admission:
    """Look who labelled, and who changed the text since. Raises ForgeError.

    The issue's text has to be read before, and that of its parts is, here: a change that comes
    after it is then seen. Of the event `known` the text was taken already.
    """
    events = forge.list_label_events(issue.number)
    asked = [one for one in events if one.label == trigger]
    if not asked or trigger not in issue.labels or not forge.may_write(asked[-1].actor):
        return Admission()
    event = asked[-1]
    if event.id == known:
        return Admission(event)
    parts = tuple(forge.list_parts(issue.number) if issue.parts else ())
    for number in (issue.number, *(one.number for one in parts)):
        who, when = find_change_since(forge, number, forge.list_label_events(number), event.time)
        if when:
            return Admission(
                event,
                f"The text of #{number} was changed by {who} at {when}, after the label `{trigger}`"
                " was put on, and they may not push here. Read it, and what it was before (the menu"
                " *edited* of the forge); if it is what you want, take the label off and put it on"
                " again.",
            )
    return Admission(event, parts=parts)


def find_change_since(
    forge: Forge, number: int, events: Sequence[LabelEvent], since: str
) -> tuple[str, str]:
    """Who changed text, title or parts of an issue since then and may not push, and when.

    Empty words where nobody did.
    """
    edit = forge.find_text_edit(number)
    changes = [(edit.editor, edit.time)] if edit else []
    changes += [(one.actor, one.time) for one in events if not one.label]
    late = ((who, time) for who, time in changes if time >= since)
    return next(((who, time) for who, time in late if not forge.may_write(who)), ("", ""))


def find_commands(forge: Forge, comments: Iterable[Comment], seen: int) -> list[SlashCommand]:
    """What was said after the comment `seen` by people who may push, in their unedited words."""
    return [
        command
        for one in sorted(comments, key=lambda one: one.id)
        if one.id > seen and not one.is_edited and read_memory(one.body) is None
        if (command := read_command(one)) is not None
        if forge.may_write(one.author)
    ]


def find_reviews(forge: Forge, reviews: Iterable[Review], seen: int) -> list[Review]:
    """Reviews after the review `seen` in which people who may push ask for changes."""
    return [
        one for one in reviews if one.id > seen and one.wants_changes if forge.may_write(one.author)
    ]
