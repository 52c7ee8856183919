"""Detect the test frameworks of a repository, and the command that runs all tests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.languages.registry import code_row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.config.stack import Stack
    from runner.context.tree import Tree

_LOOKED_INTO = 30
"""Test files that are read to detect their framework."""
_PYTEST = re.compile(rb"^[ \t]*(?:import|from)\s+pytest\b", re.MULTILINE)
_UNITTEST = re.compile(rb"^[ \t]*(?:import|from)\s+unittest\b", re.MULTILINE)
_NODE_TEST = re.compile(rb"node:test")
_RUNNERS = ("vitest", "jest", "mocha", "ava")
_BY_FILE = frozenset({"pytest", "vitest", "jest", "mocha", "ava", "node --test"})
"""Frameworks whose command takes file paths."""
NO_COMMAND = "no known test command of the project runs single files"
"""Why an author cannot write tests."""
_NATIVE = re.compile(r"\bnode\b[^&|;]*\s--test\b(?!-)")


class TestFramework(Struct, frozen=True):
    """A test framework, and the command that runs all its tests."""

    __test__ = False

    name: str
    command: str
    why: str
    """Evidence for the framework."""
    files: int = 0


def find_test_frameworks(tree: Tree, stack: Stack) -> Iterator[TestFramework]:
    """Yield the test frameworks of a commit, found by manifests, else by imports."""
    tests: dict[str, list[str]] = {}
    for path in sorted(tree.files):
        row = code_row(path)
        if row and (pattern := row.language.test_file) and pattern.search(path):
            tests.setdefault(row.name, []).append(path)
    yield from _python_tests(tree, stack, tests.get("python", []))
    yield from _script_tests(tree, stack, tests.get("javascript", []))
    if tests.get("go"):
        yield TestFramework("go test", "go test ./...", "files", len(tests["go"]))
    if tree.is_file("Cargo.toml"):
        yield TestFramework("cargo test", "cargo test", "Cargo.toml", len(tests.get("rust", ())))


def find_by_file(tree: Tree, stack: Stack) -> TestFramework | None:
    """Return what runs single files of the tests; None where nothing is known to."""
    return next((one for one in find_test_frameworks(tree, stack) if one.name in _BY_FILE), None)


def _python_tests(tree: Tree, stack: Stack, files: list[str]) -> Iterator[TestFramework]:
    declared = "python:pytest" in dict(stack.commands) or "pytest" in stack.dependencies
    used = not declared and _any(tree, files, _PYTEST)
    if declared or used:
        why = (stack.pytest_place or "pyproject.toml") if declared else "imports of the tests"
        yield TestFramework("pytest", "python -m pytest -q", why, len(files))
    elif files and _any(tree, files, _UNITTEST):
        command, why = "python -m unittest discover -q", "imports of the tests"
        yield TestFramework("unittest", command, why, len(files))
    elif files:
        yield TestFramework("pytest", "python -m pytest -q", "names of the tests", len(files))


def _script_tests(tree: Tree, stack: Stack, files: list[str]) -> Iterator[TestFramework]:
    script = dict(stack.commands).get("npm:test", "")
    named = next((one for one in _RUNNERS if one in stack.dependencies or one in script), "")
    native = bool(_NATIVE.search(script)) or (not named and _any(tree, files, _NODE_TEST))
    if named or native or (script and "no test specified" not in script):
        name = named or ("node --test" if native else "npm test")
        command = "npm test --silent" if script else f"npx {named}" if named else "node --test"
        yield TestFramework(name, command, "package.json" if script else "files", len(files))


def _any(tree: Tree, files: list[str], pattern: re.Pattern[bytes]) -> bool:
    return any(pattern.search(tree.read(one) or b"") for one in files[:_LOOKED_INTO])
