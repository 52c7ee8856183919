"""Tests that stand in a file of the product, as Rust has them: `#[cfg(test)] mod tests { … }`."""

from __future__ import annotations

import re

from runner.gates.integrity.c_like_lexer import RUST, find_closing, mask_literals

_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\s+)?mod\s+(?P<name>\w+)\s*\{")
_LARGEST = 1_000_000


def has_tests_inside(path: str, before: bytes, after: bytes | None) -> bool:
    """Whether such tests are not as they were."""
    if not path.endswith(".rs") or after is None or max(len(before), len(after)) > _LARGEST:
        return False
    old, new = before.decode("utf-8", "replace"), after.decode("utf-8", "replace")
    return bool(_modules(old)) and _texts(old) != _texts(new)


def with_tests_of(path: str, before: bytes, after: bytes | None) -> bytes:  # noqa: ARG001 - as its neighbour
    """The proposed file with the tests that it had, at its end."""
    old, new = before.decode("utf-8", "replace"), (after or b"").decode("utf-8", "replace")
    for begin, end in reversed(_modules(new)):
        new = new[:begin] + new[end:]
    return (new.rstrip() + "\n\n" + "\n\n".join(_texts(old)) + "\n").encode()


def _texts(source: str) -> list[str]:
    return [source[begin:end] for begin, end in _modules(source)]


def _modules(source: str) -> list[tuple[int, int]]:
    """Where such modules begin and end, in their order."""
    mask = mask_literals(source, RUST)
    found = (match for match in _MODULE.finditer(mask))
    return [(one.start(), find_closing(mask, one.end() - 1) + 1) for one in found]
