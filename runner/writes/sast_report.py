"""The findings of static analysis, and which of them block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from runner.model import Digest, Finding

if TYPE_CHECKING:
    from collections.abc import Sequence


RANKS = ("low", "medium", "high")
CHECK = "sast"
UNSCANNED = "unscanned"
"""Rule of an entry that is no finding but names what a tool did not read."""
UNLISTED = "unlisted"
"""Rule of the entry with the number of unlisted findings: none more severe than the listed."""
MOST_FINDINGS = 200
"""Maximum findings of one file; the rest is a number in a note."""


class SastFinding(Struct, frozen=True):
    """A scanner's finding at one place; line and column from 1, `digest` is the file's."""

    path: str
    line: int
    column: int
    rule: str
    severity: str
    """`low`, `medium` or `high`; `note` if it names what was not scanned."""
    confidence: str
    message: str
    tool: str
    digest: Digest


class SastReport(Struct, frozen=True):
    """All that the scans of one attempt found; `notes` say which files were not scanned."""

    findings: tuple[SastFinding, ...] = ()
    notes: tuple[SastFinding, ...] = ()
    unread: tuple[str, ...] = ()
    """What to install for code that no installed analyser reads; never rejects anything."""

    def join(self, other: SastReport) -> SastReport:
        """Return both reports combined."""
        return SastReport(
            self.findings + other.findings, self.notes + other.notes, self.unread + other.unread
        )

    @property
    def counts(self) -> dict[str, int]:
        """Number of findings and notes by severity."""
        counts: dict[str, int] = {}
        for found in (*self.findings, *self.notes):
            counts[found.severity] = counts.get(found.severity, 0) + 1
        return counts

    @property
    def summary(self) -> str:
        """In words: `1 high, 2 low`, or `none`."""
        counts = self.counts
        return (
            ", ".join(f"{counts[rank]} {rank}" for rank in RANKS[::-1] if rank in counts) or "none"
        )

    def find_blocking(self, block_at: str) -> tuple[Finding, ...]:
        """Return the findings that block at this severity or above; empty if blocking is off.

        A file that was not scanned is refused, too: else padding it would be a way around.
        """
        if block_at not in RANKS:
            return ()
        grave = RANKS[RANKS.index(block_at) :]
        found = tuple(_refusal(one) for one in self.findings if one.severity in grave)
        return (*found, *(_make_unseen(note) for note in self.notes if note.rule == UNSCANNED))


def gravest(found: Sequence[SastFinding]) -> list[SastFinding]:
    """Return the most severe findings up to the limit, in their original order."""
    ranks = [RANKS.index(one.severity) if one.severity in RANKS else -1 for one in found]
    kept = sorted(range(len(found)), key=lambda place: -ranks[place])[:MOST_FINDINGS]
    return [found[place] for place in sorted(kept)]


def make_unscanned(path: str, message: str, tool: str = "bandit") -> SastFinding:
    """Return a note that a scan is incomplete."""
    return SastFinding(path, 0, 0, UNSCANNED, "note", "high", message, tool, "")


def make_unlisted(path: str, message: str, tool: str = "bandit") -> SastFinding:
    """Return a note that a scan found more than is listed."""
    return SastFinding(path, 0, 0, UNLISTED, "note", "high", message, tool, "")


def _make_unseen(note: SastFinding) -> Finding:
    return Finding(
        CHECK,
        f"{note.message}; sast.block_at rejects unscanned files",
        path=note.path,
        hint="make the file smaller or simpler, so that it can be scanned",
    )


def _refusal(found: SastFinding) -> Finding:
    return Finding(
        CHECK,
        f"{found.rule} ({found.severity}): {found.message}",
        path=found.path,
        line=found.line,
        column=found.column,
        hint="rewrite this code; a comment does not silence this check",
    )
