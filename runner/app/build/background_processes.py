"""Start the page and the event delivery as separate processes; the run never waits for them."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.process.own_command import OwnCommand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from runner.project import Project

_SECONDS_TO_START = 30.0
_LONGEST_MESSAGE = 2000


def start_delivery(project: Project, say: Callable[[str], object]) -> None:
    """Deliver this run's events to the receivers of the settings."""
    words = ["team", "events", "--deliver", "--beside", str(os.getpid())]
    try:
        OwnCommand(words, project.root, project.environ, stays=True).forget()
    except OSError as error:
        say(f"note: events are not delivered: {error.strerror or error}")


@contextmanager
def serve_page_during_run(
    task_graph: str, environ: Mapping[str, str], tell: Callable[[str], None]
) -> Iterator[Callable[[], object]]:
    """Serve the status page during a run; yield a function that waits until the server ends.

    It ends with us, however we end: its standard input is a pipe that only we hold. What is given
    waits until it ends. Raises RunnerError where it does not start.
    """
    words = ["serve", "--until-closed"]
    words += ["--task-graph", task_graph] if task_graph else []
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb"), os.fdopen(reading, "rb") as heard:
        server = OwnCommand(words, Path.cwd(), environ, stdin=heard)
        try:
            tell(_link_of(server))
            yield server.wait
        finally:
            server.end()
            server.forget()


def _link_of(server: OwnCommand) -> str:
    until = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < until:
        ended = server.wait(0.05) is not None
        output, errors = server.read(_LONGEST_MESSAGE)
        # Without a line end the link may be only half written.
        if output.endswith(b"\n"):
            return output.decode().strip()
        if ended:
            lines = [*errors.decode("utf-8", "replace").splitlines(), "no output"]
            hints = [line.strip() for line in lines if line.strip().startswith("hint: ")]
            raise RunnerError(
                f"the status page did not start: {lines[0].removeprefix('runner: ')}",
                hint=hints[0].removeprefix("hint: ") if hints else "run without --serve",
            )
    raise RunnerError("the status page did not start in time", hint="run without --serve")
