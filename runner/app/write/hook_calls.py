"""The writes that a call of an agent program's tool means, read from the call it hands a hook.

Tools that name one file (`Write`, `Edit`, `MultiEdit`, `NotebookEdit`; `write_file`, `replace`),
and patches as Codex applies them, by their own tool or in a shell line:

    *** Begin Patch
    *** Update File: src/app.py
    @@ def one():
    -    return 1
    +    return 2
    *** End Patch
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_WHOLE = ("content", "file_text")
_NAMES = ("file_path", "notebook_path", "absolute_path", "path")
_PATCH = re.compile(
    r"^[ \t]*\*\*\* Begin Patch[^\n]*\n(.*?)^[ \t]*\*\*\* End Patch", re.MULTILINE | re.DOTALL
)
_FILE = re.compile(r"[ \t]*\*\*\* (Add|Update|Delete) File: (.+?)[ \t\r]*")
_MOVED = re.compile(r"[ \t]*\*\*\* Move to: (.+?)[ \t\r]*")


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes that are replaced by others; empty ones stand for a file that is empty."""

    old: bytes
    new: bytes
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class Write:
    """What becomes of one file."""

    path: Path
    """As the tool names it, which may be relative to its working folder."""
    whole: bytes | None = None
    edits: tuple[Edit, ...] = ()
    removes: bool = False
    source: Path | None = None
    """The file whose bytes are moved here, where that is another."""

    def content(self, before: bytes) -> bytes | None:
        """What the file would hold; as it was where the tool itself will refuse the edit."""
        if self.removes:
            return None
        if self.whole is not None:
            return self.whole
        for edit in self.edits:
            count = -1 if edit.everywhere else 1
            before = before.replace(edit.old, edit.new, count) if edit.old else before or edit.new
        return before


def writes_of(arguments: Mapping[str, object]) -> Iterator[Write]:
    """The writes that a tool's arguments ask for; none for a call that names no file to write."""
    path = next((one for name in _NAMES if isinstance(one := arguments.get(name), str) and one), "")
    if path:
        whole = next((arguments[name] for name in _WHOLE if name in arguments), None)
        edits = tuple(_edits(arguments))
        if isinstance(whole, str):
            yield Write(Path(path), whole=_bytes(whole))
        elif edits or "notebook_path" in arguments:  # else it reads
            yield Write(Path(path), edits=edits)
        return
    for name in ("command", "input", "patch", "cmd"):
        if isinstance(text := arguments.get(name), str):
            for patch in _PATCH.finditer(text):
                yield from _of_patch(patch[1].split("\n"))


def _edits(arguments: Mapping[str, object]) -> Iterator[Edit]:
    many = arguments.get("edits")
    for row in many if isinstance(many, list) else [arguments]:
        if not isinstance(row, dict):
            continue
        old, new = row.get("old_string"), row.get("new_string")
        if isinstance(old, str) and isinstance(new, str):
            everywhere = bool(row.get("replace_all") or row.get("expected_replacements"))
            yield Edit(_bytes(old), _bytes(new), everywhere)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# --- patches --------------------------------------------------------------------------


@dataclass
class _Section:
    """One file of a patch."""

    kind: str
    path: str
    moved: str = ""
    lines: list[str] = field(default_factory=list)

    def writes(self) -> Iterator[Write]:
        here, there = Path(self.path), Path(self.moved or self.path)
        if self.kind == "Delete" or self.moved:
            yield Write(here, removes=True)
        if self.kind == "Add":
            added = (line[1:] for line in self.lines if line.startswith("+"))
            yield Write(here, whole=_join_lines(added))
        elif self.kind == "Update":
            source = here if self.moved else None
            yield Write(there, edits=tuple(self._hunks()), source=source)

    def _hunks(self) -> Iterator[Edit]:
        hunk: list[str] = []
        for line in (*self.lines, "@@"):
            if not line.startswith("@@"):
                hunk.append(line or " ")
                continue
            old = _join_lines(one[1:] for one in hunk if one[0] in " -")
            new = _join_lines(one[1:] for one in hunk if one[0] in " +")
            if hunk:
                yield Edit(old, new)
            hunk = []


def _join_lines(lines: Iterable[str]) -> bytes:
    return _bytes("".join(f"{line}\n" for line in lines))


def _of_patch(lines: Iterable[str]) -> Iterator[Write]:
    sections: list[_Section] = []
    for line in lines:
        if named := _FILE.fullmatch(line):
            sections.append(_Section(named[1], named[2]))
        elif sections and (moved := _MOVED.fullmatch(line)):
            sections[-1].moved = moved[1]
        elif sections:
            sections[-1].lines.append(line)
    for section in sections:
        if section.lines and not section.lines[-1]:
            section.lines.pop()  # what stands before the last line's end
        yield from section.writes()
