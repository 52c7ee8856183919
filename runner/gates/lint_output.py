"""What linters and type checkers complain of, line by line, without their line numbers.

A complaint is `path: text`, counted: where one more stands in a file than before, it is new. Knows
`path:line:col: text` (ruff, mypy, flake8, go vet, gcc), `path(line,col): text` (tsc), the file
with its complaints below it (eslint) and the text with its place below it (ruff, rustc).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from runner.gates.result_parsers import without_colours

if TYPE_CHECKING:
    from collections.abc import Iterator

_COLON = re.compile(
    r"(?P<path>[^\s:()'\"`][^:()'\"`]*?\.\w+):\d+(?::\d+)?(?:-\d+)?:? +(?P<text>\S.*)"
)
_BRACKET = re.compile(r"(?P<path>[^\s:()][^:()]*?\.\w+)\(\d+(?:,\d+)?\): *(?P<text>\S.*)")
_ARROW = re.compile(r" *--> (?P<path>[^:]+):\d+(?::\d+)?\s*")
_FILE = re.compile(r"(?P<path>[^\s:].*\.\w{1,5})\s*")
_BELOW = re.compile(r"\s+\d+:\d+\s+(?P<text>(?:error|warning)\s+\S.*)")
_NUMBERED = re.compile(r"\b(line|lines|column|col)( |:)\d+")
_MOST = 20_000


def complaints(output: str, root: str = "") -> Counter[str]:
    """Every complaint in the output of a tool, with how often it stands there."""
    found: Counter[str] = Counter()
    for path, text in _parse_lines(without_colours(output).splitlines()[:_MOST]):
        at = path.removeprefix(root).removeprefix("/") if root else path
        said = _NUMBERED.sub(r"\1\2N", " ".join(text.split()))
        found[f"{at.removeprefix('./')}: {said}"] += 1
    return found


def _parse_lines(lines: list[str]) -> Iterator[tuple[str, str]]:
    file = above = ""
    for line in lines:
        match = _COLON.fullmatch(line) or _BRACKET.fullmatch(line)
        if match:
            yield match["path"], match["text"]
        elif (match := _ARROW.fullmatch(line)) and above.strip():
            yield match["path"], above
        elif file and (match := _BELOW.fullmatch(line)):
            yield file, match["text"]
        elif match := _FILE.fullmatch(line):
            file = match["path"]
        above = line
