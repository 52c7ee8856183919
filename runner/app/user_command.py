"""A program of the person's own, run with their rights and in bounded time: no sandbox, no task."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from runner.model import Network
from runner.process.base import Command, Place
from runner.process.limits import Limits
from runner.process.sandbox import NoSandbox
from runner.process.supervise import run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.process.base import Ran


def errand(
    line: str | tuple[str, ...],
    root: Path,
    environ: Mapping[str, str],
    *,
    stdin: bytes = b"",
    seconds: float = 30.0,
) -> Ran:
    """Run a shell line, or a program with its arguments, in the project's folder.

    It is ended after `seconds`, with all that it started. It gets the person's environment, but
    nothing that a git hook around this process would tell it.
    """
    told = {name: value for name, value in environ.items() if name not in _OF_A_HOOK}
    with TemporaryDirectory(prefix="runner-errand-") as box:
        command = Command(
            line=line,
            place=Place(tree=root, shown=root, box=Path(box)),
            environment=told,
            stdin=stdin,
            network=Network.YES,
            limits=Limits(soft=0, idle=seconds, hard=seconds),
        )
        return run(command, NoSandbox())


_OF_A_HOOK = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"})
"""What git says to its hooks, and what would send another git to the wrong place."""
