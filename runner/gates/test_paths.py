"""Which files are tests, told by their path alone as the common tools find them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_FOLDER = re.compile(
    r"(?:\A|/)(?:tests?|__tests__|__mocks__|specs?|e2e|testdata|fixtures)/", re.IGNORECASE
)
_NAME = re.compile(
    r"(?:\A|/)(?:test_[^/]*\.pyi?|[^/]*_test\.(?:py|go|rs)|conftest\.py"
    r"|[^/]*\.(?:test|spec|cy|e2e)\.[cm]?[jt]sx?|[^/]*[-_](?:test|spec)\.[cm]?[jt]sx?"
    r"|[^/]*_spec\.rb|[^/]*(?:Test|Tests|Spec)\.(?:java|kt|cs|scala))\Z"
)
_MODULE = re.compile(r"(?:\A|/)test\.[cm]?[jt]sx?\Z|(?:\A|/)tests?\.(?:py|rs)\Z")
_COLLECTED = re.compile(r"(?:\A|/)(?:test[^/]*|[^/]*_test)\.py\Z")

_CHECKS = re.compile(
    r"\.(?:sh|bash|bats|mk)\Z|(?:\A|[/_.-])(?:tests?|checks?|verify|smoke|selftest|ci)(?=[/_.-])"
)
_HOLDS_CHECKS = re.compile(
    rb"^\s*(?:async )?def test\w*\(|\bunittest\b|^\s*(?:import|from) pytest\b"
    rb"|\bnode:(?:test|assert)\b|\brequire\(['\"]assert|^assert\b|\bdescribe\(|\b(?:it|test)\(['\"]|#\[test\]|testing\.T\b",
    re.MULTILINE,
)
_LARGEST = 500_000


def is_test_path(path: str) -> bool:
    """Whether a path, relative to the project, is a test or belongs to tests."""
    return bool(_FOLDER.search(path) or _NAME.search(path) or _MODULE.search(path))


def holds_tests(path: str) -> bool:
    """Whether the tests in a file are found by name; a Python file of tests must be named so."""
    return bool(_COLLECTED.search(path)) if path.endswith(".py") else is_test_path(path)


def is_test_of(path: str, content: bytes, commands: Iterable[str]) -> bool:
    """Whether a test contract names a file that holds tests, or is a script of checks.

    A test is what a contract runs, not what its file is called: `python -m unittest t_lib` makes
    `t_lib.py` one. A program that a contract merely starts is the product's.
    """
    named = any(_names(path, command) for command in commands)
    return named and (bool(_CHECKS.search(path)) or bool(_HOLDS_CHECKS.search(content[:_LARGEST])))


def _names(path: str, command: str) -> bool:
    """Whether a command line has the path in it, or its module's name as Python says it."""
    if path in command:
        return bool(re.search(rf"(?<![\w/.-])(?:\./)?{re.escape(path)}(?![\w/-])", command))
    stem = path.rpartition(".")[0]
    if not path.endswith(".py") or "-m" not in command:
        return False
    module = stem.removeprefix("src/").replace("/", ".")
    return bool(re.search(rf"(?<![\w.]){re.escape(module)}(?![\w])", command))
