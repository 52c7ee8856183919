"""How the lease of a branch stands: who holds it, and for how long this clone saw it unchanged."""

from __future__ import annotations

import json
import os
import pwd
import socket
from typing import TYPE_CHECKING

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.lazy_dataclass import dataclass
from runner.repo.lease_text import BOUND, LeaseHolder, read_lease, refs_of
from runner.repo.remote import PublishError
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.repo.remote import Remote, RemoteAwayError

_FILE = "lease.json"
_TOKEN = "token"


_OPEN = "open "
"""Before a branch's name: the remote is known to take pushes to it."""


@dataclass(frozen=True, slots=True)
class LeaseState:
    """How the lease of a branch stands in the remote."""

    ref: str
    """Where it is, or would be."""
    value: str | None
    """The object that says it; None where nobody holds it."""
    lease: LeaseHolder
    is_own: bool
    """Whether this clone took it."""
    unchanged: float
    """Seconds for which this clone has seen that same value."""
    is_over: bool
    """Whether it may be taken over: nobody renewed it for a whole ttl."""


@dataclass(frozen=True, slots=True)
class LeaseMemory:
    """What a clone knows of leases, in the user's cache folder of it.

    The token of its own, by which it knows it again after a crash, and which value of another's it
    saw first when, by the monotonic clock. Where the folder is taken away, waiting begins anew.
    """

    folder: Path

    @property
    def token(self) -> str:
        """Of the lease that this clone took and has not given back; empty where there is none."""
        return self._read().get(_TOKEN, ("", 0.0))[0]

    def keep_token(self, token: str) -> None:
        """Remember it, or with an empty one forget it, durably."""
        self._write({**self._read(), _TOKEN: (token, 0.0)})

    def is_open(self, branch: str) -> bool:
        """Whether the remote is known to take pushes to a branch."""
        return f"{_OPEN}{branch}" in self._read()

    def keep_open(self, branch: str, *, is_open: bool) -> None:
        """Remember that it takes them, or that it is not known any more."""
        known = {name: one for name, one in self._read().items() if name != f"{_OPEN}{branch}"}
        self._write({**known, f"{_OPEN}{branch}": ("", 0.0)} if is_open else known)

    def time_unchanged(self, ref: str, value: str) -> float:
        """Seconds since this very value was first seen there."""
        # CLOCK_MONOTONIC counts for the whole machine from its start (clock_gettime(2)): what one
        # process kept another may compare, and no clock that is set moves it.
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
    """What this machine is called."""
    return socket.gethostname()


def person_name(environ: Mapping[str, str]) -> str:
    """The person's name on this machine."""
    if name := environ.get("LOGNAME") or environ.get("USER"):
        return name
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except LookupError:  # a container's number without a name
        return f"user {os.getuid()}"


def find_standing(
    remote: Remote, branch: str, seen: Mapping[str, str], memory: LeaseMemory, seconds: float
) -> LeaseState:
    """How a branch's lease stands, of its two places where somebody holds it.

    `seen` are the remote's refs, `seconds` the own ttl: a holder that asks for more has it.
    Raises RemoteAwayError.
    """
    found = []
    for ref in refs_of(branch):
        if (value := seen.get(ref)) is not None:
            lease = read_lease(remote.read_message(ref, value, BOUND))
            unchanged, token = memory.time_unchanged(ref, value), memory.token
            own = bool(token) and (lease.token, lease.host) == (token, host_name())
            over = unchanged >= max(seconds, lease.patience)
            found.append(LeaseState(ref, value, lease, own, unchanged, over))
    # Of two places the one decides that somebody else holds: it comes first.
    found.sort(key=lambda one: one.is_own or one.is_over)
    free = LeaseState(
        refs_of(branch)[0], None, LeaseHolder(), is_own=False, unchanged=0.0, is_over=True
    )
    return next(iter(found), free)


# --- words ----------------------------------------------------------------------------


def make_held_error(name: str, branch: str, there: LeaseState, seconds: float) -> PublishError:
    """Somebody builds the branch: who, since when, what, and what may be done."""
    patience = max(seconds, there.lease.patience)
    return PublishError(
        f"{display(branch)} is being built {there.lease}",
        where=f"{display(name)} {display(there.ref)}",
        hint="wait, or build another branch (runner run --branch NAME); a run takes the lease over "
        f"when it is unchanged for {patience:g} s; to take it now: "
        "runner team lease --take --reason WHY",
        code=ExitCode.CONFLICT,
    )


def make_refused_error(name: str, branch: str, output: str) -> PublishError:
    """The remote takes the lease at neither place."""
    return PublishError(
        f"{display(name)} rejected the lease of {display(branch)}",
        detail=output,
        hint="leases need atomic pushes: runner doctor --remote; no lease: RUNNER_GIT_PUBLISH=none",
        code=ExitCode.USAGE,
    )


def make_unanswered_error(error: RemoteAwayError) -> RunnerError:
    """The remote went away in the middle of a landing, for a whole ttl."""
    return RunnerError(
        f"{error.message}, so it is unknown whether the last landing arrived there",
        detail=error.detail,
        hint="run again when it answers: the next run checks it first, then continues",
        code=ExitCode.CONFLICT,
    )
