"""Apply unified diffs to one file in memory: exactly, or not at all.

The format is that of GNU diffutils ("Detailed Unified") as git writes it. A hunk applies where
its context and removed lines are found byte for byte: at the line it names, else at the one
other place behind the hunk before it. There is no fuzz and no guess between two places.
Nothing here touches a disk or obeys a name that the diff holds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

# An omitted count is 1 (GNU diffutils, "Detailed Description of Unified Format"). At most nine
# digits: a number is parsed before anything else is known of it.
_HUNK = regex(rb"^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_NO_NEWLINE = b"\\"
_BEYOND_TEXT = (
    b"rename ",
    b"copy ",
    b"old mode",
    b"new mode",
    b"GIT binary patch",
    b"Binary files",
)
_NEXT_FILE = (b"--- ", b"diff ", b"index ")
_NOWHERE = "/dev/null"
REMEDY = "make a new diff from the current file, or give the whole file"
_SHOWN = 5
"""Locations that a message lists if lines fit in several."""


class DoesNotApplyError(ValueError):
    """A diff that is malformed or does not fit; lines are counted from 1, 0 for none."""

    def __init__(self, message: str, *, patch_line: int = 0, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.patch_line = patch_line
        self.line = line


class _Hunk(Struct):
    """One hunk while it is read."""

    number: int
    patch_line: int
    start: int
    """Line of the old file, from 1; without old lines, the line after which it inserts."""
    old: list[bytes] = field(default_factory=list)
    new: list[bytes] = field(default_factory=list)


class _Patch(Struct, frozen=True):
    hunks: tuple[_Hunk, ...]
    source: str
    target: str


def apply_patch(content: bytes | None, diff: bytes, path: str) -> bytes | None:
    """Apply a diff to `content`; None is a missing file, before or after.

    A file whose lines all end with CRLF keeps them so. A diff that is in the file already, every
    hunk where it would have put it, changes nothing: a task may be built again on its own work.
    Raises DoesNotApplyError.
    """
    patch = read_patch(diff, path)
    if patch.source == _NOWHERE and content:
        raise DoesNotApplyError("the diff creates a file that already exists")
    if content is None and patch.source != _NOWHERE and any(hunk.old for hunk in patch.hunks):
        raise DoesNotApplyError("the file to change does not exist")
    before = content or b""
    is_dos = b"\n" in before and before.count(b"\n") == before.count(b"\r\n")
    plain = before.replace(b"\r\n", b"\n") if is_dos else before
    if content is not None and patch.target != _NOWHERE and _is_in(plain, patch.hunks):
        return content
    after = _apply(plain, patch.hunks)
    if patch.target == _NOWHERE:
        if after:
            raise DoesNotApplyError("the diff removes the file, but not all of its lines")
        return None
    return after.replace(b"\n", b"\r\n") if is_dos else after


# --- applying -------------------------------------------------------------------------


def _apply(before: bytes, hunks: Sequence[_Hunk]) -> bytes:
    lines = _split(before)
    result: list[bytes] = []
    done = 0
    shift = 0
    for hunk in hunks:
        place = _place(lines, hunk, done, shift)
        result += [*lines[done:place], *hunk.new]
        done = place + len(hunk.old)
        shift = place - _hunk_start(hunk)
    return b"".join([*result, *lines[done:]])


def _is_in(before: bytes, hunks: Sequence[_Hunk]) -> bool:
    """Return whether the hunks are already applied to the file.

    Where its old lines stand there as well, the longer of the two is the better witness.
    """
    lines = _split(before)
    shift = 0
    for hunk in hunks:
        place = _hunk_start(hunk) + shift
        is_new = bool(hunk.new) and lines[place : place + len(hunk.new)] == hunk.new
        is_old = lines[place : place + len(hunk.old)] == hunk.old
        if not is_new or (is_old and len(hunk.old) >= len(hunk.new)):
            return False
        shift += len(hunk.new) - len(hunk.old)
    return bool(hunks)


def _split(text: bytes) -> list[bytes]:
    """Split bytes into lines at LF only, keeping the line ends."""
    # bytes.splitlines would also split at a lone CR, where diff and git see one line.
    return re.findall(rb"[^\n]*\n|[^\n]+\Z", text)


def _hunk_start(hunk: _Hunk) -> int:
    """Return the 0-based index of a hunk's first line."""
    # An empty range is named by the line just before it, 0 at the start of a file (POSIX.1-2017,
    # diff, "Diff -u Output Format").
    return hunk.start - 1 if hunk.old else hunk.start


