"""The tests in a file, read by what is known of its language (`runner.languages`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.languages.registry import code_language, is_written_in

if TYPE_CHECKING:
    from runner.languages.base import NamedTest

_LARGEST = 2_000_000
"""Bytes of a file that is read; a larger one holds data."""


def find_tests(path: str, content: bytes | None) -> tuple[NamedTest, ...] | None:
    """Return the tests of a file, none for an absent one; None where it cannot be read."""
    language = code_language(path)
    if content is None:
        return ()
    if language is None or language.find_tests is None or len(content) > _LARGEST:
        return None
    return language.find_tests(path, content.decode("utf-8", "replace"))


def is_benchmark(name: str, path: str) -> bool:
    """Whether a function of Go's tests runs only where `-bench` asks for it (go help testflag)."""
    return is_written_in(path, "go") and name.startswith("Benchmark")
