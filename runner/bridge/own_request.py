"""The pull request of an issue: a draft while it is built, ready once its very head is proven.

A forge merges no draft. So what is not proven is not merged by mistake, and its text closes
nothing. Where drafts cannot be had, one is opened at the end.

How an issue ends: a branch that only we were on goes, the folder is kept under another name.

The branch first, then the comment, the folder last: as long as the folder is there, a bridge that
was killed begins again here, and finds gone what is gone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.bridge.comment_text import code, plain_title
from runner.bridge.forge import UNFIT, ForgeError
from runner.bridge.status_comment import CLOSES, Stage, write_request
from runner.text.wording import read_number

if TYPE_CHECKING:
    from runner.bridge.builder import BuildFacts
    from runner.bridge.forge import PullRequest
    from runner.bridge.issue_desk import IssueDesk

# --- the pull request -----------------------------------------------------------------


PROOF = "runner/proof"
"""The context of the commit status."""


def open_early(desk: IssueDesk, facts: BuildFacts) -> None:
    """Have a draft where what is built can be followed. Raises ForgeError."""
    if desk.pull is not None:
        hold_back(desk, facts)
        return
    try:
        _open(desk, facts, is_draft=True)
    except ForgeError as error:
        if error.status != UNFIT:  # nothing to propose yet, or no drafts here: at the end
            raise


def hold_back(desk: IssueDesk, facts: BuildFacts | None = None) -> None:
    """Before its head moves: have it close nothing, and be no more than a draft.

    Raises ForgeError.
    """
    pull = desk.pull
    if pull is None or not pull.is_open:
        return
    _describe(desk, pull, facts or desk.builder.look(), is_proven=False)
    if desk.memory.ready and not pull.is_draft:
        _set_draft(desk, pull, is_draft=True)
    desk.memory = desk.memory._replace(ready="")


def disclaim(desk: IssueDesk) -> None:
    """Whatever it waits for: with another head than what was proposed, it closes nothing.

    Raises ForgeError.
    """
    pull = desk.pull
    if pull is None or not pull.is_open or not pull.body.startswith(CLOSES):
        return
    if pull.head not in (desk.memory.proven, desk.memory.ready):
        _describe(desk, pull, desk.builder.look(), is_proven=False)


def propose(desk: IssueDesk, facts: BuildFacts) -> str | None:
    """Status, pull request, its text, ready: each only where it is not so. Raises ForgeError."""
    proven = desk.memory.proven
    if (PROOF, "success") not in desk.forge.list_statuses(proven):
        text = f"{len(facts.tasks)} of {len(facts.tasks)} tasks DONE, proven together"
        desk.forge.set_status(proven, PROOF, text)
        return None
    pull = desk.pull
    if pull is None:
        try:
            _open(desk, facts, is_draft=False)
        except ForgeError as error:
            if error.status != UNFIT:
                raise
            if desk.find_own_request() is not None:
                return None
            return desk.hand_over(
                f"No pull request of {desk.branch} can be opened. Did somebody else open one of"
                f" it, or is its branch gone? Close theirs, then try again.\n{error.message}"
            )
        return None
    if not pull.is_open:
        return desk.hand_over("Its pull request was closed without being merged.")
    describe(desk, facts)
    if desk.memory.ready != proven == pull.head:
        # Once for a commit: who takes it back into drafts by hand has it stay there.
        if pull.is_draft:
            _set_draft(desk, pull, is_draft=False)
        desk.memory = desk.memory._replace(ready=proven)
    return desk.wait(Stage.REVIEW, "a pull request waits for a review", facts)


def describe(desk: IssueDesk, facts: BuildFacts) -> None:
    """Its text; where another head than what was proven would be merged, it closes nothing."""
    pull = desk.pull
    if pull is not None and pull.is_open:
        _describe(desk, pull, facts, is_proven=pull.head == desk.memory.proven)


def _open(desk: IssueDesk, facts: BuildFacts, *, is_draft: bool) -> None:
    title = plain_title(desk.issue.title)
    body = _write(desk, facts, is_proven=not is_draft)
    desk.pull = desk.forge.create_pull_request(
        desk.branch, desk.base, title, body, is_draft=is_draft
    )


def _describe(desk: IssueDesk, pull: PullRequest, facts: BuildFacts, *, is_proven: bool) -> None:
    body = _write(desk, facts, is_proven=is_proven)
    # A forge may give the text back with CR LF: taken for another, it would be written in each
    # round.
    if pull.body.replace("\r\n", "\n") != body:
        desk.forge.edit_pull_request(pull.number, body)
        desk.pull = replace(pull, body=body)


def _set_draft(desk: IssueDesk, pull: PullRequest, *, is_draft: bool) -> None:
    """What a forge does not allow a person may do: it is told, and holds nothing up."""
    try:
        desk.forge.set_draft(pull, is_draft=is_draft)
    except ForgeError as error:
        if error.status != UNFIT:
            raise
        what = "a draft again" if is_draft else "ready for review"
        said = f"It could not be marked as {what}: {code(error.message)}. Somebody may do so there."
        desk.memory = desk.memory._replace(answer=said)


def _write(desk: IssueDesk, facts: BuildFacts, *, is_proven: bool) -> str:
    parts = (read_number(one) for one in desk.memory.parts.split(","))
    numbers = [desk.number, *(one for one in parts if one >= 0)]
    links, proven = replace(desk.find_links(facts), request=""), desk.memory.proven
    return write_request(numbers, facts.tasks, proven, links, is_proven=is_proven)


# --- how an issue ends ----------------------------------------------------------------


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
