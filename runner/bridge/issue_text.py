"""The text of an issue once it was planned: a later one waits, and an epic has parts.

A text of an issue that waits: what it would change is shown, and somebody who may push decides.

What is planned is the text as of the label, which the issue's folder keeps.

An epic: the issues below one are planned with it as one wish; its tasks are mirrored below it.

What a mirror says is only shown: nothing is read from it but which task it is of.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.bridge.admission import Verb, find_last_change
from runner.bridge.comment_text import Memory, code, plain_title, write_difference
from runner.bridge.issue_desk import LateText
from runner.bridge.status_comment import SHORT
from runner.model import Status, digest_of
from runner.text.wording import read_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.bridge.admission import Admission, SlashCommand
    from runner.bridge.builder import TaskRow
    from runner.bridge.forge import Issue, LabelEvent
    from runner.bridge.issue_desk import IssueDesk

# --- a text that waits ----------------------------------------------------------------


_UNKNOWN = "What it was before is not known here; the menu *edited* of the forge may have it."
_UNSHOWN = "That text is not shown here whole: take the label off and put it on again."


def compare_late(desk: IssueDesk, found: Admission, wish: str) -> LateText:
    """What the label did not admit, beside what the issue said when it was put on."""
    if not found.before:
        return LateText(wish, _tell(desk, wish, _UNKNOWN), is_whole=False)
    issue, *parts = found.before
    return _compare(desk, write_wish(issue, choose_parts(parts)), wish)


def find_late(desk: IssueDesk, asked: LabelEvent) -> LateText | None:
    """What somebody made of the text since it was taken; None where it is the same."""
    issue, kept = desk.issue, desk.builder.read_wish()
    taken = desk.memory.parts.split(",")
    below = desk.forge.list_parts(issue.number) if issue.parts else ()
    # One that was closed meanwhile is a part still; one that was opened again is none.
    still = (one for one in below if str(one.number) in taken)
    parts = sorted({*choose_parts(below), *still}, key=lambda one: one.number)
    wish = write_wish(issue, parts)
    if not kept or not wish or _digits(wish) == _digits(kept):
        return None
    who, when = find_last_change(desk.forge, (issue, *parts), asked.time)
    if not when:  # another version of ours writes a wish otherwise
        return None
    late = _compare(desk, kept, wish)
    head = (
        f"The text was changed by {code(who)} at {when}, after it was asked for. What is planned"
        " and built is the text as it was then."
    )
    return LateText(wish, f"{head}\n\n{late.said}", late.is_whole)


def _compare(desk: IssueDesk, before: str, wish: str) -> LateText:
    difference, is_whole = write_difference(before, wish)
    return LateText(wish, _tell(desk, wish, difference, is_whole=is_whole), is_whole)


def _tell(desk: IssueDesk, wish: str, difference: str, *, is_whole: bool = False) -> str:
    again = f"Taking the label {code(desk.trigger)} off and putting it on again has it count."
    if not is_whole:
        return f"{difference}\n\n{again}"
    say = f"`/runner approve {_digits(wish)[:SHORT]}` has the text count as it is now."
    return f"{difference}\n\n{say} {again}"


def _digits(wish: str) -> str:
    return digest_of(wish.encode("utf-8", "replace")).removeprefix("sha256:")


def find_approval(desk: IssueDesk) -> SlashCommand | None:
    """The comment of somebody who may push that has exactly the text that waits count."""
    for one in desk.list_commands():
        if one.verb is Verb.APPROVE and names_text(desk, one) and desk.late and desk.late.is_whole:
            return one
    return None


def names_text(desk: IssueDesk, command: SlashCommand) -> bool:
    """Whether it is about the issue's text, as it waits or as it was taken a moment ago."""
    wish = desk.late.wish if desk.late is not None else desk.builder.read_wish()
    return bool(command.digest) and _digits(wish).startswith(command.digest)


def begin_with(desk: IssueDesk, wish: str, parts: Sequence[Issue]) -> None:
    """Have this text count from now on: all that was counted begins anew."""
    was = desk.memory
    desk.builder.keep_wish(wish)
    desk.builder.resume(was.by)
    desk.memory = Memory(
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


def approve_text(desk: IssueDesk, command: SlashCommand) -> str:
    """Do what such a comment says; in words."""
    if desk.late is None:  # a crash came between the text and the word that it was taken
        return f"The text counts as it is, as {command.author} said."
    if not desk.late.is_whole:
        return _UNSHOWN
    below = desk.forge.list_parts(desk.number) if desk.issue.parts else ()
    begin_with(desk, desk.late.wish, choose_parts(below))
    desk.late = None
    return f"The text counts as it is now, as {command.author} said: it is planned."


# --- an epic --------------------------------------------------------------------------


MIRROR = "runner:task"
"""The label of issues that show a task."""
_MOST_PARTS, _LONGEST = 30, 120_000
TOO_MUCH = (
    f"With the issues below it this is too much for one plan: at most {_MOST_PARTS} issues and"
    f" {_LONGEST:,} characters. Divide it, take the label off and put it on again."
)
_MARK = re.compile(r"<!-- runner-task:1 (\d+) (\S+) -->\s*\Z")


def is_part(desk: IssueDesk) -> bool:
    """Whether it is planned with the issue above it, which is asked for, too."""
    if not desk.issue.parent:
        return False
    above = desk.forge.load_issue(desk.issue.parent)
    return above.is_open and desk.trigger in above.labels


def choose_parts(below: Sequence[Issue]) -> tuple[Issue, ...]:
    """Open issues below one that are a part of what is wished for; no mirrors of tasks."""
    return tuple(one for one in below if one.is_open and MIRROR not in one.labels)


def write_wish(issue: Issue, parts: Sequence[Issue]) -> str:
    """The text of an issue and of those below it, as one; empty where that is too much."""
    said = [f"# {issue.title}\n\n{issue.body}\n"]
    said += [f"## #{one.number}: {one.title}\n\n{one.body}\n" for one in parts]
    wish = "\n".join(said)
    return wish if len(parts) <= _MOST_PARTS and len(wish) <= _LONGEST else ""


def mirror_tasks(desk: IssueDesk, rows: Sequence[TaskRow]) -> None:
    """Have an issue below this one for each task, closed where it is DONE.

    Each is looked for by its marker first: one that a kill left without its place gets it now.
    """
    there = _find_mirrors(desk)
    placed = {one.number for one in desk.forge.list_parts(desk.number)} if rows else set()
    for row in rows:
        title = f"{row.id}: {plain_title(row.title)}"
        mirror = there.get(row.id)
        if mirror is None:
            body = f"A task of #{desk.number}; it shows how that stands, and is changed there."
            mark = f"<!-- runner-task:1 {desk.number} {row.id} -->"
            mirror = desk.forge.create_issue(title, f"{body}\n\n{mark}", MIRROR)
        if mirror.number not in placed:
            desk.forge.add_part(desk.number, mirror)
        is_open = row.status is not Status.DONE
        if (mirror.title, mirror.is_open) != (title, is_open):
            desk.forge.edit_issue(mirror.number, title=title, is_open=is_open)


def _find_mirrors(desk: IssueDesk) -> dict[str, Issue]:
    """Our mirrors of this issue's tasks, the first of each."""
    found: dict[str, Issue] = {}
    ours = desk.forge.list_own_issues(MIRROR, desk.login)
    for one in sorted(ours, key=lambda one: one.number):
        told = _MARK.search(one.body)
        if told is not None and one.author == desk.login and read_number(told[1]) == desk.number:
            found.setdefault(told[2], one)
    return found
