"""Whether a value looks like chance rather than like words, and whether it is a placeholder.

No single measure tells a key from an identifier, so three are asked together: Shannon's entropy
of the characters, whether letters and digits mix, and how long the pieces are that a person
would read as words. The bounds were set on the standard library, not on generated keys.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import cache

_SHORTEST = 16
_SHORTEST_PASSWORD = 3
_HEX_SHORTEST = 20
_LONGEST_REMAINDER = 16
"""A real key is longer than this; what is left of a placeholder without its filling is not."""
_PIECES = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+"
_WORD_LENGTH = 3.2
"""Mean length of the pieces of a value: random base62 has about 1.6, camel case 4 and more."""
_UNREAD_LENGTH = 2.4
"""The same where no digit is among them: random letters of both cases have about 1.8."""
_FILLING = r"[xX]{4,}|[*]{3,}|\.{3,}|0{8,}"
_PLACEHOLDER = (
    r"your|example|sample|dummy|fake|placeholder|change[-_]?(?:me|this|it)|redacted|insert"
    r"|replace|todo|secret|token|passw(?:or)?d|api|key|here|test|user|my|xxx+|none|null|some"
)
_TEMPLATE = (  # not one line: it would be too long
    r"\$\{|\$\(|\{\{|\{[A-Za-z_]\w*\}|%\(|<[A-Za-z_]|^\$[A-Za-z_]|%[sdr]$|^%[sdr]"
    r"|^\{.*\}$|^<.*>$|^%.*%$"
)
_HOLE = (
    r"\$\{[^}]*\}?|\$\([^)]*\)?|\{\{.*?\}\}|\{[A-Za-z_]\w*\}|%\(\w*\)?[sdr]?|<[A-Za-z_][^>]*>?"
    r"|^\$[A-Za-z_]\w*|%[sdr]|^\{.*\}$|^<.*>$|^%.*%$"
)
"""What a template fills in: the value is judged by what stands beside it."""
_NO_PASSWORDS = """
    password passwd passw pass pwd pw secret token key user username name admin root guest test
    testing example changeme change_me change-me postgres mysql rabbitmq redis foo bar baz abc
    123 1234 12345 123456 port host hunter2 letmein none null xxx credentials creds mypassword
    opensesame yourpassword your_password your-password dbpass dbpassword userpass p4ssw0rd p@ssw0rd
    p@ss
"""
_NO_PASSWORD = frozenset(_NO_PASSWORDS.split())
_UUID = r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_SEQUENCE = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ" * 2 + "0123456789ABCDEF" * 2 + "0123456789" * 2
_CONSTANT = r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|\.{1,2}/.*|[a-z][a-z0-9+.-]*://.*"
_TURNS = r"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])"
_FEWEST_TURNS = 4
"""Times a value goes from letters to digits or back; names do so once or twice."""


def looks_random(value: str) -> bool:
    """Whether `value` is long and disorderly enough to be a key, placeholders left out of it."""
    if len(value) < _SHORTEST or _is_plain(value):
        return False
    value = _compiled(_HOLE).sub("", value)
    rest = _compiled(_PLACEHOLDER).sub("", _compiled(_FILLING).sub("", value).lower())
    if len(value) < _SHORTEST or len(rest) < _SHORTEST // 2:
        return False
    if not _mixed(rest):
        return _is_unread(value)
    return _hexadecimal(value) if _is_hex(value) else _disorderly(value)


def is_placeholder(value: str) -> bool:
    """Whether a value of a named shape is filled up rather than real (`ghp_xxxx…`).

    Content cannot use this to hide a key: what is left without the filling must be shorter than
    any key is.
    """
    rest = _compiled(_FILLING).sub("", value)
    return len(rest) != len(value) and len(rest) <= _LONGEST_REMAINDER


def is_no_password(value: str) -> bool:
    """Whether the password of an address is a documentation word or a template."""
    return (
        len(value) < _SHORTEST_PASSWORD
        or value.strip("[]").casefold() in _NO_PASSWORD
        or bool(_compiled(_TEMPLATE).search(value))
        or not any(character.isalnum() for character in value)
    )


def is_login(value: str) -> bool:
    """Whether `value` is base64 of `name:password`, where that is none of a documentation's."""
    import binascii

    try:
        plain = binascii.a2b_base64(value + "=" * (-len(value) % 4), strict_mode=True).decode()
    except ValueError:  # no base64, or no text
        return False
    name, _, password = plain.partition(":")
    bare = password.replace(" ", "")
    return bool(name) and plain.isprintable() and not (is_no_password(bare) or bare == name)


def is_noise(value: str) -> bool:
    """Whether a value that only its entropy or its name made suspicious is plainly no secret.

    Looks at the value alone, never at the line or the file's name, which content could choose.
    """
    return (
        is_no_password(value)
        or is_placeholder(value)
        or bool(_compiled(_UUID).fullmatch(value))
        or value.upper() in _SEQUENCE
    )


def shannon(value: str) -> float:
    """Bits per character of `value` (Shannon 1948), 0 for an empty text."""
    if not value:
        return 0.0
    repeated = sum(n * math.log2(n) for n in Counter(value).values() if n > 1)
    return math.log2(len(value)) - repeated / len(value)


def _mixed(value: str) -> bool:
    return bool(_compiled(r"\d").search(value) and _compiled(r"[^\W\d_]").search(value))


def _is_plain(value: str) -> bool:
    """Whether nothing can take it for chance: no letters, or letters of one case and no digits."""
    lower, upper = value.lower(), value.upper()
    if lower == upper:
        return True
    return value in (lower, upper) and not _compiled(r"[0-9]").search(value)


def _is_unread(value: str) -> bool:
    """Whether letters alone, of both cases, are chance: nothing in them is as long as a word."""
    return _mean_piece(value) < _UNREAD_LENGTH and shannon(value) >= _least_entropy(len(value))


def _mean_piece(value: str) -> float:
    pieces = _compiled(_PIECES).findall(value)
    return sum(len(piece) for piece in pieces) / max(1, len(pieces))


def _is_hex(value: str) -> bool:
    return bool(_compiled(r"[0-9a-fA-F-]+").fullmatch(value))


def _hexadecimal(value: str) -> bool:
    digits = value.replace("-", "")
    return len(digits) >= _HEX_SHORTEST and shannon(digits) >= 2.8  # noqa: PLR2004 - of 4 at most


def _disorderly(value: str) -> bool:
    """Entropy near what chance gives for this length, and no readable words."""
    if _compiled(_CONSTANT).fullmatch(value) or shannon(value) < _least_entropy(len(value)):
        return False
    return _mean_piece(value) < _WORD_LENGTH or len(_compiled(_TURNS).findall(value)) >= max(
        _FEWEST_TURNS, len(value) // 8
    )


def _least_entropy(size: int) -> float:
    """What 99 of 100 random base36 values of this length exceed, rounded down."""
    return min(3.9, 3.05 + 0.025 * (size - _SHORTEST))


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression)
