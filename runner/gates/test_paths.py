"""Detect test files and the tests in them."""

from __future__ import annotations

import posixpath
import re
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from runner.languages.registry import code_language, is_source, is_written_in, language_of
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from runner.languages.base import NamedTest
    from runner.plan.shell import programs, shell_commands
else:
    programs = lazy_module("runner.plan.shell.programs")
    shell_commands = lazy_module("runner.plan.shell.shell_commands")

_FOLDER = regex(
    r"(?:\A|/)(?:tests?|__tests__|__mocks__|specs?|e2e|testdata|fixtures)/", re.IGNORECASE
)
_OTHERS = regex(r"(?:\A|/)(?:[^/]*_spec\.rb|[^/]*(?:Test|Tests|Spec)\.(?:java|kt|cs|scala))\Z")
"""Test files of unsupported languages."""

_CHECKS = regex(
    r"\.(?:sh|bash|bats|mk)\Z|(?:\A|[/_.-])(?:tests?|checks?|verify|smoke|selftest|ci)(?=[/_.-])"
)
_HOLDS_CHECKS = regex(
    rb"^[ \t]*(?:async )?def test\w*\(|\bunittest\b|^[ \t]*(?:import|from) pytest\b"
    rb"|\bnode:(?:test|assert)\b|\brequire\(['\"]assert|^assert\b|\bdescribe\(|\b(?:it|test)\(['\"]|#\[test\]|testing\.T\b",
    re.MULTILINE,
)
_EXAMPLES = regex(rb"^[ \t]*>>> ", re.MULTILINE)
_RUNS_EXAMPLES = regex(r"\bdoctest\b|\bpy\.?test\b|\b(?:sybil|byexample)\b")
_GLOBS = regex(r"--doctest-glob[= ]\s*['\"]?([^\s'\"]+)")
_LARGEST = 500_000
_LARGEST_SOURCE = 2_000_000
"""Maximum bytes of a file searched for tests; a larger one contains data."""
_LOOKERS = "[ [[ cmp diff egrep fgrep grep jq rg stat test wc yq"
_READERS = frozenset(_LOOKERS.split())
"""Programs that read a file without running it."""
_INNER = regex(r"[$<>]\(|`")


def is_test_path(path: str) -> bool:
    """Return whether a project path is a test or belongs to tests."""
    if _FOLDER.search(path) or _OTHERS.search(path):
        return True
    language = language_of(path)
    return bool(language and language.test_file and language.test_file.search(path))


def holds_tests(path: str) -> bool:
    """Return whether a file contains tests, by the file name that its language collects."""
    language = code_language(path)
    collected = language.collected if language else None
    return bool(collected.search(path)) if collected else is_test_path(path)


def is_test_of(path: str, read: Callable[[], bytes], commands: Iterable[str]) -> bool:
    """Return whether a test contract runs a file that contains tests or checks.

    `read` gives the file's content; it is called only where that decides. A file that a contract
    runs is a test, whatever its name: `python -m unittest t_lib` makes `t_lib.py` one. A program
    that it merely starts, or a file that it searches (`grep -q unittest ci.yml`), is no test. A
    text with examples is a test where they run: `python -m doctest README.md`.
    """
    lines = tuple(commands)
    if any(_names(path, one) and _names(path, _without_readers(one)) for one in lines) and (
        _CHECKS.search(path) or _HOLDS_CHECKS.search(read()[:_LARGEST])
    ):
        return True
    if is_source(path) or not any(_runs_examples(path, one) for one in lines):
        return False
    return bool(_EXAMPLES.search(read()[:_LARGEST]))


def _runs_examples(path: str, line: str) -> bool:
    """Return whether a command line runs the doctest examples of a file."""
    if not _RUNS_EXAMPLES.search(line):
        return False
    line = _without_readers(line)
    if not _RUNS_EXAMPLES.search(line):
        return False
    name = path.rpartition("/")[2]
    return _names(path, line) or any(fnmatch(name, one) for one in _GLOBS.findall(line))


def _without_readers(line: str) -> str:
    """Return a line without commands that only read files."""
    for command in shell_commands.commands_of(line):
        # a command in a substitution runs, whatever reads its output
        if not _INNER.search(command.text) and programs.program_of(command).name in _READERS:
            line = line.replace(command.text, " ", 1)
    return line


def _names(path: str, command: str) -> bool:
    """Return whether a command line contains the path or its Python module name."""
    if path in command:
        return bool(re.search(rf"(?<![\w/.-])(?:\./)?{re.escape(path)}(?![\w/-])", command))
    stem = path.rpartition(".")[0]
    if not is_written_in(path, "python") or "-m" not in command:
        return False
    module = stem.removeprefix("src/").replace("/", ".")
    return bool(re.search(rf"(?<![\w.]){re.escape(module)}(?![\w])", command))


def find_tests(path: str, content: bytes | None) -> tuple[NamedTest, ...] | None:
    """Return the tests of a file, none for an absent one; None where it cannot be read."""
    language = code_language(path)
    if content is None:
        return ()
    if language is None or language.find_tests is None or len(content) > _LARGEST_SOURCE:
        return None
    return language.find_tests(path, content.decode("utf-8", "replace"))


def is_benchmark(name: str, path: str) -> bool:
    """Return whether a Go function runs only with `-bench` (go help testflag)."""
    return is_written_in(path, "go") and name.startswith("Benchmark")


# --- files that the settings of a test tool load before the tests -----------------------

_ENDINGS = ("ts", "mts", "js", "mjs", "cjs")
_CONFIGURATIONS = (
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
_LARGEST_SETTINGS = 200_000


def is_named_support(
    path: str, read: Callable[[], bytes], named_in: Callable[[str], Collection[str]]
) -> bool:
    """Return whether a file is test setup that the base's configuration loads.

    Such a setup file teaches every test what is equal, whatever it is called and wherever it lies.
    A change cannot make a file of the product one of them.

    `named_in` is `find_named` of a folder of the base.
    """
    if not is_written_in(path, "javascript"):
        return False
    stem = posixpath.splitext(path)[0]
    named = any(stem in named_in(folder) for folder in _folders(path))
    return named and bool(_ABOUT_TESTS.search(read()[:_LARGEST_SETTINGS]))


def _folders(path: str) -> Iterator[str]:
    """Yield the folders of a file up to the repository's top."""
    folder = posixpath.dirname(path)
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
    yield ""


def find_named(folder: str, before: Callable[[str], bytes | None]) -> Iterator[str]:
    """Yield the setup files, without suffixes, that a folder's test configurations load."""
    tools = (f"{tool}.config.{end}" for tool in ("vitest", "vite", "jest") for end in _ENDINGS)
    for name in (*tools, *_CONFIGURATIONS):
        content = before(posixpath.join(folder, name))
        for key in _KEY.finditer((content or b"")[:_LARGEST_SETTINGS].decode("utf-8", "replace")):
            for one in _NAMED.finditer(key["value"]):
                named = posixpath.normpath(posixpath.join(folder, one["path"]))
                yield re.sub(r"\.[cm]?[jt]sx?\Z", "", named)
