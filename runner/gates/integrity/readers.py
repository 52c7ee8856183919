"""Which reader understands a test file: one module a language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.gates.integrity.assertions import TestFile

if TYPE_CHECKING:
    from collections.abc import Callable

_LARGEST = 2_000_000
"""Bytes of a file that is read; a larger one holds data."""
_SCRIPTS = frozenset({"js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"})


def _reader(path: str) -> Callable[[str], TestFile | None] | None:
    """The reader of a file by its ending; each is imported when it is needed."""
    ending = path.rpartition(".")[2].lower()
    if ending == "py":
        from runner.gates.integrity.python import read_python

        return read_python
    if ending in _SCRIPTS:
        from runner.gates.integrity.javascript import read_javascript

        return read_javascript
    if ending == "go":
        from runner.gates.integrity.golang import read_go

        return read_go
    if ending == "rs":
        from runner.gates.integrity.rust import read_rust

        return read_rust
    return None


def is_read(path: str) -> bool:
    """Whether tests of this language are understood."""
    return _reader(path) is not None


def read_tests(path: str, content: bytes | None) -> TestFile | None:
    """What a test file claims; an absent one claims nothing, None: nobody can tell."""
    if content is None:
        return TestFile()
    reader = _reader(path)
    if reader is None or len(content) > _LARGEST:
        return None
    return reader(content.decode("utf-8", "replace"))


def tests_in(path: str, content: bytes) -> frozenset[str]:
    """The names of the tests in a file; of Python `TestB.test_c`."""
    found = read_tests(path, content)
    return (
        frozenset(name for name, body in found.tests.items() if body.is_test)
        if found
        else frozenset()
    )
