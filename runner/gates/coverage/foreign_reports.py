"""Reports of other tools about lines that ran: lcov, Cobertura XML, Go cover profiles.

Each reader takes the text and `inside`, which gives a path as the project knows it or None for a
file elsewhere. Damaged lines are left out; what is no report at all gives nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from runner.gates.coverage.lines import Lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Inside: TypeAlias = "Callable[[str], str | None]"
_MOST_LINES = 1_000_000
"""Of one file; numbers beyond are nonsense, and blocks beyond are not looked at."""
_GO = re.compile(r"^(?P<path>.+):(\d{1,9})\.\d+,(\d{1,9})\.\d+ (\d+) (\d{1,18})$")


def from_lcov(text: str, inside: Inside) -> dict[str, Lines]:
    """Tracefiles of lcov (geninfo(1), "FILES"): `SF:` names a file, `DA:line,hits` a line."""
    hits: dict[str, dict[int, int]] = {}
    current: dict[int, int] = {}
    for row in text.splitlines():
        name, _, value = row.strip().partition(":")
        if name == "SF":
            path = inside(value)
            current = {} if path is None else hits.setdefault(path, {})
        elif name == "DA":
            _count(current, value.split(",")[:2])
    return _lines_of(hits)


def from_cobertura(text: str, inside: Inside) -> dict[str, Lines]:
    """Cobertura's XML (its coverage-04.dtd): `class filename` with `line number hits`.

    A document that declares entities is refused: it could grow without end.
    """
    import xml.etree.ElementTree as ET

    if "<!ENTITY" in text:
        return {}
    try:
        top = ET.fromstring(text)  # noqa: S314 - likewise
    except (ET.ParseError, ValueError, RecursionError):
        return {}
    sources = [one.text.strip().rstrip("/") for one in top.iter("source") if one.text] or [""]
    hits: dict[str, dict[int, int]] = {}
    for each in top.iter("class"):
        name = each.get("filename", "")
        found = (inside(f"{source}/{name}" if source else name) for source in sources)
        path = next((one for one in found if one), None) or inside(name)
        if path is not None:
            of_file = hits.setdefault(path, {})
            for line in each.iter("line"):
                _count(of_file, (line.get("number", ""), line.get("hits", "")))
    return _lines_of(hits)


def from_go(text: str, inside: Inside) -> dict[str, Lines]:
    """Cover profiles of Go (cmd/cover): `path:line.column,line.column statements count`."""
    hits: dict[str, dict[int, int]] = {}
    left = _MOST_LINES
    for row in text.splitlines():
        match = _GO.match(row.strip())
        path = inside(match["path"]) if match else None
        if match is None or path is None:
            continue
        start, end, count = int(match[2]), int(match[3]), int(match[5])
        left -= max(0, end - start)
        if not 0 < start <= end <= _MOST_LINES or left < 0:
            continue
        for line in range(start, end + 1):
            of_file = hits.setdefault(path, {})
            of_file[line] = of_file.get(line, 0) + count
    return _lines_of(hits)


def _count(lines: dict[int, int], said: Iterable[str]) -> None:
    try:
        number, hits = (int(float(part)) for part in said)
    except (ValueError, OverflowError):
        return
    if 0 < number <= _MOST_LINES:
        lines[number] = lines.get(number, 0) + max(0, hits)


def _lines_of(hits: dict[str, dict[int, int]]) -> dict[str, Lines]:
    return {
        path: Lines(frozenset(lines), frozenset(line for line, count in lines.items() if count))
        for path, lines in hits.items()
        if lines
    }
