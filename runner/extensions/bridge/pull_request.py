"""The pull request of an issue: a draft until its head commit is proven.

A forge does not merge a draft, so nobody merges unproven work by mistake, and its text closes no
issue. If the forge has no drafts, the pull request is opened at the end.

At the end of an issue, the bridge deletes a branch that only it pushed to, updates the comment, and
renames the folder last. While the folder exists, a bridge that was killed repeats these steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner.extensions.bridge.comment_text import CLOSES, Stage, code, plain_title, write_request
from runner.extensions.bridge.forge import UNFIT, ForgeError
from runner.text.wording import read_number

if TYPE_CHECKING:
    from runner.extensions.bridge.builder import BuildFacts
    from runner.extensions.bridge.forge import PullRequest
    from runner.extensions.bridge.issue_state import IssueContext

# --- the pull request -----------------------------------------------------------------


PROOF = "runner/proof"
"""Context of the commit status."""


def open_early(context: IssueContext, facts: BuildFacts) -> None:
    """Open a draft pull request, in which the build can be followed. Raises ForgeError."""
    if context.pull is not None:
        hold_back(context, facts)
        return
    try:
        _open(context, facts, is_draft=True)
    except ForgeError as error:
        if error.status != UNFIT:  # nothing to propose yet, or no drafts here: at the end
            raise


def hold_back(context: IssueContext, facts: BuildFacts | None = None) -> None:
    """Turn the pull request into a draft that closes nothing, before its head moves.

    Raises ForgeError.
    """
    pull = context.pull
    if pull is None or not pull.is_open:
        return
    _describe(context, pull, facts or context.builder.look(), is_proven=False)
    if context.memory.ready and not pull.is_draft:
        _set_draft(context, pull, is_draft=True)
    context.memory = context.memory._replace(ready="")


def disclaim(context: IssueContext) -> None:
    """Remove the closing keyword if the pull request has an unproven head.

    Raises ForgeError.
    """
    pull = context.pull
    if pull is None or not pull.is_open or not pull.body.startswith(CLOSES):
        return
    if pull.head not in (context.memory.proven, context.memory.ready):
        _describe(context, pull, context.builder.look(), is_proven=False)


def propose(context: IssueContext, facts: BuildFacts) -> str | None:
    """Update status, pull request, text and readiness where needed. Raises ForgeError."""
    proven = context.memory.proven
    if (PROOF, "success") not in context.forge.list_statuses(proven):
        text = f"{len(facts.tasks)} of {len(facts.tasks)} tasks DONE, proven together"
        context.forge.set_status(proven, PROOF, text)
        return None
    pull = context.pull
    if pull is None:
        try:
            _open(context, facts, is_draft=False)
        except ForgeError as error:
            if error.status != UNFIT:
                raise
            if context.find_own_request() is not None:
                return None
            return context.hand_over(
                f"The runner cannot open a pull request for {context.branch}: the branch is gone,"
                f" or somebody else opened one. Close that one first.\n{error.message}"
            )
        return None
    if not pull.is_open:
        return context.hand_over("The pull request was closed without being merged.")
    describe(context, facts)
    if context.memory.ready != proven == pull.head:
        # Once per commit: if a person converts it back to a draft, it stays one.
        if pull.is_draft:
            _set_draft(context, pull, is_draft=False)
        context.memory = context.memory._replace(ready=proven)
    return context.wait(Stage.REVIEW, "the pull request needs review", facts)


def describe(context: IssueContext, facts: BuildFacts) -> None:
    """Update the text of the pull request; it closes the issue only if its head is proven."""
    pull = context.pull
    if pull is not None and pull.is_open:
        _describe(context, pull, facts, is_proven=pull.head == context.memory.proven)


def _open(context: IssueContext, facts: BuildFacts, *, is_draft: bool) -> None:
    title = plain_title(context.issue.title)
    body = _write(context, facts, is_proven=not is_draft)
    context.pull = context.forge.create_pull_request(
        context.branch, context.base, title, body, is_draft=is_draft
    )


def _describe(
    context: IssueContext, pull: PullRequest, facts: BuildFacts, *, is_proven: bool
) -> None:
    body = _write(context, facts, is_proven=is_proven)
    # A forge may return the text with CR LF: without this it would be rewritten in each round.
    if pull.body.replace("\r\n", "\n") != body:
        context.forge.edit_pull_request(pull.number, body)
        context.pull = replace(pull, body=body)


def _set_draft(context: IssueContext, pull: PullRequest, *, is_draft: bool) -> None:
    """Set or clear the draft state; if the forge refuses, leave a note for a person."""
    try:
        context.forge.set_draft(pull, is_draft=is_draft)
    except ForgeError as error:
        if error.status != UNFIT:
            raise
        what = "a draft" if is_draft else "ready for review"
        note = f"Mark the pull request as {what} yourself: {code(error.message)}"
        context.memory = context.memory._replace(answer=note)


def _write(context: IssueContext, facts: BuildFacts, *, is_proven: bool) -> str:
    parts = (read_number(one) for one in context.memory.parts.split(","))
    numbers = [context.number, *(one for one in parts if one >= 0)]
    links, proven = replace(context.find_links(facts), request=""), context.memory.proven
    return write_request(numbers, facts.tasks, proven, links, is_proven=is_proven)


# --- how an issue ends ----------------------------------------------------------------


_UNWANTED, _UNMERGED = "not asked for", "closed unmerged"
_OPEN = "closed, and its pull request is open"
ENDED = frozenset({"merged", "closed", _UNMERGED, _UNWANTED})
"""Results of an issue that needs no further work."""


def end_issue(context: IssueContext) -> str:
    """Remove the status of an ended issue, clean up and return how it ended. Raises RunnerError.

    What was only unlabelled, and an issue whose pull request is open, keep branch and folder.
    """
    why, has_wish = _find_end(context), bool(context.builder.read_request_text())
    if not has_wish and context.memory.ended == why:
        return why
    is_over = has_wish and _is_over(context, why)
    stays = context.builder.clear_branch() if is_over else ""
    _tell(context, why, stays)
    if is_over:
        context.builder.retire()
    return why


def clear_before(context: IssueContext) -> int:
    """Clean up what was ended while nobody looked; the last pull request that does not count."""
    pull = context.pull or context.find_own_request()
    if pull is None or pull.is_open:
        return context.memory.before
    if context.pull is not None and context.builder.read_request_text():
        context.builder.clear_branch()
        context.builder.retire()
    return pull.number


def _find_end(context: IssueContext) -> str:
    if context.pull is not None and context.pull.is_merged:
        return "merged"
    if context.issue.is_open and not context.is_wanted():
        return _UNWANTED
    if context.issue.is_open:
        is_open = context.pull is None or context.pull.is_open
        return context.memory.ended or ("" if is_open else _UNMERGED)
    return _OPEN if context.pull is not None and context.pull.is_open else "closed"


def _is_over(context: IssueContext, why: str) -> bool:
    is_closed = context.pull is not None and not context.pull.is_open
    return is_closed or why in ENDED - {_UNWANTED}


def _tell(context: IssueContext, why: str, stays: str) -> None:
    if context.comment is None:
        return
    kept = f" The branch {code(context.branch)} is kept: {stays}." if stays else ""
    label = f"the label {code(context.trigger)}"
    if not context.issue.is_open:
        again = f"To start over, reopen it and add {label} again."
    elif context.is_wanted():
        again = f"To start over, remove {label} and add it again."
    else:
        again = f"To start over, add {label} again."
    answer = f"Ended: {why}.{kept} {again}"
    context.memory = context.memory._replace(answer=answer, handed="", is_paused=False, ended=why)
    context.show(Stage.ENDED)
