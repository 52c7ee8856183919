"""Convert Node's NODE_V8_COVERAGE data into source lines.

The format is that of the Chrome DevTools Protocol, `Profiler.takePreciseCoverage`: functions with
nested ranges, of which the innermost counts. Offsets are UTF-16 code units. Code translated before
it ran has other offsets: its source map leads back, or it was not measured.

Source maps are revision 3 of the format (ECMA-426): `mappings` are segments in base 64, each number
relative to the one before. Node keeps the maps of what it ran beside the counts of V8, with sources
resolved.
"""

from __future__ import annotations

import json
import re
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from msgspec import Struct, field

from runner.gates.coverage.instrument import files_in, text_of
from runner.gates.coverage.lines import Lines, merge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


PLAIN = (".js", ".mjs", ".cjs")
STRIPPED = (".ts", ".mts", ".cts")
"""Node itself blanks out their types, which keeps offsets."""
_READ = (*PLAIN, *STRIPPED, ".jsx", ".tsx")
_NO_CODE = re.compile(r"[\s{}()\[\];,]*")
_MOST_RANGES = 200_000


class Folded(Struct, frozen=True):
    """The engine's coverage of a project's files."""

    lines: dict[str, Lines] = field(default_factory=dict)
    translated: set[str] = field(default_factory=set)
    """Files that ran in translated form, without a source map back to them."""
    gone: set[str] = field(default_factory=set)
    """Scripts that ran and no longer exist."""


def fold(
    folder: Path,
    inside: Callable[[str], str | None],
    source: Callable[[str], bytes | None],
    is_kept: Callable[[str], bool] = bool,
) -> Folded:
    """Combine the executed lines of all files over all processes.

    What was compiled is listed beside its sources only where it is a file of the project itself.
    """
    whole = Folded()
    for file in files_in(folder, "coverage-", ".json"):
        document = _parse(text_of(file) or "")
        maps = document.get("source-map-cache")
        for url, script in _scripts(document):
            ranges = _ranges(script)
            known = read_map(maps.get(url)) if isinstance(maps, dict) and url in maps else None
            path = inside(_path(url))
            if known is not None:
                merge(whole.lines, _mapped(known, ranges, inside, source, whole.translated))
            if path is None or not path.endswith(_READ):
                continue
            content = source(path)
            sources = {inside(_path(one)) for one in known.sources} - {None} if known else set()
            if path in sources or (sources and not is_kept(path)):
                continue
            if content is None:
                whole.gone.add(path)
                continue
            text = content.decode("utf-8", "replace")
            if path.endswith(PLAIN + STRIPPED) and _is_whole(url, text, ranges):
                merge(whole.lines, {path: lines_run(text, ranges)})
            else:
                whole.translated.add(path)
    return whole


def _is_whole(url: str, text: str, ranges: list[tuple[int, int, int]]) -> bool:
    """Return whether the source text has the length that V8 executed, so offsets match."""
    return url.startswith("file:") and (
        not ranges or ranges[0][1] == len(text.encode("utf-16-le", "surrogatepass")) // 2
    )


def _mapped(
    known: SourceMap,
    ranges: list[tuple[int, int, int]],
    inside: Callable[[str], str | None],
    source: Callable[[str], bytes | None],
    translated: set[str],
) -> dict[str, Lines]:
    """Return executed lines of the sources in a source map; changed files go to `translated`."""
    found: dict[str, Lines] = {}
    for at, lines in lines_of(known, _painted(ranges, known.size)).items():
        path = inside(_path(known.sources[at]))
        content = source(path) if path is not None else None
        if path is None or content is None:
            continue
        text, compiled = content.decode("utf-8", "replace"), known.texts[at]
        if compiled is not None and compiled.splitlines() != text.splitlines():
            translated.add(path)  # it was compiled from other bytes
            continue
        with_code = {number for number, _ in code_lines(text)} & lines.keys()
        ran = frozenset(number for number in with_code if lines[number]) if ranges else frozenset()
        found[path] = Lines(frozenset(with_code), ran)
    return found


