"""Decide whether a value looks random, like words, or like a placeholder.

No single measure tells a key from an identifier, so three are asked together: Shannon's entropy
of the characters, whether letters and digits mix, and how long the pieces are that a person
would read as words. The bounds were set on the standard library, not on generated keys.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    import binascii
else:
    binascii = lazy_module("binascii")

_SHORTEST = 16
_SHORTEST_PASSWORD = 3
_HEX_SHORTEST = 20
_LONGEST_REMAINDER = 16
"""A real key is longer; a placeholder without its filling is not."""
_PIECES = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+"
_WORD_LENGTH = 3.2
"""Mean length of a value's pieces: random base62 has about 1.6, camel case 4 and more."""
_NAME_LENGTH = 4.0
"""The same for identifiers after a key's prefix; random letters stay far below."""
_UNREAD_LENGTH = 2.4
"""The same without digits: random letters of both cases have about 1.8."""
_FILLING = r"[xX]{4,}|[*#]{3,}|\.{3,}|0{8,}|[A-Fa-f]-[A-Fa-fZz]|0-9"
_FILLED = r"[xX]{6,}|[*#]{3,}|\.{3,}|0{8,}"
"""Filling that no random key contains: the rest is judged without it."""
_MASKED = r"#{6,}|\*{6,}"
_RESERVED = (
    r"@(?:[\w-]+\.)*(?:example\.(?:com|org|net|edu)|example|test|invalid|localhost|\w|foo|bar|host"
    r"|domain|server)(?![\w.-])"
)
_GIVEN = r"[\"'`\]>)]{0,2}\s{0,4}(?:value)?[:=,]{0,2}>?\s{0,4}[\"'`]?$"
_NAMED_ID = rf"(?:[a-z]I[dD]|[_.-][iI][dD]|[_-]ID|\b[iI][dD])s?{_GIVEN}"
_DESCRIBED = (
    r"(?i)(?:(?:credentials?|key|token)[_.-]?ids?"
    r"|(?:secrets?|key|token|password|passwd|credentials?)[_.-]?"
    r"(?:names?|labels?|alias|endpoint|ur[il]|file(?:name)?|path|dir|length|size|type|header|field)"
    rf"|(?:csrf|xsrf|authenticity)[_.-]?token|pub(?:lic)?[_.-]?(?:api[_.-]?)?(?:key|token)){_GIVEN}"
)
_SHORTEST_RUN = 5
_FEWEST_COUNTED = 3
"""Minimum run length if a value is nearly all runs: random once in a thousand letters."""
_MOST_FILLED = 3
"""A value is filling if at most one in this many characters remains."""
_LONGEST_FILLED = 400
"""Characters: no placeholder is longer."""
_INVITATION = (
    r"(?i)\b(?:my|your|put|insert|enter|example|sample|dummy|fake)(?=[-_ A-Z])|example|your[-_]?"
    r"|(?:put|insert|enter|goes|here)(?=[-_]|\b)|placeholder|redacted"
)
"""Words that ask a reader to insert a value."""
_PLACEHOLDER = (
    r"your|example|sample|dummy|fake|placeholder|change[-_]?(?:me|this|it)|redacted|insert"
    r"|replace|todo|secret|token|passw(?:or)?d|api|key|here|test|user|my|xxx+|none|null|some"
)
_TEMPLATE = (  # not one line: it would be too long
    r"\$\{|\$\(|\{\{|\{[A-Za-z_]\w*\}|%\(|<[A-Za-z_]|^\$[A-Za-z_]|%[sdr]$|^%[sdr]"
    r"|^\{.*\}$|^<.*>$|^%.*%$"
)
_VERSIONED = r"[A-Za-z][:@=-]=?v?\d{1,4}(?:\.\d{1,4}){2,3}$"
_HOLE = (
    r"\$\{[^}]*\}?|\$\([^)]*\)?|\{\{.*?\}\}|\{[A-Za-z_]\w*\}|%\(\w*\)?[sdr]?|<[A-Za-z_][^>]*>?"
    r"|^\$[A-Za-z_]\w*|%[sdr]|^\{.*\}$|^<.*>$|^%.*%$"
    r"|\(\?(?:P<\w+>|[:=!i])|\[[^\]]{1,20}\](?:\{\d[\d,]*\}|[+*])"
)
"""A template placeholder: the value is judged by the text around it."""
_NO_PASSWORDS = """
    password passwd passw pass pwd pw secret token key user username name admin root guest test
    testing example changeme change_me change-me postgres mysql rabbitmq redis foo bar baz abc
    123 1234 12345 123456 port host hunter2 letmein none null xxx credentials creds mypassword
    opensesame yourpassword your_password your-password dbpass dbpassword userpass p4ssw0rd p@ssw0rd
    p@ss
"""
_NO_PASSWORD = frozenset(_NO_PASSWORDS.split())
_DEFAULT_PASSWORDS = """
    token xxx yyy password passwd passw pass pwd pw user username name admin root guest test
    testing example changeme change_me change-me postgres mysql mongo mariadb rabbitmq redis foo
    bar baz abc 123 1234 12345 123456 port host none null xxx credentials creds mypassword
    yourpassword your_password your-password dbpass dbpassword userpass p@ss
"""
_DEFAULTS = frozenset(_DEFAULT_PASSWORDS.split())
"""Passwords of documentation or default installations: they protect nothing."""
_FEWEST_KINDS = 3
"""Of lower case, upper case, digits and punctuation: chosen passwords mix this many."""
_UUID = r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_SEQUENCE = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ" * 2 + "0123456789ABCDEF" * 2 + "0123456789" * 2
_CONSTANT = r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|\.{1,2}/.*|[a-z][a-z0-9+.-]*://.*"
_CODE = (
    r"[a-z_]\w*\(|^\w+=|\w\[|\]\.|->|::|\.\w+\.\w|^[a-z_]\w*\.[a-z_]\w*$|^[./~]|/.*/|&&|\|\||==|^\$|\{\d?\}"
    r"|^v?\d+[.-]\d|^[A-Z][a-z]+[A-Z]?[a-z]*\d?$"
)
"""Forms of non-passwords: an expression, a path, a version."""
_NUMBERED = r"[A-Za-z]+[-_]?\d{1,2}"
"""A name with a number, unless its letters change case unlike a name."""
_TYPED = r"(?i)[a-z][!@#$%^&*?+=~][a-z0-9]|[a-z][!$*?]$|[a-z][!@$%^&]{2,}|\d[a-z]|[a-z]\d{3,}"
_NO_TYPED = (
    r"(?i)pass|test|example|dummy|fake|sample|^[a-z]+[-_.][a-z0-9]|[/:;,|{}()\[\]<> ]"
    r"|^%|%$|^[@#&$!]"
)
"""Quoted text that is no password: words about passwords, component names, markup."""
_TURNS = r"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])"
_FEWEST_TURNS = 4
"""Switches between letters and digits in a value; names have one or two."""


