"""Find declared secret values in a text, in every form that a program may print.

Plain and reversed; base64 at each alignment, both alphabets; hex, run together and in pairs; for
URLs, as the libraries of several languages write them; as strings of JSON, once and in another one,
and as literals of code; these as XML and HTML have them; UTF-16, also in base64 and hex; Latin-1.
Each also with control sequences in between, which a terminal does not show, or cut by ends of
lines, as base64 is by mails (76), keys (64) and whatever folds it. Whether any of it is there is
asked of one automaton, which reads the text once.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import re2

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

_SHORTEST = 4
"""Minimum characters: a shorter declared secret would redact ordinary text."""
_SHORTEST_HELD = 8
"""Minimum characters of a value that no file may contain."""
_WRITTEN_OUT = rb"(?:\\(?:u00|x)1[bB]|\\033|\\e|\xe2\x90\x9b)"
"""The escape character as written by JSON, a shell and this program's own display."""
_SEQUENCE = (
    # ECMA-48: CSI; OSC and similar up to their end; the other two-byte ones. Then zero-width ones.
    rb"(?:\x1b\[|\xc2\x9b|" + _WRITTEN_OUT + rb"\[)[0-?]*[ -/]*[@-~]"
    rb"|\x1b[\]PX^_][^\x07\x1b]{0,2048}(?:\x07|\x1b\\)"
    rb"|\x1b[ -/]*[0-~]"
    rb"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)"
    rb"|\xc2\xad|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xa4\xa6-\xaf]|\xef\xbb\xbf"
)
_OVERSTRUCK = rb"(?:[^\n\x80-\xff]|[\xc2-\xf4][\x80-\xbf]{1,3})\x08|" + _SEQUENCE
_BREAK = rb"\r?\n|(?:\\r)?\\n|&#(?:10|13|x[aAdD]);"
"""End of a line; also as written in strings of code, JSON and XML."""
_INDENTED = rb"(?:" + _BREAK + rb")[ \t]*"
_ANY = _INDENTED + rb"|" + _SEQUENCE
_SHORTEST_BEGUN = 4
"""Minimum bytes at the end of a text that may start a value continued on the next line."""
_HIDING = (
    rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r[^\n]|\r\z|\xc2[\xad\x9b]|\xe2\x80[\x8b-\x8f\xaa-\xae]"
    rb"|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf|\\u001|\\x1|\\033|\\e\[|\xe2\x90\x9b"
)
"""Byte sequences of every text with hiding control sequences; in RE2 syntax."""
_NEAR = 64
"""Bytes at a text's end that are checked before the whole text."""
_WRITTEN_BREAK = rb"\\n|&#"
_BLANKS = b" \t\r\n"
_SHORTEST_DERIVED = 8
"""Minimum bytes of a form of only a part of the value: shorter ones occur in ordinary text."""
_REVERSED_FROM = 6
"""Minimum characters of a value that is also searched reversed."""
_BITS = 6
"""Bits of a base64 letter."""
_LEFT_IN_URLS = ("", "/", "!'()*", "*", ";,/?:@&=+$!*'()#", "$&+=:@", "-._!$&'()*+,;=:@/")
"""Unescaped characters: in Python, encodeURIComponent, Java, encodeURI, Go, RFC 3986 paths."""
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
"""Quotes as escaped by ElementTree, Python, JavaScript, PHP, lxml, Go and Jinja."""
_NEEDS_MARKUP = frozenset("&<>\"'")


class _Stripped(NamedTuple):
    """A text without control sequences, and where its parts stood before."""

    text: bytes
    starts: list[int]
    """New start of each part."""
    origins: list[int]
    """Original start of each part."""

    def origin(self, at: int) -> int:
        """Return the original position of a byte."""
        part = bisect_right(self.starts, at) - 1
        return self.origins[part] + at - self.starts[part]


def forms_of_values(known: Collection[str]) -> tuple[bytes, ...]:
    """Return the forms of declared values to search for, longest first."""
    return _all_forms(tuple(known)) if known else ()


