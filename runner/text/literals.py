"""Reads YAML documents of others, with one kind of error."""

from __future__ import annotations

_NO_VALUES = (ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)
"""How PyYAML's constructors end for `2024-13-45`, `!!bool x`, `!!int ""` and `!!timestamp x`."""


def read_yaml(text: str) -> object:
    """The values of a document. Raises YAMLError, also for a value that its tag does not fit."""
    import yaml

    try:
        return yaml.safe_load(text)
    except _NO_VALUES as error:
        raise yaml.YAMLError("a value is invalid") from error
