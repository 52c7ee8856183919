"""Constants in the code of any language, read as tokens: texts, numbers and collections of them.

What constants come to, computed where it is small: foreign code fills no memory.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from runner.lazy_pattern import regex

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator, Mapping

_STRING = (
    r"(?P<text>(?:[rbuRBU]{0,2})(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''"
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`))"
)
_REST = (
    r"|(?P<number>(?<![\w.])\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?n?)|(?P<line>\n)"
    r"|(?P<word>[A-Za-z_$][\w$]*!?)|(?P<mark>[!=]==|[!=]=|=>|->|:=|&&|\|\||[^\s\w])"
)
_HASH_COMMENTS = regex(r"(?P<comment>\#[^\n]*)|" + _STRING + _REST)
_SLASH_COMMENTS = regex(r"(?P<comment>//[^\n]*|/\*[\s\S]*?\*/)|" + _STRING + _REST)
OPENING = {"(": ")", "[": "]", "{": "}"}
CLOSING = frozenset(OPENING.values())
_MOST_TOKENS = 200_000
WORDS_OF_VALUES = frozenset({"True", "False", "None", "true", "false", "null", "nil"})
_LONGEST_COLLECTION = 160


class _Token(NamedTuple):
    kind: str
    said: str
    """As it counts: of a text what is between its quotes."""
    line: int


class Source:
    """One file as tokens."""

    def __init__(self, text: str, *, hashes: bool) -> None:
        pattern = _HASH_COMMENTS if hashes else _SLASH_COMMENTS
        self.tokens = list(_read(pattern, text))

    @cached_property
    def places(self) -> Mapping[str, list[int]]:
        """Where each value stands, by its plain form: indexes of its first token."""
        found: dict[str, list[int]] = defaultdict(list)
        for at, token in enumerate(self.tokens):
            if token.kind in ("text", "number") or token.said in OPENING:
                form, _ = self._collection_at(at) if self._is_call(at) else self.value_at(at)
                if form is not None:
                    found[form].append(at)
            if token.said in WORDS_OF_VALUES:
                found[token.said.casefold()].append(at)
        return found

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word outside of texts."""
        return frozenset(one.said for one in self.tokens if one.kind == "word")

    def value_at(self, at: int) -> tuple[str | None, int]:
        """The plain form of a value of constants alone that begins here, and where it ends."""
        token = self.tokens[at]
        if token.kind in ("text", "number"):
            return token.said, at + 1
        if token.said == "-" and at + 1 < len(self.tokens):
            after = self.tokens[at + 1]
            return ("-" + after.said, at + 2) if after.kind == "number" else (None, at)
        if token.said not in OPENING or self._is_call(at):
            return None, at
        return self._collection_at(at)

    def _is_call(self, at: int) -> bool:
        before = self.tokens[at - 1] if at else None
        return (
            self.tokens[at].said == "("
            and before is not None
            and (before.kind == "word" or before.said in CLOSING)
            and before.said not in ("in", "return", "case", "if", "and", "or", "not", "is")
        )

    def _collection_at(self, at: int) -> tuple[str | None, int]:
        parts: list[str] = []
        here = at + 1
        while here < len(self.tokens) and here - at < _LONGEST_COLLECTION:
            token = self.tokens[here]
            if token.said in CLOSING and token.kind == "mark":
                if len(parts) == 1 and self.tokens[at].said == "(":
                    return parts[0], here + 1  # a value in brackets
                return ("[" + ",".join(parts) + "]" if parts else None), here + 1
            if token.said in (",", ":", "=>", "\n") and token.kind != "text":
                here += 1
                continue
            if token.said in WORDS_OF_VALUES:
                parts.append(token.said.casefold())
                here += 1
                continue
            form, end = self.value_at(here)
            if form is None:
                return None, at
            parts.append(form)
            here = end
        return None, at


def _read(pattern: re.Pattern[str], text: str) -> Iterator[_Token]:
    line = 1
    for count, match in enumerate(pattern.finditer(text)):
        if count > _MOST_TOKENS:
            return
        kind, said = match.lastgroup or "", match[0]
        if kind == "text":
            yield _Token(kind, _bare(said), line)
        elif kind == "number":
            yield _Token(kind, said.replace("_", ""), line)
        elif kind != "comment":
            yield _Token(kind, said, line)
        line += said.count("\n")


def _bare(said: str) -> str:
    inner = said.lstrip("rbuRBU")
    quote = 3 if inner[:3] in ('"""', "'''") else 1
    return inner[quote:-quote]


_NO_VALUES = (ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)
"""How PyYAML's constructors end for `2024-13-45`, `!!bool x`, `!!int ""` and `!!timestamp x`."""


def read_yaml(text: str) -> object:
    """The values of a document. Raises YAMLError, also for a value that its tag does not fit."""
    import yaml

    try:
        return yaml.safe_load(text)
    except _NO_VALUES as error:
        raise yaml.YAMLError("a value cannot be read") from error


# --- within bounds --------------------------------------------------------------------


LONGEST = 10_000
"""Letters, bytes, or bits of a number, of a constant that is computed."""
# The largest double has 309 digits before its point (sys.float_info.max_10_exp is 308).
_LONGEST_FLOAT = 400
"""Letters of a float written out by `%f` before its point, or less."""


class TooLarge(ValueError):  # noqa: N818 - the word for what it is
    """It may be computed by whoever needs it."""


def _written_size(value: object) -> int:
    """The most letters in which a plain constant is written: an escaped letter takes ten."""
    match value:
        case str() | bytes():
            # U+10FFFF is ten letters for `%r` and `%a`: `\U0010ffff`.
            return 10 * len(value)
        case int():
            return value.bit_length() + 1
        case float() | None:
            return _LONGEST_FLOAT
        case tuple() | list():
            return sum(_written_size(one) + 4 for one in value) + 2
    raise TypeError(value)


def letters(value: object) -> int:
    """How long a constant is, with what it holds."""
    match value:
        case str() | bytes():
            return len(value)
        case dict():
            return sum(letters(key) + letters(held) for key, held in value.items())
        case tuple() | list() | set() | frozenset():
            return sum(map(letters, value)) + len(value)
    return 1


def write(value: object) -> str:
    """What `str(value)` is. Raises TooLarge, or TypeError for what is no plain constant."""
    if isinstance(value, str):
        return value
    if _written_size(value) > LONGEST:
        raise TooLarge
    return str(value)


def join(glue: str, parts: Iterable[str]) -> str:
    """What `glue.join(parts)` is, or raises TooLarge."""
    parts = list(parts)
    if sum(map(len, parts)) + len(glue) * len(parts) > LONGEST:
        raise TooLarge
    return glue.join(parts)


def replace(text: Any, *given: Any) -> Any:
    """What `text.replace(old, new)` is, of texts or of bytes. Raises TooLarge, too."""
    old, new = given[:2]
    if len(text) + text.count(old) * max(len(new) - len(old), 0) > LONGEST:
        raise TooLarge
    return text.replace(*given)
