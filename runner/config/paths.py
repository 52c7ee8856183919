"""The folders for settings, cache and state outside of the repository.

By the XDG Base Directory Specification: a relative value of a variable is ignored.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = "runner"
SETTINGS_FILE = "runner.toml"


class Places(Struct, frozen=True):
    """The user's three folders; none of them need exist."""

    config: Path
    cache: Path
    state: Path

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Places:
        """Return the folders for these environment variables."""
        given = environ.get("HOME", "")
        home = Path(given) if given.startswith("/") else Path.home()
        return cls(
            config=_base(environ, "XDG_CONFIG_HOME", home / ".config") / FOLDER,
            cache=_base(environ, "XDG_CACHE_HOME", home / ".cache") / FOLDER,
            state=_base(environ, "XDG_STATE_HOME", home / ".local" / "state") / FOLDER,
        )

    @property
    def settings_file(self) -> Path:
        """The user's own settings."""
        return self.config / SETTINGS_FILE

    @property
    def held_out(self) -> Path:
        """Folder of held-out test files; no command of a task may read it."""
        return self.state / "held-out"

    def repository_cache(self, root: Path) -> Path:
        """Return the cache folder of one repository (scratch trees, parsed plans, snapshots)."""
        return self.cache / "repositories" / repository_key(root)


def repository_key(root: Path) -> str:
    """Return a short key for a repository: its folder's name and a digest of its real path."""
    real = root.resolve()
    digest = hashlib.sha256(bytes(real)).hexdigest()[:16]
    readable = "".join(c if c.isascii() and c.isalnum() else "-" for c in real.name)[:32]
    return f"{readable.strip('-') or 'root'}-{digest}"


def expand_home(path: str) -> Path:
    """Expand `~/…` in a setting or option; the path is unchanged if there is no such home.

    `Path.expanduser` raises RuntimeError there.
    """
    return Path(os.path.expanduser(path))  # noqa: PTH111 - see above


def _base(environ: Mapping[str, str], variable: str, default: Path) -> Path:
    value = environ.get(variable, "")
    return Path(value) if value.startswith("/") else default
