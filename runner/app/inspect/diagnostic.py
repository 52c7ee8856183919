"""One result of `runner doctor`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from runner.errors import RunnerError


class State(StrEnum):
    """The state of one diagnostic."""

    OK = "ok"
    NOTE = "note"
    """Information that stops nothing."""
    WRONG = "wrong"
    """Present but must be corrected first."""
    MISSING = "missing"
    """Missing, and will stop a run."""


class Diagnostic(Struct, frozen=True):
    """One thing that was looked at."""

    name: str
    state: State
    text: str
    hint: str = ""


def make_missing_sign(name: str, error: RunnerError) -> Diagnostic:
    """Create the diagnostic of something that could not be examined."""
    where = f" ({error.where})" if error.where else ""
    return Diagnostic(name, State.MISSING, error.message + where, error.hint)
