"""Trace executed lines with Python's own means.

`sys.monitoring` from Python 3.12 (PEP 669); before that `sys.settrace`, where no coverage.py is
installed. Both have the interface of the tracer of coverage.py, so `line_tracer` uses each of the
three in the same way.

It is copied beside `sitecustomize_hook` and never imported here; the same holds for it.
"""
# ruff: noqa: SLF001 - `sys._getframe` is the only way to the frame of an event

from __future__ import annotations

import itertools
import sys
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType
    from typing import Any

SLOWEST = 5
"""Maximum slowdown of a program while `sys.settrace` traces it."""
_LEAST = 1.0
"""Seconds of tracing below which a program never counts as too slow."""
_LOOKS = 1 << 14
"""Events between two checks of the time."""
_LOOP = 2000
_TOOLS = (4, 3)
"""Tool numbers that no standard tool uses (`sys.monitoring`, "Tool identifiers")."""


class CFileDisposition:
    """The decision about a file, with the field names of coverage.py."""

    def __init__(self) -> None:
        self.original_filename = self.canonical_filename = self.reason = ""
        self.source_filename: str | None = None
        self.trace = self.has_dynamic_filename = False
        self.file_tracer = None


class _Tracer:
    """The shared part of both tracers; `line_tracer` sets the attributes."""

    data: dict[str, set[int]]
    should_trace: Callable[[str, FrameType], CFileDisposition]
    should_trace_cache: dict[str, CFileDisposition]
    should_start_context: Callable[[FrameType], str | None]
    switch_context: Callable[[str | None], None]
    stop_for_all: Callable[[str], None]

    def __init__(self) -> None:
        self._test: FrameType | None = None
        """Frame of the running test."""

    def lines_of(self, filename: str, frame: FrameType) -> set[int] | None:
        """Return the set that collects the lines of a file; None for a file that is not traced."""
        found = self.should_trace_cache.get(filename)
        if found is None:
            found = self.should_trace_cache[filename] = self.should_trace(filename, frame)
        if not found.trace:
            return None
        return self.data.setdefault(str(found.source_filename), set())

    def begin_test(self, frame: FrameType) -> bool:
        """Start a test context if this frame is a test and none is active."""
        if self._test is not None:
            return False
        name = self.should_start_context(frame)
        if name is None:
            return False
        self._test = frame
        self.switch_context(name)
        return True

    def end_test(self, frame: FrameType) -> bool:
        """End the test context if this frame started it."""
        if self._test is not frame:
            return False
        self._test = None
        self.switch_context(None)
        return True


# --- sys.settrace ---------------------------------------------------------------------


class SetTrace(_Tracer):
    """Traces one thread with `sys.settrace`; it ends itself where it takes too long."""

    name = "sys.settrace"
    is_per_thread = True
    _event_seconds = 0.0

    def __init__(self) -> None:
        super().__init__()
        self._ticks = itertools.count(1)
        self._began = 0.0
        self._is_over = False
        self._by_file: dict[str, Any] = {}
        self.trace = self._on_call

    def start(self) -> Any:
        """Trace this thread from its next call on."""
        if not SetTrace._event_seconds:
            SetTrace._event_seconds = _measure_event()
        self._began = time.thread_time()
        sys.settrace(self.trace)
        return self.trace

    def stop(self) -> None:
        """Trace no more; frames that are traced notice it at their next line."""
        self._is_over = True
        if sys.gettrace() is self.trace:
            sys.settrace(None)

    @property
    def is_cut(self) -> bool:
        """Whether something took its place in this thread, such as a debugger."""
        return not self._is_over and sys.gettrace() is not self.trace

    def _on_call(self, frame: FrameType, event: str, _: Any) -> Any:
        if self._is_over or event != "call":
            return None
        filename = frame.f_code.co_filename
        trace = self._by_file.get(filename, self)
        with suppress(Exception):  # whatever it is, it is not the program's trouble
            if trace is self:
                lines = self.lines_of(filename, frame)
                trace = None if lines is None else self.make_local(lines)
                self._by_file[filename] = trace
            if self._test is None and self.begin_test(frame) and trace is None:
                frame.f_trace_lines = False
                return self.make_local(set())
        return None if trace is self else trace

    def make_local(self, lines: set[int]) -> Any:
        """Return the trace function that records the lines of one file."""
        add, ticks = lines.add, self._ticks

        def on_event(frame: FrameType, event: str, _: Any) -> Any:
            if event == "line":
                add(frame.f_lineno)
                if not next(ticks) % _LOOKS:
                    self._check_elapsed()
            elif event == "return" and frame is self._test:
                self.end_test(frame)
            return None if self._is_over else on_event

        return on_event

    def _check_elapsed(self) -> None:
        tracing = next(self._ticks) * self._event_seconds
        own = time.thread_time() - self._began - tracing
        if tracing > _LEAST and tracing > (SLOWEST - 1) * max(own, 0.0):
            self.stop_for_all(f"tracing without it is over {SLOWEST} times slower")


