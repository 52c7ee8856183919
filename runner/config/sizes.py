"""Sizes as people write them: `4GB`, `512 MB`, `1.5g`; each unit is 1024 times the one before."""

from __future__ import annotations

import re

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([KMGT])i?B?|B)?", re.IGNORECASE)


def bytes_of(text: str) -> int | None:
    """The bytes that a text means; `None` where it means none."""
    found = _SIZE.fullmatch(text.strip())
    if not found or not float(found[1]):
        return None
    return int(float(found[1]) * 1024 ** ("kmgt".index(found[2].casefold()) + 1 if found[2] else 0))
