"""The interface of a language: its readers, and the types that they return."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator
    from pathlib import Path


class NamedTest(NamedTuple):
    """One test."""

    name: str
    """Name with its groups: `TestA.test_b` of Python, `sums > adds` of JavaScript."""
    line: int
    code: str
    """Its body without spaces and comments: equal code under another name is the same test."""
    asserts: bool


def later(module: str, name: str) -> Callable[..., Any]:
    """Return a function of a language's folder that is imported at its first call.

    So a run that asks all languages for markers compiles no patterns for imports and assertions.
    """

    def call(*given: object) -> object:
        return getattr(importlib.import_module(module), name)(*given)

    return call


def file_keys(text: str) -> Iterator[str]:
    """Yield the key of a file name in text: its last folder and name, or the name alone."""
    parts = [part for part in text.split("/") if part not in ("", ".", "..")]
    if parts:
        yield "lit:" + "/".join(parts[-2:])


class OutlinePatterns(NamedTuple):
    """The patterns that read a file's outline; fast enough for thousands of files."""

    offers: str
    """Matched groups are names, or comma-separated lists of them."""
    imports: str
    """Matched groups are the words of an import."""


class Marker(NamedTuple):
    """A kind of mark: words without which it cannot be there, its shape, and what it asks for."""

    needles: str
    pattern: str
    """`_` matches a few blanks within a line: none of these marks spans two lines."""
    meaning: str


SCANNER = "silences a security scanner"
LINTER = "silences a linter"
TYPES = "silences a type checker"
HIDES = "hides code from coverage"
SKIP = "skips a test"


class InnerTests(NamedTuple):
    """Tests that stand in files of the product."""

    mark: bytes
    """A file without these bytes has none."""
    places: Callable[[str], list[tuple[int, int]]]
    """Returns their start and end positions in a source, in order."""


class Compiler(Struct, frozen=True):
    """A compiler that looks at a whole project: which files wake it, and how it is called."""

    tool: str
    manifest: str
    suffixes: tuple[str, ...]
    line: str
    search: str = ""
    """Prefix of the command that finds the project's own copy of the tool."""
    local: str = ""
    """Path of such a copy, below a folder at or above the manifest."""
    unbuilt: Callable[[Path, str], str] | None = None
    """From tree and error to the package of this repository that is only not built yet."""


class CoverageSupport(NamedTuple):
    """The facts about measuring executed lines; `gates` measures."""

    needed: str
    """What a person has to do if nothing was measured."""
    tools: tuple[str, ...] = ()
    """Programs of which one must be installed; empty if the language's own tool measures."""
    absent: str = ""
    """Message if none of them is installed, with the command to type."""
    function: re.Pattern[bytes] | None = None
    """Missing in files with only types and constants; None if tools report every file."""


class Language(Struct, frozen=True):
    """One language. What is None is not known of it, and its field says what follows then."""

    title: str
    """Display name."""
    imports_of: Callable[[str, bytes], frozenset[str]]
    """From path and content to the keys that a file refers to; keys are only compared."""
    keys_of: Callable[[str], tuple[str, ...]]
    """From a path to the keys by which others refer to it, its location first."""
    names_of: Callable[[str, bytes], frozenset[str]] | None = None
    """From path and content of a manifest to further keys, found only in its content."""
    wide: tuple[str, ...] = ()
    """Keys of files that may refer to any file of this language."""
    started_keys: Callable[[str], tuple[str, ...]] | None = None
    """From a path to the keys of a program started by module name; None: never started."""
    root_of: Callable[[str, str], str] | None = None
    """From path and key to the folder where the key is resolved; None: any folder."""
    folder_is_unit: bool = False
    """Whether an import names a folder and refers to all files in it."""
    exports_of: Callable[[str, bytes], list[str] | None] | None = None
    """Exports of a file; None: any change of it counts as a change of its exports."""
    outline: OutlinePatterns | None = None
    """Patterns of its outline; None: briefs don't list its files."""
    test_file: re.Pattern[str] | None = None
    """Paths of tests; None: only files in a test folder are tests."""
    collected: re.Pattern[str] | None = None
    """Paths of files whose tests are collected by name; None: all of `test_file`."""
    find_tests: Callable[[str, str], tuple[NamedTest, ...] | None] | None = None
    """From path and source to its tests; None: not parsed, but landed tests still run."""
    inner_tests: InnerTests | None = None
    """Tests inside source files; None: tests have their own files."""
    loaded_first: re.Pattern[bytes] | None = None
    """Code in a new test file that runs before other tests; None: nothing in the language."""
    test_command: Callable[[tuple[str, ...], bytes, str], str] | None = None
    """Files, the content of one, and the task's own commands to a command that runs them;
    None, or an empty one: tests that no contract runs are not run, and that is reported."""
    coverage: CoverageSupport | None = None
    """Coverage support; None: lines are neither counted nor reported."""
    compiler: Compiler | None = None
    """Compiler; None: files are parsed one by one, if there is a parser for them."""
    syntax: tuple[str, ...] = ()
    """Command that parses a file from standard input; empty if compiling needs more."""
    markers: tuple[Marker, ...] = ()
    """Comments that suppress a tool's findings."""
    environment: str = ""
    """Code that reads an environment variable, `{}` for its name; empty: described in words."""
