"""Combine the coverage data of all test contracts, in any format, into one measurement.

Data files of coverage.py are read without it: SQLite, schema 7. Its tracer alone (`line_tracer`)
leaves lines of JSON: a test, a file, and the same blob in hexadecimal. Format: coverage.py's
manual, "The Coverage.py database schema"; lines are bits of a blob (its `numbits.py`). A file that
is damaged or takes too long to read counts as none.

Reports of other tools are lcov and Go cover profiles. Each reader takes the text and `inside`,
which gives a path as the project knows it, or None for a file elsewhere. Damaged lines are left
out; what is no report gives nothing.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote

from runner import effects
from runner.gates.coverage import instrument, v8
from runner.gates.coverage.instrument import (
    data_folder,
    files_in,
    is_fit,
    project_tree,
    text_of,
    visible_root,
)
from runner.gates.coverage.lines import Lines, Measured, Runs, merge
from runner.gates.mutation.function_bodies import is_left_out
from runner.gates.test_paths import holds_tests
from runner.languages.go.names import module_of
from runner.languages.registry import is_written_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from runner.gates.base import GateContext
    from runner.process.base import Place

_NAME = 80
"""Characters of a process's self-description; the task controls it."""


_MOST_RUNS = 1000
"""Runs of test tools in one test contract, each with its own folder."""
_LEFT = ("coverage/lcov.info", "lcov.info")
"""Reports that a project's own tools write to its tree (c8, nyc, vitest, jest, tarpaulin)."""


def read_measurement(contract: str, context: GateContext) -> Measured:
    """Read the measurement of a test contract's last run."""
    folder = data_folder(context.place, contract)
    ran, code = read_runs(folder, visible_root(context))
    runs = _own_files(ran, context)
    tool_lines, translated, builds = _read_tool_lines(context, folder)
    for path, lines in tool_lines.items():
        if lines.ran:
            runs.setdefault(path, {}).setdefault("", set()).update(lines.ran)
    about = read_about(folder)
    missing = tuple(dict.fromkeys(_find_missing(about)))
    return Measured(runs, tool_lines, _tools(about), missing, translated, code, builds)


def _inside(root: str, path: str) -> str | None:
    """Return a path relative to the project, or None if it is outside."""
    whole = os.path.normpath(os.path.join(root, path))  # noqa: PTH118 - no file is asked
    return whole.removeprefix(f"{root}/") if whole.startswith(f"{root}/") else None


def _below(above: str, inside: Inside, path: str) -> str | None:
    """Convert a path relative to a tool's own folder, such as a package of a monorepo."""
    return inside(os.path.join(above, path))  # noqa: PTH118 - no file is asked


def _own_files(runs: Runs, context: GateContext) -> Runs:
    """Remove installed environments and packages from the runs."""
    prefix = context.place.start
    shares = tuple(f"{share.removeprefix(prefix)}/" for share in context.place.shares)
    return {path: tests for path, tests in runs.items() if not path.startswith(shares)}


def _read_tool_lines(
    context: GateContext, folder: Path
) -> tuple[dict[str, Lines], frozenset[str], frozenset[str]]:
    """Return lines by file from tool reports, translated files, and build results."""
    inside = partial(_inside, visible_root(context))
    found: dict[str, Lines] = {}
    for path in _reports(context, folder):
        text = text_of(path) or ""
        above = (text_of(path.with_name("root")) or "").strip()
        merge(found, from_lcov(text, partial(_below, above, inside)))
    merge(found, from_go(text_of(folder / instrument.GO) or "", _go_path(context)))
    folded = v8.fold(
        folder / instrument.V8,
        inside,
        partial(source, context),
        lambda path: context.after(path) is not None,
    )
    if not found and _ran_unseen(folder, {*folded.lines, *folded.translated}):
        return {}, frozenset(), frozenset()
    # If a tool reports a file itself, it counted the source; V8 counted the compiled code.
    merge(found, {path: lines for path, lines in folded.lines.items() if path not in found})
    own = {path: lines for path, lines in found.items() if not _is_installed(path)}
    translated = frozenset(folded.translated) - own.keys()
    loaded = {path for path, lines in own.items() if lines.ran} | translated
    return own, translated, _find_builds(context, loaded | folded.gone)


