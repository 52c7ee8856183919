"""Start a command as its sandbox requires, and follow its pipes, its exit and its process tree."""

from __future__ import annotations

import os
import selectors
import subprocess
import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from runner import effects
from runner.lazy_pattern import regex
from runner.process import platform, process_tree

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

    from runner.process.base import Prepared
    from runner.process.cgroups import CommandCgroups
    from runner.process.output import Output


_READ = 65536
_REPORT = 65536
"""More than a sandbox ever prints; a command that finds this pipe cannot fill memory."""
_DRAIN = 1.0
"""Seconds for which a pipe held by an unreachable process is still read."""
# Limited digits: a command can reach this pipe through /proc/PID/fd (proc(5)), and int() of more
# than 4,300 raises ValueError (CVE-2020-10735).
_TIMES = regex(rb"(?:\d{1,9}m\d{1,9}[.,]\d{1,9}s\s*){4}")
_TIME = regex(rb"(\d+)m(\d+)[.,](\d+)s")
_POLL = 0.02
"""Seconds between two checks if the kernel has no pidfd_open(2)."""


class SandboxReport(Struct, frozen=True):
    """The sandbox's own error on its own channel."""

    left_behind: int = 0
    refusal: str = ""
    """Why the sandbox did not start the command."""
    words: bytes = b""
    """Message of its shell about the command, such as "Segmentation fault"."""
    processor: float | None = None
    """Processor seconds of the command."""


