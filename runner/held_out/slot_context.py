"""The context of a job slot for held-out tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from runner.held_out.store import HeldOutStore
from runner.process.mounts import inner_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Self

    from runner.model import Task
    from runner.process.base import Place, Sandbox

_WORKSPACES = "workspaces"
_CACHES = ("npm_config_cache", "PRE_COMMIT_HOME", "XDG_CACHE_HOME")
"""Variables that name a folder which later commands would read."""


class HeldOutFolders(NamedTuple):
    """The folders of one plan's held-out files, and of their test runs."""

    store: HeldOutStore
    workspaces: Path
    """Folder for temporary copies of trees, which every sandbox masks."""

    @classmethod
    def of(cls, top: Path, common_dir: Path, plan_path: str, chosen: Path | None) -> Self:
        """Return the folders of a plan; `chosen` is the person's setting `proof.held_out_dir`."""
        store = HeldOutStore.open(top, common_dir, plan_path, chosen)
        return cls(store, top / _WORKSPACES)


class HeldOutSite(Struct, frozen=True):
    """The store of held-out files, and the environment of commands that run with them."""

    store: HeldOutStore
    workspaces: Path
    environment_at: Callable[[Place], Mapping[str, str]]
    """Returns the variables of commands that run in a place."""
    passed_on_base: dict[tuple[str, ...], bool] = field(default_factory=dict)
    """Known results of contracts on a base, shared by all attempts of a run."""

    def environment(self, place: Place, sandbox: Sandbox) -> dict[str, str]:
        """Return the variables of a held-out run: HOME and temporary folder are its own."""
        environ = dict(self.environment_at(place))
        if sandbox.encloses:  # it makes both
            return environ
        private = inner_environment(environ, place.box)
        return {name: value for name, value in private.items() if name not in _CACHES}

    def find_named(self, task: Task) -> dict[str, tuple[str, ...]]:
        """Return by test id the acceptance ids that a separate author names for it."""
        records = (self.store.record_of(task.id, one.path) for one in task.held_out_files)
        found: dict[str, tuple[str, ...]] = {}
        for item, tests in (row for record in records for row in record.items):
            for test in tests:
                found[test] = (*found.get(test, ()), item)
        return found
