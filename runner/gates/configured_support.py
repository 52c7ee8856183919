"""Files that the configuration of a test tool has loaded before the tests: they belong to tests.

A setup file teaches every test what is equal, whatever it is called and wherever it lies. What the
base's configuration names counts: a change cannot make a file of the product one of them.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from runner.languages.registry import is_written_in
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

_ENDINGS = ("ts", "mts", "js", "mjs", "cjs")
_CONFIGURATIONS = (
    *(f"{tool}.config.{ending}" for tool in ("vitest", "vite", "jest") for ending in _ENDINGS),
    *("jest.config.json", "package.json", ".mocharc.json", ".mocharc.js", ".mocharc.cjs"),
    *(".mocharc.yml", ".mocharc.yaml"),
)
_KEY = regex(
    r"\b(?:setupFiles(?:AfterEnv)?|globalSetup|globalTeardown|testEnvironment|snapshotSerializers"
    r"|snapshotEnvironment|testRunner|runner|reporters|require|import|file)\b[\"']?\s*:"
    r"(?P<value>\s*\[[^\]]*\]|(?:\s*-[^\n]*\n?)+|[^\n]*)"
)
_NAMED = regex(r"(?:<rootDir>/|\./|\b)?(?P<path>[\w.@-]+(?:/[\w.@-]+)+|[\w.-]+\.[cm]?[jt]sx?)\b")
_ABOUT_TESTS = regex(
    rb"\b(?:expect|beforeEach|afterEach|beforeAll|afterAll|jest|vitest|vi|chai|sinon|mocha)\b|node:test"
)
_LARGEST = 200_000


def is_named_support(
    path: str, read: Callable[[], bytes], named_in: Callable[[str], Collection[str]]
) -> bool:
    """Whether a file speaks to a test tool, and the base's configuration has it loaded.

    `named_in` is `find_named` of a folder of the base.
    """
    if not is_written_in(path, "javascript"):
        return False
    stem = posixpath.splitext(path)[0]
    named = any(stem in named_in(folder) for folder in _folders(path))
    return named and bool(_ABOUT_TESTS.search(read()[:_LARGEST]))


def _folders(path: str) -> Iterator[str]:
    """The folders around a file, up to the whole repository."""
    folder = posixpath.dirname(path)
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
    yield ""


def find_named(folder: str, before: Callable[[str], bytes | None]) -> Iterator[str]:
    """The files, without their endings, that the configurations of a folder have loaded."""
    for name in _CONFIGURATIONS:
        content = before(posixpath.join(folder, name))
        for key in _KEY.finditer((content or b"")[:_LARGEST].decode("utf-8", "replace")):
            for one in _NAMED.finditer(key["value"]):
                named = posixpath.normpath(posixpath.join(folder, one["path"]))
                yield re.sub(r"\.[cm]?[jt]sx?\Z", "", named)
