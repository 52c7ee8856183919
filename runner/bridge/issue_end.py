"""How an issue ends: a branch that only we were on goes, the folder is kept under another name.

The branch first, then the comment, the folder last: as long as the folder is there, a bridge that
was killed begins again here, and finds gone what is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.bridge.comment_text import code
from runner.bridge.status_comment import Stage

if TYPE_CHECKING:
    from runner.bridge.issue_desk import IssueDesk

_UNWANTED, _UNMERGED = "not asked for", "closed unmerged"
_OPEN = "closed, and its pull request is open"
ENDED = frozenset({"merged", "closed", _UNMERGED, _UNWANTED})
"""What is said of an issue that nothing is to be done for any more."""


def end_issue(desk: IssueDesk) -> str:
    """Take away what shows that it is under way, and clean up; how it ended. Raises RunnerError.

    What was only unlabelled, and an issue whose pull request is open, keep branch and folder.
    """
    why, has_wish = _find_end(desk), bool(desk.builder.read_wish())
    if not has_wish and desk.memory.ended == why:
        return why
    is_over = has_wish and _is_over(desk, why)
    stays = desk.builder.clear_branch() if is_over else ""
    _tell(desk, why, stays)
    if is_over:
        desk.builder.retire()
    return why


def clear_before(desk: IssueDesk) -> int:
    """Clean up what was ended while nobody looked; the last pull request that does not count."""
    pull = desk.pull or desk.find_own_request()
    if pull is None or pull.is_open:
        return desk.memory.before
    if desk.pull is not None and desk.builder.read_wish():
        desk.builder.clear_branch()
        desk.builder.retire()
    return pull.number


def _find_end(desk: IssueDesk) -> str:
    if desk.pull is not None and desk.pull.is_merged:
        return "merged"
    if desk.issue.is_open and not desk.is_wanted():
        return _UNWANTED
    if desk.issue.is_open:
        is_open = desk.pull is None or desk.pull.is_open
        return desk.memory.ended or ("" if is_open else _UNMERGED)
    return _OPEN if desk.pull is not None and desk.pull.is_open else "closed"


def _is_over(desk: IssueDesk, why: str) -> bool:
    is_closed = desk.pull is not None and not desk.pull.is_open
    return is_closed or why in ENDED - {_UNWANTED}


def _tell(desk: IssueDesk, why: str, stays: str) -> None:
    if desk.comment is None:
        return
    kept = f" The branch {code(desk.branch)} stays: {stays}." if stays else ""
    label = f"the label {code(desk.trigger)}"
    if not desk.issue.is_open:
        again = f"Reopened, with {label} put on again, it begins anew."
    elif desk.is_wanted():
        again = f"Take {label} off and put it on again, and it begins anew."
    else:
        again = f"Put {label} on again, and it begins anew."
    answer = f"It is {why}.{kept} {again}"
    desk.memory = desk.memory._replace(answer=answer, handed="", is_paused=False, ended=why)
    desk.show(Stage.ENDED)