class Child:
    """A command that has been started; an open resource until `close`.

    Raises OSError or ValueError when it cannot be started.
    """

    def __init__(
        self, prepared: Prepared, stdin: bytes, output: Output, group: CommandCgroups | None = None
    ) -> None:
        self._output = output
        self._leave = prepared.leave
        self._door = prepared.door
        self._group = group
        self.reached = ""
        """After `close`: messages about exceeded limits and unreachable hosts."""
        self._input = memoryview(stdin)
        self._reports = bytearray()
        self.enclosed = prepared.reports
        """Whether the kernel kills all of the command with its first process."""
        try:
            self._tree = plant(prepared, group, piped=bool(stdin))
        # The groups and its own folder exist before the process: after a failed or interrupted
        # start no other code knows of them.
        except BaseException:
            self._tidy()
            raise
        self._exit_seen = False
        self.heard = effects.monotonic()
        """Time of the last output."""
        try:
            if self._door:
                # Only after the child has its copy: while one of ours is open, the proxy's
                # recvmsg(2) gets no end of file from a command that died before it passed its
                # socket on.
                self._door.close_own_end()
            self._selector = selectors.DefaultSelector()
            self._open_pipes()
        # It is already running: callers that see an error here retry or leave.
        except BaseException:
            self._abandon()
            raise

    # --- while it runs ----------------------------------------------------------------

    @property
    def exited(self) -> bool:
        """Whether the first process has ended."""
        if not self._exit_seen:
            self._exit_seen = platform.has_ended(self._tree.first.pid)
        return self._exit_seen

    @property
    def processor(self) -> float | None:
        """Seconds of a processor that it took; to be asked after `close`, which fetches it.

        None of an enclosed one, whose report says it.
        """
        return None if self.enclosed else self._tree.processor

    @property
    def busy(self) -> bool:
        """Whether any process of the command is alive."""
        return not self.exited or bool(self._tree.survivors())

    @property
    def queued(self) -> float:
        """Seconds for which it had to wait for a processor so far."""
        return self._tree.queued

    def pump(self, seconds: float) -> None:
        """Move what can be moved through the pipes; wait at most so long for the first."""
        pause = seconds if self._pidfd is not None else min(seconds, _POLL)
        for key, _ in self._selector.select(pause):
            move: Callable[[], None] = key.data
            move()
        self._tree.look()
        if self._group and self._group.has_written_too_much():
            self.kill()

    def survivors(self) -> list[int]:
        """Return the surviving processes of a command whose first process has ended."""
        return [process.pid for process in self._tree.survivors()]

    def terminate(self) -> None:
        """Ask every process of the command to end."""
        self._tree.terminate()

    def kill(self) -> None:
        """Kill every process of the command."""
        if self._group:
            # Group first: the kernel handles processes that fork meanwhile (cgroup-v2.rst,
            # cgroup.kill). Processes found one by one afterwards were in no group.
            self._group.kill()
        self._tree.kill()

    # --- at its end -------------------------------------------------------------------

    def drain(self) -> None:
        """Read the remaining output from the pipes."""
        # A pidfd stays readable once its process has ended (pidfd_open(2)): with it every select
        # returns at once, and the map never gets empty.
        self._forget(self._pidfd)
        self._forget(self._stdin)
        until = effects.monotonic() + _DRAIN
        while self._selector.get_map() and effects.monotonic() < until:
            self.pump(0.05)

    def close(self) -> int:
        """Close all resources and return the exit code as a shell does."""
        self._tree.close()
        self._selector.close()
        first = self._tree.first
        for pipe in (first.stdin, first.stdout, first.stderr):
            if pipe:
                with suppress(BrokenPipeError):
                    pipe.close()
        if self._pidfd is not None:
            os.close(self._pidfd)
        self._tidy()
        code = first.returncode
        return code if code >= 0 else 128 - code

    def _abandon(self) -> None:
        """Kill and close a command whose start failed."""
        self.kill()
        self._tree.close()
        first = self._tree.first
        for pipe in (first.stdin, first.stdout, first.stderr):
            if pipe:
                pipe.close()
        self._tidy()

    def _tidy(self) -> None:
        if self._group:
            self.reached = self._group.close()
        if self._door:
            self.reached += self._door.close()
        if self._leave:
            self._leave()

    @property
    def report(self) -> SandboxReport:
        """The report of the sandbox about this command."""
        return _read_report(bytes(self._reports))

    # --- pipes ------------------------------------------------------------------------

    def _open_pipes(self) -> None:
        first = self._tree.first
        self._pidfd = platform.open_exit(first.pid)
        self._stdin = first.stdin.fileno() if first.stdin else None
        self._stdout = first.stdout.fileno() if first.stdout else None
        self._stderr = first.stderr.fileno() if first.stderr else None
        self._listen(self._pidfd, partial(self._forget, self._pidfd))
        self._listen(self._stdout, self._hear)
        self._listen(self._stderr, self._receive_report)
        if self._stdin is not None:
            # A pipe holds 64 KiB (pipe(7)): with a command that writes before it reads, both sides
            # would block.
            os.set_blocking(self._stdin, False)
            self._selector.register(self._stdin, selectors.EVENT_WRITE, self._feed)

    def _listen(self, descriptor: int | None, move: Callable[[], None]) -> None:
        if descriptor is not None:
            self._selector.register(descriptor, selectors.EVENT_READ, move)

    def _forget(self, descriptor: int | None) -> None:
        if descriptor is not None and descriptor in self._selector.get_map():
            self._selector.unregister(descriptor)

    def _hear(self) -> None:
        chunk = os.read(self._stdout or 0, _READ)
        if chunk:
            self.heard = effects.monotonic()
            self._output.take(chunk)
        else:
            self._forget(self._stdout)

    def _receive_report(self) -> None:
        chunk = os.read(self._stderr or 0, _READ)
        if not chunk:
            self._forget(self._stderr)
        self._reports += chunk[: _REPORT - len(self._reports)]

    def _feed(self) -> None:
        """Write what the pipe takes; close it when all is written or nobody reads."""
        try:
            self._input = self._input[os.write(self._stdin or 0, self._input) :]
        # A command that ignores part of its input (`head -1`) has not failed.
        except BrokenPipeError:
            self._input = self._input[:0]
        if not self._input and self._tree.first.stdin:
            self._forget(self._stdin)
            self._tree.first.stdin.close()
            self._stdin = None


def _read_report(output: bytes) -> SandboxReport:
    """Parse the last lines of the sandbox's shell: the output of `times`, and `left N`.

    Without them, it never came so far.
    """
    lines = output.splitlines(keepends=True)
    last = lines[-1].split() if lines else []
    if len(last) == 2 and last[0] == b"left" and last[1].isdigit():  # noqa: PLR2004 - "left N"
        spent = _TIMES.fullmatch(b"".join(lines[-3:-1]))
        words = lines[:-3] if spent else lines[:-1]
        return SandboxReport(
            int(last[1][:9]), "", b"".join(words), _seconds(spent) if spent else None
        )
    refused = any(line.startswith(b"bwrap: ") for line in lines)
    text = output.decode("utf-8", "replace").strip()
    return SandboxReport(0, f"the sandbox could not be created: {text}" if refused else "", output)