def _measure_event() -> float:
    """Return the processor seconds that tracing one line takes here."""
    local = SetTrace().make_local(set())
    spent = []
    for trace in (None, local):
        frame = sys._getframe()
        began = time.thread_time()
        for _ in range(_LOOP):
            if trace is not None:
                trace(frame, "line", None)
        spent.append(time.thread_time() - began)
    return max(spent[1] - spent[0], 0.0) / _LOOP


# --- sys.monitoring -------------------------------------------------------------------


class Monitoring(_Tracer):
    """Hears of each line once a test: the interpreter disables a place that was reported."""

    name = "sys.monitoring"
    is_per_thread = False
    is_cut = False

    def __init__(self) -> None:
        super().__init__()
        self._api: Any = sys.monitoring  # type: ignore[attr-defined]  # since 3.12
        self._tool = -1
        self._sets: dict[str, set[int] | None] = {}

    def start(self) -> None:
        """Start to monitor all threads of the interpreter."""
        api, events = self._api, self._api.events
        self._tool = next(one for one in _TOOLS if api.get_tool(one) is None)
        api.use_tool_id(self._tool, "runner")
        for event, hear in (
            (events.PY_START, self._on_start),
            (events.LINE, self._on_line),
            (events.PY_RESUME, self._on_resume),
            (events.PY_THROW, self._on_resume),
            (events.PY_YIELD, self._on_end),
            (events.PY_RETURN, self._on_end),
            (events.PY_UNWIND, self._on_end),
        ):
            api.register_callback(self._tool, event, hear)
        api.set_events(self._tool, events.PY_START | events.PY_THROW)

    def stop(self) -> None:
        """Stop monitoring."""
        if self._tool >= 0:
            self._api.free_tool_id(self._tool)
            self._tool = -1

    def _on_start(self, code: CodeType, _offset: int) -> Any:
        api, is_test = self._api, code.co_name == "runTest" or code.co_name.startswith("test")
        frame = sys._getframe(1)
        with suppress(Exception):  # whatever it is, it is not the program's trouble
            if self._tool >= 0:
                self._hear(code, frame, is_test=is_test)
            if not is_test:
                return api.DISABLE
            self._begin(frame)
        return None  # for a test, or after an error such as a full stack: the next start is heard

    def _hear(self, code: CodeType, frame: FrameType, *, is_test: bool) -> None:
        filename, events = code.co_filename, self._api.events
        if filename not in self._sets:
            self._sets[filename] = self.lines_of(filename, frame)
        lines = events.LINE if self._sets[filename] is not None else 0
        bounds = events.PY_RESUME | events.PY_YIELD | events.PY_RETURN
        wanted = lines | (bounds if is_test else 0)
        # Not by the code object: a reloaded module has a new one, and the two compare equal.
        if wanted and not self._api.get_local_events(self._tool, code):
            self._api.set_local_events(self._tool, code, wanted)

    def _on_line(self, code: CodeType, line: int) -> Any:
        lines = self._sets.get(code.co_filename)
        if lines is not None:
            lines.add(line)
        return self._api.DISABLE

    def _on_resume(self, _code: CodeType, _offset: int, _thrown: Any = None) -> None:
        self._begin(sys._getframe(1))

    def _on_end(self, _code: CodeType, _offset: int, _value: Any) -> None:
        if self.end_test(sys._getframe(1)):
            self._renew(0)

    def _begin(self, frame: FrameType) -> None:
        if self.begin_test(frame):
            self._renew(self._api.events.PY_UNWIND)

    def _renew(self, also: int) -> None:
        """Report all lines again, since another test has started."""
        if self._tool >= 0:
            events = self._api.events
            self._api.set_events(self._tool, events.PY_START | events.PY_THROW | also)
            self._api.restart_events()


CTracer: Any = Monitoring if sys.version_info >= (3, 12) else SetTrace
"""Tracer for this Python, under the name of coverage.py's own."""
