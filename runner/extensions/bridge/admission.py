"""Decide which labels and comments on an issue count, by the role of their author.

The text of an issue counts as it was when somebody with push access added the label. If somebody
without push access edits it later, nothing begins until somebody with push access accepts the new
text. A text that is already planned stays in use, whoever edits it. Times are the forge's, in
seconds; events of the same second count as later.

A command such as `/runner approve 3f2a9c1b` is on the first line of a comment; the runner ignores
every other comment.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.extensions.bridge.comment_text import read_memory
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runner.extensions.bridge.forge import Comment, Forge, Issue, LabelEvent, Review, TextEdit

# --- by whose word --------------------------------------------------------------------


class Admission(Struct, frozen=True):
    """The label that admits an issue, or the reason against it; an empty reason is not reported."""

    event: LabelEvent | None = None
    why_not: str = ""
    parts: tuple[Issue, ...] = ()
    """Issues below it, before their authors and changes were queried."""
    before: tuple[Issue, ...] = ()
    """Where it is not admitted: the issue and its parts with their texts as of the label; none
    where the forge does not tell."""


def find_admission(forge: Forge, issue: Issue, trigger: str, known: int = 0) -> Admission:
    """Find who added the label, and who changed the text since then. Raises ForgeError.

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
    pasts = [_Past.of(forge, one, event.time) for one in (issue, *parts)]
    late = ((past, who, when) for past in pasts for who, when in past.changes)
    past, who, when = next((one for one in late if not forge.may_write(one[1])), (None, "", ""))
    if past is None:
        return Admission(event, parts=parts)
    why_not = (
        f"{who}, who has no push access, changed the text of #{past.issue.number} at {when}, after"
        f" the label `{trigger}` was added. Read it; if it is what you want, remove the label and"
        " add it again."
    )
    then = [one.then for one in pasts]
    is_known = all(one is not None for one in then)
    return Admission(event, why_not, parts, tuple(one for one in then if one and is_known))


def find_last_change(forge: Forge, issues: Iterable[Issue], since: str) -> tuple[str, str]:
    """Return author and time of the last change to these issues since then; else empty."""
    changes = [one for issue in issues for one in _Past.of(forge, issue, since).changes]
    return max(changes, key=lambda one: one[1], default=("", ""))


class _Past(Struct, frozen=True):
    """An issue as it was at a time, and what was changed since."""

    issue: Issue
    changes: tuple[tuple[str, str], ...]
    """Author and time of changes; of its text only the last, since others are not visible."""
    then: Issue | None
    """The earlier issue; None if the forge does not provide its text."""

    @classmethod
    def of(cls, forge: Forge, issue: Issue, since: str) -> _Past:
        """Ask the forge. Raises ForgeError."""
        edits = forge.list_text_edits(issue.number)
        events = [
            one
            for one in forge.list_label_events(issue.number)
            if not one.label and one.time >= since
        ]
        last = [(one.editor, one.time) for one in edits[-1:] if one.time >= since]
        changes = (*last, *((one.actor, one.time) for one in events))
        title = next((one.title for one in events if one.title), issue.title)
        body = _find_text(edits, since) if last else issue.body
        then = None if body is None else replace(issue, title=title, body=body)
        return cls(issue, changes, then)


def _find_text(edits: Sequence[TextEdit], since: str) -> str | None:
    """Return the last text before a time; None if the forge does not list it."""
    before = [one for one in edits if one.time < since]
    return before[-1].text if before else None


def find_commands(forge: Forge, comments: Iterable[Comment], seen: int) -> list[SlashCommand]:
    """Return the commands after the comment `seen`: unedited, by people who may push."""
    return [
        command
        for one in sorted(comments, key=lambda one: one.id)
        if one.id > seen and not one.is_edited and read_memory(one.body) is None
        if (command := read_command(one)) is not None
        if forge.may_write(one.author)
    ]


