"""What a person may say in a comment: `/runner approve 3f2a9c1b` and its like, on its first line.

Everything else in a comment is talk. Who said it is looked at elsewhere; here it is only read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from runner.bridge.forge import Comment

_LINE = re.compile(r"/runner[ \t]+([a-z]+)(?:[ \t]+(.*))?", re.DOTALL)
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_DIGEST = re.compile(r"([0-9a-f]{8,64})(?:\s+(.*))?", re.DOTALL)
_TASK = re.compile(r"(TASK-\d{1,9})\s+(.*)", re.DOTALL)
_LONGEST = 4000
_LONGEST_WORD = 20


class Verb(StrEnum):
    """What may be said."""

    APPROVE = "approve"
    REJECT = "reject"
    CHANGE = "change"
    RETRY = "retry"
    STOP = "stop"
    UNKNOWN = ""
    """A word that is none of these, as a slip of the pen makes it."""


_VERBS = tuple(one.value for one in Verb if one.value)


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """One that was said; `wrong` is what is missing from it."""

    verb: Verb
    comment: int
    author: str
    digest: str = ""
    """The first digits of what it is about, as they were shown."""
    task: str = ""
    text: str = ""
    wrong: str = ""
    label: int = 0
    """The event of a label that said it, instead of a comment."""

    @property
    def place(self) -> str:
        """Where it was said, such as `comment 7`."""
        return f"label event {self.label}" if self.label else f"comment {self.comment}"


def read_command(comment: Comment) -> SlashCommand | None:
    """The command that a comment begins with; None for talk."""
    # A browser's form sends CR LF. What a page hides is gone before the command is looked for:
    # nobody who read the comment saw it.
    seen = take_hidden_out(comment.body.replace("\r\n", "\n"))
    # From the first sign on: a command that is quoted (`> /runner …`) is somebody else's word.
    found = _LINE.fullmatch(seen[:_LONGEST].rstrip())
    if found is None:
        return None
    if found[1] not in _VERBS:
        words = ", ".join(f"`{one}`" for one in _VERBS)
        wrong = f"`/runner {found[1][:_LONGEST_WORD]}` is not understood: the words are {words}."
        return SlashCommand(Verb.UNKNOWN, comment.id, comment.author, wrong=wrong)
    verb, rest = Verb(found[1]), (found[2] or "").strip()
    return _read(verb, comment, display(redact(rest), lines=True).strip())


def take_hidden_out(text: str) -> str:
    """Without the comments that a page does not show."""
    return _HIDDEN.sub(" ", text)


def _read(verb: Verb, comment: Comment, rest: str) -> SlashCommand:
    plain = SlashCommand(verb, comment.id, comment.author)
    match verb:
        case Verb.APPROVE | Verb.REJECT:
            found = _DIGEST.fullmatch(rest)
            if found is None:
                wrong = f"`/runner {verb}` needs the digest of the plan that you read."
            elif verb is Verb.REJECT and not (found[2] or "").strip():
                wrong = "`/runner reject` needs a reason behind the digest: the next plan reads it."
            else:
                return _make(plain, digest=found[1], text=(found[2] or "").strip())
        case Verb.CHANGE:
            found = _TASK.fullmatch(rest)
            if found is not None:
                return _make(plain, task=found[1], text=found[2].strip())
            wrong = (
                "`/runner change` needs a task and what is to change: `/runner change TASK-003 …`."
            )
        case _:
            return _make(plain, text=rest)
    return _make(plain, wrong=wrong)


def _make(
    plain: SlashCommand, *, digest: str = "", task: str = "", text: str = "", wrong: str = ""
) -> SlashCommand:
    return SlashCommand(plain.verb, plain.comment, plain.author, digest, task, text, wrong)
