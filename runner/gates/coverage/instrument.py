"""Has a test contract's command measured from outside; what a person sees of it stays as it is.

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
"""A folder in it that tells that vitest ran."""
RUST = "rust.lcov"
GO = "go.out"
_INSTALLED = ("*/site-packages/*", "*/dist-packages/*", "*/node_modules/*")
_WORD = r"(?<![\w.=-]){}(?![\w./=-])"
_CARGO = regex(_WORD.format("cargo test"))


def fit(check: Check, context: GateContext, fitted: Fitted) -> Fitted:
    """The command with measuring switched on; other tasks' checks are left as they are.

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
        # jest and vitest measure what they translate (`node_hook`, `vitest_hook`); else Node does
        variables["NODE_V8_COVERAGE"] = str(folder / V8)
        variables["RUNNER_COVER_LCOV"] = str(folder / LCOV)
    if _speaks(context, "go"):
        variables["GOFLAGS"] = _go(context, fitted, folder)
    if _speaks(context, "rust"):
        line = _rust(context, line, folder)
    return Fitted(line, variables)


def project_tree(context: GateContext) -> Path:
    """The project's folder in the scratch tree."""
    return context.place.tree / context.place.start


def visible_root(context: GateContext) -> str:
    """The project's folder as commands see it, without links."""
    seen = context.sandbox.sees(context.place, context.place.tree)
    return os.path.realpath(seen / context.place.start)


def _speaks(context: GateContext, name: str) -> bool:
    """Whether the task writes this language, or the project says that it is of it."""
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
    """The folder of our own coverage.py, found without importing it."""
    spec = find_spec("coverage")
    places = list(spec.submodule_search_locations or ()) if spec else []
    return places[0] if places else ""


def _go(context: GateContext, fitted: Fitted, folder: Path) -> str:
    """GOFLAGS: each go command takes the flags that it knows and ignores the others."""
    given = {**context.environment, **fitted.variables}.get("GOFLAGS", "")
    # By itself go counts in each package only what its own tests run (go help testflag).
    return f"{given} -coverprofile={folder / GO} -coverpkg=./...".strip()


def _rust(context: GateContext, line: str, folder: Path) -> str:
    """`cargo test` through cargo-llvm-cov or tarpaulin, where one is installed."""
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
    """The folder of one test contract's measurements; the same path inside and outside."""
    return place.box / _FOLDER / file_name(check_id)


def make_empty_folder(place: Place, check_id: str) -> Path:
    """The same folder without what an earlier run left. No link is followed."""
    above = own_folder(place.box, _FOLDER)
    return make_empty(above / file_name(check_id))


def forget(place: Place, check_id: str) -> None:
    """Take away what an earlier run of a test contract left, where nothing is measured now."""
    if data_folder(place, check_id).exists():
        make_empty_folder(place, check_id)


def files_in(folder: Path, start: str = "", end: str = "") -> Iterator[Path]:
    """Plain files of bearable size directly in a folder, by their names; none for no folder."""
    # A command may have put a link in the place of either: files elsewhere are no measurements.
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
    """Whether there is a plain file of bearable size."""
    try:
        seen = path.lstat()
    except (OSError, ValueError):  # the latter where it is no path at all: a command chose it
        return False
    return stat.S_ISREG(seen.st_mode) and seen.st_size <= LARGEST


def text_of(path: Path) -> str | None:
    """A file's text, what is no UTF-8 replaced; None where there is no fit file."""
    if not is_fit(path):
        return None
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return None
