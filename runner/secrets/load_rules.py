"""The formats of credentials: those of `rules/*.toml`, and those that settings add.

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

from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


@dataclass(frozen=True, slots=True)
class SecretShape:
    """A named pattern in RE2 syntax; the group `value`, if there is one, is the secret itself.

    Each is a table `[[format]]` of `rules/*.toml`, or `[[secret_formats]]` of settings.

    A text that contains none of the `needles` cannot match: they are looked for first, because
    a search for a literal is a hundred times cheaper than any regular expression.
    """

    name: str
    """Short and stable: what stands in `[REDACTED:name]`."""
    title: str
    """What a person calls it, with its article left out: `OpenAI API key`."""
    env: str
    """The environment variable its documentation suggests."""
    needles: tuple[str, ...]
    regex: str
    hint: str = ""
    """A short expression that every match contains, where a needle alone would be common in
    ordinary text; the needles themselves otherwise. All hints are searched for in one pass."""
    random: bool = False
    """Only a value that looks random counts: the shape alone would fit ordinary text."""
    login: bool = False
    """Only base64 of a name, a colon and a password counts (RFC 7617, section 2)."""
    encoded: bool = False
    """Only base64 of something counts that is no default of an installation and no template."""
    nested: bool = False
    """A value that does not count is searched too, since a name may stand in it."""
    password: bool = False
    """Only a value that mixes kinds of characters as chosen passwords do counts."""
    typed: bool = False
    """Only a value counts that mixes letters with digits or punctuation, and is no name."""
    chosen: bool = False
    """Any value counts that is no template and no word of a documentation."""
    unlike_digest: bool = False
    """A value of hexadecimal digits alone does not count: digests, ids and colours are such."""
    unlike_words: bool = False
    """A value that reads as words does not count: a prefix of three letters begins names, too."""
    reserved: bool = False
    """It does not count where a host follows that is reserved for documentation (RFC 2606), unless
    the value looks random."""
    named: bool = True
    """False where the shape leans on what stands before it, so that it has no hint."""
    ignore_case: bool = False
    """Needles are written in lower case and looked for in the lowered text."""
    redacts: bool = True
    """False for a format of a repository's settings: it refuses, but a clone must not choose what a
    person is shown, least of all the commands that it asks to be trusted with. And where only other
    lines say that a value is one: text that is shown is looked at line by line."""


FILES = (
    "models", "cloud", "forge", "business", "platforms", "trade", "services", "general",
    "assigned", "passwords",
)  # fmt: skip
"""Ordered: where two formats fit one place, the earlier one names it."""
_FOLDER = Path(__file__).with_name("rules")
_PART = r"<<([a-z_]+)>>"
"""Where a named part of the same file stands in an expression."""

_TEXT = r"""'[^'\n]*'|"(?:[^"\\\n]|\\.)*\""""
_LINE = (
    r"^(?:\[\[?([a-z]+)\]\]?|([a-z_]+) = "
    rf"((?:'''.*?'''|{_TEXT}|true|false|\[[^\n]*\])))[ ]*(?:#.*)?$"
)
_EXPRESSIONS = frozenset({"regex", "hint"})

_lock = Lock()
_added: tuple[SecretShape, ...] = ()


def all_shapes() -> tuple[SecretShape, ...]:
    """Every format that holds in this process: the built-in ones first."""
    return _joined(_added)


def redacting_shapes() -> tuple[SecretShape, ...]:
    """Those that may hide what a person reads."""
    return _redacting(_added)


def add_shapes(shapes: Iterable[SecretShape]) -> None:
    """Let formats of settings hold, too; nothing is ever taken away."""
    global _added  # noqa: PLW0603 - whatever leaves the process is redacted, whoever calls
    with _lock:
        _added = (*_added, *(shape for shape in dict.fromkeys(shapes) if shape not in _added))


@cache
def builtin_shapes() -> tuple[SecretShape, ...]:
    """The formats that come with the runner, in their order."""
    return tuple(shape for name in FILES for shape in _read(_FOLDER / f"{name}.toml"))


def shape_of(table: Mapping[str, Any]) -> SecretShape:
    """A format as a table says it: a name and an expression, and whatever else `SecretShape` has.

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
    """The tables of a file of rules: one key a line; texts, lists of texts, `true` and `false`."""
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
        # A basic string of TOML takes the same escapes as one of JSON, but for \UXXXXXXXX, which no
        # rule of ours has (toml.io/en/v1.0.0#string, RFC 8259 section 7).
        return str(json.loads(written))
    return written[3:-3] if written.startswith("'''") else written[1:-1]


def _fill(text: str, parts: Mapping[str, str]) -> str:
    return re.sub(_PART, lambda match: parts[match[1]], text) if "<<" in text else text