def looks_random(value: str) -> bool:
    """Return whether a value without placeholders is long and random enough to be a key."""
    if len(value) < _SHORTEST or _is_plain(value) or _compile(_VERSIONED).search(value):
        return False
    value = _compile(_HOLE).sub("", value)
    rest = _compile(_PLACEHOLDER).sub("", _compile(_FILLING).sub("", value).lower())
    if len(value) < _SHORTEST or len(rest) < _SHORTEST // 2:
        return False
    if not _is_mixed(rest):
        return _is_unread(value)
    value = _compile(_FILLED).sub("", value)
    return _hexadecimal(value) if is_hexadecimal(value) else _disorderly(value)


def is_placeholder(value: str) -> bool:
    """Return whether a value is a placeholder (`ghp_xxxx…`).

    Filling is one letter again and again, a run that counts (`12345678`, `abcdefgh`), and the words
    that tell a reader what to put there. Content cannot use this to hide a key: what is left
    without the filling must be shorter than any key is.
    """
    bare = _compile(_INVITATION).sub("", _compile(_FILLING).sub("", value))
    rest = _without_runs(bare)
    if len(rest) != len(value) and len(rest) <= _LONGEST_REMAINDER:
        return True
    return value.endswith("...") or _is_filled(bare, len(value))


def _is_filled(bare: str, size: int) -> bool:
    """Return whether a value consists almost only of repeated or ascending characters.

    Of groups that repeat only those of digits are filling: `AbCdAbCd` may be a test's key.
    """
    if not _SHORTEST <= size <= _LONGEST_FILLED:
        return False
    letters = _compile(r"[^a-z0-9]+").sub("", bare.lower())
    letters = _compile(r"([0-9]{2,4}?)\1{3,}[0-9]{0,3}").sub("", letters)
    return len(_without_runs(letters, _FEWEST_COUNTED)) * _MOST_FILLED <= size


