"""The acceptance table: what each acceptance item of a task came to, by which tests and readers.

A row is kept with the task's proofs. Whether the rows make the grade `independent` is decided here.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from runner.model.task import Task
    from runner.model.words import Digest

KIND = "acceptance"
"""The kind of a proof that holds a row; its id is `acceptance:A1`."""


class ItemVerdict(StrEnum):
    """What a test or a reader says of one acceptance item."""

    MET = "met"
    NOT_MET = "not met"
    CANNOT_TELL = "cannot tell"


class Judge(StrEnum):
    """What kind of judge a verdict is from."""

    TESTS = "held-out tests"
    """Tests that are held out, or that a separate author wrote."""
    REVIEWER = "reviewer"
    """An agent, a model, or the person's `review_command`."""
    PERSON = "person"


class Doubt(StrEnum):
    """Why a verdict is shown and does not count for the grade `independent`."""

    NONE = ""
    CANNOT_FAIL = "not seen to fail"
    """The contract passed on the base, and on the stubbed tree."""
    NOT_ENCLOSED = "not enclosed"
    """The implementer ran without a sandbox, and could have read the tests."""
    ONCE_IN_GIT = "once in git"
    LANDED = "landed before"
    """The tests are public since an earlier build of the task."""
    WAIVED = "waived"
    """A person waived the contract for these bytes."""
    UNCHECKED = "evidence not checked"
    SAME_MODEL = "reviewed by the implementer's model"
    UNKNOWN_MODEL = "reviewed by a model that is not known"


@dataclass(frozen=True, slots=True)
class AcceptanceRow:
    """One verdict on one acceptance item."""

    item: str
    """`A1`."""
    verdict: ItemVerdict
    judge: Judge
    by: str = ""
    """Who judged, such as `claude (opus-5)`; of tests their contract, `TC-003`."""
    tests: tuple[str, ...] = ()
    """Ids of tests; of held-out tests the contract's id alone may leave the proof."""
    evidence: tuple[str, ...] = ()
    """Places in the proposal: `src/booking.py:12`."""
    sentence: str = ""
    doubt: Doubt = Doubt.NONE
    prompt: Digest = ""
    """The digest of the prompt that the reviewer answered."""

    @property
    def counts(self) -> bool:
        """Whether the verdict counts for the grade `independent`."""
        return self.doubt is Doubt.NONE

    @property
    def words(self) -> str:
        """`A1 met: held-out tests TC-003`, with evidence and what lowers its worth."""
        shown = " ".join((*self.evidence, *self.tests))
        judge = self.by if self.judge is Judge.REVIEWER and self.by else str(self.judge)
        more = f" {self.by}" if self.judge is Judge.TESTS and self.by not in self.tests else ""
        doubt = f" ({self.doubt})" if self.doubt else ""
        return f"{self.item} {self.verdict}: {judge}{more}{f' {shown}' if shown else ''}{doubt}"


def items_of(task: Task) -> dict[str, str]:
    """Return the texts of a task's acceptance items by their ids."""
    return {item.id: item.text for item in task.acceptance_items if item.id}


def is_independent(items: Collection[str], rows: Iterable[AcceptanceRow]) -> bool:
    """Return whether tests, or a review, that count cover every acceptance item.

    One verdict that an item is not met, or one waived contract, makes it false.
    """
    rows = tuple(rows)
    if not items or any(row.doubt is Doubt.WAIVED for row in rows):
        return False
    counted = [row for row in rows if row.counts]
    if any(row.verdict is ItemVerdict.NOT_MET for row in counted):
        return False
    met = [row for row in counted if row.verdict is ItemVerdict.MET]
    by_tests = {row.item for row in met if row.judge is Judge.TESTS}
    by_review = {row.item for row in met if row.judge is not Judge.TESTS}
    return set(items) <= by_tests or set(items) <= by_review


def find_doubts(rows: Iterable[AcceptanceRow]) -> tuple[str, ...]:
    """Return what keeps the rows from counting, each reason once."""
    return tuple(dict.fromkeys(str(row.doubt) for row in rows if row.doubt))
