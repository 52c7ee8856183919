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


class SecretLeased(NamedTuple):
    """A task's attempt has a secret from here on: never its value, nor a digest of it."""

    name: str
    source: str
    """Where it came from, such as `command op`."""
    until: str
    """When another one is asked for, where the attempt goes on for so long."""


class SecretReturned(NamedTuple):
    """The attempt is over, or the secret's time was, and the value is forgotten."""

    name: str


Operation: TypeAlias = "ArtifactStored | Pruned | SecretLeased | SecretReturned"

OPERATIONS: dict[str, type[Operation]] = {
    "artifact.stored": ArtifactStored,
    "pruned": Pruned,
    "secret.leased": SecretLeased,
    "secret.returned": SecretReturned,
}