def _without_runs(value: str, shortest: int = _SHORTEST_RUN) -> str:
    """Return the value without runs of repeated or ascending characters of this length."""
    kept: list[str] = []
    start = 0
    while start < len(value):
        end = max(_run(value, start, 0), _run(value, start, 1))
        if end - start < shortest:
            kept.append(value[start])
            start += 1
        else:
            start = end
    return "".join(kept)


def _run(value: str, start: int, step: int) -> int:
    """Return the end of a run from `start` on: each character follows by `step`, 0 after 9."""
    end = start + 1
    while end < len(value) and _follows(value[end - 1], value[end], step):
        end += 1
    return end


def _follows(before: str, after: str, step: int) -> bool:
    return ord(after) - ord(before) == step or (step == 1 and before + after == "90")


def is_reserved(text: bytes, end: int, value: str) -> bool:
    """Return whether the host after a password is reserved for documentation (RFC 2606)."""
    host = _compile(_RESERVED).match(text[end : end + 120].decode("latin-1"))
    return host is not None and not (looks_random(value) or looks_chosen(value))


def is_identifier(text: bytes, start: int, value: str) -> bool:
    """Return whether the name before `start` marks its value as an identifier, not a secret.

    A UUID under a name that ends in Id; a key's id or name, where a token is asked for, a page's
    own token, what is public.
    """
    before = text[max(0, start - 60) : start].decode("latin-1")
    if _compile(_NAMED_ID).search(before) and _compile(_UUID).fullmatch(value):
        return True
    return _compile(_DESCRIBED).search(before) is not None


def is_no_password(value: str) -> bool:
    """Return whether a password in an address is a documentation word or a template."""
    return (
        len(value) < _SHORTEST_PASSWORD
        or value.strip("[]").casefold() in _NO_PASSWORD
        or bool(_compile(_TEMPLATE).search(value))
        or not any(character.isalnum() for character in value)
    )


def is_default_password(value: str) -> bool:
    """Return whether a password is a default, a placeholder or a template."""
    return (
        len(value) < _SHORTEST_PASSWORD
        or value.strip("[]*").casefold() in _DEFAULTS
        or is_placeholder(value)
        or bool(_compile(_TEMPLATE).search(value))
        or bool(_compile(r"(?i)^(?:your|my|put|insert|enter|some)[-_ ]|>$").search(value))
        or not any(character.isalnum() for character in value)
    )


def looks_chosen(value: str) -> bool:
    """Return whether a value looks like a chosen password: mixed characters, no words.

    An expression (`os.environ[…]`, `f(x)`), a path, a constant or a placeholder is none.
    """
    value = _compile(r"%[0-9A-Fa-f]{2}").sub("", value)
    if is_noise(value) or _is_code(value) or not value.isascii() or _compile(_MASKED).search(value):
        return False
    rest = _compile(_PLACEHOLDER).sub("", value.lower())
    if len(rest) < len(value) // 2 or len(rest) < 4:  # noqa: PLR2004 - less is no password
        return False
    kinds = (r"[a-z]", r"[A-Z]", r"[0-9]", r"[!@#$%^&*?+=~]")
    found = [bool(_compile(kind).search(value)) for kind in kinds]
    mixed = sum(found) >= _FEWEST_KINDS or len(_compile(_TURNS).findall(value)) >= _FEWEST_TURNS
    return (
        found[2] and mixed and not (_compile(_CONSTANT).fullmatch(value) or is_hexadecimal(value))
    )


