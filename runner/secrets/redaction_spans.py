"""Where a text is blotted out: its secrets and the values declared secret, by place."""

from __future__ import annotations

from typing import NamedTuple

from runner.secrets.find import find

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
        from runner.secrets.declared_values import places

        found.extend(RedactionSpan(start, end, "secret") for start, end in places(text, known))
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
