"""What the house knows about a language: its readers, and the nouns that they speak in."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, NamedTuple

from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator
    from pathlib import Path


class NamedTest(NamedTuple):
    """One test."""

    name: str
    """With its groups: `TestA.test_b` of Python, `sums > adds` of JavaScript."""
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
    """The keys of a text that names a file: with its folder, or, without one, the name alone."""
    parts = [part for part in text.split("/") if part not in ("", ".", "..")]
    if parts:
        yield "lit:" + "/".join(parts[-2:])


class OutlinePatterns(NamedTuple):
    """How a file's outline is read: by pattern, for a tree may have thousands of files."""

    offers: str
    """Groups that matched are names, or lists of them between commas."""
    imports: str
    """Groups that matched are the words of an import."""


class Marker(NamedTuple):
    """A kind of mark: words without which it cannot be there, its shape, and what it asks for."""

    needles: str
    pattern: str
    """`_` stands for a few blanks within a line: none of these marks reaches over two."""
    meaning: str


SCANNER = "silences a security scanner"
LINTER = "silences a linter"
TYPES = "silences a type checker"
HIDES = "hides code from coverage"
SKIP = "skips a test"


class InnerTests(NamedTuple):
    """Tests that stand in files of the product."""

    mark: bytes
    """Without it a file has none."""
    places: Callable[[str], list[tuple[int, int]]]
    """Where they begin and end in a source, in order."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler that looks at a whole project: which files wake it, and how it is called."""

    tool: str
    manifest: str
    suffixes: tuple[str, ...]
    line: str
    search: str = ""
    """What is put before the line to have it run by the project's own copy of the tool."""
    local: str = ""
    """Where such a copy lies, below a folder at or above the manifest."""
    version: str = ""
    """What fails only where the compiler cannot start; empty: it is not asked."""
    unbuilt: Callable[[Path, str], str] | None = None
    """Tree and error to the package of this repository that it only says is not built yet."""


class CoverageSupport(NamedTuple):
    """What is known of measuring which lines ran; the measuring itself is the gates'."""

    needed: str
    """What a person has to do where nothing was measured."""
    tools: tuple[str, ...] = ()
    """Programs of which one must be installed; none where the language's own tool measures."""
    absent: str = ""
    """What is true where none of them is installed, and what to type."""
    function: re.Pattern[bytes] | None = None
    """What a file of types and constants alone has not; None where tools tell of every file."""


@dataclass(frozen=True, slots=True)
class Language:
    """One language. What is None is not known of it, and its field says what follows then."""

    title: str
    """Its name as people write it."""
    imports_of: Callable[[str, bytes], frozenset[str]]
    """Path and content to the keys that a file refers to; keys only have to be equal."""
    keys_of: Callable[[str], tuple[str, ...]]
    """Path to the keys by which others refer to it, its place first."""
    names_of: Callable[[str, bytes], frozenset[str]] | None = None
    """Path and content of a manifest to further keys, which only its content says."""
    wide: tuple[str, ...] = ()
    """Keys of files that may refer to anything of this language."""
    started_keys: Callable[[str], tuple[str, ...]] | None = None
    """Path to the keys of a program that is started by its module's name; None: it never is."""
    root_of: Callable[[str, str], str] | None = None
    """Path and key to the folder that the key is looked up in; None: a key leads from anywhere."""
    folder_is_unit: bool = False
    """Whether an import names a folder and means all files in it."""
    exports_of: Callable[[str, bytes], list[str] | None] | None = None
    """What a file offers to others; None: a change of it counts as one of what it offers."""
    outline: OutlinePatterns | None = None
    """None: its files are not listed in briefs."""
    test_file: re.Pattern[str] | None = None
    """Paths of tests; None: only what lies in a folder of tests is one."""
    collected: re.Pattern[str] | None = None
    """Paths of files whose tests are found by name; None: all of `test_file`."""
    find_tests: Callable[[str, str], tuple[NamedTest, ...] | None] | None = None
    """Path and source to the tests; None: nobody reads them, landed ones still run."""
    inner_tests: InnerTests | None = None
    """None: tests stand in files of their own."""
    loaded_first: re.Pattern[bytes] | None = None
    """What in a new test file runs before the tests of others; None: nothing of the language."""
    test_command: Callable[[tuple[str, ...], bytes, str], str] | None = None
    """Files, the content of one, and the task's own commands to a command that runs them;
    None, or an empty one: tests that no contract runs are not run, and that is reported."""
    coverage: CoverageSupport | None = None
    """None: its lines are not weighed, and nothing is reported of them."""
    compiler: Compiler | None = None
    """None: files are parsed one by one, as far as there is a parser for them."""
    syntax: tuple[str, ...] = ()
    """A command that parses a file from its standard input; empty where compiling needs more."""
    markers: tuple[Marker, ...] = ()
    """Marks that ask a tool to look away."""
    environment: str = ""
    """How a variable of the environment is read, `{}` in its name's place; empty: in words."""
