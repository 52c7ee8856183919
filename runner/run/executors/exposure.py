"""Work that could give orders to the cluster it runs on, where that asks nobody for a key.

A scheduler without TLS runs what anybody sends who reaches it, outside of every sandbox. A command
with a network reaches it, on whatever machine. So on such a cluster no command gets one, and a task
that asks for one is told so; a person may accept it by `insecure_cluster`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.model import Finding, Network
from runner.run.executors.addresses import scheduler_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.config.settings import Settings
    from runner.implementers.base import Implementer
    from runner.model import Task
    from runner.run.executors.addresses import Address

CHECK = "cluster"
_HINT = "start the cluster with TLS (docs/cluster), or accept it by --insecure-cluster"


def restrict_settings(settings: Settings) -> Settings:
    """The settings with which no command reaches the machine it runs on.

    Landlock does not tell a loopback from other addresses, and knows no registries.
    """
    most = Network.NO if settings.sandbox == "landlock" else Network.REGISTRIES
    reaches = tuple(Network)
    return replace(settings, network=min(most, settings.network, key=reaches.index))


def explain_exposing(
    tasks: Iterable[Task], implementer: Implementer | None, settings: Settings
) -> str:
    """Who of tasks and who implements them asks for more than that; empty where nobody does.

    `settings` are the person's, as yet not held back. Without a sandbox nothing is held anyway.
    """
    if settings.sandbox == "none":
        return ""
    held = restrict_settings(settings)
    asked = (*_of_tasks(tasks, settings), *_of_implementer(implementer, settings))
    more = (who for who, what in asked if settings.network_for(what) != held.network_for(what))
    return next(more, "")


def refusal(who: str, scheduler: Address) -> Finding:
    """What a person is told of it."""
    message = (
        f"{who} would have a network, and the cluster at {scheduler} speaks no TLS: whoever "
        "reaches it runs code there, outside of the sandbox"
    )
    return Finding(check=CHECK, message=message, hint=_HINT)


def explain_exposure(task: Task, implementer: Implementer, settings: Settings) -> str:
    """Why a task must not run on the cluster that the settings name; empty where it may."""
    scheduler = scheduler_of(settings.executor) if ":" in settings.executor else None
    if scheduler is None or is_sealed(scheduler, settings):
        return ""
    who = explain_exposing((task,), implementer, settings)
    return f"{refusal(who, scheduler).message}; {_HINT}" if who else ""


def is_sealed(scheduler: Address, settings: Settings) -> bool:
    """Whether who reaches it needs a key to speak with it, or a person said that nobody will."""
    return scheduler.is_encrypted or settings.insecure_cluster


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
