"""How a shell line may stand at one of its commands: what was said, what ran, what is set."""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple


class Said(Enum):
    """How a command ended."""

    OK = "ok"
    FAILED = "failed"
    EITHER = "either"


class State(NamedTuple):
    """One way that the line may have come to where it is."""

    said: Said = Said.OK
    """How the last command ended (`$?`)."""
    ran: bool = False
    """Whether the command in question ran and failed."""
    jump: str = ""
    """`exit`, `return`, `break` or `continue`, until whoever takes it."""
    errexit: bool = False
    pipefail: bool = False
    told: frozenset[str] = frozenset()
    """Variables that hold its failure."""
    behind: bool = False
    """Whether it runs in the background, and nobody has waited for it."""
    at_exit: Said | None = None
    """What a trap makes of the end."""
    on_error: Said | None = None
    """What a trap makes of a failure that nobody asks about."""
    code: str = ""
    """With what it ended, where failing tests always end it so."""
    piped: frozenset[str] = frozenset()
    """Where in the last pipe it failed, counted as bash's PIPESTATUS does."""


def final(end: State) -> Said:
    """How the shell ends."""
    return end.at_exit or end.said


def negate(state: State) -> State:
    """What `!` makes of it."""
    opposite = {Said.OK: Said.FAILED, Said.FAILED: Said.OK, Said.EITHER: Said.EITHER}
    return state if state.jump else state._replace(said=opposite[state.said])


def exit_on_failure(state: State, *, guarded: bool) -> State:
    """Under `set -e` the shell ends where a command fails that nobody asks about."""
    if guarded or state.jump or state.said is not Said.FAILED:
        return state
    if state.on_error:
        return state._replace(jump="exit", said=state.on_error)
    if not state.errexit:
        return state
    return state._replace(jump="exit")


def those(states: set[State], said: Said) -> set[State]:
    """Those that have not jumped and may have ended so."""
    return {
        one._replace(said=said)
        for one in states
        if not one.jump and one.said in (said, Said.EITHER)
    }


def set_options(words: tuple[str, ...], state: State) -> State:
    """What `set` makes of it."""
    on = True
    for at, word in enumerate(words):
        if re.fullmatch(r"[-+][A-Za-z]+", word):
            on = word[0] == "-"
            if "e" in word:
                state = state._replace(errexit=on)
        if word == "pipefail" and at:
            state = state._replace(pipefail=on)
        if word == "errexit" and at:
            state = state._replace(errexit=on)
    return state


def set_trap(conditions: list[str], state: State, *, good: Said | None) -> State:
    """What `trap` makes of it, whose action ends `good`, if it ends the shell with success."""
    # Several conditions may stand behind one action, `0` among them for the end (POSIX, trap); the
    # last trap that was set is the one that holds.
    named = {one.upper().removeprefix("SIG") for one in conditions}
    if "ERR" in named:  # where a command fails that nobody asks about (bash(1), trap)
        state = state._replace(on_error=good)
    if named & {"EXIT", "0"}:
        state = state._replace(at_exit=good)
    return state._replace(said=Said.OK)
