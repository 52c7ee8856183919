"""Which executor a person named, and whether the way to it may be overheard."""

from __future__ import annotations

import ipaddress
import json
import re
from dataclasses import dataclass
from pathlib import Path

from runner.errors import RunnerError

ADDRESS = re.compile(r"(tcp|tls|ucx|ws|wss)://(\[[0-9A-Fa-f:.%]+\]|[^/:\s\[\]]+):(\d{1,5})")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^/:\s\[\]]+):(\d{1,5})")
_SAFE = frozenset({"tls", "wss"})
WORDS = ("inline", "threads", "dask")
HINT = "inline, threads, dask, dask:tcp://HOST:8786 or dask:SCHEDULER-FILE.json"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a scheduler or worker listens."""

    protocol: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.protocol}://{self.host}:{self.port}"

    @property
    def is_private(self) -> bool:
        """Whether nobody can listen: it is encrypted, or stays on this machine."""
        return self.protocol in _SAFE or self._is_loopback

    @property
    def is_encrypted(self) -> bool:
        """Whether certificates are needed."""
        return self.protocol in _SAFE

    @property
    def _is_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]").partition("%")[0]).is_loopback
        except ValueError:
            return False


def read_address(text: str) -> Address | None:
    """An address as Dask writes it, or None."""
    found = ADDRESS.fullmatch(text.strip())
    return Address(found[1], found[2], int(found[3])) if found else None


def is_executor(text: str) -> bool:
    """Whether a setting's value names an executor, as far as can be told without looking."""
    word, colon, rest = text.partition(":")
    return word in WORDS and (bool(rest) if colon else True) and (not colon or word == "dask")


def scheduler_of(executor: str) -> Address | None:
    """The scheduler that `dask:…` names; None where a local cluster is to be started.

    Raises RunnerError for an address or scheduler file that cannot be read.
    """
    named = executor.partition(":")[2].strip()
    if not named:
        return None
    found = read_address(named)
    if found is None and _HOST.fullmatch(named):
        hint = f"say how: dask:tcp://{named} or dask:tls://{named}"
        raise RunnerError(f"{named} is no whole address", where="executor", hint=hint)
    if found is None and "://" not in named:
        found = _in_file(Path(named).expanduser())
    if found is None:
        raise RunnerError(f"{named} is no address of a scheduler", where="executor", hint=HINT)
    return found


def _in_file(path: Path) -> Address:
    """What `dask scheduler --scheduler-file` wrote."""
    hint = "start it with: dask scheduler --scheduler-file " + str(path)
    try:
        told = json.loads(path.read_bytes())
    except OSError as error:
        message = f"the scheduler file cannot be read: {error.strerror}"
        raise RunnerError(message, where=str(path), hint=hint) from error
    except ValueError as error:
        raise RunnerError("the scheduler file is no JSON", where=str(path), hint=hint) from error
    found = read_address(str(told.get("address", ""))) if isinstance(told, dict) else None
    if found is None:
        raise RunnerError("the scheduler file names no address", where=str(path), hint=hint)
    return found
