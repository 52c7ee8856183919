"""The lines of a command that nobody was told of yet: all of them, or the last of very many."""

from __future__ import annotations

MOST = 1_000
"""Lines that are told at once; how many were left out before them is said."""
_ROOM = 64 << 10


class LineBatch:
    """Redacted output that waits to be told, line by line; bounded however much comes."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._lost = 0

    def add(self, clean: bytes) -> None:
        """Add to the end; of very much only the last lines are kept."""
        self._held += clean
        if len(self._held) > 2 * _ROOM:
            cut = self._held.find(b"\n", len(self._held) - _ROOM) + 1
            self._drop(cut or len(self._held) - _ROOM)

    def skip(self, chunk: bytes) -> None:
        """Let go of what is held, and of these bytes: they are only counted."""
        self._drop(len(self._held))
        self._lost += chunk.count(b"\n")

    def take(self, *, whole: bool = False) -> tuple[list[str], int]:
        """The lines that are complete, and how many are missing before them.

        `whole` says that nothing follows: then the last one need not have an end.
        """
        end = len(self._held)
        if not whole:
            end = max(self._held.rfind(b"\n"), self._held.rfind(b"\r")) + 1
        text = self._held[:end].decode("utf-8", "replace")
        del self._held[:end]
        lines = text.removesuffix("\n").split("\n") if text else []
        lost, self._lost = self._lost + max(0, len(lines) - MOST), 0
        return [_apply_returns(line) for line in lines[-MOST:]], lost

    def _drop(self, count: int) -> None:
        self._lost += self._held.count(b"\n", 0, count)
        del self._held[:count]


def _apply_returns(line: str) -> str:
    """A line as a terminal leaves it that goes back to its start at every carriage return."""
    return line.rstrip("\r").rpartition("\r")[2]


def join_lines(lines: list[str], lost: int) -> str:
    """The lines as one text, with a word of what is missing."""
    gap = [f"[... {lost} lines left out ...]"] if lost else []
    return "\n".join((*gap, *lines))
