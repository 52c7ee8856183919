"""Compute the share of lines that ran, from measurements and file contents.

Executable lines of a Python file, found by coverage.py's own parser without its exclusions.
"""

from __future__ import annotations

import io
import math
import re
import tokenize
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from runner.gates.coverage.lines import Lines, assume_built
from runner.gates.coverage.v8 import code_lines
from runner.impact.python_blocks import ranges_of
from runner.languages.javascript import TYPED
from runner.languages.registry import code_language, is_written_in
from runner.model import Coverage
from runner.process.tools import which
from runner.text.python_syntax import one_at_a_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from runner.gates.coverage.lines import Measured


_LONGEST = 600
_NO_MAP = "make the build write source maps (tsconfig.json: sourceMap: true), or test the sources"


class Weighed(Struct, frozen=True):
    """One file: its own executable lines, and all of them."""

    path: str
    own: Lines
    whole: Lines

    @property
    def left_out(self) -> frozenset[int]:
        """Own lines that nothing ran."""
        return self.own.executable - self.own.ran

    @property
    def shown(self) -> str:
        """Those lines, as `12-15, 20`."""
        text = ranges_of(self.left_out).replace(",", ", ")
        return text if len(text) <= _LONGEST else text[:_LONGEST].rpartition(",")[0] + " …"


class Unmeasured(NamedTuple):
    """A language, the first file of it that was not measured, why, and what would help."""

    language: str
    path: str
    why: str
    needed: str


class Weight(Struct, frozen=True):
    """All files of a task, and what could not be measured."""

    files: tuple[Weighed, ...]
    unmeasured: tuple[Unmeasured, ...] = ()

    @property
    def lines(self) -> int:
        """Own executable lines."""
        return sum(len(one.own.executable) for one in self.files)

    @property
    def ran(self) -> int:
        """Own lines that were run."""
        return sum(len(one.own.ran) for one in self.files)

    def reaches(self, threshold: float) -> bool:
        """Return whether the coverage reaches the threshold."""
        return self.ran * 100 >= threshold * self.lines

    def coverage(self, threshold: float) -> Coverage | None:
        """Return the coverage in percent, rounded down to two places; None without lines."""
        if not self.lines:
            return None
        whole = sum(len(one.whole.executable) for one in self.files)
        ran = sum(len(one.whole.ran) for one in self.files)
        return Coverage(
            percent=_percent(self.ran, self.lines),
            lines=self.lines,
            threshold=threshold,
            whole=_percent(ran, whole) if whole else None,
        )


def weigh(
    own: Mapping[str, frozenset[int]],
    measured: Measured,
    content: Callable[[str], bytes | None],
    environment: Mapping[str, str],
) -> Weight:
    """Return which own lines ran, and the languages of which nothing could be measured.

    `environment` is the commands' own: its PATH tells whether a language's tool is installed.
    """
    measured = assume_built(measured, own)
    seen = {language_of(path) for path in (*measured.lines, *measured.runs)}
    # Then a file without any line did not run: the measurement itself worked.
    if any(name in ("coverage", "tracer") for name, _ in measured.tools):
        seen.add("Python")
    files: list[Weighed] = []
    unmeasured: dict[str, Unmeasured] = {}
    for path, lines in sorted(own.items()):
        language, text = language_of(path), content(path) or b""
        if _ran_compiled(path, measured):
            named = "TypeScript" if PurePosixPath(path).suffix in TYPED else language
            unmeasured.setdefault(named, _make_translated(named, path, measured))
            continue
        unseen = language and language not in seen
        one = _weigh_file(path, lines, measured, text)
        if one is None or (unseen and (one.own.executable or _has_code(path, lines, text))):
            unmeasured.setdefault(language, _make_unseen(language, path, environment))
        elif one.own.executable:
            files.append(one)
    return Weight(tuple(files), tuple(unmeasured.values()))


def _ran_compiled(path: str, measured: Measured) -> bool:
    """Return whether only a compiled version of this file ran, without a source map."""
    if path in measured.translated:
        return True
    pure = PurePosixPath(path)
    if pure.suffix not in TYPED or path in measured.lines:
        return False
    # By name only, since compilers write to their own folder (`outDir`).
    made = pure.with_suffix(pure.suffix.replace("ts", "js").removesuffix("x")).name
    return any(PurePosixPath(one).name == made for one in measured.lines)


def _make_translated(language: str, path: str, measured: Measured) -> Unmeasured:
    build = f" ({min(measured.builds)})" if measured.builds else ""
    why = f"the tests ran compiled {language}{build} without a source map to this file"
    return Unmeasured(language, path, why, _NO_MAP)


