"""Run commands that belong to no task: the runner itself, and a person's secret commands.

Each runs in a process of its own, with our own rights. The output of a command that prints a secret
is never kept, shown or written.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from runner import effects
from runner.process import platform
from runner.process.base import Command, Ended, Place
from runner.process.limits import Limits
from runner.process.process_tree import plant_apart
from runner.process.sandbox import NoSandbox
from runner.process.supervise import run
from runner.process.tools import which

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import BinaryIO


# --- of this program ------------------------------------------------------------------


_PATIENCE = 30.0
"""Seconds that a command has to end in once it was asked to: a run hands back what it holds, and a
lease that it was kept from giving back stands in everybody's way until it lapses."""
LINE_SECONDS = 2.0
"""Wall-clock seconds; a line that computes for one second is ended before."""
_SHELLS = ("sh", "dash", "zsh", "ksh")
_HARMLESS = ("true", "false")
"""Programs for `exec`, which starts no built-in."""
_LIBRARIES = ("/usr/lib", "/usr/lib64", "/lib", "/lib64")
_BOUNDS = Limits(hard=LINE_SECONDS, processes=64)
"""Processes are limited by a cgroup if possible: `ulimit -u` is not enforced for root."""
_LIMITS = "ulimit -u 64 -v 1000000 -t 1 -f 2048"
_START = f'{_LIMITS} && exec /bin/bash -c "$1" >/dev/null 2>&1 </dev/null'
_ROOT = Path("/")
_PROBE = 97
_BY_SIGNAL = 128


