"""A lease of a name that is no branch: one program at a time does something for a repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.run.landing.branch_lease import BranchLease
from runner.run.landing.lease_standing import LeaseMemory

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.repo.read import Repository


class NameLease(BranchLease):
    """Held, renewed and given back as a branch's; nothing lands under it."""

    def _require_tip(self, seen: Mapping[str, str]) -> None:
        """What is checked out has nothing to do with it."""


def open_name_lease(
    repository: Repository,
    remote: str,
    name: str,
    seconds: float,
    environ: Mapping[str, str],
    memory: Path,
) -> NameLease:
    """The lease of a name in a remote; `memory` is a folder that no branch's lease uses."""
    return NameLease(repository, remote, name, environ, LeaseMemory(memory), seconds)
