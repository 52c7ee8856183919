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


Operation: TypeAlias = "ArtifactStored"

OPERATIONS: dict[str, type[Operation]] = {
    "artifact.stored": ArtifactStored,
}