def _find_builds(context: GateContext, loaded: Iterable[str]) -> frozenset[str]:
    """Return the loaded scripts that are build results: untracked, rewritten or built.

    One that is older than the task's changes cannot hold them, such as an ignored file that is
    copied into the tree.
    """
    written = {one.path for one in context.changes}
    changed = (_time_of(context, path) for path in written)
    since = min((time for time in changed if time is not None), default=0)

    def is_build(path: str) -> bool:
        if not is_written_in(path, "javascript") or _is_installed(path):
            return False
        time = _time_of(context, path)
        if time is None:
            return context.after(path) is None
        if path in written and is_left_out(path, source(context, path) or b""):
            return True
        return time > since and context.after(path) != source(context, path)

    return frozenset(filter(is_build, loaded))


def _time_of(context: GateContext, path: str) -> int | None:
    """Return the modification time of a file in the tree in nanoseconds; None if it is gone."""
    try:
        return (project_tree(context) / path).lstat().st_mtime_ns
    except (OSError, ValueError):
        return None


def _ran_unseen(folder: Path, seen: set[str]) -> bool:
    """Return whether tests ran unmeasured, in vitest workers without coverage.

    It was given `--no-coverage`, or may use a browser; what V8 saw is the tool's configuration.
    """
    is_vitest = (folder / instrument.LCOV / instrument.VITEST).is_dir()
    return is_vitest and not any(map(holds_tests, seen))


def _is_installed(path: str) -> bool:
    return "node_modules" in path.split("/")


def _reports(context: GateContext, folder: Path) -> Iterator[Path]:
    yield from files_in(folder, end=".lcov")
    yield from files_in(folder, end="lcov.info")
    if (folder / instrument.LCOV).is_dir():
        for each in sorted(islice((folder / instrument.LCOV).iterdir(), _MOST_RUNS)):
            yield from files_in(each, end="lcov.info")
    if not folder.exists():
        return
    # The start of the run: an older report belongs to another run.
    started = folder.stat().st_ctime
    for name in _LEFT:
        path = project_tree(context) / name
        if not path.is_symlink() and path.is_file() and path.stat().st_mtime >= started - 1:
            yield path


def _go_path(context: GateContext) -> Inside:
    module = module_of(text_of(project_tree(context) / "go.mod") or "")

    def inside(path: str) -> str | None:
        return path.removeprefix(f"{module}/") if path.startswith(f"{module}/") else None

    return inside


def source(context: GateContext, path: str) -> bytes | None:
    """Return the bytes of a file in the scratch tree; None if they cannot be read."""
    file = project_tree(context) / path
    try:
        return file.read_bytes() if is_fit(file) else None
    except OSError:
        return None


def _tools(about: tuple[dict[str, str], ...]) -> tuple[tuple[str, str], ...]:
    names = ("python", "pytest", "coverage", "tracer", "environment")
    found = {name: row[name][:_NAME] for row in about for name in names if row.get(name)}
    return tuple(sorted(found.items()))


def is_traced_slowly(place: Place, contract: str) -> bool:
    """Return whether `sys.settrace` traced any interpreter of a run."""
    return any(one.get("tracer") == SLOW for one in read_about(data_folder(place, contract)))


def add_gap(place: Place, contract: str, why: str) -> None:
    """Record why a run may have covered more than was measured."""
    file = data_folder(place, contract) / ABOUT
    row = json.dumps({"gap": why})
    effects.write_file(file, f"{text_of(file) or ''}\n{row}\n".encode())


def _find_missing(about: tuple[dict[str, str], ...]) -> Iterator[str]:
    for row in about:
        if row.get("gap"):
            yield row["gap"]
        if row.get("missing"):
            why = f" ({row['why']})" if row.get("why") else ""
            yield f"coverage.py is missing for Python {row.get('python', '')}{why}"


# --- python data ----------------------------------------------------------------------


DATA = "data"
LINES = "lines"
ABOUT = "about.jsonl"
SLOW = "sys.settrace"
"""The runner's tracer that multiplies the program's run time."""
_SECONDS = 20.0
_STEPS = 200_000
_LONGEST_NAME = 500
_PHASE = re.compile(r"\|(?:setup|run|teardown)$")
"""Suffix that pytest-cov adds to a test's ID."""
_MOST_BITS = 1 << 17
"""Bytes of one blob: a million lines."""
_QUERY = """
select file.path, context.context, line_bits.numbits from line_bits
join file on file.id = line_bits.file_id join context on context.id = line_bits.context_id
"""


