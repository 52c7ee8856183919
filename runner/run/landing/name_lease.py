"""A lease for a name that is no branch: one program at a time acts for a repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.run.landing.branch_lease import BranchLease
from runner.run.landing.lease_state import LeaseMemory

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.repo.read import Repository


class NameLease(BranchLease):
    """Held, renewed and given back as a branch's; nothing lands under it."""

    def _require_tip(self, seen: Mapping[str, str]) -> None:
        """Do nothing, since the checked-out branch does not matter here."""


def open_name_lease(
    repository: Repository,
    remote: str,
    name: str,
    seconds: float,
    environ: Mapping[str, str],
    memory: Path,
) -> NameLease:
    """Create the lease of a name in a remote; `memory` is its own folder."""
    return NameLease(repository, remote, name, environ, LeaseMemory(memory), seconds)
