"""One test contract of one task, by its names."""

from __future__ import annotations

from typing import NamedTuple


class Proven(NamedTuple):
    """A test contract, with the task it is of: ids are only a plan's own within a task."""

    task: str
    contract: str
