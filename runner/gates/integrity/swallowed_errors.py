"""New code that catches every exception and does nothing about it: a person is told."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from runner.gates.integrity.weaknesses import Weakness
from runner.languages.registry import code_language

if TYPE_CHECKING:
    from collections.abc import Iterator

_LARGEST = 2_000_000


def find_swallowed_errors(path: str, old: bytes | None, new: bytes) -> Iterator[Weakness]:
    """Handlers that swallow everything, more of them than there were before."""
    language = code_language(path)
    if language is None or language.swallowed is None or len(new) > _LARGEST:
        return
    find = language.swallowed
    before = Counter(code for code, _ in find((old or b"").decode("utf-8", "replace")))
    for code, line in find(new.decode("utf-8", "replace")):
        if before[code]:
            before[code] -= 1
        else:
            yield Weakness(line, f"`{code}` hides every failure", grave=False)
