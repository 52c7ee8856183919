"""FILE_OWNERSHIP_MAP.md: which tasks own which files."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.model import Severity
from runner.plan.globs import GLOB_HINT, folders_of, glob_fault, is_glob, literal_folder
from runner.plan.markdown_text import MarkdownTable, TableRow, ends_fenced, read_sheet, words
from runner.plan.source import BOM, Problem, body_start, line_end_of
from runner.plan.task_ids import task_id
from runner.text.ignore_rules import ignore_rules, is_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_COLUMNS = ("file", "tasks")
_PATH = "FILE_OWNERSHIP_MAP.md"
_CONFLICTED = "the file has conflict markers"
_HINT = "keep the rows of both sides and remove the markers"


class OwnershipMap:
    """The rows of the map, in their order. Exact paths are looked up, globs are tried in turn."""

    def __init__(
        self, rows: tuple[tuple[str, tuple[str, ...]], ...], problems: tuple[Problem, ...]
    ) -> None:
        self.rows = rows
        self.problems = problems

    @classmethod
    def read(
        cls,
        data: bytes,
        path: str = _PATH,
        prefixes: tuple[str, ...] = (),
        exists: Callable[[str], bool] = lambda _: False,
    ) -> OwnershipMap:
        """Parse the ownership map in a file; without its columns it has no rows.

        A path that `exists` is that path, and no bad glob, whatever it looks like.
        """
        sheet = read_sheet(data, _COLUMNS)
        rows = tuple(
            (file, _owners_in(row, prefixes)) for row in sheet.rows for file in _files_in(row)
        )
        return cls(rows, tuple(_problems(sheet, path, prefixes, exists)))

    def require_whole(self) -> None:
        """Raise RunnerError (exit 2) for a map in the middle of a merge: its rows are not sure."""
        marked = next((one for one in self.problems if one.message == _CONFLICTED), None)
        if marked is not None:
            where = f"{marked.path}:{marked.line}"
            raise RunnerError("the ownership map has conflict markers", where=where, hint=_HINT)

    def owners(self, path: str) -> tuple[str, ...]:
        """Return the tasks that own a file, in the order of matching rows."""
        found = list(self._exact.get(path, ()))
        folders = tuple(folders_of(path))
        for folder in folders[:-1]:
            found += self._exact.get(folder, ())
        around = [at for folder in folders for at in self._globs.get(folder, ())]
        for at in sorted(around):
            if names_file(self.rows[at][0], path):
                found += self.rows[at][1]
        return tuple(dict.fromkeys(found))

    @cached_property
    def _exact(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for file, owners in self.rows:
            if not is_glob(file):
                found[file] = found.get(file, ()) + owners
        return found

    @cached_property
    def _globs(self) -> dict[str, list[int]]:
        """Numbers of the rows with globs, by the folder all their matches lie in."""
        found: dict[str, list[int]] = {}
        for at, (file, _) in enumerate(self.rows):
            if is_glob(file):
                found.setdefault(glob_folder(file), []).append(at)
        return found


def glob_folder(glob: str) -> str:
    """Return the folder that contains every match of a gitignore-style glob, or ""."""
    if "\\" in glob or "/" not in glob.rstrip("/"):
        return ""
    return literal_folder(glob.removeprefix("/"))


def names_file(glob: str, path: str) -> bool:
    """Return whether a row's path or gitignore-style glob matches a file."""
    return glob == path or _rule(glob)(path)


@lru_cache(maxsize=4096)
def _rule(glob: str) -> Callable[[str], bool]:
    return ignore_rules((glob,))


def _files_in(row: TableRow) -> tuple[str, ...]:
    cell = row.cells.get("file")
    return tuple(word.text.removeprefix("./") for word in words(cell.text)) if cell else ()


def _owners_in(row: TableRow, prefixes: tuple[str, ...]) -> tuple[str, ...]:
    cell = row.cells.get("tasks")
    named = [task_id(word.text, prefixes) for word in words(cell.text)] if cell else []
    return tuple(dict.fromkeys(name for name in named if name))


def _problems(
    sheet: MarkdownTable, path: str, prefixes: tuple[str, ...], exists: Callable[[str], bool]
) -> list[Problem]:
    found = [
        Problem(
            _CONFLICTED,
            path,
            line + 1,
            1,
            _HINT,
            source_line=sheet.lines[line],
            width=len(sheet.lines[line]),
        )
        for line in sheet.conflicts
    ]
    for row in sheet.rows:
        found += _bad_globs(row, sheet, path, exists)
        cell = row.cells.get("tasks")
        for word in words(cell.text) if cell else ():
            if cell and not task_id(word.text, prefixes):
                message = f'"{word.text}" is not a valid task id'
                column = cell.start + word.start + 1
                hint = "write ids such as TASK-001"
                source = sheet.lines[row.line]
                found.append(
                    Problem(
                        message,
                        path,
                        row.line + 1,
                        column,
                        hint,
                        source_line=source,
                        width=word.end - word.start,
                    )
                )
    return found


