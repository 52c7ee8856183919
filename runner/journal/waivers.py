"""A person's word that a task needs no proof, as the journal holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from runner.model import Digest


class TaskWaived(NamedTuple):
    """A person takes the task as DONE without a proof, as it is asked for and as it is."""

    reason: str
    by: str
    what: Digest
    files: dict[str, str]
    """Its files and their bytes; the waiver ends where either is another one."""
