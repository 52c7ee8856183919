"""How long ago: `30d`, `12h`, `2w`, `90m`, as people type it."""

from __future__ import annotations

import re

from runner.errors import RunnerError

_SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_AGE = re.compile(r"(\d{1,6})([mhdw])")


def seconds_of_age(typed: str, where: str) -> float:
    """The seconds of an age. Raises RunnerError for what is none, naming `where` it was given."""
    said = _AGE.fullmatch(typed.strip().casefold())
    if said is None or not int(said[1]):
        raise RunnerError(
            f"{typed!a} is no length of time", where=where, hint=f"{where} 30d (or 90m, 12h, 2w)"
        )
    return float(int(said[1]) * _SECONDS[said[2]])