def _parse(text: str) -> dict[str, object]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _scripts(document: dict[str, object]) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield address and counts of each script; test tools may give compiled ones a bare path."""
    scripts = document.get("result")
    for script in scripts if isinstance(scripts, list) else ():
        url = script.get("url") if isinstance(script, dict) else None
        if isinstance(url, str) and url.startswith(("file:", "/")):
            yield url, script


def _path(url: str) -> str:
    """Return the path of a URL without the query that tools add for reloading."""
    try:
        return unquote(urlsplit(url).path) if url.startswith("file:") else url.partition("?")[0]
    except ValueError:  # a command may have written any text
        return ""


def _ranges(script: dict[str, object]) -> list[tuple[int, int, int]]:
    """Start, end and count of every range, the outer before the inner."""
    found = []
    try:
        for function in script["functions"]:  # type: ignore[attr-defined]  # JSON from outside
            for each in function["ranges"]:
                place = (int(each["startOffset"]), int(each["endOffset"]), int(each["count"]))
                found.append(place)
    except (KeyError, TypeError, ValueError, OverflowError):
        return []
    found = [place for place in found[:_MOST_RANGES] if 0 <= place[0] < place[1]]
    return sorted(found, key=lambda place: (place[0], -place[1]))


def lines_run(text: str, ranges: list[tuple[int, int, int]]) -> Lines:
    """Return a source's lines with code, and those that ran."""
    painted = _painted(ranges, len(text.encode("utf-16-le", "surrogatepass")) // 2)
    with_code = dict(code_lines(text))
    ran = set()
    offset = 0
    for number, line in enumerate(text.split("\n"), start=1):
        width = len(line.encode("utf-16-le", "surrogatepass")) // 2
        if number in with_code and _any_ran(line, painted[offset : offset + width]):
            ran.add(number)
        offset += width + 1
    return Lines(frozenset(with_code), frozenset(ran) if ranges else frozenset())


def _painted(ranges: list[tuple[int, int, int]], size: int) -> bytearray:
    """Return whether each code unit ran; later, inner ranges take precedence."""
    painted = bytearray(size)
    for start, last, count in ranges:
        end = min(last, size)
        painted[start:end] = (b"\1" if count else b"\0") * max(0, end - start)
    return painted


def _any_ran(line: str, painted: bytearray) -> bool:
    """Return whether any character except blanks and brackets ran; offsets are UTF-16 units."""
    at = 0
    for letter in line:
        if at < len(painted) and painted[at] and not _NO_CODE.fullmatch(letter):
            return True
        at += 2 if ord(letter) > 0xFFFF else 1  # noqa: PLR2004 - one code unit of UTF-16
    return False


def code_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number and text of each line with code."""
    in_comment = False
    for number, line in enumerate(text.split("\n"), start=1):
        left = line.strip()
        if in_comment:
            _, closed, left = left.partition("*/")
            in_comment = not closed
        while left.lstrip().startswith("/*"):
            _, closed, left = left.partition("*/")
            in_comment = not closed
            left = left if closed else ""
        shebang = number == 1 and left.startswith("#!")
        if not shebang and not left.lstrip().startswith("//") and not _NO_CODE.fullmatch(left):
            yield number, left


# --- source maps ----------------------------------------------------------------------


_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_VALUE = {letter: number for number, letter in enumerate(_DIGITS)}
_MORE, _BITS = 32, 5
_MOST_SEGMENTS = 2_000_000
_WITH_SOURCE = 4
"""Numbers of a segment that has a source position."""


class Segment(NamedTuple):
    """One place in what was compiled, and where it stands in which source."""

    offset: int
    source: int
    line: int
    """Line number, from 1."""


class SourceMap(NamedTuple):
    """A map as far as lines need it."""

    sources: tuple[str, ...]
    texts: tuple[str | None, ...]
    """Sources as the compiler read them, if the map has them."""
    segments: tuple[Segment, ...]
    size: int
    """Code units of the compiled text."""


def read_map(entry: object) -> SourceMap | None:
    """Parse a source map from Node's `source-map-cache`; return None if it is invalid."""
    if not isinstance(entry, dict) or not isinstance(data := entry.get("data"), dict):
        return None
    try:
        lengths = [int(one) for one in entry["lineLengths"]]
        sources = tuple(map(str, data["sources"]))
        texts = data.get("sourcesContent") or ()
        kept = tuple(one if isinstance(one, str) else None for one in texts)
        segments = tuple(_segments(str(data["mappings"]), lengths, len(sources)))
    except (KeyError, TypeError, ValueError, IndexError, OverflowError):
        return None
    size = sum(lengths) + max(0, len(lengths) - 1)
    texts = kept if len(kept) == len(sources) else (None,) * len(sources)
    return SourceMap(sources, texts, segments, size) if segments else None


def _segments(mappings: str, lengths: list[int], sources: int) -> Iterator[Segment]:
    starts = [0, *accumulate(length + 1 for length in lengths)]
    source = line = count = 0
    for row, text in enumerate(mappings.split(";")[: len(lengths)]):
        column = 0
        for part in filter(None, text.split(",")):
            count += 1
            if count > _MOST_SEGMENTS:
                raise ValueError("too many segments")
            numbers = _numbers(part)
            column += numbers[0]
            if len(numbers) < _WITH_SOURCE:
                continue
            source += numbers[1]
            line += numbers[2]
            if not (0 <= source < sources and line >= 0):
                raise ValueError("no such source")
            if 0 <= column <= lengths[row]:
                yield Segment(starts[row] + column, source, line + 1)


def _numbers(part: str) -> list[int]:
    """Decode the base64 VLQ numbers of one source map segment."""
    found, value, shift = [], 0, 0
    for letter in part:
        digit = _VALUE[letter]
        value += (digit & (_MORE - 1)) << shift
        if digit & _MORE:
            shift += _BITS
            continue
        found.append(-(value >> 1) if value & 1 else value >> 1)
        value = shift = 0
    return found


def lines_of(known: SourceMap, painted: bytearray) -> dict[int, dict[int, bool]]:
    """Return by source which mapped lines ran."""
    found: dict[int, dict[int, bool]] = {}
    for one in known.segments:
        lines = found.setdefault(one.source, {})
        ran = one.offset < len(painted) and bool(painted[one.offset])
        lines[one.line] = lines.get(one.line, False) or ran
    return found
