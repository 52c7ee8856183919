"""Record executed lines with coverage.py's tracer alone; see `sitecustomize_hook`.

All of coverage.py takes 150 ms of a processor to load and to start, its tracer 2, and a proof
starts an interpreter for each test program and for what that starts. What is traced is chosen as
`startup_lines` has coverage.py choose it, which takes over where a program measures itself, and
measures where the tracer is another than the one that is known here. An interpreter for which no
coverage.py is installed is traced by `python_tracer`.

It is copied beside `sitecustomize_hook` and never imported here; the same holds for it.
"""
# ruff: noqa: PTH117, PTH118, PTH119, UP031 - for old interpreters, and importing pathlib costs 8 ms a process

from __future__ import annotations

import atexit
import json
import os
import signal
import sys
import threading
from contextlib import suppress
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from importlib.util import module_from_spec, spec_from_file_location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType, ModuleType
    from typing import Any

_TRACER = "coverage.tracer"
_KNOWN = frozenset(
    (
        *("activity", "check_include", "concur_id_func", "data", "disable_plugin", "file_tracers"),
        *("get_stats", "lock_data", "reset_activity", "should_start_context", "should_trace"),
        *("should_trace_cache", "start", "stop", "switch_context", "trace_arcs", "unlock_data"),
        "warn",
    )
)
"""Attributes of the tracer in coverage.py 7.11 to 7.17; any other set means another API."""
_HELD = 1 << 20
"""Characters buffered before they are written."""
_LARGEST = 1 << 25
"""Bytes of one file, half of the read limit (`instrument.LARGEST`); then another follows."""
_MOST_LINES = 1 << 20
_OPTIMIZED = 1
"""`inspect.CO_OPTIMIZED`, which coverage.py checks before it trusts a qualified name."""


def begin(
    folder: str, note: Callable[..., None], measure_whole: Callable[[ModuleType], None]
) -> bool:
    """Trace from now on with the tracer of a coverage.py; False where it is none that is known."""
    tracer = _load_tracer(folder)
    if tracer is None:
        return False
    handover = Handover(tracer, measure_whole)
    sys.meta_path.insert(0, handover)
    if {name for name in dir(tracer.CTracer) if not name.startswith("_")} != _KNOWN:
        return False
    version = str(_load("_runner_version", os.path.join(folder, "version.py")).__version__)
    handover.tracing = _start(tracer, note, coverage=version)
    return True


def begin_without_coverage(tracer: ModuleType, note: Callable[..., None]) -> None:
    """Trace from now on with `python_tracer`."""
    _start(tracer, note, tracer=tracer.CTracer.name)


def _start(module: ModuleType, note: Callable[..., None], **used: str) -> LineTracer:
    tracing = LineTracer(module)
    note(**used)  # now, too: what is killed does not come to its end

    def tell() -> None:
        if why := tracing.explain_gap():
            note(missing="coverage", why=why)

    tracing.start()
    ExitSaver(tracing, note, used, tell).await_end()
    return tracing


def _load_tracer(folder: str) -> ModuleType | None:
    sites = [path for path in sys.path if path.rstrip(os.sep).endswith("-packages")]
    if PathFinder.find_spec("greenlet", sites) is not None:
        return None  # greenlets change the stack under a tracer that does not know of them
    files = (os.path.join(folder, "tracer" + ending) for ending in EXTENSION_SUFFIXES)
    file = next(filter(os.path.exists, files), None)
    return None if file is None else _load(_TRACER, file)


def _load(name: str, file: str) -> ModuleType:
    """Load a module of coverage.py privately, so that the program's imports do not find it."""
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules.pop(name, None)
    return module


