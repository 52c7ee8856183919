"""An epic: the issues below one are planned with it as one wish; its tasks are mirrored below it.

What a mirror says is only shown: nothing is read from it but which task it is of.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.bridge.comment_text import plain_title
from runner.model import Status
from runner.text.wording import read_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.bridge.builder import TaskRow
    from runner.bridge.forge import Issue
    from runner.bridge.issue_desk import IssueDesk

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