def read_runs(folder: Path, root: str) -> tuple[Runs, dict[str, frozenset[int]]]:
    """Return executed lines by file and test below `root`, and executable lines if known.

    Lines of code are known of a file that ran in another Python than ours.
    """
    found: Runs = {}
    code: dict[str, frozenset[int]] = {}
    end = effects.monotonic() + _SECONDS
    kinds = ((f"{DATA}.", "", _rows), (f"{LINES}.", ".jsonl", _json_rows))
    rows = (
        row for *name, read in kinds for file in files_in(folder, *name) for row in read(file, end)
    )
    for path, test, bits, *lines in rows:
        inside = path.removeprefix(f"{root}/")
        if inside != path and ".." not in inside.split("/"):
            if lines:
                code[inside] = frozenset(numbers(lines[0]))
                continue
            name = _writable(_PHASE.sub("", test)[:_LONGEST_NAME])
            of_test = found.setdefault(inside, {}).setdefault(name, set())
            of_test.update(number for number in numbers(bits) if number)  # 0: an empty file
    return found, code


def _writable(text: str) -> str:
    """Replace lone surrogates, which JSON allows but UTF-8 does not."""
    return text.encode("utf-8", "replace").decode()


Row: TypeAlias = "tuple[str, str, bytes] | tuple[str, str, bytes, bytes]"
"""File, test, and the bits of executed lines; a fourth part has the executable lines."""


def _json_rows(file: Path, end: float) -> Iterator[Row]:
    for line in (text_of(file) or "").splitlines():
        if effects.monotonic() > end:
            return
        try:
            test, path, ran, *more = json.loads(line)
            bits = bytes.fromhex(ran)
            code = [bytes.fromhex(one) for one in more[:1]]
        except (ValueError, TypeError, RecursionError):
            continue
        is_fit_row = isinstance(path, str) and isinstance(test, str)
        if is_fit_row and all(len(one) <= _MOST_BITS for one in (bits, *code)):
            yield (path, test, bits, *code)


def _rows(file: Path, end: float) -> Iterator[Row]:
    try:
        # immutable: takes no lock and replays no journal next to the file (sqlite.org/uri.html); a
        # command may have written both.
        connection = sqlite3.connect(f"file:{quote(str(file))}?mode=ro&immutable=1", uri=True)
    except sqlite3.Error:
        return
    try:
        # A table may be an endless view: SQLite calls this handler regularly and stops.
        connection.set_progress_handler(lambda: effects.monotonic() > end, _STEPS)
        for path, test, bits in connection.execute(_QUERY):
            texts = isinstance(path, str) and isinstance(test, str) and isinstance(bits, bytes)
            if texts and len(bits) <= _MOST_BITS:
                yield path, test, bits
    except (sqlite3.Error, UnicodeDecodeError, OverflowError):
        return
    finally:
        connection.close()


def numbers(bits: bytes) -> Iterator[int]:
    """Yield the positions of set bits; the lowest bit of the first byte is 0."""
    for at, byte in enumerate(bits):
        for bit in range(8) if byte else ():
            if byte >> bit & 1:
                yield at * 8 + bit


def read_about(folder: Path) -> tuple[dict[str, str], ...]:
    """Return the notes of a run's interpreters; see `sitecustomize_hook.note`."""
    found = []
    for line in (text_of(folder / ABOUT) or "").splitlines():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            found.append(
                {str(name)[:40]: _writable(str(value)[:200]) for name, value in row.items()}
            )
    return tuple(found)


# --- foreign reports ------------------------------------------------------------------


Inside: TypeAlias = "Callable[[str], str | None]"
_MOST_LINES = 1_000_000
"""Lines of one file; higher numbers are invalid, and later blocks are ignored."""
_GO = re.compile(r"^(?P<path>.+):(\d{1,9})\.\d+,(\d{1,9})\.\d+ (\d+) (\d{1,18})$")


def from_lcov(text: str, inside: Inside) -> dict[str, Lines]:
    """Parse lcov tracefiles (geninfo(1), "FILES"): `SF:` names a file, `DA:line,hits` a line."""
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


def from_go(text: str, inside: Inside) -> dict[str, Lines]:
    """Parse Go cover profiles (cmd/cover): `path:line.column,line.column statements count`."""
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


def _count(lines: dict[int, int], row: Iterable[str]) -> None:
    try:
        number, hits = (int(float(part)) for part in row)
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
