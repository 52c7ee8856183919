"""The status comment of an issue, and the text of its pull request."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import quote

from msgspec import Struct

from runner.extensions.bridge.comment_text import (
    MOST,
    code,
    cut_lines,
    fence,
    fits_fence,
    list_naming,
)
from runner.model import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.extensions.bridge.builder import IssueTask
    from runner.extensions.bridge.comment_text import Memory
    from runner.journal.session_events import DraftProposed

SHORT = 12
"""Digits of a digest that are shown, and that an approval names."""


class Stage(StrEnum):
    """The stage of an issue, as a label; a person moves the label to request another stage."""

    READY = "runner:ready-for-plan"
    PLANNING = "runner:plan-in-progress"
    PLAN_REVIEW = "runner:plan-in-review"
    BUILDING = "runner:in-progress"
    ITERATION = "runner:needs-iteration"
    REVIEW = "runner:in-review"
    PERSON = "runner:needs-person"
    PAUSED = "runner:paused"
    ENDED = ""
    """None of the labels."""


_HEADS = {
    Stage.READY: "waiting for other issues",
    Stage.ITERATION: "revising",
    Stage.PLANNING: "writing a plan",
    Stage.PLAN_REVIEW: "the plan is ready for your review",
    Stage.BUILDING: "building",
    Stage.REVIEW: "the pull request is ready for your review",
    Stage.PERSON: "needs your input",
    Stage.PAUSED: "paused",
    Stage.ENDED: "ended",
}
_ANSWERS = {
    Stage.PLANNING: "To pause, comment `/runner stop`.",
    Stage.BUILDING: "To pause, comment `/runner stop`.",
    Stage.ITERATION: "To pause, comment `/runner stop`.",
    Stage.REVIEW: "To request a revision, comment `/runner change {task} what to change`, or"
    " request changes in a review.",
    Stage.PAUSED: "To continue, comment `/runner retry`.",
    Stage.PERSON: "To try again, comment `/runner retry`.",
}
TOO_LONG = (
    "This plan is too long to show in full, so no comment can approve it: ask for a smaller"
    " one, or approve it in the bridge's clone."
)
CLOSES = "Closes #"
"""Start of a pull request's text that closes its issues."""
_MOST_LISTED = 20
_WHO = "Only unedited comments of people with push access count."


class StatusLinks(Struct, frozen=True):
    """Links to the results: pages of the repository, its commit, plan and artifacts."""

    pages: str = ""
    head: str = ""
    plan: str = ""
    request: str = ""
    artifacts: str = ""
    """Page of the last run's artifacts."""

    @property
    def all(self) -> list[str]:
        """Markdown links to the existing pages."""
        at = f"{self.pages}/blob/{self.head}/{quote(self.plan)}"
        whole = self.pages and self.head
        return [
            *([f"Pull request: {self.request}"] if self.request else []),
            *([f"[plan]({at})"] if whole and self.plan else []),
            *([f"[commits and evidence]({self.pages}/commits/{self.head})"] if whole else []),
            *([f"[artifacts]({self.artifacts})"] if self.artifacts else []),
        ]

    def of_commit(self, text: str, commit: str) -> str:
        """Return the text, linked to the commit if that is known."""
        return f"[{text}]({self.pages}/commit/{commit})" if self.pages and commit else text


def digest_shown(draft: DraftProposed) -> str:
    """Return the short digest that an approval of this plan names."""
    return draft.digest.removeprefix("sha256:")[:SHORT]


def write_status(
    stage: Stage,
    memory: Memory,
    rows: Sequence[IssueTask] = (),
    draft: DraftProposed | None = None,
    unknown: Sequence[str] = (),
    links: StatusLinks | None = None,
    *,
    late: str = "",
    offers: bool = True,
) -> str:
    """Return the text of the status comment without its marker.

    `late` is the notice of a waiting text; without `offers` the comment names no command.
    """
    links = links or StatusLinks()
    lines = [f"**runner**: {_HEADS[stage]}"]
    if links.all:
        lines += ["", " · ".join(links.all)]
    if memory.handed and stage is Stage.PERSON:
        lines += ["", fence(memory.handed)]
        if memory.history:
            lines += ["", "Earlier attempts:", "", fence(memory.history)]
    if memory.answer:
        lines += ["", memory.answer]
    if late:
        lines += ["", late]
    if rows:
        lines += ["", *_table(rows, links)]
    if draft is not None and stage is Stage.PLAN_REVIEW:
        lines += ["", *_plan(draft, unknown)]
    if offers and stage in _ANSWERS:
        answer = _ANSWERS[stage].format(task=rows[0].id if rows else "TASK-003")
        lines += ["", f"{answer} {_WHO}"]
    return "\n".join(lines)


def _table(rows: Sequence[IssueTask], links: StatusLinks) -> Iterator[str]:
    yield "| Task | What | State | Proof |"
    yield "|---|---|---|---|"
    for one in rows:
        state = f"{one.status}" + (f": {code(one.note)}" if one.note else "")
        proof = ", ".join(filter(None, (one.worth, one.proofs))) or "—"
        id_ = links.of_commit(one.id, one.commit)
        yield f"| {id_} | {code(one.title)} | {state} | {proof} |"


def _plan(draft: DraftProposed, unknown: Sequence[str]) -> Iterator[str]:
    digest = digest_shown(draft)
    yield fence(draft.text, "markdown")
    named = list_naming(draft.text)
    missing = [items for items, ids in zip(draft.asked, draft.covered_by, strict=False) if not ids]
    for title, items in (
        ("Requested, but in no task", missing),
        ("Removed", draft.taken_out),
        ("Mistakes, to be fixed first", draft.mistakes),
        ("New commands; approving the plan lets them run", unknown),
        ("Commit subjects that would notify people or close issues", named),
    ):
        if items:
            yield f"\n{title}:\n"
            yield from (f"- {code(one)}" for one in items[:_MOST_LISTED])
        if len(items) > _MOST_LISTED:
            yield f"- and {len(items) - _MOST_LISTED} more"
    # After everything that must be read: if that is cut off, so is this.
    if fits_fence(draft.text):
        yield f"\nTo build exactly this plan, comment `/runner approve {digest}`."
    else:
        yield f"\n{TOO_LONG}"
    yield f"To get another plan, comment `/runner reject {digest} reason`. {_WHO}"


def write_request(
    numbers: Sequence[int],
    rows: Sequence[IssueTask],
    proven: str,
    links: StatusLinks | None = None,
    *,
    is_proven: bool,
) -> str:
    """Return a pull request's text; it closes issues only if its head is proven."""
    links = links or StatusLinks()
    done = f"{sum(one.status is Status.DONE for one in rows)} of {len(rows)} tasks DONE"
    if is_proven:
        lines = [f"{CLOSES}{one}" for one in numbers]
        done = f"{done}; all proven together at {proven}."
    else:
        lines = [f"For #{numbers[0]}; this head is not proven yet, so merging it closes no issue."]
        done = f"{done}." + (f" An earlier head was proven: {proven}." if proven else "")
    lines += ["", *_table(rows, links), "", done, ""]
    lines.append("Each commit carries its evidence as trailers; `runner verify --all` re-tests it.")
    if links.artifacts:
        lines += ["", f"[Artifacts of runs]({links.artifacts}): patches, logs, JUnit, coverage."]
    return cut_lines("\n".join(lines), MOST)


def format_used_up(limit: int, what: str, trigger: str) -> str:
    """Return the message that a limit is used up, with the ways to continue."""
    return (
        f"{limit} {what}. Continue on the branch yourself, or remove the label `{trigger}`"
        " and add it again to start over."
    )
