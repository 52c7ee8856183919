"""What is known of earlier trees, kept as small files in the user's cache: forgetting is free."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from runner import effects

if TYPE_CHECKING:
    from pathlib import Path

_LARGEST = 4 * 1024 * 1024
_MOST = 1000
_FORGOTTEN = 200
_FOLDER = "earlier"


def load_entry(folder: Path | None, *key: str) -> dict[str, object]:
    """What was kept under a key; empty where nothing was, or nothing that can be read."""
    if folder is None:
        return {}
    try:
        with _file(folder, key).open("rb") as file:
            said = json.loads(file.read(_LARGEST))
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def remember(folder: Path | None, said: dict[str, object], *key: str) -> None:
    """Keep something under a key; a cache that cannot be written is done without."""
    content = json.dumps(said).encode()
    if folder is None or len(content) > _LARGEST:
        return
    file = _file(folder, key)
    try:
        effects.make_folder(file.parent)
        effects.write_file(file, content)
        _forget_some(file.parent)
    except OSError:
        return


def _file(folder: Path, key: tuple[str, ...]) -> Path:
    name = hashlib.sha256("\0".join(key).encode("utf-8", "surrogatepass")).hexdigest()
    return folder / _FOLDER / f"{name}.json"


def _forget_some(folder: Path) -> None:
    """Take away the oldest where too much is known."""
    files = list(folder.iterdir())
    if len(files) > _MOST:
        files.sort(key=lambda file: file.stat().st_mtime)
        for file in files[:_FORGOTTEN]:
            effects.unlink(file)