def find_reviews(forge: Forge, reviews: Iterable[Review], seen: int) -> list[Review]:
    """Return newer reviews than `seen` that request changes, by people with push rights."""
    return [
        one for one in reviews if one.id > seen and one.wants_changes if forge.may_write(one.author)
    ]


# --- slash commands -------------------------------------------------------------------


_LINE = re.compile(r"/runner[ \t]+([a-z]+)(?:[ \t]+(.*))?", re.DOTALL)
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_DIGEST = re.compile(r"([0-9a-f]{8,64})(?:\s+(.*))?", re.DOTALL)
_TASK = re.compile(r"(TASK-\d{1,9})\s+(.*)", re.DOTALL)
_LONGEST = 4000
_LONGEST_WORD = 20


class Verb(StrEnum):
    """The verb of a slash command."""

    APPROVE = "approve"
    REJECT = "reject"
    CHANGE = "change"
    RETRY = "retry"
    STOP = "stop"
    UNKNOWN = ""
    """An unknown word, such as a typo."""


_VERBS = tuple(one.value for one in Verb if one.value)


class SlashCommand(Struct, frozen=True):
    """A command of a comment or a label; `wrong` explains why it is not valid."""

    verb: Verb
    comment: int
    author: str
    digest: str = ""
    """First digits of the digest of its subject, as shown to the person."""
    task: str = ""
    text: str = ""
    wrong: str = ""
    label: int = 0
    """Label event that gave the command instead of a comment."""

    @property
    def place(self) -> str:
        """Name the source of the command, such as `comment 7`."""
        return f"label event {self.label}" if self.label else f"comment {self.comment}"


def read_command(comment: Comment) -> SlashCommand | None:
    """Parse the command at the start of a comment; return None for other comments."""
    # Browser forms send CR LF. Hidden text is removed before the command is searched: no reader of
    # the comment saw it.
    seen = take_hidden_out(comment.body.replace("\r\n", "\n"))
    # Only at the very start: a quoted command (`> /runner …`) is another person's.
    found = _LINE.fullmatch(seen[:_LONGEST].rstrip())
    if found is None:
        return None
    if found[1] not in _VERBS:
        words = ", ".join(f"`{one}`" for one in _VERBS)
        wrong = f"Unknown command `/runner {found[1][:_LONGEST_WORD]}`: expected {words}."
        return SlashCommand(Verb.UNKNOWN, comment.id, comment.author, wrong=wrong)
    verb, rest = Verb(found[1]), (found[2] or "").strip()
    return _read(verb, comment, display(redact(rest), lines=True).strip())


def take_hidden_out(text: str) -> str:
    """Remove the comments that a page does not show."""
    return _HIDDEN.sub(" ", text)


def _read(verb: Verb, comment: Comment, rest: str) -> SlashCommand:
    plain = SlashCommand(verb, comment.id, comment.author)
    match verb:
        case Verb.APPROVE | Verb.REJECT:
            found = _DIGEST.fullmatch(rest)
            if found is None:
                wrong = f"`/runner {verb}` needs the digest of the plan that you read."
            elif verb is Verb.REJECT and not (found[2] or "").strip():
                wrong = "`/runner reject` needs a reason after the digest, for the next plan."
            else:
                return _make(plain, digest=found[1], text=(found[2] or "").strip())
        case Verb.CHANGE:
            found = _TASK.fullmatch(rest)
            if found is not None:
                return _make(plain, task=found[1], text=found[2].strip())
            wrong = "`/runner change` needs a task and what to change: `/runner change TASK-003 …`."
        case _:
            return _make(plain, text=rest)
    return _make(plain, wrong=wrong)


def _make(
    plain: SlashCommand, *, digest: str = "", task: str = "", text: str = "", wrong: str = ""
) -> SlashCommand:
    return SlashCommand(plain.verb, plain.comment, plain.author, digest, task, text, wrong)
