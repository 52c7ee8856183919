"""The planned version of an issue's text, later edits of it, and the parts of an epic.

The folder of the issue keeps the text as of the label. A later edit waits: its difference is shown,
and somebody with push access decides. The sub-issues of an epic are planned with it as one request,
and its tasks are mirrored as sub-issues, of which only the task ID is read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.extensions.bridge.admission import Verb, find_last_change
from runner.extensions.bridge.comment_text import SHORT, Memory, code, plain_title, write_difference
from runner.extensions.bridge.issue_state import LateText
from runner.model import Status, digest_of
from runner.text.wording import read_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.extensions.bridge.admission import Admission, SlashCommand
    from runner.extensions.bridge.builder import IssueTask
    from runner.extensions.bridge.forge import Issue, LabelEvent
    from runner.extensions.bridge.issue_state import IssueContext

# --- a text that waits ----------------------------------------------------------------


_UNKNOWN = "The runner does not know the earlier text; the forge's *edited* menu may show it."
_UNSHOWN = "The new text is not shown in full here: remove the label and add it again."


def compare_late(context: IssueContext, found: Admission, wish: str) -> LateText:
    """Compare the text that the label admitted with the text as it is now."""
    if not found.before:
        return LateText(wish, _tell(context, wish, _UNKNOWN), is_whole=False)
    issue, *parts = found.before
    return _compare(context, compose_request_text(issue, choose_parts(parts)), wish)


def find_late(context: IssueContext, asked: LabelEvent) -> LateText | None:
    """Return the text if it was edited since it was accepted; None if it is the same."""
    issue, kept = context.issue, context.builder.read_request_text()
    taken = context.memory.parts.split(",")
    below = context.forge.list_parts(issue.number) if issue.parts else ()
    # An issue closed meanwhile is still a part; a reopened one is not.
    still = (one for one in below if str(one.number) in taken)
    parts = sorted({*choose_parts(below), *still}, key=lambda one: one.number)
    wish = compose_request_text(issue, parts)
    if not kept or not wish or _digits(wish) == _digits(kept):
        return None
    who, when = find_last_change(context.forge, (issue, *parts), asked.time)
    if not when:  # another version of ours writes a wish otherwise
        return None
    late = _compare(context, kept, wish)
    head = (
        f"{code(who)} changed the text at {when}, after the label was added. The runner plans and"
        " builds the earlier text."
    )
    return LateText(wish, f"{head}\n\n{late.notice}", late.is_whole)


def _compare(context: IssueContext, before: str, wish: str) -> LateText:
    difference, is_whole = write_difference(before, wish)
    return LateText(wish, _tell(context, wish, difference, is_whole=is_whole), is_whole)


def _tell(context: IssueContext, wish: str, difference: str, *, is_whole: bool = False) -> str:
    again = f"To use the new text, remove the label {code(context.trigger)} and add it again."
    if not is_whole:
        return f"{difference}\n\n{again}"
    say = f"To approve the new text, comment `/runner approve {_digits(wish)[:SHORT]}`."
    return f"{difference}\n\n{say} {again}"


def _digits(wish: str) -> str:
    return digest_of(wish.encode("utf-8", "replace")).removeprefix("sha256:")


def find_approval(context: IssueContext) -> SlashCommand | None:
    """Return the command that approves exactly the pending issue text, or None."""
    for one in context.list_commands():
        if (
            one.verb is Verb.APPROVE
            and names_text(context, one)
            and context.late
            and context.late.is_whole
        ):
            return one
    return None


def names_text(context: IssueContext, command: SlashCommand) -> bool:
    """Return whether a command's digest matches the pending or current issue text."""
    wish = context.late.wish if context.late is not None else context.builder.read_request_text()
    return bool(command.digest) and _digits(wish).startswith(command.digest)


