"""Instrument a test contract's command to measure lines, without changing its output.

Where a test contract's measurements lie, and the reading of files that a command left there.
"""

from __future__ import annotations

import os
import shlex
import stat
import sys
from functools import cache
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING

from runner.gates import shim
from runner.gates.base import Fitted, file_name
from runner.gates.own_files import make_empty, own_folder
from runner.languages.registry import row_named
from runner.lazy_pattern import regex
from runner.process.tools import which

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.gates.base import Check, GateContext
    from runner.process.base import Place


V8 = "v8"
LCOV = "lcov"
VITEST = "ran-vitest"
"""Folder whose presence shows that vitest ran."""
RUST = "rust.lcov"
GO = "go.out"
_INSTALLED = ("*/site-packages/*", "*/dist-packages/*", "*/node_modules/*")
_WORD = r"(?<![\w.=-]){}(?![\w./=-])"
_CARGO = regex(_WORD.format("cargo test"))


def fit(check: Check, context: GateContext, fitted: Fitted) -> Fitted:
    """Return the command with coverage enabled; checks of other tasks are unchanged.

    What an earlier run of this test contract left is removed.
    """
    if check.kind != "test" or check.task:
        return fitted
    if context.runs_no_program(check):
        forget(context.place, check.id)
        return fitted
    folder = make_empty_folder(context.place, check.id)
    start = shim.write_module(context.place)
    line = shim.in_front(fitted.line, start)
    variables = {**fitted.variables, **_python(context, fitted, folder, start)}
    if _speaks(context, "javascript"):
        # jest and vitest measure what they translate (`node_hooks`); else Node does
        variables["NODE_V8_COVERAGE"] = str(folder / V8)
        variables["RUNNER_COVER_LCOV"] = str(folder / LCOV)
    if _speaks(context, "go"):
        variables["GOFLAGS"] = _go(context, fitted, folder)
    if _speaks(context, "rust"):
        line = _rust(context, line, folder)
    return Fitted(line, variables)


def project_tree(context: GateContext) -> Path:
    """Return the project's folder in the scratch tree."""
    return context.place.tree / context.place.start


def visible_root(context: GateContext) -> str:
    """Return the project's folder as commands see it, with links resolved."""
    seen = context.sandbox.sees(context.place, context.place.tree)
    return os.path.realpath(seen / context.place.start)


def _speaks(context: GateContext, name: str) -> bool:
    """Return whether the change or a manifest of the project uses this language."""
    row = row_named(name)
    paths = (*(change.path for change in context.changes), *context.former)
    tree = project_tree(context)
    return any(path.endswith(row.code) for path in paths) or any(
        (tree / one).is_file() for one in row.manifests
    )


def _python(context: GateContext, fitted: Fitted, folder: Path, start: Path) -> dict[str, str]:
    given = {**context.environment, **fitted.variables}.get("PYTHONPATH", "")
    root = visible_root(context)
    seen = str(context.sandbox.sees(context.place, context.place.tree) / context.place.start)
    shares = (os.path.join(context.place.shown, share, "*") for share in context.place.shares)  # noqa: PTH118 - a pattern
    return {
        "PYTHONPATH": shim.search_path(start, given),
        "RUNNER_COVER_OUT": str(folder),
        "RUNNER_COVER_ROOT": os.pathsep.join(dict.fromkeys((root, seen))),
        "RUNNER_COVER_OMIT": os.pathsep.join((*_INSTALLED, *shares)),
        "RUNNER_COVER_OURS": _ours(),
        "RUNNER_COVER_PYTHON": f"{sys.version_info.major}.{sys.version_info.minor}",
    }


@cache
def _ours() -> str:
    """Return the folder of the runner's coverage.py, without importing it."""
    spec = find_spec("coverage")
    places = list(spec.submodule_search_locations or ()) if spec else []
    return places[0] if places else ""


def _go(context: GateContext, fitted: Fitted, folder: Path) -> str:
    """Return GOFLAGS with coverage flags; each go command ignores flags that it does not know."""
    given = {**context.environment, **fitted.variables}.get("GOFLAGS", "")
    # By default go counts in each package only what its own tests run (go help testflag).
    return f"{given} -coverprofile={folder / GO} -coverpkg=./...".strip()


def _rust(context: GateContext, line: str, folder: Path) -> str:
    """Return `cargo test` run by cargo-llvm-cov or tarpaulin, if one is installed."""
    out = folder / RUST
    if which("cargo-llvm-cov", context.environment):
        return _CARGO.sub(f"cargo llvm-cov test --lcov --output-path {shlex.quote(str(out))}", line)
    if which("cargo-tarpaulin", context.environment):
        words = f"cargo tarpaulin --out Lcov --output-dir {shlex.quote(str(folder))}"
        return _CARGO.sub(words, line)
    return line


# --- storage --------------------------------------------------------------------------


LARGEST = 64 << 20
"""Bytes of one file of measurements."""
_MOST_FILES = 10_000
_FOLDER = "coverage"


def data_folder(place: Place, check_id: str) -> Path:
    """Return the folder of a test contract's coverage data; equal inside the sandbox."""
    return place.box / _FOLDER / file_name(check_id)


def make_empty_folder(place: Place, check_id: str) -> Path:
    """Create an empty folder for a contract's coverage data, without following links."""
    above = own_folder(place.box, _FOLDER)
    return make_empty(above / file_name(check_id))


def forget(place: Place, check_id: str) -> None:
    """Remove the data of an earlier run of a test contract that is no longer measured."""
    if data_folder(place, check_id).exists():
        make_empty_folder(place, check_id)


def files_in(folder: Path, start: str = "", end: str = "") -> Iterator[Path]:
    """Yield the plain files of acceptable size directly in a folder, sorted by name."""
    # A command may have replaced either by a link: files elsewhere are no measurements.
    if any(each.is_symlink() for each in (folder, folder.parent)):
        return
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in islice(entries, _MOST_FILES))
    except OSError:
        return
    for name in names:
        if name.startswith(start) and name.endswith(end) and is_fit(folder / name):
            yield folder / name


def is_fit(path: Path) -> bool:
    """Return whether a path is a regular file within the size limit."""
    try:
        seen = path.lstat()
    except (OSError, ValueError):  # the latter where it is no path at all: a command chose it
        return False
    return stat.S_ISREG(seen.st_mode) and seen.st_size <= LARGEST


def text_of(path: Path) -> str | None:
    """Return a file's text with invalid UTF-8 replaced; None if it cannot be read."""
    if not is_fit(path):
        return None
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return None
