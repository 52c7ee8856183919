"""Load credential formats from `rules/*.toml` and from the settings.

Read when the first text is searched, never before, and not by tomllib: its import and 230 formats
cost each scan 12 ms, a reader of what the files are written in 2 ms. They are TOML all the same: a
test holds both readers equal.

One shape of a credential, as data: what it is called and what it looks like.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class SecretShape(Struct, frozen=True):
    """A named pattern in RE2 syntax; the group `value`, if there is one, is the secret itself.

    Each is a table `[[format]]` of `rules/*.toml`, or `[[secret_formats]]` of settings.

    A text that contains none of the `needles` cannot match: they are looked for first, because
    a search for a literal is a hundred times cheaper than any regular expression.
    """

    name: str
    """Short and stable name, used in `[REDACTED:name]`."""
    title: str
    """Display name without its article: `OpenAI API key`."""
    env: str
    """Environment variable suggested by its documentation."""
    needles: tuple[str, ...]
    regex: str
    hint: str = ""
    """A short expression that every match contains, where a needle alone would be common in
    ordinary text; the needles themselves otherwise. All hints are searched for in one pass."""
    random: bool = False
    """Only random-looking values count: the shape alone would match ordinary text."""
    login: bool = False
    """Only base64 of a name, a colon and a password counts (RFC 7617, section 2)."""
    encoded: bool = False
    """Only base64 of content other than installation defaults and templates counts."""
    nested: bool = False
    """A value that does not count is searched too, since it may contain a name."""
    password: bool = False
    """Only a value that mixes kinds of characters like chosen passwords counts."""
    typed: bool = False
    """Only values that mix letters with digits or punctuation and are no names count."""
    chosen: bool = False
    """Any value except templates and words of documentation counts."""
    unlike_digest: bool = False
    """Values of only hexadecimal digits don't count: digests, IDs and colours are such."""
    unlike_words: bool = False
    """Word-like values don't count: a three-letter prefix also starts names."""
    reserved: bool = False
    """It does not count where a host follows that is reserved for documentation (RFC 2606), unless
    the value looks random."""
    named: bool = True
    """False if the shape depends on the text before it and so has no hint."""
    ignore_case: bool = False
    """Needles are in lower case and searched in the lower-cased text."""
    redacts: bool = True
    """False for a format of a repository's settings: it refuses, but a clone must not choose what a
    person is shown, least of all the commands that it asks to be trusted with. And where only other
    lines say that a value is one: text that is shown is looked at line by line."""


FILES = (
    "models", "cloud", "forge", "business", "platforms", "trade", "services", "general",
    "assigned", "passwords",
)  # fmt: skip
"""Ordered: if two formats match the same text, the earlier one names it."""
_FOLDER = Path(__file__).with_name("rules")
_PART = r"<<([a-z_]+)>>"
"""Reference to a named part of the same file in an expression."""

_TEXT = r"""'[^'\n]*'|"(?:[^"\\\n]|\\.)*\""""
_LINE = (
    r"^(?:\[\[?([a-z]+)\]\]?|([a-z_]+) = "
    rf"((?:'''.*?'''|{_TEXT}|true|false|\[[^\n]*\])))[ ]*(?:#.*)?$"
)
_EXPRESSIONS = frozenset({"regex", "hint"})

_lock = Lock()
_added: tuple[SecretShape, ...] = ()


def all_shapes() -> tuple[SecretShape, ...]:
    """Return all secret formats of this process, built-in ones first."""
    return _joined(_added)


def redacting_shapes() -> tuple[SecretShape, ...]:
    """Return the secret formats that redact output."""
    return _redacting(_added)


def add_shapes(shapes: Iterable[SecretShape]) -> None:
    """Add secret formats of the settings; formats are never removed."""
    global _added  # noqa: PLW0603 - whatever leaves the process is redacted, whoever calls
    with _lock:
        _added = (*_added, *(shape for shape in dict.fromkeys(shapes) if shape not in _added))


@cache
def builtin_shapes() -> tuple[SecretShape, ...]:
    """Return the built-in formats in order."""
    return tuple(shape for name in FILES for shape in _read(_FOLDER / f"{name}.toml"))


def shape_of(table: Mapping[str, Any]) -> SecretShape:
    """Create a secret format from a table with at least a name and an expression.

    Where it names no literal that every match has, the expression itself is looked for.
    """
    given = {name: value for name, value in table.items() if value is not None}
    given["needles"] = tuple(given.get("needles", ()))
    if not given.get("title"):
        given["title"] = given["name"]
    if not given.get("env"):
        given["env"] = "_".join(given["name"].upper().split("-"))
    if not given["needles"]:
        given |= {"needles": ("",), "hint": given.get("hint", given["regex"])}
    return SecretShape(**given)


@cache
def _joined(added: tuple[SecretShape, ...]) -> tuple[SecretShape, ...]:
    return (*builtin_shapes(), *added)


@cache
def _redacting(added: tuple[SecretShape, ...]) -> tuple[SecretShape, ...]:
    return tuple(shape for shape in _joined(added) if shape.redacts)


def _read(path: Path) -> Iterator[SecretShape]:
    parts: dict[str, str] = {}
    for name, table in read_tables(path.read_text("utf-8")):
        if name == "parts":
            for part, text in table.items():
                parts[part] = _fill(text, parts)
            continue
        for key in _EXPRESSIONS & table.keys():
            table[key] = _fill(table[key], parts)
        yield shape_of(table)


def read_tables(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tables of a rules file: strings, lists of strings and booleans."""
    found: list[tuple[str, dict[str, Any]]] = []
    for header, key, value in re.findall(_LINE, text, re.MULTILINE):
        if header:
            found.append((header, {}))
        else:
            found[-1][1][key] = _value(value)
    return iter(found)


def _value(written: str) -> str | bool | list[str]:
    if written[0] == "[":
        return [_text(one) for one in re.findall(_TEXT, written)]
    if written in ("true", "false"):
        return written == "true"
    return _text(written)


def _text(written: str) -> str:
    if written[0] == '"':
        # A TOML basic string has the same escapes as a JSON one, except \UXXXXXXXX, which our rules
        # don't use (toml.io/en/v1.0.0#string, RFC 8259 section 7).
        return str(json.loads(written))
    return written[3:-3] if written.startswith("'''") else written[1:-1]


def _fill(text: str, parts: Mapping[str, str]) -> str:
    return re.sub(_PART, lambda match: parts[match[1]], text) if "<<" in text else text