def looks_typed(value: str) -> bool:
    """Return whether a literal with a password's name is one, not a label or expression.

    Letters with digits or with punctuation among them that no name has.
    """
    if is_noise(value) or _is_code(value) or not value.isascii():
        return False
    if is_default_password(value) or _compile(_NO_TYPED).search(value):
        return False
    return bool(_compile(_TYPED).search(value))


def _is_code(value: str) -> bool:
    """Return whether a value is an expression, path, version or numbered name."""
    if _compile(_CODE).search(value):
        return True
    return bool(_compile(_NUMBERED).fullmatch(value)) and _mean_piece(value) >= _UNREAD_LENGTH


def is_encoded(value: str) -> bool:
    """Return whether `value` is base64 of data that is neither a default nor a template."""
    plain = _decode(value)
    if plain is None or plain.startswith(b"-----BEGIN CERTIFICATE"):
        return False
    return not is_default_password(plain.decode("latin-1").strip())


def _decode(value: str) -> bytes | None:
    try:
        # Strictly: otherwise it skips letters outside base64, and nearly any text would be valid.
        return binascii.a2b_base64(value + "=" * (-len(value) % 4), strict_mode=True)
    except ValueError:  # no base64
        return None


def is_login(value: str) -> bool:
    """Return whether `value` is base64 of `name:password`, except in known examples."""
    try:
        plain = (_decode(value) or b"").decode()
    except ValueError:  # no text
        return False
    name, _, password = plain.partition(":")
    bare = password.replace(" ", "")
    return bool(name) and plain.isprintable() and not (is_no_password(bare) or bare == name)


def is_noise(value: str) -> bool:
    """Return whether a suspicious value is clearly not a secret, by the value alone.

    Looks at the value alone, never at the line or the file's name, which content could choose.
    """
    return (
        is_no_password(value)
        or is_placeholder(value)
        or bool(_compile(_UUID).fullmatch(value))
        or value.upper() in _SEQUENCE
    )


def reads_as_words(value: str) -> bool:
    """Return whether the last part of a value consists of readable words."""
    return _mean_piece(value.rpartition("-")[2]) >= _NAME_LENGTH


def shannon(value: str) -> float:
    """Return the bits per character of `value` (Shannon 1948); 0 for an empty text."""
    if not value:
        return 0.0
    repeated = sum(n * math.log2(n) for n in Counter(value).values() if n > 1)
    return math.log2(len(value)) - repeated / len(value)


def _is_mixed(value: str) -> bool:
    return bool(_compile(r"\d").search(value) and _compile(r"[^\W\d_]").search(value))


def _is_plain(value: str) -> bool:
    """Return whether a value cannot be random: no letters, or one case and no digits."""
    lower, upper = value.lower(), value.upper()
    if lower == upper:
        return True
    return value in (lower, upper) and not _compile(r"[0-9]").search(value)


def _is_unread(value: str) -> bool:
    """Return whether letters of both cases look random, because no part is long as a word."""
    return _mean_piece(value) < _UNREAD_LENGTH and shannon(value) >= _least_entropy(len(value))


def _mean_piece(value: str) -> float:
    pieces = _compile(_PIECES).findall(value)
    return sum(len(piece) for piece in pieces) / max(1, len(pieces))


def is_hexadecimal(value: str) -> bool:
    """Return whether a value has only hexadecimal digits and hyphens."""
    return bool(_compile(r"[0-9a-fA-F-]+").fullmatch(value))


def _hexadecimal(value: str) -> bool:
    digits = value.replace("-", "")
    return len(digits) >= _HEX_SHORTEST and shannon(digits) >= 2.8  # noqa: PLR2004 - of 4 at most


def _disorderly(value: str) -> bool:
    """Check for near-random entropy for this length and no readable words."""
    if _compile(_CONSTANT).fullmatch(value) or shannon(value) < _least_entropy(len(value)):
        return False
    return _mean_piece(value) < _WORD_LENGTH or len(_compile(_TURNS).findall(value)) >= max(
        _FEWEST_TURNS, len(value) // 8
    )


def _least_entropy(size: int) -> float:
    """Return the entropy that 99% of random base36 values of this length exceed."""
    return min(3.9, 3.05 + 0.025 * (size - _SHORTEST))


@cache
def _compile(expression: str) -> re.Pattern[str]:
    return re.compile(expression)
