"""Format and append entries of DECISIONS.md, and write the run-time folder's .gitignore."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner import effects
from runner.journal.events import DecisionMade
from runner.lazy_pattern import regex
from runner.repo.head import find_git
from runner.report.status_line import NOT_APPLICABLE
from runner.text.display import display_markdown
from runner.text.ignore_rules import ignore_rules
from runner.text.wording import read_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from runner.journal.events import Record
    from runner.journal.state import RunState
    from runner.model import Decision


BUILD = "artifacts/build"
_IGNORED = """\
# Made by the runner: files of a run, which belong to this clone alone.
/journal.jsonl
/WRITE_LOG.jsonl
/SAST_FINDINGS.jsonl
/staged/
/logs/
/plans/
/reports/
/runs/
*.lock
.*.tmp
"""

# O_APPEND: each write goes to the current end, whoever else has written (POSIX, write). O_NOFOLLOW:
# a link that an attempt made does not redirect a write out of the project.
_APPENDING = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


def append_text(file: Path, text: str, *, head: str, mend: bool = False) -> None:
    """Append to a document durably, making it with `head` when it is new.

    A crash may come between the write and its event, or tear the write: a text that ends the file
    already stays once, and its torn beginning there is made whole. With `mend` that alone is done.
    """
    effects.make_folder(file.parent)
    added = text.encode()
    descriptor = os.open(file, _APPENDING, 0o644)
    try:
        size = os.fstat(descriptor).st_size
        reach = len(head.encode()) + len(added)
        tail = os.pread(descriptor, reach, max(0, size - reach))
        there = tail.strip().endswith(added.strip())
        torn = 0 if there else _count_torn(tail, added, head.encode() if size == len(tail) else b"")
        if torn or not (there or mend):
            _append(descriptor, added, file, keep=tail[: len(tail) - torn], cut=torn, head=head)
        effects.fsync(descriptor, file)
    finally:
        os.close(descriptor)
    if size == 0:
        effects.fsync_folder(file.parent)


def _append(descriptor: int, added: bytes, file: Path, *, keep: bytes, cut: int, head: str) -> None:
    """Truncate an incomplete end, then append the text."""
    if cut:
        effects.step("truncate", file)
        os.ftruncate(descriptor, os.fstat(descriptor).st_size - cut)
    # A person's last line may lack its newline: the heading would become part of it.
    start = b"" if keep.endswith(b"\n") else b"\n" if keep else head.encode()
    effects.append(descriptor, start + added, file)


def _count_torn(tail: bytes, added: bytes, head: bytes) -> int:
    """Count the bytes at the end of a file that are an incomplete copy of the added text.

    `head` is given where the tail is the whole file: then it may be torn itself.
    """
    if head and (head + added).startswith(tail) and not tail.startswith(head):
        return len(tail)
    at = tail.find(added[:_TELLING])
    while at >= 0:
        rest = tail[at:]
        begins_a_line = at == 0 or tail[at - 1 : at] == b"\n"
        if len(rest) < len(added) and begins_a_line and added.startswith(rest):
            return len(rest)
        at = tail.find(added[:_TELLING], at + 1)
    return 0


_TELLING = 4
"""Fewer bytes than these may be a person's own text."""


_ENTRY = regex(r"^## DECISION-(\d+):", re.MULTILINE)


class DecisionsDocument(Struct):
    """DECISIONS.md: of it the entries that tasks made are ours; people write theirs beside."""

    root: Path
    path: str = f"{BUILD}/DECISIONS.md"
    ours: bool = True
    _numbers: set[int] = field(default_factory=set)

    def hear(self, record: Record, state: RunState) -> None:
        """Append a decision that was made."""
        del state
        if isinstance(record.event, DecisionMade):
            self._append(record.event, record.task, record.time[:10])

    def catch_up(self, records: Iterable[Record]) -> None:
        """Write the entries that a crash kept from the file, and know those of killed runs."""
        for record in records:
            if isinstance(record.event, DecisionMade):
                self._append(record.event, record.task, record.time[:10])

    def next_number(self, last: int) -> int:
        """Return the next decision number, after those in the file and in the journal."""
        return next_number(self._text(), last)

    def _append(self, event: DecisionMade, task: str, date: str) -> None:
        self._numbers.add(event.number)
        entry = decision_entry(event.number, event.decision, task, date)
        there = event.number in self._in_file()
        append_text(self.root / self.path, entry, head=HEAD, mend=there)

    def _text(self) -> str:
        try:
            return (self.root / self.path).read_text("utf-8", "replace")
        except OSError:  # whoever appends to it says so
            return ""

    def _in_file(self) -> set[int]:
        return {read_number(number) for number in _ENTRY.findall(self._text())}

    def content_to_commit(self, committed: bytes, working: Callable[[], bytes]) -> bytes:
        """Return the committed file with the runner's new entries; exclude a person's edits."""
        # Non-UTF-8 bytes are preserved (PEP 383): they belong to a person.
        text = committed.decode("utf-8", "surrogateescape")
        whole = working().decode("utf-8", "surrogateescape")
        known = {read_number(number) for number in _ENTRY.findall(text)}
        for number, entry in _entries(whole):
            if number in self._numbers and number not in known:
                text = (text or HEAD) + entry
        return text.encode("utf-8", "surrogateescape")


