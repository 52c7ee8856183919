"""Which files are tests, told by their path alone as the common tools find them."""

from __future__ import annotations

import re

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


def is_test_path(path: str) -> bool:
    """Whether a path, relative to the project, is a test or belongs to tests."""
    return bool(_FOLDER.search(path) or _NAME.search(path) or _MODULE.search(path))


def holds_tests(path: str) -> bool:
    """Whether the tests in a file are found by name; a Python file of tests must be named so."""
    return bool(_COLLECTED.search(path)) if path.endswith(".py") else is_test_path(path)
