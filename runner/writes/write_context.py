"""What the pipeline is given to work with: the scratch tree, a way to run commands, a pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from runner.process.base import RunCommand
    from runner.writes.sast import SastPool
    from runner.writes.scan_workspace import ScanWorkspace
    from runner.writes.staging import Staging


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class WriteContext:
    """Where one attempt's changes are judged; what is None is a step that only says so."""

    tree: Path
    """The scratch tree, which already holds the changes."""
    before: Callable[[str], bytes | None]
    """The bytes a path had in the base; None where it was not there."""
    run_command: RunCommand | None = None
    staging: Staging | None = None
    sast: SastPool | None = None
    stopped: Callable[[], bool] = _never
    """Asked between two files, whether nobody wants the answer any more."""
    secrets: tuple[tuple[str, str], ...] = ()
    """Names and values of what the task's commands were given, which no file may hold."""
    laboratory: ScanWorkspace | None = None
    """Where analysers of other languages look at copies; without it only bandit looks."""