def _bad_globs(
    row: TableRow, sheet: MarkdownTable, path: str, exists: Callable[[str], bool]
) -> Iterator[Problem]:
    """Yield invalid globs; such a row owns only the file of exactly this name."""
    cell = row.cells.get("file")
    for word in words(cell.text) if cell else ():
        file = word.text.removeprefix("./")
        fault = glob_fault(file) if is_glob(file) else ""
        is_bad = bool(fault) or (is_glob(file) and not is_rule(file))
        if cell and is_bad and not exists(file):
            yield Problem(
                f'bad glob "{file}": {fault or "unfinished, or an invalid range"}',
                path,
                row.line + 1,
                cell.start + word.start + 1,
                GLOB_HINT,
                Severity.WARNING,
                sheet.lines[row.line],
                word.end - word.start,
            )


def add_owners(
    data: bytes, rows: Mapping[str, tuple[str, ...]], prefixes: tuple[str, ...] = ()
) -> bytes:
    """Add owners to the rows of their paths, or as new rows at the end.

    Owners that are there stay, and so does every byte but what is added. A file without the table
    gets one at its end; one with conflict markers stays as it is.
    """
    sheet = read_sheet(data, _COLUMNS)
    if not rows or sheet.conflicts:
        return data
    if sheet.head < 0:
        return _with_table(data, rows)
    by_file = {file: row for row in reversed(sheet.rows) for file in _files_in(row)}
    raw = data.removeprefix(BOM).splitlines(keepends=True)
    new: list[str] = []
    for path, owners in rows.items():
        row = by_file.get(path)
        cell = row.cells.get("tasks") if row else None
        if row is None or cell is None:  # a row may be shorter than its table (GFM, 4.10)
            new.append(_row(sheet, path, owners))
            continue
        present = _owners_in(row, prefixes)
        missing = [owner for owner in owners if owner not in present]
        if missing:
            raw[row.line] = _longer(raw[row.line], cell.start, cell.end, cell.raw, missing)
    return (BOM if data.startswith(BOM) else b"") + _insert_row(raw, sheet, new, line_end_of(data))


def _longer(line: bytes, start: int, end: int, raw: str, missing: list[str]) -> bytes:
    text = line.decode("utf-8", "surrogateescape")
    empty = not words(raw)
    value = ", ".join(([] if empty else [raw]) + missing)
    pad = " " if start == end and text[end : end + 1] == "|" else ""
    return (text[:start] + value + pad + text[end:]).encode("utf-8", "surrogateescape")


def _row(sheet: MarkdownTable, path: str, owners: tuple[str, ...]) -> str:
    content = {"file": _code_span(path), "tasks": ", ".join(owners)}
    inner = " | ".join(content.get(column, "") for column in sheet.columns)
    return f"| {inner} |"


def _code_span(path: str) -> str:
    """Return a path as a code span for a table cell."""
    ticks = "`" * (max((len(run) for run in re.findall("`+", path)), default=0) + 1)
    pad = " " if path.startswith("`") or path.endswith("`") else ""
    # In a table a pipe needs a backslash even in a code span (GFM, 4.10 Tables).
    return f"{ticks}{pad}{path}{pad}{ticks}".replace("|", "\\|")


def _insert_row(raw: list[bytes], sheet: MarkdownTable, new: list[str], line_end: bytes) -> bytes:
    if not new:
        return b"".join(raw)
    before, after = raw[: sheet.end], raw[sheet.end :]
    ended = before[-1].endswith((b"\n", b"\r"))
    text = line_end.join(row.encode() for row in new)
    if ended:
        return b"".join((*before, text, line_end, *after))
    return b"".join((*before, line_end, text))


def _with_table(data: bytes, rows: Mapping[str, tuple[str, ...]]) -> bytes:
    end = line_end_of(data)
    sheet = MarkdownTable((), _COLUMNS, 0, (), 0, ())
    table = [
        "| File | Tasks |",
        "|---|---|",
        *(_row(sheet, path, ids) for path, ids in rows.items()),
    ]
    body = end.join(line.encode() for line in table) + end
    if not data.removeprefix(BOM).strip():
        return data + b"# File ownership" + end * 2 + body
    # An unclosed fence extends to the end of the file (CommonMark 0.31, 4.5) and would absorb
    # inserted text.
    if ends_fenced(data):
        at = body_start(data)
        return data[:at] + body + end + data[at:]
    gap = b"" if data.endswith(end * 2) else end if data.endswith((b"\n", b"\r")) else end * 2
    return data + gap + body
