"""Parse counts and sizes such as `2`, `4GB`, `512 MB`, `1.5g`; units are powers of 1024.

How often a model may be called, as people write it: `60/minute`, `500/hour`.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

from msgspec import Struct

from runner.lazy_pattern import regex

_SIZE = regex(r"(\d+(?:\.\d+)?)\s*(?:([KMGT])i?B?|B)?", re.IGNORECASE)
_UNITS = "kmgt"
_UNIT = 1024
_SHOWN = ((4, "TB"), (3, "GB"), (2, "MB"))
_LEAST_MEMORY = _UNIT**2
"""No program starts with less, so a bare number is probably missing its unit."""
_MOST_PORTS = 65535


def bytes_of(text: str) -> int | None:
    """Parse a size into bytes; return `None` if it is invalid or 0."""
    amount = amount_of(text)
    return int(amount) if amount else None


@lru_cache(maxsize=256)
def amount_of(text: str) -> float | None:
    """Return the amount that a text means, which may be 0; None if it is no number or size."""
    found = _SIZE.fullmatch(text.strip())
    if not found:
        return None
    power = _UNITS.index(found[2].casefold()) + 1 if found[2] else 0
    amount = float(found[1]) * _UNIT**power
    return amount if math.isfinite(amount) else None


def format_size(amount: float) -> str:
    """Format an amount with its unit: `2`, `4GB`."""
    fitting = ((power, unit) for power, unit in _SHOWN if amount >= _UNIT**power)
    power, unit = next(fitting, (0, ""))
    return f"{amount / _UNIT**power:g}{unit}"


def explain_lacking(name: str, amount: str) -> str:
    """Return the required form of a resource's amount if it is invalid; else empty.

    `name` as `Resource` has it, casefolded: memory is a size, and a port a number of its own.
    """
    if name == "memory":
        size = bytes_of(amount)
        return "" if size and size >= _LEAST_MEMORY else "a size with its unit, such as 4GB"
    if name == "port":
        known = amount.isdecimal() and 0 < int(amount[:9]) <= _MOST_PORTS
        return "" if known else f"a port, 1 to {_MOST_PORTS}"
    return "a number, or a size such as 4GB" if amount_of(amount) is None else ""


def with_names(table: object) -> object:
    """Return a resource table with each amount paired with its name, as `parse_supply` expects.

    Raises ValueError where one name is in it twice, in two spellings.
    """
    if not isinstance(table, dict):
        return table
    names = [str(name).strip().casefold() for name in table]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"must name each resource once, but has {twice[0]} twice")
    return {name: (str(name), amount) for name, amount in table.items()}


def parse_supply(pair: tuple[str, object]) -> str:
    """Return the amount of a limited resource. Raises ValueError for an invalid amount."""
    name, amount = pair
    text = str(amount).strip()
    lacks = explain_lacking(name.strip().casefold(), "" if isinstance(amount, bool) else text)
    if lacks:
        raise ValueError(f"must be {lacks}, not {amount!r}")
    return text


HOURLY = {"minute": 60, "hour": 1}
"""Calls per hour of one call in each period."""
_HOUR = 3600.0
_RATE = regex(r"([1-9][0-9]{0,5})/(minute|hour)")


class CallRate(Struct, frozen=True):
    """So many calls in a minute or in an hour."""

    calls: int
    period: str

    @property
    def hourly(self) -> int:
        """The same in an hour: in this rates are compared."""
        return self.calls * HOURLY[self.period]

    @property
    def seconds(self) -> float:
        """From one call to the next."""
        return _HOUR / self.hourly

    def __str__(self) -> str:
        return f"{self.calls}/{self.period}"


def parse_rate(text: str) -> CallRate:
    """Parse a rate such as `6/minute`. Raises ValueError for an invalid rate."""
    found = _RATE.fullmatch(text)
    if found is None:
        raise ValueError("must be calls per minute or hour, such as 6/minute")
    return CallRate(int(found[1]), found[2])
