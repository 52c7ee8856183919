"""Where the project lies in its repository, and paths turned between the two."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prefix:
    """The project's folder relative to the repository's top: empty, or `sub/`."""

    value: str = ""

    def whole(self, path: str) -> str:
        """A path of the project as the repository's trees know it."""
        return (
            posixpath.normpath(self.value + path) if path.startswith("../") else self.value + path
        )

    def inside(self, path: str) -> str:
        """A path of the repository as the project knows it; outside of it begins with `../`."""
        if path.startswith(self.value):
            return path.removeprefix(self.value)
        return posixpath.relpath(path, self.value)