def _seconds(spent: re.Match[bytes]) -> float:
    return sum(
        int(minutes) * 60 + float(b"%s.%s" % (whole, part))
        for minutes, whole, part in _TIME.findall(spent[0])
    )


# --- spawn ----------------------------------------------------------------------------


def plant(
    prepared: Prepared, group: CommandCgroups | None, *, piped: bool, on_terminal: bool = False
) -> process_tree.ProcessTree:
    """Start it; its options and its filter come in files, where the sandbox takes them so.

    `on_terminal`: with our own input and output in place of pipes.
    """
    mark = process_tree.new_mark()
    program = prepared.argv[0]
    files = _files(prepared)
    # The command also inherits the inner end of the connection to registries.
    passed = [*(file for _, file in files), *([prepared.door.inner] if prepared.door else ())]
    given = [word for option, file in files for word in (option, str(file))]
    argv = (program, *given, *prepared.argv[1:])

    def start() -> subprocess.Popen[bytes]:
        effects.step("spawn", program)
        # Order matters: a restricted thread can no longer write to a group's files. It ends with
        # the start, so it need not leave the group either.
        first = _apart(start_restricted) if prepared.enter else start_grouped()
        if group:
            group.admit(first)
        return first

    def start_restricted() -> subprocess.Popen[bytes]:
        if group:
            group.join()
        if prepared.enter:
            prepared.enter()
        return popen()

    def start_grouped() -> subprocess.Popen[bytes]:
        # In this thread: bubblewrap ends with the thread that started it.
        if not group:
            return popen()
        try:
            group.join()
            return popen()
        finally:
            group.leave()

    def popen() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            group.around(argv) if group else argv,
            cwd=prepared.cwd,
            env={**prepared.env, process_tree.MARK: mark},
            stdin=None if on_terminal else subprocess.PIPE if piped else subprocess.DEVNULL,
            stdout=None if on_terminal else subprocess.PIPE,
            stderr=subprocess.PIPE if prepared.reports else subprocess.STDOUT,
            # The pipes are read by descriptor: select would not report data that Python had
            # buffered.
            bufsize=0,
            # Since PEP 446 execve(2) closes Python's descriptors unless they are named here.
            pass_fds=passed,
            # A session, not only a group: a process cannot leave it for another's (setsid(2)), it
            # has no terminal for injected input, and the terminal's Ctrl-C doesn't reach it.
            start_new_session=True,
        )

    try:
        wrapper = os.path.basename(program) if prepared.reports else ""  # noqa: PTH119 - text
        return process_tree.plant(mark, start, wrapper, prepared.within)
    finally:
        for _, file in files:
            os.close(file)


def _apart(start: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """Start it from a thread of its own, whose rights and groups it inherits. Raises as it does."""
    started: list[subprocess.Popen[bytes]] = []
    raised: list[Exception] = []

    def within() -> None:
        try:
            started.append(start())
        except (OSError, ValueError, subprocess.SubprocessError) as problem:
            raised.append(problem)

    thread = threading.Thread(target=within, name="start")
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
    return started[0]


def _files(prepared: Prepared) -> list[tuple[str, int]]:
    """Return the sandbox's options, each with a descriptor of the file that it reads."""
    contents = (
        # bwrap(1) reads NUL-terminated arguments from a file; NUL is the only byte that none can
        # contain.
        ("--args", b"".join(os.fsencode(each) + b"\0" for each in prepared.options)),
        ("--seccomp", prepared.seccomp),
    )
    return [(option, _file_of(content)) for option, content in contents if content]


def _file_of(content: bytes) -> int:
    """Create an in-memory file with this content, positioned at its start."""
    descriptor = platform.new_file_of_memory()
    effects.append(descriptor, content, "options")
    # The child shares the open file and its offset (fork(2)): it would start reading at the end.
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
