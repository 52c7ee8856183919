"""Format the bridge's comments and pull requests: status, plan, and foreign text quoted as code.

In a code span or a fence no mention notifies, no `Closes #7` closes and no image is fetched. All
foreign text is redacted. The last line is a marker with what the bridge must remember.
"""

from __future__ import annotations

import json
import re
import unicodedata
from difflib import unified_diff
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from msgspec import Struct

from runner.model import Status
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import read_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.extensions.bridge.builder import IssueTask
    from runner.journal.session_events import DraftProposed

MARK = "<!-- runner-bridge:1 "
MOST = 65_000
"""Characters of a comment or a pull request; GitHub's limit is 65,536."""
_END = " -->"
_LONGEST_FENCE = 30_000
_LONGEST_LINE = 300
_LONGEST_HISTORY = 12
_MOST_COMPARED, _MOST_CHANGED, _LONGEST_CHANGED, _LONGEST_DIFFERENCE = 2000, 200, 400, 12_000
"""Limits of compared lines, shown lines, characters of a line, and characters in total."""
_TICKS = re.compile(r"`+")
_CUT = "… cut here"
_FENCE = re.compile(r"`{3,}")
_OTHERS = re.compile(r"[^a-z0-9]+")
_LONGEST_WORDS = 40
_BRANCH = re.compile(r"runner/([1-9][0-9]{0,17})(?:-[a-z0-9]+)*")
_FREE_TEXT = ("handed", "answer", "history")
"""Memory fields with text from others."""
_LONGEST_VALUE = 4000
# Forms that close an issue after a keyword (docs.github.com, "Autolinked references and URLs"):
# `#7`, `acme/shop#7`, `GH-7`, an address.
_ACTS = re.compile(r"[@#]|(?<=\bGH)-(?=\d)|(?<=:)//", re.IGNORECASE)
_NAMES = re.compile(r"^#+ .*(?:@\w|#\d|\bGH-\d|://).*", re.MULTILINE | re.IGNORECASE)


class Memory(NamedTuple):
    """The data in the marker of an issue's one comment."""

    seen: int = 0
    """Newest comment that was processed."""
    reviewed: int = 0
    """Newest review of the pull request that was processed."""
    moved: int = 0
    """Newest manually added label that was processed."""
    label: int = 0
    """Event that requested the build."""
    by: str = ""
    """Person who requested it."""
    is_paused: bool = False
    handed: str = ""
    """Why a person has to continue; empty if not needed."""
    rejected: int = 0
    """Number of rejected plans."""
    revised: int = 0
    """Number of revisions that a person requested."""
    proven: str = ""
    """Commit on which everything was proven."""
    ready: str = ""
    """Commit for which its pull request was marked ready; empty while it is a draft."""
    unclear: str = ""
    """Digest of a plan that a review neither approved nor rejected."""
    parts: str = ""
    """Sub-issues that its plan also covers: numbers separated by commas."""
    turn: str = ""
    """Person assigned because it is their turn."""
    history: str = ""
    """Rejections and new requests, one per line."""
    branch: str = ""
    """Branch of the build; empty if it started before branch names had words."""
    before: int = 0
    """Last pull request of an ended build, before it was requested again."""
    ended: str = ""
    """How it ended, until it is requested again; empty while it has not ended."""
    answer: str = ""
    """Result of the last command."""


def code(text: str) -> str:
    """Format untrusted text as a code span on one line."""
    # A table row is split at pipes before code spans are parsed (GFM, 4.10 Tables).
    shown = display(redact(text))[:_LONGEST_LINE].replace("|", "\\|").strip() or "—"
    # Only a run of equal length closes a code span, and it loses one blank on each side (CommonMark
    # 0.31, 6.1).
    ticks = "`" * (max((len(one) for one in _TICKS.findall(shown)), default=0) + 1)
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def fence(text: str, language: str = "") -> str:
    """Format untrusted lines as a code block, cut if it is too long."""
    shown = display(redact(text), lines=True)
    if len(shown) > _LONGEST_FENCE:
        shown = f"{shown[:_LONGEST_FENCE]}\n{_CUT}"
    # Any run at least as long as its own closes a fence (CommonMark 0.31, 4.5).
    ticks = "`" * max(3, max((len(one) for one in _TICKS.findall(shown)), default=0) + 1)
    return f"{ticks}{language}\n{shown.rstrip()}\n{ticks}"


def fits_fence(text: str) -> bool:
    """Return whether the text fits into a fenced block of one comment."""
    shown = display(redact(text), lines=True)
    ticks = max((len(one) for one in _TICKS.findall(shown)), default=0)
    return len(shown) + 2 * ticks <= _LONGEST_FENCE


