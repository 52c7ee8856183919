"""The forms in which a program may print a value, byte for byte.

Plain and reversed; base64 at each alignment, both alphabets; hex, run together and in pairs; for
URLs, as the libraries of several languages write them; as strings of JSON, once and in another one,
and as literals of code; these as XML and HTML have them; UTF-16, also in base64 and hex; Latin-1.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_SHORTEST_DERIVED = 8
"""Bytes of a form that says no more than a part of the value: fewer are in ordinary text."""
_REVERSED_FROM = 6
"""Characters from which a value is looked for from its end."""
_BITS = 6
"""Of a letter of base64."""
_LEFT_IN_URLS = ("", "/", "!'()*", "*", ";,/?:@&=+$!*'()#", "$&+=:@", "-._!$&'()*+,;=:@/")
"""What stays as it is: for Python, encodeURIComponent, Java, encodeURI, Go, a path of RFC 3986."""
_SHORT = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ASCII = 128
_MARKED = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}
_MARKED_QUOTES: tuple[dict[int, str], ...] = (
    {},
    {ord('"'): "&quot;"},
    {ord('"'): "&quot;", ord("'"): "&#x27;"},
    {ord('"'): "&quot;", ord("'"): "&#39;"},
    {ord('"'): "&quot;", ord("'"): "&#039;"},
    {ord('"'): "&quot;", ord("'"): "&apos;"},
    {ord('"'): "&#34;", ord("'"): "&#39;"},
)
"""As ElementTree, Python, JavaScript, PHP, lxml, Go and Jinja write them."""
_NEEDS_MARKUP = frozenset("&<>\"'")


def list_forms(value: str) -> Iterable[bytes]:
    """All forms of a value; some more than once."""
    plain = value.encode("utf-8", "surrogatepass")
    yield from _in_text(value)
    yield from _for_urls(plain)
    yield from _in_base64(plain)
    yield from _in_digits(value, plain)
    for encoding in ("utf-16-le", "utf-16-be"):
        wide = value.encode(encoding, "surrogatepass")
        yield wide
        yield from _in_base64(wide)
        yield from (wide.hex().encode(), wide.hex().upper().encode())
    with suppress(UnicodeEncodeError):
        yield value.encode("latin-1")
    if len(value) >= _REVERSED_FROM:
        yield value[::-1].encode("utf-8", "surrogatepass")


# --- as a text --------------------------------------------------------------------------


def _in_text(value: str) -> Iterator[bytes]:
    """As it is and escaped, each also in markup."""
    for text in {value, *_in_json(value), *_in_literals(value)}:
        yield text.encode("utf-8", "surrogatepass")
        marked = [] if text.isascii() else [text]
        if not _NEEDS_MARKUP.isdisjoint(text):
            marked = [text.translate(_MARKED | quotes) for quotes in _MARKED_QUOTES]
        for one in marked:
            yield one.encode("utf-8", "surrogatepass")
            yield one.encode("ascii", "xmlcharrefreplace")


def _in_json(value: str) -> Iterator[str]:
    """As a string of JSON, plain ASCII or not; and as one inside of one or two others."""
    for ascii_alone in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_alone)[1:-1]
        # JSON may write a slash as `\/` (RFC 8259, section 7), and PHP does.
        twice = json.dumps(once)[1:-1]
        yield from (once, once.replace("/", "\\/"), twice, json.dumps(twice)[1:-1])


def _in_literals(value: str) -> Iterator[str]:
    """As Python, JavaScript, Go and git show a text; either quote may be escaped."""
    for beyond_ascii in (str, _in_code_points, _in_bytes, _in_octal):
        text = "".join(_literal(letter, beyond_ascii) for letter in value)
        yield from (text, text.replace("'", "\\'"), text.replace('"', '\\"'))


def _literal(letter: str, beyond_ascii: Callable[[str], str]) -> str:
    if letter in _SHORT:
        return _SHORT[letter]
    if ord(letter) >= _ASCII:
        return beyond_ascii(letter)
    return letter if letter.isprintable() else f"\\x{ord(letter):02x}"


def _in_code_points(letter: str) -> str:
    return letter.encode("ascii", "backslashreplace").decode()


def _in_bytes(letter: str) -> str:
    return "".join(f"\\x{one:02x}" for one in letter.encode("utf-8", "surrogatepass"))


def _in_octal(letter: str) -> str:
    return "".join(f"\\{one:03o}" for one in letter.encode("utf-8", "surrogatepass"))


# --- as digits --------------------------------------------------------------------------


def _for_urls(plain: bytes) -> Iterator[bytes]:
    for left in _LEFT_IN_URLS:
        text = quote(plain, safe=left)
        # The digits of a percent-encoding may be of either case (RFC 3986, section 2.1).
        for one in (text, re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), text)):
            yield one.encode()
            yield one.replace("%20", "+").encode()  # as forms have a blank


def _in_digits(value: str, plain: bytes) -> Iterator[bytes]:
    """Hex, run together and in pairs; and escaped for URLs, code and JSON to the last letter."""
    units = value.encode("utf-16-be", "surrogatepass")
    for text in (plain.hex(), plain.hex(" "), plain.hex(":"), plain.hex("-")):
        yield from (text.encode(), text.upper().encode())
    for before, digits in (
        ("%", plain.hex(" ")),
        ("\\x", plain.hex(" ")),
        ("\\u", units.hex(" ", 2)),
    ):
        for text in (digits, digits.upper()):
            yield (before + text.replace(" ", before)).encode()


def _in_base64(plain: bytes) -> Iterator[bytes]:
    """Alone, and as a part of something longer: only letters that the value decides alone."""
    from base64 import b64encode

    yield b64encode(plain).rstrip(b"=")
    for before in range(3):
        # Six bits a letter (RFC 4648, section 4): the ones at both ends that share bits with a
        # neighbour look different each time.
        first = -(-8 * before // _BITS)
        last = 8 * (before + len(plain)) // _BITS
        letters = b64encode(b"\0" * before + plain)[first:last]
        if len(letters) >= _SHORTEST_DERIVED:
            yield letters
            yield letters.translate(bytes.maketrans(b"+/", b"-_"))
