"""Redact secrets in output: whole tokens become `[REDACTED:openai]`.

A stream is redacted line by line. What came before stays as context, and an unfinished line is
held back, so that a key cut in two by a read is seen whole; a key of many lines (PEM) is
swallowed from its first line to its end.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from runner.secrets import declared_values, find, load_rules
    from runner.secrets.find import RedactionSpan
else:
    declared_values = lazy_module("runner.secrets.declared_values")
    find = lazy_module("runner.secrets.find")
    load_rules = lazy_module("runner.secrets.load_rules")

_CONTEXT = 1 << 10
"""Bytes already returned that the next search still sees."""
_HELD = 64 << 10
"""Bytes of an unfinished line that are held back before a part of it is returned."""
_TAIL = 8 << 10
"""Bytes of such a part that are kept: recognising a secret never needs more."""
_LONGEST_KEY = 64 << 10
"""Maximum bytes dropped after the first line of a private key."""
_MARK = b"[REDACTED:private-key]\n"
_KEY_BEGIN = rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"

# Possessive throughout (`*+`, Python 3.11): a long line outside of any key is read once, not once
# for each way to split it.
_KEY_LINE = (
    rb"(?:\\[nr]|[\s\"'+,;>|#*.()])*+(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash):[^\n]*+"
    rb"|(?:[A-Za-z0-9+/=]++(?:\\[nr])*+)*+(-----END [^\n]*+)?)(?:\\[nr]?|[\s\"'+,;)])*+\Z"
)

# Last line of a key before text: everything up to the end of the literal or element.
_KEY_LAST = rb"(?:\\[nr]|[\s\"'+,;>|#*.()])*+[A-Za-z0-9+/]{4,}+={0,2}(?=[\"'`<\\])"
_REMEMBERED = 1 << 10
"""Maximum characters of a text whose redaction is cached."""
_TOKEN = rb"[A-Za-z0-9+/=_.~-]*+"
_GAP = b" \t\r\n\"'+,;\\)"
_held: tuple[EnvValue, ...] = ()
_IS_ENV_FILE = regex(r"(?:.*/)?(?:\.env(?:\..*|rc)?|\.flaskenv|\.dev\.vars(?:\..*)?|.*\.env)")
_ASSIGNMENT = regex(
    r"(?m)^[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_][\w.-]*)[ \t]*=[ \t]*"
    r"(?:\"(?P<double>(?:[^\"\\]|\\.)*)\"|'(?P<single>[^']*)'|(?P<bare>[^\n]*))"
)
_IS_SECRET_NAME = regex(r"(?i).*(?:key|secret|token|pass|pwd|credential|auth|dsn).*")
_SHORTEST = 4
"""Minimum characters of a secret's value, as for declared ones."""
_SHORTEST_OTHER = 8
"""Minimum characters of any other value: a shorter one would hide ordinary words."""
_IS_ORDINARY = regex(r"[A-Za-z]+|[0-9.:]+|https?://localhost[:\d]*/?")
"""`development`, `127.0.0.1:8000`: hiding them would make output unreadable."""


def hold_values(values: Iterable[EnvValue]) -> None:
    """Redact these values in all that this process tells from now on; none is taken away."""
    global _held  # noqa: PLW0603 - whatever leaves the process is redacted, whoever calls
    _held = tuple(dict.fromkeys((*_held, *values)))


def list_held_secrets() -> tuple[tuple[str, str], ...]:
    """Return names and values of the secrets that no proposed file may contain."""
    return tuple((one.name, one.value) for one in _held if one.is_secret)


def _forms(known: Collection[str]) -> tuple[bytes, ...]:
    return declared_values.forms_of_values((*known, *(one.value for one in _held)))


def redact(text: str, known: Collection[str] = ()) -> str:
    """Redact `text`: named secret formats, and the literal values in `known`.

    Linear in the length. A `known` value shorter than four characters is left alone.
    """
    if known or _held or len(text) > _REMEMBERED:
        return _redact(text, known)
    return _redact_cached(text, len(load_rules.redacting_shapes()))


