"""Tests that stand in a file of the product, as Rust has them: put back as they were."""

from __future__ import annotations

from runner.languages.registry import code_language

_LARGEST = 1_000_000


def has_tests_inside(path: str, before: bytes, after: bytes | None) -> bool:
    """Whether such tests are not as they were."""
    if after is None or max(len(before), len(after)) > _LARGEST:
        return False
    old = _texts(path, before)
    return bool(old) and old != _texts(path, after)


def with_tests_of(path: str, before: bytes, after: bytes | None) -> bytes:
    """The proposed file with the tests that it had, at its end."""
    new = (after or b"").decode("utf-8", "replace")
    for begin, end in reversed(_places(path, new)):
        new = new[:begin] + new[end:]
    return (new.rstrip() + "\n\n" + "\n\n".join(_texts(path, before)) + "\n").encode()


def _texts(path: str, content: bytes) -> list[str]:
    source = content.decode("utf-8", "replace")
    return [source[begin:end] for begin, end in _places(path, source)]


def _places(path: str, source: str) -> list[tuple[int, int]]:
    language = code_language(path)
    inner = language.inner_tests if language else None
    return inner.places(source) if inner else []
