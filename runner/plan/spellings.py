"""Names that some file systems take for one: macOS and Windows fold case, macOS normal forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    import unicodedata
else:
    unicodedata = lazy_module("unicodedata")  # a library of its own, which no plain path needs


def fold_spelling(path: str) -> str:
    """What is the same for all spellings of a path that open one file there."""
    if path.isascii():
        return path.casefold()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())
