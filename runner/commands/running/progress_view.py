"""Who follows a run, and how: a view that moves, lines, or the summary alone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from runner.report.console import NORMAL, QUIET, VERBOSE, Console, wants_colour
from runner.report.eta import Work

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from pathlib import Path

    from runner.journal.state import RunState
    from runner.project import Project, Reading


def console_of(given: argparse.Namespace, environ: Mapping[str, str], root: Path) -> Console:
    """The voice of the run: a live view where a person watches, else lines."""
    from runner.report.live import LiveConsole, wants_live

    colour = wants_colour(sys.stderr, environ)
    if given.quiet or given.output == "quiet":
        return Console(level=QUIET, colour=colour)
    level = VERBOSE if given.verbose or given.output else NORMAL
    if not given.output and wants_live(sys.stderr, environ):
        return LiveConsole(level=level, colour=colour)
    return Console(level=level, colour=colour, grouped=given.output == "grouped", root=root)


def work_of(project: Project, reading: Reading, about: frozenset[str], state: RunState) -> Work:
    """What the run is about and how long it took before, to count and to estimate by."""
    graph = reading.graph
    return Work(
        needs={id_: graph.dependencies(id_) for id_ in graph.order() if id_ in about},
        seconds={id_: past for id_ in about if (past := state.task(id_).typical_seconds)},
        jobs=project.settings.jobs,
    )
