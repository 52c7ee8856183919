"""Measure lines with coverage.py in the interpreter of a proof; see `sitecustomize_hook`.

It is copied beside `sitecustomize_hook` and never imported here; the same holds for it.
"""
# ruff: noqa: SLF001 - coverage.py has no public way to have two measurings beside one another
# ruff: noqa: PTH100, PTH118 - importing pathlib costs 8 ms a process

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib.machinery import PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def begin(coverage: Any, note: Callable[..., None], endings: Any) -> None:
    """Measure from now on, and save whichever way the interpreter ends: see `line_tracer`."""
    environ = os.environ
    root = environ["RUNNER_COVER_ROOT"].split(os.pathsep)[0]
    omit = environ["RUNNER_COVER_OMIT"].split(os.pathsep)
    measuring = Measuring(coverage, root, environ["RUNNER_COVER_OUT"], omit)
    measuring.start()
    endings.ExitSaver(measuring, note, {"coverage": coverage.__version__}).await_end()


class Measuring:
    """One coverage.Coverage of ours, beside which the program may run its own."""

    def __init__(self, coverage: Any, root: str, out: str, omit: list[str]) -> None:
        self.classes = coverage.Coverage, coverage.CoverageData
        self.root = root
        self.only_ours = False
        self.others: dict[int, tuple[Any, set[str]]] = {}
        """The program's own measurements, each with the files that it did not request."""
        self.asked: Callable[..., Any] = coverage.Coverage._should_trace
        self.lines: Callable[..., Any] = coverage.CoverageData.add_lines
        # Without the project's settings: an `omit` there would hide lines from the proof.
        self.own = coverage.Coverage(
            data_file=os.path.join(out, "data"),
            data_suffix=True,
            auto_data=False,
            branch=False,
            config_file=False,
            include=[os.path.join(root, "*")],
            omit=omit,
            concurrency=["thread"],
        )
        self.own.set_option("run:dynamic_context", "test_function")
        self.own._warn = lambda *_, **__: None  # its warnings are not the program's

    def start(self) -> None:
        """Begin; one that already measures for the program goes on above ours."""
        current = getattr(self.classes[0], "current", lambda: None)()
        self._share()
        if current is not None:
            current.stop()
        try:
            self._start_own()
        finally:
            if current is not None:
                current._collector.should_trace = current._should_trace  # it was made before
                current.start()

    def _start_own(self) -> None:
        """Start our measurement, with greenlet support if greenlet is installed."""
        sites = [path for path in sys.path if path.rstrip(os.sep).endswith("-packages")]
        if PathFinder.find_spec("greenlet", sites) is not None:
            with suppress(Exception):
                self.own.set_option("run:concurrency", ["thread", "greenlet"])
                self.own.start()
                return
            self.own.set_option("run:concurrency", ["thread"])
        self.own.start()

    def write_down(self) -> None:
        """Write down what ran so far."""
        self.only_ours = True
        with suppress(Exception):
            for other, _ in tuple(self.others.values()):
                if getattr(other, "_started", False):
                    other._collector.flush_data()  # as its own save does
        self.only_ours = False
        self.own.save()

    def after_fork(self) -> None:
        """Reset the state in a forked child."""
        self.only_ours = False

    # A program that measures itself (`coverage run`, `pytest --cov`) pauses this tracer: only one
    # runs at a time. So its data is copied here, and it also gathers the files wanted here.

    def _share(self) -> None:
        measuring, stored = self.classes
        asked, lines, arcs = measuring._should_trace, stored.add_lines, stored.add_arcs

        def should_trace(other: Any, filename: str, frame: Any) -> Any:
            found = asked(other, filename, frame)
            return (
                found if other is self.own else self._choose_tracer(other, found, (filename, frame))
            )

        def add_lines(data: Any, found: Any, *rest: Any, **named: Any) -> Any:
            left = found if data is self.own._data else self._take_data(data, found, set)
            return None if left is None else lines(data, left, *rest, **named)

        def add_arcs(data: Any, found: Any, *rest: Any, **named: Any) -> Any:
            left = found if data is self.own._data else self._take_data(data, found, _ends_of)
            return None if left is None else arcs(data, left, *rest, **named)

        self.asked, self.lines = asked, lines
        measuring._should_trace = should_trace
        stored.add_lines, stored.add_arcs = add_lines, add_arcs

    def _choose_tracer(self, other: Any, found: Any, at: tuple[str, Any]) -> Any:
        """Choose the tracer of a file: as the program's own measurement does, else as ours."""
        with suppress(Exception):
            kept = self.others.setdefault(id(other), (other, set()))
            mine = found if found.trace else self.asked(self.own, *at)
            if mine.trace and mine is not found:
                kept[1].add(other._file_mapper(mine.source_filename))
                return mine
        return found

    def _take_data(self, data: Any, found: Any, read: Callable[[Any], set[int]]) -> Any:
        """Copy another measurement's data to ours, and return its own part; None if it has none."""
        with suppress(Exception):
            unasked: set[str] = set()
            for other, files in tuple(self.others.values()):
                if getattr(other, "_data", None) is data:
                    unasked = files
            self._take(data, {name: read(value) for name, value in found.items()})
            found = {name: value for name, value in found.items() if name not in unasked}
        return None if self.only_ours else found

    def _take(self, data: Any, found: dict[str, set[int]]) -> None:
        inside = self.root + os.sep
        whole = {os.path.abspath(name): lines for name, lines in found.items()}
        own = self.own._data
        before = own._current_context
        own.set_context(getattr(data, "_current_context", None))
        try:
            self.lines(own, {name: each for name, each in whole.items() if name.startswith(inside)})
        finally:
            own.set_context(before)


def _ends_of(found: Any) -> set[int]:
    return {line for arc in found for line in arc if line > 0}