def _entries(text: str) -> list[tuple[int, str]]:
    starts = [*_ENTRY.finditer(text)]
    ends = [match.start() for match in starts[1:]] + [len(text)]
    return [
        (read_number(match[1]), text[match.start() : end])
        for match, end in zip(starts, ends, strict=True)
    ]


def find_run_files(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the paths that are files of a run, which the folder's .gitignore excludes."""
    inside = [path for path in paths if path.startswith(f"{BUILD}/")]
    if not inside:
        return ()
    is_ours = ignore_rules(_IGNORED.splitlines())
    return tuple(path for path in inside if is_ours(path.removeprefix(f"{BUILD}/")))


class IgnoreDocument(Struct, frozen=True):
    """`artifacts/build/.gitignore`: keeps the files of a run out of commits.

    It comes with the first record commit: an untracked one would be in the way of a pull that
    brings it. Until then, and on branches without it, git's own folder says the same.
    """

    root: Path
    path: str = f"{BUILD}/.gitignore"
    ours: bool = True

    def write(self) -> bool:
        """Create the file if it is missing; True if it was. A person's file is not changed."""
        file = self.root / self.path
        if file.exists():
            return False
        effects.make_folder(file.parent)
        return effects.write_file(file, _IGNORED.encode(), expected=b"")

    def withdraw(self) -> None:
        """Remove the file again if no record commit includes it."""
        file = self.root / self.path
        if file.is_file() and file.read_bytes() == _IGNORED.encode():
            effects.unlink(file)

    def exclude(self) -> None:
        """Exclude the files of a run from git in this clone, on every branch."""
        folders = find_git(self.root)
        if folders is not None:
            # If it is not writable for us, the folder's own file remains.
            with suppress(OSError):
                self._exclude(folders.common / "info" / "exclude")

    def _exclude(self, exclude: Path) -> None:
        """Add what `.gitignore` has of ours, for all plans of the clone (gitrepository-layout(5)).

        A line that a person took out of it is left out; a link of theirs is left as it is.
        """
        ours = [line for line in _IGNORED.splitlines() if line[0] in "/.*"]
        file = self.root / self.path
        kept = (file.read_text("utf-8", "replace") if file.exists() else _IGNORED).split("\n")
        before = exclude.read_bytes() if exclude.exists() else b""
        there = before.decode("utf-8", "replace").split("\n")
        rules = [f"**/{BUILD}/{line.lstrip('/')}" for line in ours if line in kept]
        missing = [rule for rule in rules if rule not in there]
        if missing and not exclude.is_symlink():
            effects.make_folder(exclude.parent)
            gap = b"\n" if before and not before.endswith(b"\n") else b""
            lines = "\n".join((_IGNORED.splitlines()[0], *missing, ""))
            content, mode = before + gap + lines.encode(), effects.mode_of(exclude)
            effects.write_file(exclude, content, mode=mode, expected=before)

    def content_to_commit(self, committed: bytes, working: Callable[[], bytes]) -> bytes:
        """Return the committed or the created content, without a person's edits."""
        return committed or working()


# --- decisions ------------------------------------------------------------------------


HEAD = "# Decisions\n\n"
"""Start of a new DECISIONS.md."""
_HEADING = regex(r"^#{1,6}[ \t]+DECISION-(\d{1,9})\b", re.MULTILINE)


def decision_entry(number: int, decision: Decision, task: str, date: str) -> str:
    """Return an entry to append: a heading, five or six fields and a blank line."""
    lines = [
        f"## DECISION-{number:03d}: {display_markdown(decision.title)}",
        f"Date: {display_markdown(date)}",
        f"Task: {display_markdown(task) or NOT_APPLICABLE}",
        f"Context: {display_markdown(decision.context) or NOT_APPLICABLE}",
        f"Decision: {display_markdown(decision.decision or decision.title)}",
        f"Trade-off: {display_markdown(decision.tradeoff) or NOT_APPLICABLE}",
    ]
    if decision.pattern:
        lines.append(f"Pattern: {display_markdown(decision.pattern)}")
    return "\n".join(lines) + "\n\n"


def next_number(existing_text: str, last: int = 0) -> int:
    """Return the next number after those in the file and `last`."""
    return max([last, *(int(number) for number in _HEADING.findall(existing_text))]) + 1