def _place(lines: list[bytes], hunk: _Hunk, first: int, shift: int) -> int:
    """Return the index of a hunk's old lines; raises an error if they do not fit or repeat."""
    wanted = _hunk_start(hunk) + shift
    if not hunk.old:
        if not first <= wanted <= len(lines):
            raise _misfit(lines, hunk, wanted, "is outside the file")
        return wanted
    for place in dict.fromkeys((wanted, _hunk_start(hunk))):
        if place >= first and lines[place : place + len(hunk.old)] == hunk.old:
            return place
    found = _find_places(lines, hunk.old, first)
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(str(place + 1) for place in found[:_SHOWN])
        raise _misfit(lines, hunk, wanted, f"matches several places (lines {listed})")
    raise _misfit(lines, hunk, wanted, "does not apply")


def _find_places(lines: list[bytes], old: list[bytes], first: int) -> list[int]:
    """Return the first few indexes from `first` on where these lines occur, in linear time."""
    if not all(line.endswith(b"\n") for line in old):  # only a file's last line lacks its end
        place = len(lines) - len(old)
        return [place] if place >= first and lines[place:] == old else []
    # As bytes: comparing line by line takes quadratic time if many are equal. Prefixed with the
    # previous line's end, so that a match starts a line.
    text, wanted = b"".join((b"\n", *lines[first:])), b"".join((b"\n", *old))
    found: list[int] = []
    at = counted = 0
    place = first
    while len(found) <= _SHOWN and (at := text.find(wanted, at)) >= 0:
        place += text.count(b"\n", counted, at)
        found.append(place)
        counted, at = at, at + 1
    return found


def _misfit(lines: list[bytes], hunk: _Hunk, place: int, why: str) -> DoesNotApplyError:
    """Return the error with the first line that differs at the hunk's place."""
    place = max(place, 0)
    for offset, expected in enumerate(hunk.old):
        there = lines[place + offset] if place + offset < len(lines) else None
        if there != expected:
            detail = f"line {place + offset + 1} should be {_format_line(expected)}, but "
            detail += "the file has ended" if there is None else f"it is {_format_line(there)}"
            break
    else:
        detail = f"its header names line {hunk.start}"
    return DoesNotApplyError(
        f"hunk {hunk.number} {why}: {detail}",
        patch_line=hunk.patch_line,
        line=place + 1,
    )


def _format_line(line: bytes) -> str:
    text = line.decode("utf-8", "replace")
    return repr(text.removesuffix("\n")[:120]) + ("" if text.endswith("\n") else " without newline")


# --- reading --------------------------------------------------------------------------


def read_patch(diff: bytes, path: str) -> _Patch:
    """Read a diff for one file. Raises DoesNotApplyError if it is malformed or for another file."""
    lines = _split(diff)
    position, names = _header(lines)
    source, target = (_check_name(name, path) for name in names)
    hunks: list[_Hunk] = []
    while position < len(lines):
        if not lines[position].strip():
            position += 1
            continue
        hunk, position = _hunk(lines, position, len(hunks) + 1)
        hunks.append(hunk)
    if not hunks:
        raise DoesNotApplyError("the diff has no hunk (@@ -1,3 +1,4 @@)")
    return _Patch(tuple(hunks), source, target)


