"""What encloses the commands of a run on this machine.

The false positives of the secret scan that a person let pass in a repository.

What knows the plans that tasks have of their own, made for a run, or for looking ahead.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner import effects
from runner.process.sandbox import choose_sandbox
from runner.run.planned.task_plans import TaskPlans
from runner.secrets.allowlist import FILE_NAME, read_allow_list

if TYPE_CHECKING:
    from runner.config.settings import Settings
    from runner.process.base import Sandbox
    from runner.repo.read import Repository
    from runner.run.preparation import Preparation
    from runner.run.review import Asker
    from runner.secrets.allowlist import AllowList


def sandbox_of(settings: Settings) -> Sandbox:
    """What encloses commands, by the person's settings. Raises RunnerError where it cannot."""
    read = tuple(Path(path).expanduser() for path in settings.sandbox_read)
    return choose_sandbox(settings.sandbox, read)


# --- secret allow list ----------------------------------------------------------------


def load_allow_list(root: Path) -> AllowList | None:
    """The list as it stands today; none where there is no such file."""
    file = root / FILE_NAME
    return read_allow_list(file.read_bytes(), effects.now().date()) if file.is_file() else None


# --- task plans -----------------------------------------------------------------------


def task_plans(
    preparation: Preparation,
    repository: Repository,
    asker: Asker | None = None,
    *,
    only: bool = False,
) -> TaskPlans:
    """Of this preparation: with its settings, its journal, and who it says implements a task."""
    return TaskPlans(
        root=preparation.root,
        settings=preparation.settings,
        ledger=preparation.ledger,
        repository=repository,
        implementer=preparation.implementer,
        asker=asker,
        only=only,
    )
