"""Events about what is left of runs and who saw what: artifacts, pruning, leased secrets."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class ArtifactStored(NamedTuple):
    """One file of a run lies in the artifact store, under the run of this record."""

    path: str
    """Below the run's folder there, such as `patches/TASK-001.patch`."""
    sha256: str
    bytes: int
    store: str = ""
    """Which store, as settings name it."""


class Pruned(NamedTuple):
    """Old leftovers were taken away: how many of each kind, and their bytes."""

    before: str
    """What was older than this."""
    logs: int = 0
    """Folders of attempts."""
    drafts: tuple[str, ...] = ()
    """Branches."""
    slots: int = 0
    packs: int = 0
    """Folders in which workers of a cluster kept objects."""
    bytes: int = 0


Operation: TypeAlias = "ArtifactStored | Pruned"

OPERATIONS: dict[str, type[Operation]] = {
    "artifact.stored": ArtifactStored,
    "pruned": Pruned,
}
