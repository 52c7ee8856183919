"""How often a model may be called, as people write it: `60/minute`, `500/hour`."""

from __future__ import annotations

from runner.lazy_dataclass import dataclass
from runner.lazy_pattern import regex

HOURLY = {"minute": 60, "hour": 1}
"""How much one call of a period is in an hour."""
_HOUR = 3600.0
_RATE = regex(r"([1-9][0-9]{0,5})/(minute|hour)")


@dataclass(frozen=True, slots=True)
class CallRate:
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
    """What `6/minute` means. Raises ValueError for what is no rate."""
    found = _RATE.fullmatch(text)
    if found is None:
        raise ValueError("must be calls a minute or an hour, such as 6/minute")
    return CallRate(int(found[1]), found[2])


def of_hour(calls: int) -> CallRate:
    """So many calls in an hour, by the minute where that is a whole number."""
    return CallRate(calls, "hour") if calls % 60 else CallRate(calls // 60, "minute")