def begin_with(context: IssueContext, wish: str, parts: Sequence[Issue]) -> None:
    """Start over with this text: save it and reset the counters."""
    was = context.memory
    context.builder.save_request_text(wish)
    context.memory = Memory(
        seen=was.seen,
        reviewed=was.reviewed,
        moved=was.moved,
        label=was.label,
        by=was.by,
        ready=was.ready,
        parts=",".join(str(one.number) for one in parts),
        turn=was.turn,
        branch=was.branch,
        before=was.before,
    )


def approve_text(context: IssueContext, command: SlashCommand) -> str:
    """Accept the current text as the comment requests, and return the reply."""
    if context.late is None:  # a crash came between the text and the word that it was taken
        return f"The current text is in use: {command.author} approved it."
    if not context.late.is_whole:
        return _UNSHOWN
    below = context.forge.list_parts(context.number) if context.issue.parts else ()
    begin_with(context, context.late.wish, choose_parts(below))
    context.late = None
    return f"{command.author} approved the current text; planning it."


# --- an epic --------------------------------------------------------------------------


MIRROR = "runner:task"
"""Label of issues that show a task."""
_MOST_PARTS, _LONGEST = 30, 120_000
TOO_MUCH = (
    f"This issue and its sub-issues are too much for one plan: at most {_MOST_PARTS} issues and"
    f" {_LONGEST:,} characters. Split it, remove the label and add it again."
)
_MARK = re.compile(r"<!-- runner-task:1 (\d+) (\S+) -->\s*\Z")


def is_part(context: IssueContext) -> bool:
    """Return whether the issue is planned with its parent, which is open and has the label."""
    if not context.issue.parent:
        return False
    above = context.forge.load_issue(context.issue.parent)
    return above.is_open and context.trigger in above.labels


def choose_parts(below: Sequence[Issue]) -> tuple[Issue, ...]:
    """Open issues below one that are a part of what is wished for; no mirrors of tasks."""
    return tuple(one for one in below if one.is_open and MIRROR not in one.labels)


def compose_request_text(issue: Issue, parts: Sequence[Issue]) -> str:
    """Return the text of an issue and its sub-issues; empty if it is too long."""
    sections = [f"# {issue.title}\n\n{issue.body}\n"]
    sections += [f"## #{one.number}: {one.title}\n\n{one.body}\n" for one in parts]
    wish = "\n".join(sections)
    return wish if len(parts) <= _MOST_PARTS and len(wish) <= _LONGEST else ""


def mirror_tasks(context: IssueContext, rows: Sequence[IssueTask]) -> None:
    """Create or update a sub-issue for each task, closed if the task is DONE.

    Each is looked for by its marker first: one that a kill left without its place gets it now.
    """
    there = _find_mirrors(context)
    placed = {one.number for one in context.forge.list_parts(context.number)} if rows else set()
    for row in rows:
        title = f"{row.id}: {plain_title(row.title)}"
        mirror = there.get(row.id)
        if mirror is None:
            body = f"A task of #{context.number}. It only shows the status; change the task there."
            mark = f"<!-- runner-task:1 {context.number} {row.id} -->"
            mirror = context.forge.create_issue(title, f"{body}\n\n{mark}", MIRROR)
        if mirror.number not in placed:
            context.forge.add_part(context.number, mirror)
        is_open = row.status is not Status.DONE
        if (mirror.title, mirror.is_open) != (title, is_open):
            context.forge.edit_issue(mirror.number, title=title, is_open=is_open)


def _find_mirrors(context: IssueContext) -> dict[str, Issue]:
    """Return the first mirror issue of each task of this issue."""
    found: dict[str, Issue] = {}
    ours = context.forge.list_own_issues(MIRROR, context.login)
    for one in sorted(ours, key=lambda one: one.number):
        mark = _MARK.search(one.body)
        if (
            mark is not None
            and one.author == context.login
            and read_number(mark[1]) == context.number
        ):
            found.setdefault(mark[2], one)
    return found
