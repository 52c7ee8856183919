"""TOML that may come with any clone, read without letting it hold us up."""

from __future__ import annotations

_MOST_DOTS = 300
"""Dots of one line: tomllib walks all tables again for each part of a dotted key."""


def parse_toml(text: str) -> dict[str, object]:
    """The tables of a TOML document (v1.0).

    Raises ValueError that says what is wrong, and where, as tomllib does: `(at line 3, column 5)`.
    """
    import tomllib

    for number, line in enumerate(text.splitlines(), 1):
        if line.count(".") > _MOST_DOTS:
            raise ValueError(f"too many dots (at line {number}, column 1)")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply (at line 1, column 1)") from error
