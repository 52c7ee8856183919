"""A waiver is a person's, for a task as it is asked for and as it is: whether it still holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.model import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from runner.journal.task_state import Waived


def files_now(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """The bytes of a task's files by their digest; nothing stands for a file that is not there."""
    return {path: _digest(root / path) for path in sorted(set(paths))}


def stands(root: Path, waived: Waived) -> bool:
    """Whether the files are those that a person waived."""
    return files_now(root, waived.files) == waived.files


def _digest(file: Path) -> str:
    try:
        return "" if file.is_symlink() else digest_of(file.read_bytes())
    except OSError:
        return ""