def places(text: bytes, forms: tuple[bytes, ...]) -> list[tuple[int, int]]:
    """Return start and end of these forms in a text, ignoring hidden characters."""
    found = list(_in(text, forms))
    for expression in _strippers(text, forms):
        if _automaton(forms).search(_compile(expression).sub(b"", text)) is None:
            continue  # which is nearly always so, and quickly known
        stripped = _without(expression, text)
        found += [
            (stripped.origin(start), stripped.origin(end - 1) + 1)
            for start, end in _in(stripped.text, forms)
        ]
    return found


def find_begun(text: bytes, forms: tuple[bytes, ...]) -> int:
    """Return where an incomplete form at the end of a text starts; the text's length if none does.

    The length of the text where there is none.
    """
    near = text[-_NEAR:]
    if not _quick(_HIDING).search(near) and not _ends_begun(near.translate(None, b"\r\n"), forms):
        return len(text)
    return min(_begun(_without(one, text), forms) for one in (_ANY, _BREAK + rb"|" + _SEQUENCE))


def _begun(stripped: _Stripped, forms: tuple[bytes, ...]) -> int:
    longest, text = 0, stripped.text
    end = text[-_SHORTEST_BEGUN:]
    for form in forms if _ends_begun(text, forms) else ():
        at = form.find(end)
        while at >= 0:
            size = at + len(end)
            if size >= longest and text.endswith(form[:size]):
                if size == len(form):  # all of one is there, which may be a line of a longer one
                    return stripped.origin(len(text))
                longest = size
            at = form.find(end, at + 1)
    return stripped.origin(len(text) - longest)


def _ends_begun(text: bytes, forms: tuple[bytes, ...]) -> bool:
    return text[-_SHORTEST_BEGUN:] in _grams(forms)


def find_held(
    content: bytes, before: bytes, secrets: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, int]]:
    """Yield names and lines of secrets that the content has and `before` had not.

    A short value may be an ordinary word, and says nothing here.
    """
    for name, value in secrets:
        forms = forms_of_values((value,)) if len(value.strip()) >= _SHORTEST_HELD else ()
        found = places(content, forms) if forms else []
        if found and not places(before, forms):
            yield name, content.count(b"\n", 0, min(found)[0]) + 1


def _in(text: bytes, forms: tuple[bytes, ...]) -> Iterator[tuple[int, int]]:
    if _automaton(forms).search(text) is None:
        return
    for form in forms:
        start = text.find(form)
        while start >= 0:
            yield start, start + len(form)
            start = text.find(form, start + len(form))


@lru_cache(maxsize=16)
def _grams(forms: tuple[bytes, ...]) -> frozenset[bytes]:
    """Return all fragments with which an incomplete form can end, for a quick check."""
    size = _SHORTEST_BEGUN
    return frozenset(form[at : at + size] for form in forms for at in range(len(form) - size))


@lru_cache(maxsize=16)
def _automaton(forms: tuple[bytes, ...]) -> Any:
    """Compile all forms into one expression that reads a text once."""
    return _quick(b"|".join(map(re2.escape, forms)))


@lru_cache(maxsize=32)
def _quick(expression: bytes) -> Any:  # RE2 ships no types

    options = re2.Options()
    options.never_nl, options.encoding = False, re2.Options.Encoding.LATIN1
    options.max_mem = 64 << 20
    return re2.compile(expression, options)


def _strippers(text: bytes, forms: tuple[bytes, ...]) -> Iterator[bytes]:
    """Yield patterns to remove from a text before another search for hidden forms.

    Whether it has to be is decided by one automaton over the text without any of them and without
    blanks, in which each form is that is hidden in one of these ways.
    """
    hides = _quick(_HIDING).search(text) is not None
    if hides and b"\x08" in text:
        yield _OVERSTRUCK
    bare = _compile(_SEQUENCE).sub(b"", text) if hides else text
    if _quick(_WRITTEN_BREAK).search(bare):
        bare = _compile(_BREAK).sub(b"", bare)
    elif not hides and b"\n" not in text:
        return
    if _automaton(_bare(forms)).search(bare.translate(None, _BLANKS)) is None:
        return
    if hides:
        yield _SEQUENCE
    yield _BREAK
    yield _ANY if hides else _INDENTED