def write_difference(before: str, now: str) -> tuple[str, bool]:
    """Return the difference of two untrusted texts as a block, and whether it is complete."""
    # Redact and escape whole texts first: in a diff a multi-line secret has signs between its
    # lines, and invisible characters would show no difference.
    old, new = (display(redact(one), lines=True).split("\n") for one in (before, now))
    begin = _count_same(old, new)
    end = _count_same(old[begin:][::-1], new[begin:][::-1])
    around = max(begin - 3, 0)
    old, new = old[around : len(old) - max(end - 3, 0)], new[around : len(new) - max(end - 3, 0)]
    is_whole = max(len(old), len(new)) <= _MOST_COMPARED
    old, new = old[:_MOST_COMPARED], new[:_MOST_COMPARED]
    rows = list(unified_diff(old, new, "before", "after", lineterm=""))
    if not rows:
        return "The texts look the same here.", False
    shown = [row[:_LONGEST_CHANGED] for row in rows[:_MOST_CHANGED]]
    while sum(map(len, shown)) > _LONGEST_DIFFERENCE:
        shown.pop()
    is_whole = is_whole and shown == rows
    return fence("\n".join([*shown, *([] if is_whole else [_CUT])]), "diff"), is_whole


def _count_same(old: Sequence[str], new: Sequence[str]) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (was, is_) in pairs if was != is_), min(len(old), len(new)))


def cut_lines(text: str, most: int) -> str:
    """Cut a text after whole lines to at most `most` characters, with its code block closed.

    Half a code span is none, and what stands in it would act.
    """
    if len(text) <= most:
        return text
    kept: list[str] = []
    left, block = most - len(_CUT) - 1, ""
    for line in text.split("\n"):
        begins = _FENCE.match(line)
        after = ("" if line == block else block) or (begins[0] if begins and not block else "")
        left -= len(line) + 1
        if left < len(after) + 1:
            break
        kept.append(line)
        block = after
    return "\n".join([*kept, *([block] if block else []), _CUT])


def plain_title(text: str) -> str:
    """Return a foreign title without mentions and issue references, for commit subjects."""
    title = " ".join(_ACTS.sub(" ", display(redact(text))).split())
    return title[:200].strip() or "untitled"


def name_branch(number: int, title: str) -> str:
    """Return the branch name of an issue: its number and title words, as `runner/7-csv`.

    Of a title without letters that every system can name it is the number alone.
    """
    plain = unicodedata.normalize("NFKD", plain_title(title)).encode("ascii", "ignore").decode()
    words = _OTHERS.sub("-", plain.casefold()).strip("-")
    if len(words) > _LONGEST_WORDS:
        # Cut between words if possible.
        cut = words[: _LONGEST_WORDS + 1].rpartition("-")[0] or words[:_LONGEST_WORDS]
        words = cut.strip("-")
    return f"runner/{number}-{words}" if words else f"runner/{number}"


def is_branch_of(number: int, branch: str) -> bool:
    """Return whether a name is a valid branch name of this issue."""
    found = _BRANCH.fullmatch(branch)
    return found is not None and read_number(found[1]) == number


def list_naming(sections: str) -> list[str]:
    """Return the headings of a plan that mention a user or an issue.

    Headings become subjects of commits, and there a forge rings and closes.
    """
    return [one[0] for one in _NAMES.finditer(sections)]


def write_history(memory: Memory, line: str) -> str:
    """Append a line to the history, keeping only the latest lines."""
    entry = " ".join(display(redact(line)).split())[:_LONGEST_LINE]
    return "\n".join([*memory.history.splitlines(), entry][-_LONGEST_HISTORY:])


def with_memory(text: str, memory: Memory) -> str:
    """Return a comment with its marker, cut to the maximum length and redacted."""
    values = {
        name: display(redact(value), lines=True)[:_LONGEST_VALUE] if name in _FREE_TEXT else value
        for name, value in memory._asdict().items()
    }
    document = json.dumps(values, separators=(",", ":"), ensure_ascii=False)
    # `-->` and `--!>` must not end the comment early (HTML, 13.2.5, comment end states); for JSON
    # the escape is the same text.
    marker = MARK + document.replace("--", "-\\u002d") + _END
    return f"{cut_lines(text.rstrip(), MOST - len(marker) - 2)}\n\n{marker}"


def read_memory(body: str) -> Memory | None:
    """Parse a comment's marker; None without one, defaults for invalid values."""
    # Only the last line: foreign text above it may quote a marker.
    last = body.rstrip().rpartition("\n")[2]
    if not (last.startswith(MARK) and last.endswith(_END)):
        return None
    try:
        values = json.loads(last.removeprefix(MARK).removesuffix(_END))
    except (ValueError, RecursionError):
        return Memory()
    if not isinstance(values, dict):
        return Memory()
    known = Memory()._asdict()
    # isinstance counts `true` as an int, so it would pass as a number.
    return Memory(
        **{
            name: value
            for name, value in values.items()
            if name in known and type(value) is type(known[name])
        }
    )


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