def redact_head(text: str, most: int, known: Collection[str] = ()) -> str:
    """Return the first `most` characters, redacted with regard to the text after them.

    What is cut first and redacted then shows half a secret, which fits no shape.
    """
    return _redact_part(text[: most + _LONGEST_KEY], 0, most, known)


def redact_tail(text: str, most: int, known: Collection[str] = ()) -> str:
    """Return the last `most` characters, redacted with regard to the text before them."""
    near = text[-(most + _LONGEST_KEY) :]
    return _redact_part(near, max(0, len(near) - most), len(near), known)


def _redact_part(text: str, first: int, last: int, known: Collection[str]) -> str:
    content = text.encode("utf-8", "surrogatepass")
    start, end = (len(text[:at].encode("utf-8", "surrogatepass")) for at in (first, last))
    found = find.blots(content, _forms(known))
    return find.redact_spans(content, found, start, end).decode("utf-8", "surrogatepass")


@lru_cache(maxsize=4096)
def _redact_cached(text: str, shapes: int) -> str:  # noqa: ARG001 - shapes are added, never taken away
    """Redact a short text, with a cache because commands are redacted repeatedly."""
    return _redact(text, ())


def _redact(text: str, known: Collection[str]) -> str:
    # Non-UTF-8 file names contain lone surrogates (PEP 383), which a strict encoder rejects.
    content = text.encode("utf-8", "surrogatepass")
    found = find.blots(content, _forms(known))
    if not found:
        return text
    return find.redact_spans(content, found, 0, len(content)).decode("utf-8", "surrogatepass")


class StreamRedactor:
    """Redacts a stream of bytes, fed in pieces of any size; memory stays bounded.

    Every complete line is given out at once. An unfinished one is held back up to 64 kB.
    """

    def __init__(self, known: Collection[str] = ()) -> None:
        self._known = _forms(known)
        self._clear()

    def feed(self, chunk: bytes) -> bytes:
        """Return the redacted part of the stream that is complete after `chunk`."""
        self._pieces.append(chunk)
        self._held += len(chunk)
        # A carriage return also ends a line: a progress bar may send nothing else for minutes.
        if b"\n" not in chunk and b"\r" not in chunk and self._held <= _HELD:
            return b""
        pending = b"".join(self._pieces)
        end = max(pending.rfind(b"\n"), pending.rfind(b"\r")) + 1
        if len(pending) - end > _HELD:
            end = len(pending) - _TAIL
        return self._give(pending, end)

    def finish(self) -> bytes:
        """Return the rest of the stream and reset the redactor."""
        pending = b"".join(self._pieces)
        self._ends = True
        given = self._give(pending, len(pending))
        self._clear()
        return given

    def _clear(self) -> None:
        self._context = b""
        self._ends = False
        self._pieces: list[bytes] = []
        self._held = 0
        self._in_token = False
        """Whether a shown secret reached the end of the known text: its rest is dropped."""
        self._key_left = 0
        """Bytes of an open private key that may still be dropped."""
        self._owed = b""
        """Replacement for a key of which only the first line was shown so far."""

    def _give(self, pending: bytes, end: int) -> bytes:
        """Return `pending` up to `end` redacted, and keep the rest without parts of a secret."""
        swallowed, mark = self._swallow(pending, end)
        # Include already shown text: the name may be in the previous piece, its value here.
        text = self._context + pending[swallowed:]
        first, cut = len(self._context), len(self._context) + end - swallowed
        found = find.blots(text, self._known)
        cut = self._before_begun(text, first, _before_unfinished(text, found, first, cut))
        self._keep(text, found, cut)
        if cut > first:
            self._watch_for_key(text, found, cut)
            self._context = text[max(0, cut - _CONTEXT) : cut]
        return mark + find.redact_spans(text, found, first, cut)

    def _before_begun(self, text: bytes, first: int, cut: int) -> int:
        """Return the cut, moved before a declared value that may continue later.

        At the end of the stream nothing more can come, and nothing is held back.
        """
        if not self._known or self._ends or cut <= first:
            return cut
        before = max(0, cut - _CONTEXT)
        start = before + declared_values.find_begun(text[before:cut], self._known)
        return max(first, start) if len(text) - start <= _TAIL else cut

    def _keep(self, text: bytes, found: list[RedactionSpan], cut: int) -> None:
        """Keep the text after the cut; the rest of a secret that crosses it is dropped."""
        rest = next((blot.end for blot in found if blot.start < cut < blot.end), cut)
        if rest > cut:
            self._in_token = rest == len(text)
        self._pieces, self._held = [text[rest:]], len(text) - rest

    def _watch_for_key(self, text: bytes, found: list[RedactionSpan], cut: int) -> None:
        """Detect a private key that starts before the cut and is not complete."""
        for start, end, name in found:
            if name == "private-key" and start < cut and not text[end:cut].strip(_GAP):
                self._key_left = 0 if b"-----END" in text[start:end] else _LONGEST_KEY
                return
        if _ends_in_header(text, cut):
            self._key_left, self._owed = _LONGEST_KEY, _MARK

    def _swallow(self, pending: bytes, end: int) -> tuple[int, bytes]:
        """Return how many leading bytes belong to a redacted secret, and its mark."""
        done = self._rest_of_token(pending, end) if self._in_token else 0
        mark = b""
        while self._key_left > 0 and done < end:
            stop = pending.find(b"\n", done, end) + 1 or end
            line = _compile(_KEY_LINE).match(pending[done:stop])
            if line is None:
                last = _compile(_KEY_LAST).match(pending, done, stop)
                if last:
                    mark, done = mark + self._owed, last.end()
                self._leave_key()
            else:
                mark, self._owed = mark + self._owed, b""
                self._key_left -= stop - done
                done = stop
                if line[1]:
                    self._leave_key()
        return done, mark

    def _rest_of_token(self, pending: bytes, end: int) -> int:
        match = _compile(_TOKEN).match(pending, 0, end)
        done = match.end() if match else 0
        self._in_token = done == end
        return done

    def _leave_key(self) -> None:
        self._key_left, self._owed, self._context = 0, b"", b""


