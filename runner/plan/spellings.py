"""Names that some file systems take for one: macOS and Windows fold case, macOS normal forms."""

from __future__ import annotations


def fold_spelling(path: str) -> str:
    """What is the same for all spellings of a path that open one file there."""
    if path.isascii():
        return path.casefold()
    import unicodedata  # a library of its own, which no plain path needs

    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())