class LineTracer:
    """Lines that ran, by test and file; written down when there are many, and at the end."""

    def __init__(self, tracer: Any) -> None:
        self._tracer = tracer
        self._root = os.environ["RUNNER_COVER_ROOT"].split(os.pathsep)[0] + os.sep
        self._apart = [one.rstrip("*") for one in os.environ["RUNNER_COVER_OMIT"].split(os.pathsep)]
        self._out = os.environ["RUNNER_COVER_OUT"]
        self._files = os.open, os.write, os.close  # tests put others into every module (pyfakefs)
        self._known: dict[str, Any] = {}
        self._ran: dict[str, set[int]] = {}
        self._test = ""
        self._outside: dict[str, set[int]] = {}
        """Lines that ran outside of tests and are already noted: imports and fixtures run often."""
        self._lines: list[str] = []
        self._size = self._written = 0
        self._lock = threading.Lock()
        self._tracers: list[Any] = []
        self._stopped = ""
        """Why recording of lines stopped."""
        self._is_other = os.environ["RUNNER_COVER_PYTHON"] != "%d.%d" % sys.version_info[:2]

    def start(self) -> None:
        """Trace this thread and those that it starts."""
        self._start_tracer()
        if getattr(self._tracer.CTracer, "is_per_thread", True):
            threading.settrace(self._trace_thread)

    def stop(self, why: str) -> None:
        """Trace no more, in any thread."""
        self._stopped = why
        threading.settrace(None)
        for tracer in tuple(self._tracers):
            tracer.stop()

    def explain_gap(self) -> str:
        """Return why executed lines may be missing from the measurement; empty if none are."""
        if self._stopped:
            return self._stopped
        cut = getattr(self._tracers[0], "is_cut", False)
        return "the program replaced the trace function, or recursed too deeply" if cut else ""

    def make_way(self) -> None:
        """Leave this thread and new ones to another tracer; threads that run are traced on."""
        current = sys.gettrace()
        if any(current is one for one in self._tracers):
            current.stop()  # type: ignore[union-attr]  # it is one of ours
            sys.settrace(None)
        threading.settrace(None)

    def _start_tracer(self) -> Any:
        tracer = self._tracer.CTracer()
        tracer.data, tracer.trace_arcs = self._ran, False
        tracer.lock_data, tracer.unlock_data = self._hold, self._let_go
        tracer.should_trace, tracer.should_trace_cache = self._choose, self._known
        tracer.should_start_context, tracer.switch_context = name_test, self._begin_test
        tracer.file_tracers, tracer.concur_id_func = {}, None
        tracer.warn = tracer.check_include = tracer.disable_plugin = _print_nothing
        if hasattr(tracer, "is_per_thread"):
            tracer.stop_for_all = self.stop
        started = tracer.start()
        self._tracers.append(tracer)
        return started

    def _trace_thread(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Start tracing in a new thread at its first event."""
        sys.settrace(None)
        trace = self._start_tracer()
        return trace(frame, event, arg) if trace else None

    def _hold(self) -> None:
        self._lock.acquire()

    def _let_go(self) -> None:
        self._lock.release()

    def _choose(self, filename: str, frame: FrameType) -> Any:
        """Return whether to trace a file, in the form that the tracer reads."""
        chosen = self._tracer.CFileDisposition()
        chosen.original_filename = chosen.canonical_filename = filename
        chosen.source_filename, chosen.trace, chosen.reason = None, False, ""
        chosen.file_tracer, chosen.has_dynamic_filename = None, False
        with suppress(OSError, TypeError, ValueError):  # all else is the program's: a full stack
            file = _find_file(filename, frame)
            if file.startswith(self._root) and not self._is_apart(file):
                chosen.canonical_filename = chosen.source_filename = file
                chosen.trace = True
                self._note_code(file, frame.f_code)
        return chosen

    def _note_code(self, file: str, code: CodeType) -> None:
        """Record the lines of a file with byte code, which may differ between Python versions."""
        if self._is_other and code.co_name == "<module>":
            self._lines.append(json.dumps(["", file, "", _bits_of(_code_lines(code))]) + "\n")

    def _is_apart(self, file: str) -> bool:
        """Return whether a file is excluded from tracing by a part or prefix of its path."""
        return any(
            one[1:] in file if one.startswith("*/") else file.startswith(one) for one in self._apart
        )

    # --- lines --------------------------------------------------------------------------

    def _begin_test(self, test: str | None) -> None:
        with suppress(Exception):
            self._note_lines()
        self._test = test or ""

    def _note_lines(self) -> None:
        for path, lines in self._ran.copy().items():
            found = lines.copy()
            if not found:
                continue
            lines.difference_update(found)  # what another thread ran since stays
            if not self._test:
                known = self._outside.setdefault(path, set())
                found -= known
                known |= found
            if found:
                line = json.dumps([self._test, path, _bits_of(found)]) + "\n"
                self._lines.append(line)
                self._size += len(line)
        if self._size > _HELD:
            self._write()

    def _write(self) -> None:
        """Append what is kept to this process's own file, opened anew: a program closes files."""
        lines, self._lines, self._size = self._lines, [], 0  # first: other threads add to them
        path = "%s/lines.%d.%d.jsonl" % (self._out, os.getpid(), self._written // _LARGEST)
        self._written += sum(map(len, lines))
        open_file, write, close = self._files
        descriptor = open_file(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            write(descriptor, "".join(lines).encode())
        finally:
            close(descriptor)

    def write_down(self) -> None:
        """Write down what ran so far."""
        self._note_lines()
        if self._lines:
            self._write()

    def after_fork(self) -> None:
        """Reset the state in a forked child."""
        self._lines = []
        self._size = self._written = 0
        self._lock = threading.Lock()  # another thread of the parent may have held it


def _print_nothing(*_: Any, **__: Any) -> None:
    """Print nothing: what goes wrong in tracing is not the program's trouble."""


def _code_lines(code: CodeType) -> set[int]:
    """Return the lines with byte code in a module, its functions and classes."""
    from dis import findlinestarts  # 1 ms: only where another Python runs

    found = {line for _, line in findlinestarts(code) if line}
    for inner in code.co_consts:
        if hasattr(inner, "co_code"):
            found |= _code_lines(inner)
    return found


def _bits_of(lines: set[int]) -> str:
    """Encode lines as a hexadecimal bit set, as coverage.py does (`numbits.py`)."""
    fit = [line for line in lines if 0 <= line < _MOST_LINES]
    bits = bytearray(max(fit, default=0) // 8 + 1)
    for line in fit:
        bits[line // 8] |= 1 << line % 8
    return bits.hex()


# --- as coverage.py does ----------------------------------------------------------------


def _find_file(filename: str, frame: FrameType) -> str:
    """Return the file of a frame with links resolved; empty for none."""
    if filename.startswith("<"):
        return ""
    # Byte code names the path at compilation, its module the path it was loaded from: files moved
    # since are found there. Code made from a string may name any other file.
    loaded = str((frame.f_globals or {}).get("__file__") or "")
    loaded = loaded[:-1] if loaded.endswith((".pyc", ".pyo")) else loaded
    same = os.path.basename(loaded) == os.path.basename(filename)
    file = loaded if loaded and same else filename
    if file.startswith(("<", "memory:")):
        return ""
    if not os.path.isabs(file):
        places = (os.path.join(path, file) for path in [os.curdir, *sys.path])
        file = next(filter(os.path.exists, places), file)
    file = os.path.realpath(file)
    file.encode()
    return file


def name_test(frame: FrameType) -> str | None:
    """Return the name of the test in a frame; None for any other (`context.py`)."""
    name = frame.f_code.co_name
    if name != "runTest" and not name.startswith("test"):
        return None
    with suppress(Exception):
        return _name_function(frame, name)
    return None


def _name_function(frame: FrameType, name: str) -> str | None:
    code = frame.f_code
    held: Any = None
    if code.co_argcount and code.co_varnames[0] == "self":
        held = frame.f_locals.get("self")
        method = getattr(held, name, None)
        if method is not None:
            function = getattr(method, "__func__", None)
            if function is None:
                return "%s.%s.%s" % (held.__class__.__module__, held.__class__.__name__, name)
            return "%s.%s" % (function.__module__, function.__qualname__)
    function = frame.f_globals.get(name)
    if function is not None:
        return "%s.%s" % (function.__module__, name)
    # A static method is in neither, but since Python 3.11 its code has the qualified name.
    whole = getattr(code, "co_qualname", "")
    if whole and code.co_flags & _OPTIMIZED and "<locals>" not in whole:
        return "%s.%s" % (frame.f_globals.get("__name__"), whole)
    return None


# --- a program that measures itself -----------------------------------------------------


class Handover:
    """A finder that finds nothing itself: it sees coverage.py come, and hears it start.

    Only one tracer runs in a thread at a time, so what a program measures is shared with ours by
    all of coverage.py (`startup_lines`). A program that only imports it is traced on.
    """

    def __init__(self, tracer: ModuleType, measure_whole: Callable[[ModuleType], None]) -> None:
        self._tracer, self._measure_whole = tracer, measure_whole
        self.tracing: LineTracer | None = None

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of coverage.py and its tracer, amended; None for other modules."""
        if name not in ("coverage", _TRACER):
            return None
        for finder in (one for one in tuple(sys.meta_path) if one is not self):
            spec = getattr(finder, "find_spec", lambda *_: None)(name, path, target)
            if spec is not None:
                with suppress(Exception):
                    self._fit_out(spec)
                return spec
        return None

    def _fit_out(self, spec: Any) -> None:
        if spec.name != _TRACER:
            self._listen(spec.loader)
        elif os.path.realpath(spec.origin) == os.path.realpath(str(self._tracer.__file__)):
            # Reuse the existing module: if loaded a second time, the tracer would be empty.
            spec.loader.create_module = lambda _spec: self._tracer
            spec.loader.exec_module = _print_nothing

    def _listen(self, loader: Any) -> None:
        run = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            with suppress(Exception):
                self._await_start(module)

        loader.exec_module = exec_module

    def _await_start(self, coverage: Any) -> None:
        start, tracing = coverage.Coverage.start, self.tracing
        if tracing is None:
            return

        def start_after_ours(measuring: Any) -> Any:
            coverage.Coverage.start = start
            with suppress(Exception):
                tracing.make_way()
                self._measure_whole(coverage)
            return start(measuring)

        coverage.Coverage.start = start_after_ours


# --- the end ----------------------------------------------------------------------------


class ExitSaver:
    """Saves once what a measuring has, whichever way an interpreter ends.

    It has no exit functions at os._exit, exec and SIGTERM. `used` is noted with the version of
    pytest; `tell` notes more.
    """

    def __init__(
        self,
        measuring: Any,
        note: Callable[..., None],
        used: dict[str, str],
        tell: Callable[[], None] = lambda: None,
    ) -> None:
        self._measuring, self._note, self._used, self._tell = measuring, note, used, tell
        self._ended = self._saving = False
        self._signal = 0
        """Signal that arrived while lines were being written."""

    def save(self) -> None:
        """Write down what ran so far; a signal waits until that is done."""
        self._saving = True
        with suppress(Exception):
            self._measuring.write_down()
        self._saving = False
        if self._signal:
            end_by(self._signal)

    def end(self) -> None:
        """Write down what ran, once."""
        if not self._ended:
            pytest = getattr(sys.modules.get("pytest"), "__version__", "")
            self._note(pytest=str(pytest), **self._used)
            self._tell()
            self._ended = True
            self.save()

    def _after_fork(self) -> None:
        self._ended = self._saving = False
        self._signal = 0
        self._measuring.after_fork()

    def await_end(self) -> None:
        """Wrap all ways in which an interpreter can end, so that data is saved first."""
        leave, run, run_in = os._exit, os.execv, os.execve

        def _exit(status: int) -> None:
            self.end()
            leave(status)

        def execv(path: Any, argv: Any) -> None:
            self.save()
            run(path, argv)

        def execve(path: Any, argv: Any, env: Any) -> None:
            self.save()
            run_in(path, argv, env)

        def on_end(number: int, frame: Any) -> None:
            if self._saving:
                self._signal = number
            else:
                self.end()
                earlier(number, frame) if callable(earlier) else end_by(number)

        atexit.register(self.end)
        os._exit = _exit  # type: ignore[assignment]  # it never returns either
        os.execv, os.execve = execv, execve  # type: ignore[assignment]  # likewise
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)
        # Only the main thread can set handlers (signal); the program's own handler stays, this one
        # runs after it.
        in_main = threading.current_thread() is threading.main_thread()
        earlier = signal.getsignal(signal.SIGTERM)
        is_ours = getattr(earlier, "__globals__", 0) is globals()
        if in_main and (earlier == signal.SIG_DFL or is_ours):
            signal.signal(signal.SIGTERM, on_end)


def end_by(number: int) -> None:
    """End the process by a signal's default action."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