class OwnCommand:
    """`runner …` as a child without a terminal; an open resource until it has ended.

    Its output goes into files without a name, so it waits for no reader. Its input is empty, or the
    file `stdin`. With `stays` its session is its own and outlives us, as for a run started from
    elsewhere. Raises OSError where it cannot start.
    """

    def __init__(
        self,
        words: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        *,
        stays: bool = False,
        stdin: BinaryIO | None = None,
    ) -> None:
        # -P: otherwise `-m` puts the working folder first on sys.path, and a `runner.py` of the
        # repository would run with our rights instead.
        argv = (sys.executable, "-P", "-m", "runner", *words)
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `forget`
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - likewise
        effects.step("spawn", argv[0])

        def start(env: Mapping[str, str]) -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                argv,
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL if stdin is None else stdin,
                stdout=self._output,
                stderr=self._errors,
                start_new_session=stays,
                # At least its own group: Ctrl-C reaches the whole group of the terminal
                # (termios(3), ISIG), but only we end this command.
                process_group=None if stays else 0,
            )

        try:
            self._process = plant_apart(env, start) if stays else start(dict(env))
        except BaseException:
            self._close()
            raise

    @property
    def pid(self) -> int:
        """Its process number."""
        return self._process.pid

    def wait(self, seconds: float | None = None) -> int | None:
        """Wait for the exit code; None if it does not end in time."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def read(self, bound: int) -> tuple[bytes, bytes]:
        """Return its output and errors so far: at most the last `bound` bytes of each."""
        return _tail(self._output.fileno(), bound), _tail(self._errors.fileno(), bound)

    def end(self) -> None:
        """Ask it to end, or end it."""
        with suppress(ProcessLookupError):
            self._process.terminate()
        if self.wait(_PATIENCE) is None:
            self._process.kill()
            self._process.wait()

    def forget(self) -> None:
        """Close its output files; it may still run."""
        self._close()

    def _close(self) -> None:
        self._output.close()
        self._errors.close()


def _tail(descriptor: int, bound: int) -> bytes:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, bound, max(0, size - bound))


_NAME = "child.json"
_PAUSE = 0.1


def read_document(output: bytes) -> dict[str, object]:
    """Parse the JSON document printed by a runner command; return an empty dict if invalid."""
    try:
        document = json.loads(output)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def record_child(folder: Path, pid: int) -> None:
    """Record a started command until `forget_child` removes the record."""
    started = _find_start(pid)
    if started:
        text = json.dumps({"pid": pid, "started": started})
        # Without fsync: after a power failure the process is gone, too.
        effects.write_file(folder / _NAME, text.encode(), durable=False)


def forget_child(folder: Path) -> None:
    """Remove the record of an ended command."""
    (folder / _NAME).unlink(missing_ok=True)


def end_orphan(folder: Path) -> bool:
    """Ask what is remembered to end, as Ctrl-C does, and wait for it; whether it has ended.

    A number that was given out again belongs to another, and is left alone.
    """
    try:
        fields = json.loads((folder / _NAME).read_bytes())
        pid, started = int(fields["pid"]), int(fields["started"])
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return True

    def lives() -> bool:
        return _find_start(pid) == started

    until = effects.monotonic() + _PATIENCE
    while lives() and effects.monotonic() < until:
        platform.interrupt(pid, lives)
        rest = effects.monotonic() + _PATIENCE / 3
        while lives() and effects.monotonic() < rest:
            time.sleep(_PAUSE)
    if lives():
        return False
    forget_child(folder)
    return True


def _find_start(pid: int) -> int:
    """Return the start time of a live process in system ticks; 0 if there is none."""
    # 0 and less mean groups and all processes (kill(2)), 1 is the system's first process: a file
    # with these is not ours.
    found = platform.process(pid) if pid > 1 else None
    return found.started if found is not None and found.alive else 0


# --- that says a secret ---------------------------------------------------------------


SECONDS = 30.0
"""A command without an answer by then waits for a person or a network, or hangs."""
_POLL = 0.2
_MOST = 64 << 10
"""Maximum bytes of a secret."""


class OwnCommandResult(Struct, frozen=True):
    """The result of a command; its representation hides both outputs."""

    value: str = ""
    trouble: str = ""
    """Why there is no value; the text contains none of it."""

    def __repr__(self) -> str:
        return "Answer(…)"


def ask_for_secret(
    line: str,
    root: Path,
    environ: Mapping[str, str],
    cancelled: Callable[[], bool] = lambda: False,
    seconds: float = SECONDS,
) -> OwnCommandResult:
    """Run a secret command and return its standard output without the line break.

    It runs with the person's own rights and environment, as they would type it, without a
    terminal. What it says on standard error is dropped: a chatty tool may say the value there.
    """
    effects.step("spawn", "/bin/sh")
    try:
        asked = plant_apart(environ, lambda env: _start(line, root, env))
    except OSError as error:
        return OwnCommandResult(trouble=f"its command cannot start: {error.strerror}")
    until = effects.monotonic() + seconds
    while True:
        try:
            # Calling it again after a timeout loses no output (guaranteed by the subprocess
            # module); this allows checks for a cancel in between.
            output, _ = asked.communicate(timeout=_POLL)
        except subprocess.TimeoutExpired:
            if cancelled() or effects.monotonic() > until:
                _end(asked)
                late = f"its command did not end within {seconds:g} s"
                return OwnCommandResult(trouble="it was cancelled" if cancelled() else late)
        else:
            return _read(output, asked.returncode)


def _start(line: str, root: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ("/bin/sh", "-c", line),
        cwd=root,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _end(asked: subprocess.Popen[bytes]) -> None:
    """Kill the session of a command, since a child could keep the pipe open forever."""
    with suppress(ProcessLookupError):
        os.killpg(asked.pid, signal.SIGKILL)
    if asked.stdout:
        asked.stdout.close()
    asked.wait()


def _read(output: bytes, code: int) -> OwnCommandResult:
    if code:
        return OwnCommandResult(trouble=f"its command ended with exit code {code}")
    if len(output) > _MOST:
        return OwnCommandResult(trouble="its command printed more than 64 kB")
    try:
        value = output.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        return OwnCommandResult(trouble="its command printed text that is not UTF-8")
    if "\0" in value:
        return OwnCommandResult(trouble="its command printed NUL, which no variable can hold")
    if len(value.strip()) < 4:  # noqa: PLR2004  what redaction would blot out ordinary text by
        return OwnCommandResult(trouble="its output is too short to redact: under 4 characters")
    return OwnCommandResult(value)


def run_enclosed(line: str, environment: Mapping[str, str], files: Mapping[str, str]) -> int | None:
    """Return the exit of a line that bash runs alone; None where it cannot run or finish.

    `files` are scripts by their path in the empty folder. A command without a slash that bash does
    not know calls the function `command_not_found_handle`, if `environment` has one.
    """
    if not _encloses():
        return None
    if not files:
        return _run(line, environment, ())
    with tempfile.TemporaryDirectory(prefix="runner-line-") as folder:
        mounts = [*_write(files, Path(folder))]
        return _run(line, environment, mounts)


@cache
def _encloses() -> bool:
    return _run(f"exit {_PROBE}", {}, ()) == _PROBE


def _write(files: Mapping[str, str], folder: Path) -> Iterator[str]:
    for number, (path, text) in enumerate(files.items()):
        copy = folder / str(number)
        copy.write_text(text, "utf-8", "surrogateescape")
        copy.chmod(0o755)
        yield from ("--ro-bind", str(copy), f"/line/{path}")


def _run(line: str, environment: Mapping[str, str], mounts: list[str] | tuple[()]) -> int | None:
    enclosed = _argv_before()
    if not enclosed:
        return None
    variables = [word for name, value in environment.items() for word in ("--setenv", name, value)]
    argv = [*enclosed, *variables, *mounts, "/bin/bash", "-c", _START, "bash", line]
    command = Command(tuple(argv), Place(_ROOT, _ROOT, _ROOT), {"PATH": os.defpath}, limits=_BOUNDS)
    ran = run(command, NoSandbox())
    return ran.exit if ran.ended is Ended.EXITED and ran.exit <= _BY_SIGNAL else None


@cache
def _argv_before() -> tuple[str, ...]:
    """Return the start of a bubblewrap command line; empty if a program is missing."""
    search = {"PATH": os.defpath}
    bubblewrap, bash = which("bwrap", search), which("bash", search)
    if bubblewrap is None or bash is None:
        return ()
    programs = [("bash", bash), *((name, which(name, search)) for name in _HARMLESS)]
    return (
        *(str(bubblewrap), "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"),
        *("--setenv", "PATH", "/bin"),
        *(word for path in _LIBRARIES if Path(path).exists() for word in ("--ro-bind", path, path)),
        *(
            word
            for name, path in programs
            if path
            for word in ("--ro-bind", str(path), f"/bin/{name}")
        ),
        *(word for name in _SHELLS for word in ("--symlink", "bash", f"/bin/{name}")),
        *("--dev", "/dev", "--proc", "/proc", "--tmpfs", "/line", "--chdir", "/line"),
    )