def _before_unfinished(text: bytes, found: list[RedactionSpan], first: int, cut: int) -> int:
    """Return the cut, moved before a multi-part secret that may continue after the text.

    Its first part has to be there when its last one is read.
    """
    for start, end, name in found:
        if first <= start < cut < end and not text[end:].strip(_GAP) and name != "private-key":
            return start if len(text) - start <= _TAIL else cut
    return cut


def _ends_in_header(text: bytes, cut: int) -> bool:
    """Return whether a private key begins before `cut` with only key lines since."""
    begin = text.rfind(b"-----BEGIN ", max(0, cut - _LONGEST_KEY), cut)
    header = _compile(_KEY_BEGIN).match(text, begin, cut) if begin >= 0 else None
    if header is None:
        return False
    lines = [
        _compile(_KEY_LINE).match(line)
        for line in text[header.end() : cut].splitlines(keepends=True)
    ]
    return all(line is not None and not line[1] for line in lines)


@cache
def _compile(expression: bytes) -> re.Pattern[bytes]:
    return re.compile(expression)


class EnvValue(NamedTuple):
    """One value that is hidden wherever text leaves the runner."""

    name: str
    value: str
    is_secret: bool
    """Whether its name marks it as a secret: no proposed file may contain it."""


def is_env_file(path: str) -> bool:
    """Return whether a file name is that of an `.env` file."""
    return _IS_ENV_FILE.fullmatch(path) is not None


def read_env_values(content: str) -> Iterator[EnvValue]:
    """Yield the secret values of an `.env` file with their variables."""
    for found in _ASSIGNMENT.finditer(content):
        bare = (found["bare"] or "").partition(" #")[0]
        value = (found["double"] or found["single"] or bare).strip()
        is_secret = _IS_SECRET_NAME.fullmatch(found["name"]) is not None
        if (is_secret and len(value) >= _SHORTEST) or (
            len(value) >= _SHORTEST_OTHER and not _IS_ORDINARY.fullmatch(value)
        ):
            yield EnvValue(found["name"], value, is_secret)
