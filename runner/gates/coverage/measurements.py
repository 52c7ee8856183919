"""Everything that the runs of test contracts left, in whatever form, as one measurement."""

from __future__ import annotations

import os
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from runner.gates.coverage import foreign_reports, instrument, python_data, v8
from runner.gates.coverage.instrument import project_tree, visible_root
from runner.gates.coverage.lines import Measured, Runs, merge
from runner.gates.coverage.storage import data_folder, files_in, text_of
from runner.languages.go.names import module_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.gates.base import GateContext
    from runner.gates.coverage.lines import Lines

_MOST_RUNS = 1000
"""Of test tools, in one test contract, each with a folder of its own."""
_LEFT = ("coverage/lcov.info", "coverage/cobertura-coverage.xml", "lcov.info", "cobertura.xml")
"""Reports that a project's own tools leave in its tree (c8, nyc, vitest, jest, tarpaulin)."""


def read_measurement(contract: str, bench: GateContext) -> Measured:
    """What the last run of a test contract left."""
    folder = data_folder(bench.place, contract)
    runs = _own_files(python_data.read_runs(folder, visible_root(bench)), bench)
    told, translated = _read_tool_lines(bench, folder)
    for path, lines in told.items():
        if lines.ran:
            runs.setdefault(path, {}).setdefault("", set()).update(lines.ran)
    about = python_data.read_about(folder)
    return Measured(runs, told, _tools(about), tuple(_find_missing(about)), translated)


def _inside(root: str, path: str) -> str | None:
    """A path as the project knows it, where relative ones begin; None for one elsewhere."""
    whole = os.path.normpath(os.path.join(root, path))  # noqa: PTH118 - no file is asked
    return whole.removeprefix(f"{root}/") if whole.startswith(f"{root}/") else None


def _below(above: str, inside: foreign_reports.Inside, path: str) -> str | None:
    """A path that a tool gives from a folder of its own, such as a package of a monorepo."""
    return inside(os.path.join(above, path))  # noqa: PTH118 - no file is asked


def _own_files(runs: Runs, bench: GateContext) -> Runs:
    """Without what is installed in the tree: environments and packages."""
    prefix = bench.place.start
    shares = tuple(f"{share.removeprefix(prefix)}/" for share in bench.place.shares)
    return {path: tests for path, tests in runs.items() if not path.startswith(shares)}


def _read_tool_lines(bench: GateContext, folder: Path) -> tuple[dict[str, Lines], frozenset[str]]:
    """Files of which a tool says itself what is executable, and those that it cannot tell."""
    inside = partial(_inside, visible_root(bench))
    found: dict[str, Lines] = {}
    for path in _reports(bench, folder):
        text = text_of(path) or ""
        read = (
            foreign_reports.from_cobertura if path.suffix == ".xml" else foreign_reports.from_lcov
        )
        above = (text_of(path.with_name("root")) or "").strip()
        merge(found, read(text, partial(_below, above, inside)))
    merge(found, foreign_reports.from_go(text_of(folder / instrument.GO) or "", _go_path(bench)))
    is_kept = partial(_is_kept, bench)
    folded = v8.fold(folder / instrument.V8, inside, partial(source, bench), is_kept)
    merge(found, {path: lines for path, lines in folded.lines.items() if path not in found})
    own = {path: lines for path, lines in found.items() if not _is_installed(path)}
    return own, frozenset(folded.translated) - own.keys()


def _is_kept(bench: GateContext, path: str) -> bool:
    return bench.after(path) is not None


def _is_installed(path: str) -> bool:
    return "node_modules" in path.split("/")


def _reports(bench: GateContext, folder: Path) -> Iterator[Path]:
    yield from files_in(folder, end=".lcov")
    yield from files_in(folder, end="lcov.info")
    if (folder / instrument.LCOV).is_dir():
        for each in sorted(islice((folder / instrument.LCOV).iterdir(), _MOST_RUNS)):
            yield from files_in(each, end="lcov.info")
    if not folder.exists():
        return
    started = folder.stat().st_ctime
    for name in _LEFT:
        path = project_tree(bench) / name
        if not path.is_symlink() and path.is_file() and path.stat().st_mtime >= started - 1:
            yield path


def _go_path(bench: GateContext) -> foreign_reports.Inside:
    module = module_of(text_of(project_tree(bench) / "go.mod") or "")

    def inside(path: str) -> str | None:
        return path.removeprefix(f"{module}/") if path.startswith(f"{module}/") else None

    return inside


def source(bench: GateContext, path: str) -> bytes | None:
    """The bytes that ran: of the proposal, or of what a command made."""
    file = project_tree(bench) / path
    try:
        return None if file.is_symlink() else file.read_bytes()
    except OSError:
        return None


def _tools(about: tuple[dict[str, str], ...]) -> tuple[tuple[str, str], ...]:
    names = ("python", "pytest", "coverage")
    found = {name: said[name] for said in about for name in names if said.get(name)}
    return tuple(sorted(found.items()))


def _find_missing(about: tuple[dict[str, str], ...]) -> Iterator[str]:
    for said in about:
        if said.get("missing"):
            why = f" ({said['why']})" if said.get("why") else ""
            yield f"coverage.py is missing for Python {said.get('python', '')}{why}"
