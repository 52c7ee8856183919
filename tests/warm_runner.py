"""`python -m runner` as a process that is forked from a small server with its modules loaded.

Nine tenths of the processor time of a short command are its imports, and tests start a thousand
commands. The server has one thread, so a fork of it holds no lock; the fork is a child of the
tests' process (CLONE_PARENT), so `subprocess` waits for it as for any other. Where the start itself
is the promise, tests start `python -m runner` by `subprocess`.
"""

import atexit
import ctypes
import gc
import inspect
import json
import os
import pkgutil
import platform
import pty
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

_CLONE = {"x86_64": 56, "aarch64": 220}
"""The number of clone(2) by machine."""
_CLONE_PARENT = 0x8000
_READ_AT_START = ("COVERAGE_", "LANG", "LC_", "LD_", "MALLOC", "PYTHON")
"""Variables that Python, or a library of C, reads once when it starts."""
_LOADED_LATE = (
    *("git", "networkx", "pydantic", "rich.console", "rich.table"),
    *("alembic.command", "jinja2", "psycopg", "sqlalchemy.orm", "starlette.routing", "uvicorn"),
)
"""Libraries that commands load late."""
_MOST = 1 << 20
"""Bytes of one request."""
_AT_START = dict(os.environ)
_HANGUP_AT_START = signal.getsignal(signal.SIGHUP)
"""The server inherits it, and nohup(1) has it ignored."""
_SIGNATURE = inspect.signature(subprocess.Popen._execute_child)


# --- the tests' side ------------------------------------------------------------------


def start(command, *, env=None, **options):
    """As `subprocess.Popen(command, …)`, but of the runner as a fork of the server."""
    if _find_words(command) is None or not _can_fork(env):
        return subprocess.Popen(command, env=env, **options)
    return _Forked(command, env=env, **options)


def run(command, *, input=None, timeout=None, check=False, capture_output=False, **options):  # noqa: A002 - the name of subprocess
    """As `subprocess.run(command, …)`, but of the runner as a fork of the server."""
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


def start_at_terminal(command, cwd, environ):
    """Start a command at a terminal of its own; its number, and the other end of the terminal."""
    words = _find_words(command)
    if words is not None and _can_fork(environ):
        ours, theirs = pty.openpty()
        pid = _server().start(words, cwd, environ, [theirs] * 3, terminal=True)
        os.close(theirs)
        return pid, ours
    pid, ours = pty.fork()
    if pid == 0:  # the child: nothing of pytest may run here
        try:
            if cwd:
                os.chdir(cwd)
            os.execvpe(command[0], list(command), environ)
        finally:
            os._exit(127)
    return pid, ours


def _find_words(command):
    """Return the words behind `python [-P] -m runner`; None where it is another command."""
    program, *rest = (str(one) for one in command)
    if rest[:1] == ["-P"]:
        del rest[0]
    return rest[2:] if (program, rest[:2]) == (sys.executable, ["-m", "runner"]) else None


def _can_fork(env):
    asked = _read_at_start(os.environ if env is None else env)
    known = sys.platform == "linux" and platform.machine() in _CLONE
    known = known and signal.getsignal(signal.SIGHUP) == _HANGUP_AT_START
    return known and "COVERAGE_PROCESS_CONFIG" not in asked and asked == _read_at_start(_AT_START)


def _read_at_start(env):
    return {name: env[name] for name in env if name.startswith(_READ_AT_START)}


class _Forked(subprocess.Popen):
    """A process that the server starts."""

    def _execute_child(self, *values):
        given = _SIGNATURE.bind(self, *values).arguments
        assert given["preexec_fn"] is None
        ends = [given["p2cread"], given["c2pwrite"], given["errwrite"]]
        self.pid = _server().start(
            _find_words(given["args"]),
            given["cwd"],
            given["env"],
            [number if end == -1 else end for number, end in enumerate(ends)],
            session=given["start_new_session"],
        )
        self._child_created = True
        pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(given[name] for name in pipes))


class _Server:
    def __init__(self):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MOST)
        words = [sys.executable, "-P", __file__, str(theirs.fileno())]
        self._process = subprocess.Popen(words, pass_fds=[theirs.fileno()], cwd="/", env=_AT_START)
        self._socket, self._lock = ours, threading.Lock()
        theirs.close()
        atexit.register(self.end)

    def start(self, words, cwd, env, ends, **how):
        asked = {
            "words": words,
            "cwd": os.fspath(cwd or "."),
            "env": dict(os.environ if env is None else env),
            **how,
        }
        here = os.open(".", os.O_RDONLY)
        try:
            with self._lock:
                socket.send_fds(self._socket, [json.dumps(asked).encode()], [*ends, here])
                answer = self._socket.recv(100)
        finally:
            os.close(here)
        return int(answer)

    def end(self):
        self._socket.close()
        self._process.wait()


@cache
def _server_of(_pid):
    return _Server()


def _server():
    """The server of this process: a fork of the tests has one of its own."""
    return _server_of(os.getpid())


# --- the server's side ----------------------------------------------------------------


def _serve(requests):
    """Answer requests; returns in a child alone, with the words of its command."""
    gc.freeze()
    while True:
        message, ends, *_ = socket.recv_fds(requests, _MOST, 8)
        if not message:
            os._exit(0)
        pid = _fork()
        if pid == 0:
            requests.close()
            return _become(json.loads(message), ends)
        for end in ends:
            os.close(end)
        requests.send(str(pid).encode())


def _fork():
    """Fork a child of our parent, as `os.fork` does one of ours."""
    python = ctypes.pythonapi  # it keeps the lock of the interpreter
    python.PyOS_BeforeFork()
    flags = _CLONE_PARENT | signal.SIGCHLD
    pid = python.syscall(_CLONE[platform.machine()], flags, 0, 0, 0, 0)
    if pid == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    return pid


def _become(asked, ends):
    """Be the process that was asked for."""
    *streams, here = ends
    os.fchdir(here)
    os.chdir(asked["cwd"])
    if asked.get("session") or asked.get("terminal"):
        os.setsid()
    for number, end in enumerate(streams):
        os.dup2(end, number)
    os.closerange(3, max(ends) + 1)
    if asked.get("terminal"):
        import fcntl
        import termios

        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.environ.clear()
    os.environ.update(asked["env"])
    time.tzset()
    tempfile.tempdir = None
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        errors = "backslashreplace" if number == 2 else "strict"
        stream = open(number, mode, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115 - as long as the process
        if mode == "w":
            stream.reconfigure(line_buffering=number == 2 or os.isatty(number))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.argv = ["runner", *asked["words"]]
    return asked["words"]


def _run(words):
    """Run the command to the end of its process."""
    from runner.cli import main

    code = 1
    try:
        code = main(words)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001 - as Python ends by one
        sys.excepthook(*sys.exc_info())
    with suppress(BaseException):
        threading._shutdown()
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(int(code))


def _load_modules():
    import runner

    found = pkgutil.walk_packages(runner.__path__, "runner.", onerror=SimpleNamespace)
    names = [one.name for one in found if not one.name.startswith("runner.extensions.")]
    for name in (*_LOADED_LATE, *names):
        if not name.endswith(("__main__", "_hook")) and ".inside." not in name:
            with suppress(ImportError):
                import_module(name)
    assert len([*Path("/proc/self/task").iterdir()]) == 1, "a fork beside threads may hang"


if __name__ == "__main__":
    gc.disable()
    _load_modules()
    _run(_serve(socket.socket(fileno=int(sys.argv[1]))))
