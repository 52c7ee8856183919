"""The doors that a person's own settings name, opened for one source of events."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from runner.outward.delivery import DoorWork
from runner.outward.nats_door import NatsDoor
from runner.outward.otlp_work import OtlpWork
from runner.outward.webhook_door import WebhookDoor, find_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.outward.delivery import Work
    from runner.outward.outbox import Outbox
    from runner.project import Project


def open_works(
    settings: Settings,
    environ: Mapping[str, str],
    outbox: Callable[[], Outbox],
    project: Project | None,
) -> list[Work]:
    """What there is to be done, each with an outbox of its own. Raises RunnerError.

    Traces are drawn from a folder's journal alone: each of a team's workers draws its own.
    """
    found: list[Work] = []
    if settings.events:
        token = environ.get(settings.events_key_env, "") if settings.events_key_env else ""
        found.append(DoorWork(NatsDoor(settings.events, settings.events_days, token), outbox()))
    if settings.webhook:
        key = find_key(settings.webhook_key_env, environ)
        found.append(DoorWork(WebhookDoor(settings.webhook, key), outbox()))
    if settings.telemetry_otlp and project is not None:
        where = (settings.telemetry_otlp, project.journal_path, project.root.name)
        found.append(OtlpWork(*where, content=settings.telemetry_content))
    return found


def cursors_path(state: Path, source: str) -> Path:
    """Where the cursors of a source are kept: a folder's path, or a store's address."""
    return state / "told" / f"{hashlib.sha256(source.encode()).hexdigest()[:24]}.sqlite"
