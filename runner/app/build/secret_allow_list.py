"""The false positives of the secret scan that a person let pass in a repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner import effects
from runner.secrets.allowlist import FILE_NAME, read_allow_list

if TYPE_CHECKING:
    from pathlib import Path

    from runner.secrets.allowlist import AllowList


def load_allow_list(root: Path) -> AllowList | None:
    """The list as it stands today; none where there is no such file."""
    file = root / FILE_NAME
    return read_allow_list(file.read_bytes(), effects.now().date()) if file.is_file() else None
