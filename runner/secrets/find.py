"""Find every secret in a text and in its decodings, with byte positions in the original.

A key may be written so that no pattern matches it and every interpreter still puts it together:
with zero-width characters, as UTF-16, with escapes, as adjacent literals, in base64. Each reading
undoes one of these, and maps each place back to the original. Declared values count as secrets.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from runner.lazy_module import lazy_module
from runner.secrets.patterns import linear, places

if TYPE_CHECKING:
    import binascii
    from collections.abc import Callable, Iterable, Iterator

    from runner.secrets import declared_values
    from runner.secrets.load_rules import SecretShape
else:
    declared_values = lazy_module("runner.secrets.declared_values")
    binascii = lazy_module("binascii")

_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_UTF32 = {b"\xff\xfe\0\0": "utf-32-le", b"\0\0\xfe\xff": "utf-32-be"}
_WINDOW = 1 << 20
_OVERLAP = 32 << 10
"""Bytes; no secret that is found by its start is longer."""

# UTF-8 of zero-width, bidi, variation and tag characters, which are invisible.
_INVISIBLE = (
    rb"(?:\x00|\xc2\xad|\xcd\x8f|\xd8\x9c|\xe1\x85[\x9f\xa0]|\xe1\x9e[\xb4\xb5]|\xe1\xa0[\x8b-\x8f]"
    rb"|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]|\xe2\xa0\x80|\xe3\x85\xa4"
    rb"|\xef\xb8[\x80-\x8f]|\xef\xbb\xbf|\xef\xbe\xa0|\xef\xbf[\xb0-\xbb]|\xf3\xa0[\x80-\xbf]{2})++"
)

# All alternatives start with a plain letter, so that the search can skip to the next one.
_ESCAPES = (
    rb"\\(?:x([0-9A-Fa-f]{2})|u\{?0{0,4}([0-9A-Fa-f]{2})\b\}?|u00([0-9A-Fa-f]{2})"
    rb"|U000000([0-9A-Fa-f]{2})|([0-7]{3})|([nrt/])(?=[A-Za-z0-9][\w.-]{7}))"
    rb"|%([2-7][0-9A-Fa-f])|&#(?:x([0-9A-Fa-f]{2})|([0-9]{2,3}));"
)
_OCTAL, _LETTER, _DECIMAL = 5, 6, 9

# Text between two literals that the language joins: blanks, line ends, comments, parentheses and
# braces, and one operator; or `name +=`; or a format placeholder. Possessive throughout for linear
# time: nothing is tried twice.
_BLANK = rb"(?>[ \t\r\n\\(){}$]++|(?:#|//)[^\n\"'`]{0,200}+\n)*+"
_OPERATOR = rb"(?>\+|\.format\(|\.\.?|&|~|<>|\|\||%|;?[ \t\r\n]*+[\w.$]{1,60}+[ \t]*+\+=)?+"
_QUOTE = rb"[\"'`]"

# Only between characters a key may contain: most quotes are next to a blank or a bracket.
_BESIDE = rb"(?<=[\w\-+/=.:}s][\"'`])"
_BEFORE = _QUOTE + _BESIDE
_AFTER = _QUOTE + rb"(?=[\w\-+/=.])"
_NEXT = _BLANK + _OPERATOR + _BLANK + rb"(?:[rbfuRBFU@]{1,2}(?=[\"'`]))?+"
_ADJACENT = (
    _BESIDE + rb"(?:" + _NEXT + _QUOTE + rb"(?=[\"'`])" + _QUOTE + rb"){0,20}+" + _NEXT + _AFTER
)
_FILLED = rb"[\"'`](?:\.format\(|\s*+%\s*+\(?)\s*+[\"'`]"

# One set of first letters for all alternatives, for the same reason as above.
_JOINTS = (
    rb"[\"'`{%\\](?:" + _ADJACENT + rb"|(?<=\{)[0-9]?\}" + _FILLED + rb"|(?<=%)s" + _FILLED
    + rb"|(?<=\\)\r?\n[ \t]*+)"
)  # fmt: skip
_LISTED = _BEFORE + rb"\s*+,\s*+(?:[rbfuRBFU]{1,2}(?=[\"'`]))?+" + _AFTER
_JOINERS = (b"join", b"concat", b"Join", b"Concat", b"CONCAT", b"printf", b"strcat")
_BASE64 = (
    r"[A-Za-z0-9+/_-]{24,}(?:\r?\n[ \t]*[A-Za-z0-9+/_-]{24,})*"
    r"(?:={1,2}|\r?\n[ \t]*[A-Za-z0-9+/_-]+={0,2})?"
)
_READABLE = rb"[\t\n\r\x20-\x7e]{16,}"

# MII, MIG and MIC start a DER sequence in base64 (X.690), b3Blb… is `openssh-k`, of OpenSSH's own
# format.
_KEYS = (b"PRIVATE KEY", b"MII", b"MIG", b"MIC", b"MHcCAQ", b"MHQCAQ", b"MIHcAg", b"b3BlbnNzaC1r")
_NEIGHBOUR = 400
"""Bytes of an adjacent line that are scanned together with a changed one."""
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_BLANKS_AND_PADDING = b" \t\r\n="


class Secret(Struct, frozen=True):
    """One secret: its shape, its bytes in the text as it stands, and its value put together.

    The value is for comparing with an allow-list; it never leaves the process.
    """

    shape: SecretShape
    start: int
    end: int
    value: str

    def __repr__(self) -> str:
        return f"Secret({self.shape.name!r}, {self.start}, {self.end})"


def utf8(content: bytes) -> bytes:
    """Return `content` as UTF-8 if it has a mark of UTF-16 or UTF-32; else unchanged.

    The patterns are ASCII, so bytes that are no UTF-8 need no decoding: they match nothing
    and hide nothing.
    """
    # UTF-32 first: FF FE 00 00 starts with the byte order mark of UTF-16.
    for mark, encoding in (*_UTF32.items(), *_UTF16.items()):
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, "replace").encode("utf-8", "replace")
    return content


def find(text: bytes, *, to_redact: bool = False) -> tuple[Secret, ...]:
    """Return the secrets in `text` in order, each named by its first matching format.

    With `to_redact` without those that only a clone's own format takes for one. A long
    text is read in windows that overlap, so that memory stays bounded.
    """
    found: list[Secret] = []
    for start in range(0, max(len(text), 1), _WINDOW):
        window = text[start : start + _WINDOW + _OVERLAP]
        found.extend(_in_window(window, start, to_redact=to_redact))
    return _without_repeats(found)


def _in_window(text: bytes, offset: int, *, to_redact: bool) -> Iterator[Secret]:
    for view in views(text):
        for place in places(view.text, to_redact=to_redact):
            start, end = view.origin(place.start, place.end)
            value = view.text[place.start : place.end].decode("utf-8", "replace")
            yield Secret(place.shape, start + offset, end + offset, value)


def _without_repeats(found: list[Secret]) -> tuple[Secret, ...]:
    """Return the secrets without overlaps; the first one found wins."""
    kept: list[Secret] = []
    last = -1
    order = {id(secret): rank for rank, secret in enumerate(found)}
    for secret in sorted(found, key=lambda secret: (secret.start, -secret.end)):
        if secret.start >= last:
            kept.append(secret)
            last = secret.end
            continue
        before = kept[-1]
        first = min(before, secret, key=lambda one: order.get(id(one), len(found)))
        last = max(last, secret.end)
        merged = Secret(first.shape, before.start, last, first.value)
        order[id(merged)] = order.get(id(first), len(found))
        kept[-1] = merged
    return tuple(kept)


_CONTINUES = 0x80
_CONTINUES_MASK = 0xC0


class RedactionSpan(NamedTuple):
    """Bytes that must not be shown, and the name that is shown instead."""

    start: int
    end: int
    name: str


def blots(text: bytes, known: tuple[bytes, ...]) -> list[RedactionSpan]:
    """Return the spans of `text` to redact, in order and without overlaps."""
    found = [
        RedactionSpan(secret.start, secret.end, secret.shape.name)
        for secret in find(text, to_redact=True)
    ]
    if known:
        found.extend(
            RedactionSpan(start, end, "secret")
            for start, end in declared_values.places(text, known)
        )
    merged: list[RedactionSpan] = []
    for blot in sorted(_whole(text, blot) for blot in found):
        if merged and blot.start < merged[-1].end:
            before = merged.pop()
            blot = RedactionSpan(before.start, max(before.end, blot.end), before.name)  # noqa: PLW2901 - both in one
        merged.append(blot)
    return merged


def redact_spans(text: bytes, found: list[RedactionSpan], first: int, last: int) -> bytes:
    """Return `text` from `first` to `last`, with each span as `[REDACTED:name]`."""
    shown: list[bytes] = []
    done = first
    for start, end, name in found:
        if end > first and start < last:
            shown += [text[done : max(start, done)], f"[REDACTED:{name}]".encode()]
            done = min(end, last)
    shown.append(text[done:last])
    return b"".join(shown)


def _whole(text: bytes, blot: RedactionSpan) -> RedactionSpan:
    """Widen a span to whole UTF-8 characters."""
    first, last = blot.start, blot.end
    while first > 0 and text[first] & _CONTINUES_MASK == _CONTINUES:
        first -= 1
    while last < len(text) and text[last] & _CONTINUES_MASK == _CONTINUES:
        last += 1
    return RedactionSpan(first, last, blot.name)


def _positions() -> array[int]:
    return array("q")


class DecodedText(Struct, frozen=True):
    """One reading of a text, and where its bytes came from."""

    text: bytes
    parent: DecodedText | None = None
    starts: array[int] = field(default_factory=_positions)
    """Start of each piece in `text`, in order."""
    origins: array[int] = field(default_factory=_positions)
    """Start of each piece in the parent's text."""
    sizes: array[int] = field(default_factory=_positions)
    """Length of each piece there; -1 for a piece copied unchanged."""

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Return the range in the original text for `start` to `end` of this one."""
        if self.parent is None:
            return start, end
        first, _ = self._back(start)
        last, size = self._back(max(start, end - 1))
        return self.parent.origin(first, last + size)

    def find_changed_lines(self) -> DecodedText:
        """Return the lines that differ from the parent, with neighbours; all for private keys.

        Whatever stands elsewhere was found in the parent already. A private key has more lines
        than that, so a text that may hold one is read whole.
        """
        if any(beginning in self.text for beginning in _KEYS):
            return self
        draft, done = _Draft(self), 0
        for joint in self.starts[1:]:
            if joint < done:
                continue
            start, end = _lines_around(self.text, joint)
            start = max(start, done)
            draft.add(self.text[start:end], start, -1)
            draft.add(b"\n\n", end, 0)
            done = end
        return draft.view()

    def _back(self, position: int) -> tuple[int, int]:
        piece = max(0, bisect_right(self.starts, position) - 1)
        origin, size = self.origins[piece], self.sizes[piece]
        if size < 0:
            return origin + position - self.starts[piece], 1
        return origin, size


def views(content: bytes) -> Iterator[DecodedText]:
    """Yield the decoded forms of `content`: the plain text first, then only changes.

    All take time linear in its length. Base64 comes last, decoded once from the reading in
    which everything else is already undone.
    """
    current = DecodedText(content)
    yield current
    for undo in (_without_invisible, _unescape, _join):
        changed = undo(current)
        if changed is not None:
            current = changed
            yield current.find_changed_lines()
    listed = _list_joined(current)
    if listed is not None:
        yield listed.find_changed_lines()
    decoded = _decode(current)
    if decoded is not None:
        yield decoded


def _without_invisible(view: DecodedText) -> DecodedText | None:
    if view.text.isascii() and b"\0" not in view.text:
        return None
    return _replace_matches(view, _compile(_INVISIBLE).finditer(view.text), _nothing)


def _unescape(view: DecodedText) -> DecodedText | None:
    if not any(sign in view.text for sign in (b"\\", b"%", b"&#")):
        return None
    return _replace_matches(view, _compile(_ESCAPES).finditer(view.text), _meaning)


def _join(view: DecodedText) -> DecodedText | None:
    return _replace_matches(view, _compile(_JOINTS).finditer(view.text), _nothing)


def _list_joined(view: DecodedText) -> DecodedText | None:
    """Return the text with lists of literals joined; None if the text joins no lists."""
    if not any(word in view.text for word in _JOINERS):
        return None
    return _replace_matches(view, _compile(_LISTED).finditer(view.text), _nothing)


def _decode(view: DecodedText) -> DecodedText | None:
    """Decode the base64 parts of `view`: readable ones only, one per line."""
    decoded = _Draft(view)
    for match in linear(_BASE64).finditer(view.text):
        start, end = match.span()
        for part in _readable(view.text[start:end]):
            decoded.add(part + b"\n", start, end - start)
    return decoded.view() if decoded.pieces else None


def _readable(encoded: bytes) -> Iterator[bytes]:
    """Yield the readable parts of `encoded`, at each of four possible starts of the first group."""
    plain = encoded.translate(_URL_SAFE, _BLANKS_AND_PADDING)
    if plain.islower() or plain.isupper() or plain.isdigit():
        return  # words and numbers; the base64 of a key mixes them
    for skipped in range(4):
        groups, rest = divmod(len(plain) - skipped, 4)
        # A single last letter has six bits, not a byte: binascii raises an error for it.
        whole = plain[skipped : skipped + groups * 4 + (rest if rest > 1 else 0)]
        yield from _compile(_READABLE).findall(
            binascii.a2b_base64(whole + b"=" * (-len(whole) % 4))
        )


def _replace_matches(
    view: DecodedText,
    matches: Iterable[re.Match[bytes]],
    replacement: Callable[[re.Match[bytes]], bytes],
) -> DecodedText | None:
    """Return `view` with every match replaced; None if there is no match."""
    draft = _Draft(view)
    done = 0
    for match in matches:
        start, end = match.span()
        draft.add(view.text[done:start], done, -1)
        draft.add(replacement(match), start, end - start)
        done = end
    if not done:
        return None
    draft.add(view.text[done:], done, -1)
    return draft.view()


class _Draft:
    """A reading being put together, piece by piece."""

    def __init__(self, parent: DecodedText) -> None:
        self.parent = parent
        self.pieces: list[bytes] = []
        self.starts, self.origins, self.sizes = _positions(), _positions(), _positions()
        self.length = 0

    def add(self, piece: bytes, origin: int, size: int) -> None:
        """Append `piece`, which stands for `size` bytes at `origin` (-1: byte by byte)."""
        if piece:
            self.starts.append(self.length)
            self.origins.append(origin)
            self.sizes.append(size)
            self.pieces.append(piece)
            self.length += len(piece)

    def view(self) -> DecodedText:
        """Return the decoded text."""
        text = b"".join(self.pieces)
        return DecodedText(text, self.parent, self.starts, self.origins, self.sizes)


def _lines_around(text: bytes, position: int) -> tuple[int, int]:
    """Return the range of the line at a position and its two neighbours."""
    start = text.rfind(b"\n", 0, position)
    before = text.rfind(b"\n", max(0, start - _NEIGHBOUR), max(0, start))
    end = text.find(b"\n", position)
    behind = text.find(b"\n", end + 1, end + _NEIGHBOUR) if end >= 0 else -1
    first = before if before >= 0 else max(0, start - _NEIGHBOUR)
    last = len(text) if end < 0 else behind if behind >= 0 else min(len(text), end + _NEIGHBOUR)
    return max(0, first), last


def _nothing(_match: re.Match[bytes]) -> bytes:
    return b""


def _meaning(match: re.Match[bytes]) -> bytes:
    """Return the byte of an escape sequence."""
    group = match.lastindex or 0
    digits = match[group]
    if group == _LETTER:
        return b"/" if digits == b"/" else b"\n"
    base = 8 if group == _OCTAL else 10 if group == _DECIMAL else 16
    return bytes([int(digits, base) & 0xFF])


@cache
def _compile(expression: bytes) -> re.Pattern[bytes]:
    return re.compile(expression)
