"""The state of a branch's lease: its holder, and how long this clone saw it unchanged."""

from __future__ import annotations

import json
import os
import pwd
import socket
from typing import TYPE_CHECKING

from msgspec import Struct

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.repo.lease_text import BOUND, LeaseHolder, read_lease, refs_of
from runner.repo.remote import PublishError
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.repo.remote import Remote, RemoteDownError

_FILE = "lease.json"
_TOKEN = "token"


_OPEN = "open "
"""Prefix of a branch to which the remote is known to accept pushes."""


class LeaseState(Struct, frozen=True):
    """The state of a branch's lease in the remote."""

    ref: str
    """Ref of the lease, existing or not."""
    value: str | None
    """Object of the lease; None if it is free."""
    lease: LeaseHolder
    is_own: bool
    """Whether this clone holds it."""
    unchanged: float
    """Seconds for which this clone has seen the same value."""
    is_over: bool
    """Whether it may be taken over: no renewal for a whole ttl."""


class LeaseMemory(Struct, frozen=True):
    """A clone's memory of leases, in the user's cache folder.

    The token of its own, by which it knows it again after a crash, and which value of another's it
    saw first when, by the monotonic clock. Where the folder is taken away, waiting begins anew.
    """

    folder: Path

    @property
    def token(self) -> str:
        """Of the lease that this clone took and has not given back; empty where there is none."""
        return self._read().get(_TOKEN, ("", 0.0))[0]

    def keep_token(self, token: str) -> None:
        """Save the token durably; an empty one removes it."""
        self._write({**self._read(), _TOKEN: (token, 0.0)})

    def is_open(self, branch: str) -> bool:
        """Return whether the remote is known to accept pushes to a branch."""
        return f"{_OPEN}{branch}" in self._read()

    def keep_open(self, branch: str, *, is_open: bool) -> None:
        """Save or remove the note that the remote accepts pushes of a branch."""
        known = {name: one for name, one in self._read().items() if name != f"{_OPEN}{branch}"}
        self._write({**known, f"{_OPEN}{branch}": ("", 0.0)} if is_open else known)

    def time_unchanged(self, ref: str, value: str) -> float:
        """Return the seconds since this value was first seen on the remote."""
        # CLOCK_MONOTONIC counts for the whole machine since boot (clock_gettime(2)): processes can
        # compare its values, and setting the clock does not change it.
        known, now = self._read(), effects.monotonic()
        seen, at = known.get(ref, ("", now))
        if seen == value and at <= now:  # a machine that was started again counts from 0
            return now - at
        self._write({**known, ref: (value, now)})
        return 0.0

    def _read(self) -> dict[str, tuple[str, float]]:
        try:
            rows = json.loads((self.folder / _FILE).read_bytes())
            return {str(name): (str(pair[0]), float(pair[1])) for name, pair in rows.items()}
        except (OSError, ValueError, TypeError, AttributeError, LookupError):
            return {}

    def _write(self, known: Mapping[str, tuple[str, float]]) -> None:
        effects.make_folder(self.folder)
        text = json.dumps({name: list(pair) for name, pair in known.items()})
        effects.write_file(self.folder / _FILE, text.encode())


def host_name() -> str:
    """Return the host name of this machine."""
    return socket.gethostname()


def person_name(environ: Mapping[str, str]) -> str:
    """Return the user's name on this machine."""
    if name := environ.get("LOGNAME") or environ.get("USER"):
        return name
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except LookupError:  # a container's number without a name
        return f"user {os.getuid()}"


def find_standing(
    remote: Remote, branch: str, seen: Mapping[str, str], memory: LeaseMemory, seconds: float
) -> LeaseState:
    """Return the state of a branch's lease, from whichever of its two refs is held.

    `seen` are the remote's refs, `seconds` the own ttl: a holder that asks for more has it.
    Raises RemoteDownError.
    """
    found = []
    for ref in refs_of(branch):
        if (value := seen.get(ref)) is not None:
            lease = read_lease(remote.read_message(ref, value, BOUND))
            unchanged, token = memory.time_unchanged(ref, value), memory.token
            own = bool(token) and (lease.token, lease.host) == (token, host_name())
            over = unchanged >= max(seconds, lease.patience)
            found.append(LeaseState(ref, value, lease, own, unchanged, over))
    # Of two places, one held by somebody else decides: it comes first.
    found.sort(key=lambda one: one.is_own or one.is_over)
    free = LeaseState(
        refs_of(branch)[0], None, LeaseHolder(), is_own=False, unchanged=0.0, is_over=True
    )
    return next(iter(found), free)


# --- words ----------------------------------------------------------------------------


def make_held_error(name: str, branch: str, there: LeaseState, seconds: float) -> PublishError:
    """Return the error for a held lease: its holder, its work and the options."""
    patience = max(seconds, there.lease.patience)
    return PublishError(
        f"{display(branch)} is being built {there.lease}",
        where=f"{display(name)} {display(there.ref)}",
        hint="wait, or build another branch (runner run --branch NAME); a run takes over a lease "
        f"that is unchanged for {patience:g} s; to take it now: "
        "runner team lease --take --reason WHY",
        code=ExitCode.CONFLICT,
    )


def make_refused_error(name: str, branch: str, output: str) -> PublishError:
    """Return the error for a lease that the remote rejects in both places."""
    return PublishError(
        f"{display(name)} rejected the lease of {display(branch)}",
        detail=output,
        hint="leases need atomic pushes (check: runner doctor --remote); "
        "to run without a lease: RUNNER_GIT_PUBLISH=none",
        code=ExitCode.USAGE,
    )


def make_unanswered_error(error: RemoteDownError) -> RunnerError:
    """Return the error for a remote that became unreachable during a landing."""
    return RunnerError(
        f"{error.message}, so it is unknown whether the last landing arrived there",
        detail=error.detail,
        hint="run again when the remote answers: the run then checks that landing first",
        code=ExitCode.CONFLICT,
    )
