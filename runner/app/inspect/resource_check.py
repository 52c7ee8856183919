"""Tasks of a plan that can never start, since they use more of something than there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.config.settings import Settings
    from runner.plan.diagnostic import Problem
    from runner.project import Reading


def too_much_used(reading: Reading, settings: Settings) -> Iterator[Problem]:
    """An error for each task that a run would only block, by `[resources]` of the settings."""
    if not settings.resources or not any(task.uses for task in reading.plan.tasks):
        return
    from runner.plan.diagnostic import Problem
    from runner.plan.spans import Places
    from runner.run.resource_locks import capacities, too_much_of

    capacity = capacities(settings.resources)
    places = Places(reading.data, reading.plan.path)
    for task in reading.plan.tasks:
        over = too_much_of(task, capacity)
        if over is None:
            continue
        name, why = over
        at = places.find(task, "uses", name)
        hint = f"write less, or {name} = … in [resources] of the settings"
        place = (places.path, at.line, at.column, hint)
        yield Problem(f"{task.id} {why}", *place, source_line=at.source_line, width=at.width)
