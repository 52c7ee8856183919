"""`runner serve`: the plan as a page in the browser, for one person on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

_EXAMPLES = """\
examples:
  runner serve                      prints a link; open it in a browser on this machine
  runner serve --also ../other      more builds on one page
  runner serve --link               a new link to the server that is running: each opens once

It listens on this machine alone. Builds begun from it go on when it ends.
"""
_PORTS = 65_536


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner serve` takes."""
    del name
    parser.epilog = _EXAMPLES
    parser.add_argument("--port", type=int, default=0, metavar="N", help="(default: a free one)")
    parser.add_argument(
        "--also", action="append", default=[], metavar="PATH", help="another project's folder, too"
    )
    parser.add_argument("--link", action="store_true", help="a new link to a running server")
    parser.add_argument("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Serve until it is ended. Raises RunnerError for a folder without git, and a taken port."""
    from runner.config.paths import Places
    from runner.serve.builds import Builds
    from runner.serve.listener import Door, find_ports, format_link, links_of, serve

    places = Places.of(environ)
    if not 0 <= given.port < _PORTS:
        raise RunnerError("there is no such port", where=str(given.port))
    if given.link:
        ports = (given.port,) if given.port else find_ports(places)
        if not ports:
            raise RunnerError("no server is running", hint="runner serve")
        for port in ports:
            print(format_link(port, links_of(places, port).make()))
        return ExitCode.OK
    _require_extra()
    folders = [Path.cwd(), *(Path(one).absolute() for one in given.also)]
    builds = Builds.of(folders, environ, given.task_graph or "")
    door = Door.open(given.port)
    serve(builds, door, places, lambda link: print(link, flush=True))
    return ExitCode.OK


def _require_extra() -> None:
    try:
        import jinja2  # noqa: F401 - asked for, not used here
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise RunnerError(
            f"the page needs {error.name}, which is not installed",
            hint="pip install 'task-graph-runner[serve]'",
        ) from error