@lru_cache(maxsize=16)
def _bare(forms: tuple[bytes, ...]) -> tuple[bytes, ...]:
    bare = {_compile(_ANY).sub(b"", form).translate(None, _BLANKS) for form in forms}
    return tuple(sorted(form for form in bare if form))


def _without(expression: bytes, text: bytes) -> _Stripped:
    parts, starts, origins = [], [], []
    done = length = 0
    for match in _compile(expression).finditer(text):
        if match.start() > done:
            parts.append(text[done : match.start()])
            starts.append(length)
            origins.append(done)
            length += match.start() - done
        done = match.end()
    parts.append(text[done:])
    return _Stripped(b"".join(parts), [*starts, length], [*origins, done])


@lru_cache(maxsize=8)
def _compile(expression: bytes) -> re.Pattern[bytes]:
    return re.compile(expression)


@lru_cache(maxsize=64)
def _all_forms(known: tuple[str, ...]) -> tuple[bytes, ...]:
    forms: set[bytes] = set()
    for value in known:
        for part in {value, *value.splitlines()}:
            if len(part.strip()) >= _SHORTEST:
                forms.update(list_forms(part.strip()))
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def list_forms(value: str) -> Iterable[bytes]:
    """Return all encoded forms of a value, possibly with duplicates."""
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


def _in_text(value: str) -> Iterator[bytes]:
    """Yield a value unchanged and escaped, each also as markup."""
    for text in {value, *_in_json(value), *_in_literals(value)}:
        yield text.encode("utf-8", "surrogatepass")
        marked = [] if text.isascii() else [text]
        if not _NEEDS_MARKUP.isdisjoint(text):
            marked = [text.translate(_MARKED | quotes) for quotes in _MARKED_QUOTES]
        for one in marked:
            yield one.encode("utf-8", "surrogatepass")
            yield one.encode("ascii", "xmlcharrefreplace")


def _in_json(value: str) -> Iterator[str]:
    """Yield the value as a JSON string, in plain ASCII or not, and nested in one or two others."""
    for ascii_alone in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_alone)[1:-1]
        # JSON may write a slash as `\/` (RFC 8259, section 7), and PHP does.
        twice = json.dumps(once)[1:-1]
        yield from (once, once.replace("/", "\\/"), twice, json.dumps(twice)[1:-1])


def _in_literals(value: str) -> Iterator[str]:
    """Yield the value as Python, JavaScript, Go and git print it, with either quote escaped."""
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


def _for_urls(plain: bytes) -> Iterator[bytes]:
    for left in _LEFT_IN_URLS:
        text = quote(plain, safe=left)
        # The digits of a percent-encoding may have either case (RFC 3986, section 2.1).
        for one in (text, re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), text)):
            yield one.encode()
            yield one.replace("%20", "+").encode()  # as forms have a blank


def _in_digits(value: str, plain: bytes) -> Iterator[bytes]:
    """Yield the value in hexadecimal forms, and fully escaped for URLs, code and JSON."""
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
    """Yield the base64 forms of a value: alone, and as a part of a longer text."""
    from base64 import b64encode

    yield b64encode(plain).rstrip(b"=")
    for before in range(3):
        # Six bits a letter (RFC 4648, section 4): letters at both ends share bits with neighbours
        # and differ each time.
        first = -(-8 * before // _BITS)
        last = 8 * (before + len(plain)) // _BITS
        letters = b64encode(b"\0" * before + plain)[first:last]
        if len(letters) >= _SHORTEST_DERIVED:
            yield letters
            yield letters.translate(bytes.maketrans(b"+/", b"-_"))
