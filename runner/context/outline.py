"""What each source file offers and names, read by pattern: names, lines, words of its imports.

Lighter than the syntax trees of `impact`, which a repository of 5,000 files has no time for before
every attempt; whether an import really leads somewhere is asked there, of the few in question.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from runner.impact.javascript import SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_NAMES = 40
_WORD = re.compile(r"[A-Za-z_$][\w$-]*")
_LARGEST = 1_000_000
"""Bytes of a file that is read for its outline; larger ones were generated."""


class Outline(NamedTuple):
    """One source file."""

    names: str
    """What it exports, in its own order, between blanks."""
    lines: int
    mentions: str
    """Every word of its imports, each between blanks."""


EMPTY = Outline("", 0, "")


@dataclass(frozen=True, slots=True)
class _Reader:
    suffixes: tuple[str, ...]
    offers: re.Pattern[str]
    """Groups that matched are names, or lists of them between commas."""
    imports: re.Pattern[str]


_READERS = (
    _Reader(
        (".py", ".pyi"),
        re.compile(
            r"^(?:async +)?def +([A-Za-z]\w*)|^class +([A-Za-z]\w*)|^([A-Z][A-Z\d_]+)\s*[:=]",
            re.MULTILINE,
        ),
        re.compile(
            r"^[ \t]*(?:from[ \t]+(\S+)[ \t]+)?import[ \t]+(?:\(([^)]*)\)|([^\n#]*))", re.MULTILINE
        ),
    ),
    _Reader(
        SUFFIXES,
        re.compile(
            r"^export\s+(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?"
            r"(?:function\*?|class|const|let|var|interface|type|enum|namespace)\s+([\w$]+)"
            r"|^export\s*(?:type\s*)?\{([^}]*)\}|^(?:module\.)?exports\.([\w$]+)\s*="
            r"|^module\.exports\s*=\s*\{([^}]*)\}|^export\s+(default)\b",
            re.MULTILINE,
        ),
        re.compile(r"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*['"`]([^'"`\n]+)['"`]"""),
    ),
    _Reader(
        (".go",),
        re.compile(
            r"^func +(?:\([^)]*\) *)?([A-Z]\w*)|^type +([A-Z]\w*)|^(?:var|const) +([A-Z]\w*)",
            re.MULTILINE,
        ),
        re.compile(r"^import\s*(?:\(([^)]*)\)|([^\n]*))", re.MULTILINE),
    ),
    _Reader(
        (".rs",),
        re.compile(
            r"^[ \t]*pub(?:\([^)]*\))?\s+(?:(?:async|unsafe|const|extern(?:\s+\"[^\"]*\")?)\s+)*"
            r"(?:fn|struct|enum|trait|type|mod|static|const|union)\s+(?:mut\s+)?(\w+)",
            re.MULTILINE,
        ),
        re.compile(
            r"^[ \t]*(?:pub(?:\([^)]*\))?\s+)?(?:use|mod)\s+([^;{]*(?:\{[^;]*)?)", re.MULTILINE
        ),
    ),
)


def is_source(path: str) -> bool:
    """Whether a file is of a language whose exports are read here."""
    return _reader(path) is not None


def outline_of(path: str, content: bytes) -> Outline:
    """What one file offers; nothing for a language that is not known, or a huge file."""
    reader = _reader(path)
    if reader is None or len(content) > _LARGEST:
        return EMPTY
    text = content.decode("utf-8", "replace")
    names = " ".join([*dict.fromkeys(_find_offered(reader, text))][:_MOST_NAMES])
    said = " ".join(part for found in reader.imports.finditer(text) for part in found.groups(""))
    words = " ".join(sorted({*_WORD.findall(said)}))
    lines = text.count("\n") + (not text.endswith("\n") and bool(text))
    return Outline(names, lines, f" {words} ")


def _reader(path: str) -> _Reader | None:
    return next((reader for reader in _READERS if path.endswith(reader.suffixes)), None)


def _find_offered(reader: _Reader, text: str) -> Iterator[str]:
    for match in reader.offers.finditer(text):
        for part in match.groups(""):
            for one in part.split(",") if part else ():
                words = _WORD.findall(one.rpartition(" as ")[2].partition(":")[0])
                yield from words[:1]
