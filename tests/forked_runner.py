"""`python -m runner` as a process of its own that is forked from this one, with its modules loaded.

Nine tenths of the time of a short command are its imports, and tests start a thousand commands. A
forked one has its own session of signals, descriptors, folder and environment, as one that is
started has. Where the start itself is the promise, or an SQLite file of the child is open here (its
locks are a process's), tests start `python -m runner` by `subprocess`.
"""

import gc
import logging
import os
import pkgutil
import pty
import signal
import subprocess
import sys
import threading
import warnings
from contextlib import suppress
from functools import cache
from importlib import import_module
from types import SimpleNamespace

import runner

_COMMAND = "runner"
_EXTENSIONS = "runner.extensions."
_LOADED_LATE = ("git", "networkx", "pydantic", "rich.console", "rich.table")
"""Libraries that a run loads late."""
_THREADS = frozenset(threading.enumerate())
"""Those of the tests themselves."""


def find_words(command):
    """Return the words behind `python [-P] -m runner`; None where it is another command."""
    program, *rest = (str(one) for one in command)
    if rest[:1] == ["-P"]:
        del rest[0]
    return rest[2:] if (program, rest[:2]) == (sys.executable, ["-m", _COMMAND]) else None


def _can_fork():
    """Return whether a fork of this process finds no lock that another thread of it holds.

    Elsewhere than on Linux a process with threads may not go on as a fork of its own (macOS).
    """
    if os.environ.get("FORK_RUNNER") != "1":  # a fork beside threads may hang, once in many runs
        return False
    others = (one for one in threading.enumerate() if not one.daemon and one not in _THREADS)
    return sys.platform == "linux" and set(others) <= {threading.main_thread()}


def start(command, *, env=None, **options):
    """As `subprocess.Popen(command, …)`, but of the runner as a fork of this process."""
    words = find_words(command) if _can_fork() else None
    if words is None:
        return subprocess.Popen(command, env=env, **options)
    load_modules()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: a fork beside threads
        return subprocess.Popen(command, preexec_fn=lambda: become(words, env), **options)  # noqa: PLW1509 - the child is not to start another program


def start_at_terminal(command, cwd, environ):
    """Start a command at a terminal of its own; its number, and the other end of the terminal."""
    words = find_words(command) if _can_fork() else None
    if words is not None:
        load_modules()
    pid, descriptor = pty.fork()
    if pid == 0:  # the child: nothing of pytest may run here
        try:
            if cwd:
                os.chdir(cwd)
            if words is not None:
                become(words, environ)
            os.execvpe(command[0], list(command), environ)
        finally:
            os._exit(127)
    return pid, descriptor


def run(command, *, input=None, timeout=None, check=False, capture_output=False, **options):  # noqa: A002 - the name of subprocess
    """As `subprocess.run(command, …)`, but of the runner as a fork of this process."""
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        options["stdin"] = subprocess.PIPE
    with start(command, **options) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(command, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


def become(words, env=None):
    """Be the runner with these words in a child that was forked; never returns."""
    code = 70
    try:
        _leave_pytest()
        if env is not None:
            os.environ.clear()
            os.environ.update(env)
        sys.argv = [_COMMAND, *words]
        code = _run(words)
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


def _leave_pytest():
    """Forget what belongs to the process of the tests."""
    # What is collected later would close descriptors that are another's by then.
    gc.freeze()
    gc.disable()
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    signal.set_wakeup_fd(-1)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process
    for number, name, errors in ((1, "stdout", "strict"), (2, "stderr", "backslashreplace")):
        lines = number == 2 or os.isatty(number)
        stream = open(number, "w", encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115 - as above
        stream.reconfigure(line_buffering=lines)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    warnings.resetwarnings()
    warnings.simplefilter("ignore")
    logging.getLogger().handlers.clear()
    sys.excepthook, sys.unraisablehook = sys.__excepthook__, sys.__unraisablehook__
    threading.excepthook = threading.__excepthook__


def _run(words):
    from runner.cli import main

    try:
        code = main(words)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001 - as Python ends by one
        sys.excepthook(*sys.exc_info())
        code = 1
    # As at the end of Python, which an exit without it leaves out.
    with suppress(BaseException):
        threading._shutdown()
    from runner.process import tree

    tree._end_unended()
    return int(code)


@cache
def load_modules():
    """Load what a run loads, once for all that are forked from here."""
    found = pkgutil.walk_packages(runner.__path__, "runner.", onerror=SimpleNamespace)
    names = [one.name for one in found if not one.name.startswith(_EXTENSIONS)]
    for name in (*_LOADED_LATE, *names):
        if not name.endswith(("__main__", "_hook")) and ".inside." not in name:
            with suppress(ImportError):
                import_module(name)
