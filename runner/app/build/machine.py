"""What encloses the commands of a run on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.process.sandbox import choose_sandbox

if TYPE_CHECKING:
    from runner.config.settings import Settings
    from runner.process.base import Sandbox


def sandbox_of(settings: Settings) -> Sandbox:
    """What encloses commands, by the person's settings. Raises RunnerError where it cannot."""
    read = tuple(Path(path).expanduser() for path in settings.sandbox_read)
    return choose_sandbox(settings.sandbox, read)