def _make_unseen(language: str, path: str, environment: Mapping[str, str]) -> Unmeasured:
    why = f"the test contracts ran no {language} code that can be measured"
    return Unmeasured(language, path, why, _needed(path, environment))


def language_of(path: str) -> str:
    """Return the language whose tools measure a file; empty for other files."""
    read = code_language(path)
    return read.title if read and read.coverage else ""


def _needed(path: str, environment: Mapping[str, str]) -> str:
    """Return the missing setup for measuring a file's language; empty if it is unknown."""
    read = code_language(path)
    if read is None or read.coverage is None:
        return ""
    tools = read.coverage.tools
    lacking = tools and not any(which(tool, environment) for tool in tools)
    return read.coverage.absent if lacking else read.coverage.needed


def _weigh_file(
    path: str, own: frozenset[int], measured: Measured, content: bytes
) -> Weighed | None:
    """Return the coverage of one file; None if its executable lines are unknown."""
    ran = measured.ran(path)
    if is_written_in(path, "python"):
        found, code = statements(content), measured.code.get(path)
        if found is None and code is None:
            return None
        if found is None:  # syntax of a newer Python than ours, which ran it all the same
            found = Statements(code or frozenset(), {})
        first = found.first if code is None else found.of(code)
        whole = Lines(first, found.of(ran) & first)
        mine = found.of(own) & first
        return Weighed(path, Lines(mine, mine & whole.ran), whole)
    whole = measured.lines.get(path) or _not_loaded(path, content)
    return Weighed(path, Lines(whole.executable & own, whole.ran & own), whole)


def _has_code(path: str, own: frozenset[int], content: bytes) -> bool:
    """Return whether some of these lines are code, in a language that only tools measure."""
    read = code_language(path)
    mark = read.coverage.function if read and read.coverage else None
    if mark is None or not mark.search(content):
        return False
    return any(number in own for number, _ in code_lines(content.decode("utf-8", "replace")))


def _not_loaded(path: str, content: bytes) -> Lines:
    """Return the lines of a file without coverage data; only scripts have any."""
    if not is_written_in(path, "javascript") or path.endswith((".d.ts", ".d.mts", ".d.cts")):
        return Lines(frozenset(), frozenset())
    numbers = (number for number, _ in code_lines(content.decode("utf-8", "replace")))
    return Lines(frozenset(numbers), frozenset())


def _percent(part: int, of: int) -> float:
    # Round down: 99.998 is not complete and must not be shown as 100.
    return math.floor(part * 10_000 / of) / 100


# --- statements -----------------------------------------------------------------------


_FOR_CHECKERS = r"^\s*if (?:typing\.)?TYPE_CHECKING:"
_NO_BODY = r"^\s*(?:(?:(?:async )?def .*?)?\)(?:\s*->.*?)?:\s*)?\.\.\.\s*(?:#|$)"
_SET = re.compile(r"^[ \t]*TYPE_CHECKING\s*(?::[^=\n]+)?=(?!\s*False\s*$)", re.MULTILINE)


class Statements(Struct, frozen=True):
    """The lines on which statements of a file begin, and where each other line belongs."""

    first: frozenset[int]
    _begins: dict[int, int]

    def of(self, lines: Iterable[int]) -> frozenset[int]:
        """Return the first lines of the statements that contain these lines."""
        return frozenset(self._begins.get(line, line) for line in lines) & self.first


@lru_cache(maxsize=256)
def statements(content: bytes) -> Statements | None:
    """Return the statements of a Python file, or None if it cannot be parsed.

    Left out is only what never runs anywhere: docstrings, blocks for type checkers and bodies
    that are `...`. A comment such as `pragma: no cover` hides nothing.
    """
    with one_at_a_time():  # a second thread would find them half imported
        from coverage.exceptions import CoverageException
        from coverage.parser import PythonParser

    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        text = content.decode(encoding)
        # A file that sets TYPE_CHECKING true itself runs that block: then exclude nothing.
        hidden = (_NO_BODY,) if _SET.search(text) else (_NO_BODY, _FOR_CHECKERS)
        with one_at_a_time():
            parser = PythonParser(text=text, filename="x.py", exclude="|".join(hidden))
            parser.parse_source()
    # Too deeply nested source raises MemoryError in CPython's parser, and RecursionError when its
    # tree is built.
    except (CoverageException, SyntaxError, ValueError, LookupError, RecursionError, MemoryError):
        return None
    many = range(1, text.count("\n") + 2)
    begins = {line: first for line in many if (first := parser.first_line(line)) != line}
    return Statements(frozenset(parser.statements), begins)