def _header(lines: list[bytes]) -> tuple[int, tuple[str, str]]:
    """Return the index of the first hunk, and the two file names before it."""
    source = target = ""
    for position, line in enumerate(lines):
        if line.startswith(b"@@"):
            return position, (source, target)
        if line.startswith(_BEYOND_TEXT):
            what = line.strip().decode("utf-8", "replace")[:80]
            raise DoesNotApplyError(
                f"a diff can only change the lines of a file, not {what!r}", patch_line=position + 1
            )
        if line.startswith(b"--- "):
            source = _name(line)
        elif line.startswith(b"+++ "):
            target = _name(line)
    return len(lines), (source, target)


def _name(line: bytes) -> str:
    """Return the name in a `---` or `+++` line without a timestamp after a tab."""
    return line[4:].partition(b"\t")[0].strip().decode("utf-8", "replace")


def _check_name(name: str, path: str) -> str:
    """Return the name if it fits `path`. Raises DoesNotApplyError for another file."""
    if name in ("", _NOWHERE) or name.startswith('"'):  # a quoted name is git's own escape
        return name
    if path not in (name, name.partition("/")[2]) and not path.endswith("/" + name):
        raise DoesNotApplyError(f"the diff is for {name!r}, but the block is for {path!r}")
    return name


def _hunk(lines: list[bytes], position: int, number: int) -> tuple[_Hunk, int]:
    header = _HUNK.match(lines[position])
    if lines[position].startswith(_NEXT_FILE):
        raise DoesNotApplyError("the diff changes more than one file", patch_line=position + 1)
    if header is None:
        raise _make_malformed_error(
            number, position, "a hunk must begin with @@ -line,count +line,count @@"
        )
    hunk = _Hunk(number, position + 1, int(header[1]))
    old, new = (int(count) if count else 1 for count in (header[2], header[4]))
    at = position + 1
    # The counts end a hunk, not the look of its lines: a removed line `-- a` appears as `--- a`,
    # which is also how another file's header starts.
    while len(hunk.old) < old or len(hunk.new) < new:
        at = _line(lines, at, hunk)
    if (len(hunk.old), len(hunk.new)) != (old, new):
        counts = f"{len(hunk.old)} old and {len(hunk.new)} new lines, not {old} and {new}"
        raise _make_malformed_error(number, position, f"it has {counts}")
    following = lines[at] if at < len(lines) else b""
    if following.strip() and following[:1] in b"+- " and not following.startswith(_NEXT_FILE):
        raise _make_malformed_error(
            number, position, f"it has more than {old} old and {new} new lines"
        )
    return hunk, at


def _line(lines: list[bytes], at: int, hunk: _Hunk) -> int:
    """Read one line into a hunk and return the index of the next."""
    line = lines[at] if at < len(lines) else b"@"
    sign, text = line[:1], line[1:]
    if sign == b"\n":  # an editor took the blank of an empty context line away
        sign, text = b" ", line
    if sign == _NO_NEWLINE:
        raise _make_malformed_error(hunk.number, at, "no line precedes the missing newline mark")
    if sign not in (b" ", b"-", b"+"):
        counts = f"after {len(hunk.old)} old and {len(hunk.new)} new lines"
        raise _make_malformed_error(hunk.number, at, f"it ends {counts}; its header says more")
    after = at + 1
    # It refers to the line above it, and its text is translated: only the backslash counts (GNU
    # diffutils, "Incomplete Lines").
    if after < len(lines) and lines[after].startswith(_NO_NEWLINE):
        text = text.removesuffix(b"\n")
        after += 1
    if sign != b"+":
        hunk.old.append(text)
    if sign != b"-":
        hunk.new.append(text)
    return after


def _make_malformed_error(number: int, position: int, why: str) -> DoesNotApplyError:
    return DoesNotApplyError(f"hunk {number} is malformed: {why}", patch_line=position + 1)
