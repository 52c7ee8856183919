"""The start of a command's first process, in the way its sandbox wants it."""

from __future__ import annotations

import os
import subprocess
import threading
from typing import TYPE_CHECKING

from runner import effects
from runner.process import tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.process.base import Prepared
    from runner.process.cgroups import Group


def plant(prepared: Prepared, group: Group | None, *, piped: bool) -> tree.Tree:
    """Start it; its options and its filter come in files, where the sandbox takes them so."""
    mark = tree.new_mark()
    program = prepared.argv[0]
    files = _files(prepared)
    passed = [*(file for _, file in files), *_doors(prepared)]
    given = [word for option, file in files for word in (option, str(file))]
    argv = (program, *given, *prepared.argv[1:])

    def start() -> subprocess.Popen[bytes]:
        effects.step("spawn", program)
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
        # In this very thread: bubblewrap ends with the thread that started it.
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
            env={**prepared.env, tree.MARK: mark},
            stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if prepared.reports else subprocess.STDOUT,
            bufsize=0,
            pass_fds=passed,
            start_new_session=True,
        )

    try:
        return tree.plant(mark, start, os.path.basename(program) if prepared.reports else "")  # noqa: PTH119 - text
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
    """Options of the sandbox, each with the file that holds what it is about."""
    contents = (
        ("--args", b"".join(os.fsencode(each) + b"\0" for each in prepared.options)),
        ("--seccomp", prepared.seccomp),
    )
    return [(option, _file_of(content)) for option, content in contents if content]


def _doors(prepared: Prepared) -> list[int]:
    """The inner end of the way to registries."""
    return [prepared.door.inner] if prepared.door else []


def _file_of(content: bytes) -> int:
    """A file of memory, open at its beginning."""
    descriptor = os.memfd_create("options")
    effects.append(descriptor, content, "options")
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
