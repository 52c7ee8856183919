"""What was measured already, a line of JSON each: a run that was broken off goes on from there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Measured:
    """Numbers by their names, kept in a file as they come; without one, only in memory."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._known: dict[str, float] = {}
        lines = file.read_text().splitlines() if file and file.exists() else []
        for line in lines:
            name, value = json.loads(line)
            self._known[name] = value

    def of(self, *name: object, by: Callable[[], float]) -> float:
        """The number of this name, measured by `by` where it is not known yet."""
        key = " ".join(map(str, name))
        if key not in self._known:
            self._known[key] = by()
            if self._file:
                with self._file.open("a") as file:
                    file.write(json.dumps([key, self._known[key]]) + "\n")
        return self._known[key]
