"""Parse JSON, TOML and YAML from outside the runner, within bounds.

They come with any clone and in what any program prints.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    import tomllib
else:
    tomllib = lazy_module("tomllib")

_MOST_DOTS = 300
"""Dots of one key: tomllib walks all tables again for each part; 50,000 took 42 s."""
_PART = regex(
    r"""(?P<key>"(?:\\.|[^"\\])*+(?:"|\Z)|'[^']*+(?:'|\Z)|[\w-]++)|[ \t]++|.""", re.DOTALL
)
"""Part of a TOML line; an unclosed string extends to the end of the line."""
_NO_VALUES = (ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)
"""Errors of PyYAML's constructors for `2024-13-45`, `!!bool x`, `!!int ""` and `!!timestamp x`."""


def parse_json(text: str | bytes) -> object:
    """Parse a JSON document (RFC 8259). Raises ValueError."""
    try:
        value: object = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return value


def parse_toml(text: str, *, bounded: bool = True) -> dict[str, object]:
    """Parse a TOML document (v1.0). Raises ValueError.

    Raises ValueError that says what is wrong, and where, as tomllib does: `(at line 3, column 5)`.
    `bounded=False` is for what was parsed before in a process with a time limit.
    """
    # Split at TOML's line ends (TOML 1.0, Newline): others may be part of a key.
    for number, line in enumerate(text.split("\n") if bounded else (), 1):
        if line.count(".") > _MOST_DOTS and _longest_key(line) > _MOST_DOTS:
            raise ValueError(f"too many dots (at line {number}, column 1)")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply (at line 1, column 1)") from error


def _longest_key(line: str) -> int:
    """Return the largest number of dots in a possible TOML key of the line."""
    most = dots = 0
    wants_dot = False
    for part in _PART.finditer(line):
        is_dot = part[0] == "."
        if part[0].isspace():
            continue
        if wants_dot != is_dot or not (is_dot or part["key"]):
            dots = 0
        dots += is_dot and wants_dot
        most, wants_dot = max(most, dots), part["key"] is not None
    return most


def read_yaml(text: str) -> object:
    """Parse a YAML document. Raises YAMLError, also for a value that does not fit its tag."""
    import yaml

    try:
        return yaml.safe_load(text)
    except _NO_VALUES as error:
        raise yaml.YAMLError("a value is invalid") from error
