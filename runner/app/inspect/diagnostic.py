"""One thing that `runner doctor` looked at, and how it is."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from runner.errors import RunnerError


class State(StrEnum):
    """How a thing is."""

    OK = "ok"
    NOTE = "note"
    """Good to know; nothing stops for it."""
    WRONG = "wrong"
    """It is there, and has to be corrected first."""
    MISSING = "missing"
    """Something will stop for it."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that was looked at."""

    name: str
    state: State
    text: str
    hint: str = ""


def make_missing_sign(name: str, error: RunnerError) -> Diagnostic:
    """What could not even be looked at."""
    where = f" ({error.where})" if error.where else ""
    return Diagnostic(name, State.MISSING, error.message + where, error.hint)
