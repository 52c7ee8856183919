"""Parse the executor that a person named, and check whether its connection is private.

A scheduler without TLS runs what anybody sends who reaches it, outside of every sandbox. A command
with a network reaches it, on whatever machine. So on such a cluster no command gets one, and a task
that asks for one gets a refusal; a person may accept it by `cluster.insecure`.
"""

from __future__ import annotations

import ipaddress
import json
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.config.paths import expand_home
from runner.errors import RunnerError
from runner.lazy_pattern import regex
from runner.model import Finding, Network

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.implementers.base import Implementer
    from runner.model import Task


ADDRESS = regex(r"(tcp|tls|ucx|ws|wss)://(\[[0-9A-Fa-f:.%]+\]|[^/:\s\[\]]+):(\d{1,5})")
_HOST = regex(r"(\[[0-9A-Fa-f:.%]+\]|[^/:\s\[\]]+):(\d{1,5})")
_SAFE = frozenset({"tls", "wss"})
HINT = "inline, threads, dask, dask:tcp://HOST:8786 or dask:SCHEDULER-FILE.json"


class Address(Struct, frozen=True):
    """The address of a scheduler or worker."""

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
    """Parse a Dask address; return None if it is invalid."""
    found = ADDRESS.fullmatch(text.strip())
    return Address(found[1], found[2], int(found[3])) if found else None


def scheduler_of(executor: str) -> Address | None:
    """Return the scheduler in `dask:…`, or None for a local cluster. Raises RunnerError.

    Raises RunnerError for an address or scheduler file that cannot be read.
    """
    named = executor.partition(":")[2].strip()
    if not named:
        return None
    found = read_address(named)
    if found is None and _HOST.fullmatch(named):
        hint = f"write dask:tcp://{named} or dask:tls://{named}"
        raise RunnerError(f"{named} has no protocol", where="executor", hint=hint)
    if found is None and "://" not in named:
        found = _in_file(expand_home(named))
    if found is None:
        raise RunnerError(f"{named} is not a valid scheduler address", where="executor", hint=HINT)
    return found


def _in_file(path: Path) -> Address:
    """Read the address that `dask scheduler --scheduler-file` wrote."""
    hint = "start it with: dask scheduler --scheduler-file " + str(path)
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        message = f"the scheduler file cannot be read: {error.strerror}"
        raise RunnerError(message, where=str(path), hint=hint) from error
    except ValueError as error:
        raise RunnerError("the scheduler file is not JSON", where=str(path), hint=hint) from error
    found = read_address(str(document.get("address", ""))) if isinstance(document, dict) else None
    if found is None:
        raise RunnerError("the scheduler file has no scheduler address", where=str(path), hint=hint)
    return found


CHECK = "cluster"
_HINT = "start the cluster with TLS (docs/cluster), or pass --insecure-cluster"


def restrict_settings(settings: Settings) -> Settings:
    """Return settings under which no command can reach the machine that it runs on.

    Landlock does not tell a loopback from other addresses, and knows no registries.
    """
    most = Network.NO if settings.sandbox.kind == "landlock" else Network.REGISTRIES
    own = replace(settings.sandbox, network=settings.network_for(most))
    return replace(settings, sandbox=own)


def explain_exposing(
    tasks: Iterable[Task], implementer: Implementer | None, settings: Settings
) -> str:
    """Return the first task or implementer that needs more network access than allowed; else empty.

    `settings` are the person's, as yet not held back. Without a sandbox nothing is held anyway.
    """
    if settings.sandbox.kind == "none":
        return ""
    held = restrict_settings(settings)
    asked = (*_of_tasks(tasks, settings), *_of_implementer(implementer, settings))
    more = (who for who, what in asked if settings.network_for(what) != held.network_for(what))
    return next(more, "")


def refusal(who: str, scheduler: Address) -> Finding:
    """Return the finding that explains it to a person."""
    message = (
        f"{who} has network access and the cluster at {scheduler} does not use TLS: code that "
        "reaches the cluster can run commands on its workers, outside the sandbox"
    )
    return Finding(check=CHECK, message=message, hint=_HINT)


def explain_exposure(task: Task, implementer: Implementer, settings: Settings) -> str:
    """Return why a task must not run on the configured cluster; empty if it may."""
    scheduler = scheduler_of(settings.cluster.executor)
    if scheduler is None or is_sealed(scheduler, settings):
        return ""
    who = explain_exposing((task,), implementer, settings)
    return f"{refusal(who, scheduler).message}; {_HINT}" if who else ""


def is_sealed(scheduler: Address, settings: Settings) -> bool:
    """Return whether the scheduler uses encryption, or the settings waive it."""
    return scheduler.is_encrypted or settings.cluster.insecure


def _of_tasks(tasks: Iterable[Task], settings: Settings) -> Iterator[tuple[str, Network]]:
    for task in tasks:
        yield task.id, task.network
        for gate in (*settings.gates_for(task.type), *task.gates):
            yield f"the gate {gate.name} of {task.id}", gate.network


def _of_implementer(
    implementer: Implementer | None, settings: Settings
) -> Iterator[tuple[str, Network]]:
    if implementer is not None and implementer.is_agent:
        yield f"the agent {implementer.name}", getattr(implementer, "network", Network.NO)
        for server in settings.mcp:
            yield f"the MCP server {server.name}", server.network
