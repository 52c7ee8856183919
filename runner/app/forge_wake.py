"""Wake the bridge of a repository when its forge reports an event.

A file is the only signal; the bridge asks the forge itself what the news is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner import effects

if TYPE_CHECKING:
    from pathlib import Path

    from runner.config.paths import Places

_REPOSITORY = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,38})/[A-Za-z0-9._-]{1,100}")
_NAME = "wake"


def find_bridge_folder(places: Places, repository: str) -> Path:
    """Return the folder in which a bridge keeps the clones of a repository's issues."""
    return places.state / "bridge" / repository.replace("/", "+").casefold()


def wake_bridge(places: Places, repository: str) -> bool:
    """Wake the bridge of this repository; False if none ever served it here."""
    # The name is untrusted and becomes a folder name.
    if not _REPOSITORY.fullmatch(repository):
        return False
    folder = find_bridge_folder(places, repository)
    if not folder.is_dir():
        return False
    effects.write_file(folder / _NAME, b"", durable=False)
    return True


def take_wake(folder: Path) -> bool:
    """Return whether the bridge was woken since the last call."""
    try:
        # Remove first: news that arrives during a check creates the file again.
        (folder / _NAME).unlink()
    except OSError:
        return False
    return True
