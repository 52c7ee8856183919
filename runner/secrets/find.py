"""Every secret of a text, in every reading of it, with places in bytes of the original.

Where a text is blotted out: its secrets and the values declared secret, by place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.secrets.decodings import views
from runner.secrets.patterns import places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.secrets import declared_values
    from runner.secrets.load_rules import SecretShape
else:
    declared_values = lazy_module("runner.secrets.declared_values")


_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_UTF32 = {b"\xff\xfe\0\0": "utf-32-le", b"\0\0\xfe\xff": "utf-32-be"}

_WINDOW = 1 << 20
_OVERLAP = 32 << 10
"""Bytes; no secret that is found by its beginning is longer than this."""


@dataclass(frozen=True, slots=True)
class Secret:
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
    """`content` in the encoding that is searched: UTF-16 and UTF-32 by their marks, else as is.

    The patterns are ASCII, so bytes that are no UTF-8 need no decoding: they match nothing
    and hide nothing.
    """
    # UTF-32 first: FF FE 00 00 begins with the mark of UTF-16.
    for mark, encoding in (*_UTF32.items(), *_UTF16.items()):
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, "replace").encode("utf-8", "replace")
    return content


def find(text: bytes, *, to_redact: bool = False) -> tuple[Secret, ...]:
    """The secrets of `text`, in order, each place once, named by the first shape that fits.

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
    """One secret a place: where several overlap, the one found first."""
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


# --- redaction spans ------------------------------------------------------------------


_CONTINUES = 0x80
_CONTINUES_MASK = 0xC0


class RedactionSpan(NamedTuple):
    """Bytes that must not be shown, and the name that is shown instead."""

    start: int
    end: int
    name: str


def blots(text: bytes, known: tuple[bytes, ...]) -> list[RedactionSpan]:
    """What of `text` must not be shown, in order and without overlaps."""
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
    """`text` from `first` to `last`, with `[REDACTED:name]` for every blot."""
    shown: list[bytes] = []
    done = first
    for start, end, name in found:
        if end > first and start < last:
            shown += [text[done : max(start, done)], f"[REDACTED:{name}]".encode()]
            done = min(end, last)
    shown.append(text[done:last])
    return b"".join(shown)


def _whole(text: bytes, blot: RedactionSpan) -> RedactionSpan:
    """`blot`, widened so that it begins and ends between UTF-8 characters."""
    first, last = blot.start, blot.end
    while first > 0 and text[first] & _CONTINUES_MASK == _CONTINUES:
        first -= 1
    while last < len(text) and text[last] & _CONTINUES_MASK == _CONTINUES:
        last += 1
    return RedactionSpan(first, last, blot.name)
