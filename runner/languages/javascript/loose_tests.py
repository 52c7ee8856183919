"""Tests of before beside TypeScript of now, with whose types they do not compile."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_UNTYPED = "// @ts-nocheck\n"
# Behind a docblock: jest reads its own only where a file begins with it.
_DOCBLOCK = re.compile(r"(?:#![^\n]*\n)?(?:\s*/\*.*?\*/[ \t]*\n?)?", re.DOTALL)


def loosen_tests(
    tests: Mapping[str, str], product: Mapping[str, str], errors: Mapping[str, frozenset[int]]
) -> dict[str, str]:
    """Tests in which TypeScript met errors with their types unlooked at: they run as JavaScript."""
    del product
    return {
        path: f"{head[0]}{_UNTYPED}{source[head.end() :]}"
        for path in errors
        if (source := tests.get(path, ""))
        and _UNTYPED not in source
        and (head := _DOCBLOCK.match(source))
    }
