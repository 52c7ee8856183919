"""What Node wrote by NODE_V8_COVERAGE, folded into lines of plain source.

The format is that of the Chrome DevTools Protocol, `Profiler.takePreciseCoverage`: functions with
nested ranges, of which the innermost counts; offsets are UTF-16 code units. Code that was
translated before it ran has other offsets, so it is left to c8, which knows of source maps.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from runner.gates.coverage.lines import Lines, merge
from runner.gates.coverage.stored import files_in, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PLAIN = (".js", ".mjs", ".cjs")
STRIPPED = (".ts", ".mts", ".cts")
"""Node itself blanks out their types and so keeps offsets; a source map tells that it did not."""
_NO_CODE = re.compile(r"[\s{}()\[\];,]*")
_MOST_RANGES = 200_000


def fold(
    folder: Path, inside: Callable[[str], str | None], source: Callable[[str], bytes | None]
) -> dict[str, Lines]:
    """The lines of every plain file that ran, over all processes."""
    found: dict[str, Lines] = {}
    for file in files_in(folder, "coverage-", ".json"):
        for path, ranges in _scripts(_parsed(text_of(file) or ""), inside):
            content = source(path)
            if content is not None:
                merge(found, {path: lines_run(content.decode("utf-8", "replace"), ranges)})
    return found


def _parsed(text: str) -> dict[str, object]:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _scripts(
    said: dict[str, object], inside: Callable[[str], str | None]
) -> Iterator[tuple[str, list[tuple[int, int, int]]]]:
    maps = said.get("source-map-cache")
    translated = set(maps) if isinstance(maps, dict) else set()
    scripts = said.get("result")
    for script in scripts if isinstance(scripts, list) else ():
        url = script.get("url") if isinstance(script, dict) else None
        if not isinstance(url, str) or url in translated or not url.startswith("file:"):
            continue
        path = inside(unquote(urlsplit(url).path))
        if path is not None and path.endswith(PLAIN + STRIPPED):
            yield path, _ranges(script)


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
    """The lines of a source with code on them, and those of which any code ran."""
    units = text.encode("utf-16-le", "surrogatepass")
    painted = bytearray(len(units) // 2)
    for start, last, count in ranges:
        end = min(last, len(painted))
        painted[start:end] = (b"\1" if count else b"\0") * max(0, end - start)
    with_code = dict(code_lines(text))
    ran = set()
    offset = 0
    for number, line in enumerate(text.split("\n"), start=1):
        width = len(line.encode("utf-16-le", "surrogatepass")) // 2
        if number in with_code and _any_ran(line, painted[offset : offset + width]):
            ran.add(number)
        offset += width + 1
    return Lines(frozenset(with_code), frozenset(ran) if ranges else frozenset())


def _any_ran(line: str, painted: bytearray) -> bool:
    """Whether anything but blanks and brackets ran; wide characters shift by what they take."""
    at = 0
    for letter in line:
        if at < len(painted) and painted[at] and not _NO_CODE.fullmatch(letter):
            return True
        at += 2 if ord(letter) > 0xFFFF else 1  # noqa: PLR2004 - one code unit of UTF-16
    return False


def code_lines(text: str) -> Iterator[tuple[int, str]]:
    """Number and text of each line that is more than blanks, brackets and comments."""
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
