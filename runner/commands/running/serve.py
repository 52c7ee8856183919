"""`runner serve`: the plan as a page in the browser, for one person or for a team."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands.running.serve_team import (
    add_team_flags,
    require_no_team_flags,
    serve_team,
)
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.text.display import display
from runner.text.extras import install_hint, refusal_of_import

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.commands.team import team_store
    from runner.config import paths
    from runner.serve import listener, metrics, webhook
    from runner.team import store_engine, team_budget
else:
    listener = lazy_module("runner.serve.listener")
    metrics = lazy_module("runner.serve.metrics")
    paths = lazy_module("runner.config.paths")
    team_store = lazy_module("runner.commands.team.team_store")
    store_engine = lazy_module("runner.team.store_engine")
    team_budget = lazy_module("runner.team.team_budget")
    webhook = lazy_module("runner.serve.webhook")

EXAMPLES = """\
examples:
  runner serve                      prints a link; open it in a browser on this machine
  runner serve --also ../other      more builds on one page
  runner run --serve                build, with the page beside it
  runner serve --link               a new link to the server that is running: each opens once
  runner serve --metrics-token      the token with which a Prometheus may read /metrics

It listens on this machine alone. Builds begun from it go on when it ends.

A team's store (`runner store`), for people who sign in with a token (`runner people`):
  runner serve --team --port 4747
  runner serve --team --listen 0.0.0.0 --port 443 --name runner.example.org \\
      --tls-cert chain.pem --tls-key key.pem
  runner serve --team --port 4747 --name runner.example.org --behind-proxy 127.0.0.1
"""
_PORTS = 65_536
_SECONDS_TO_HEAR = 1.0


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner serve` takes."""
    parser.add_argument("--port", type=int, default=0, metavar="N", help="(default: a free one)")
    parser.add_argument(
        "--also", action="append", default=[], metavar="PATH", help="another project's folder, too"
    )
    parser.add_argument("--link", action="store_true", help="a new link to a running server")
    parser.add_argument(
        "--metrics-token", action="store_true", help="the token for /metrics, made if there is none"
    )
    parser.add_argument(
        "--until-closed", action="store_true", help="end when standard input does: for programs"
    )
    parser.add_argument("--task-graph", metavar="PATH", help="another plan than TASK-GRAPH.md")
    add_team_flags(parser)


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Serve until it is ended. Raises RunnerError for a folder without git, and a taken port."""
    from runner.serve.builds import Builds

    places = paths.Places.of(environ)
    if not 0 <= given.port < _PORTS:
        raise RunnerError("there is no such port", where=str(given.port))
    if not given.team:
        require_no_team_flags(given)
    if given.link and not given.team:
        ports = (given.port,) if given.port else listener.find_ports(places)
        if not ports:
            raise RunnerError("no server is running", hint="runner serve")
        for port in ports:
            print(listener.format_link(port, listener.links_of(places, port).make()))
        return ExitCode.OK
    if given.metrics_token:
        return _show_token(listener.token_file(places))
    _require_extra()
    hook_secret = environ.get(webhook.SECRET_NAME, "").strip()
    environ = {name: value for name, value in environ.items() if name != webhook.SECRET_NAME}
    folders = [Path.cwd(), *(Path(one).absolute() for one in given.also)]
    if given.until_closed:
        threading.Thread(target=_end_with_input, daemon=True).start()
    if given.team:
        return serve_team(given, environ, hook_secret)
    builds = Builds.of(folders, environ, given.task_graph or "")
    door = listener.Door.open(given.port)
    listener.serve(
        *(builds, door, places, lambda link: print(link, flush=True), hook_secret),
        count_queue=lambda: _count_queue(environ),
    )
    return ExitCode.OK


def _show_token(file: Path) -> ExitCode:
    print(listener.read_token(file))
    print(f"it is in {display(str(file))}; remove that, and it opens nothing", file=sys.stderr)
    return ExitCode.OK


def _count_queue(environ: Mapping[str, str]) -> metrics.TeamFigures:
    """The team's figures; none where there is no store. Raises RunnerError: it is away."""
    said = team_store.read_settings(environ).store
    if not said and not (paths.Places.of(environ).state / "team" / "store.sqlite").exists():
        return metrics.TeamFigures()
    try:
        address = store_engine.find_address(paths.Places.of(environ).state, said)
        with store_engine.open_store(address) as store:
            return metrics.TeamFigures(*team_budget.measure_team(store))
    except ImportError as error:
        raise refusal_of_import(error) or error from error


def _require_extra() -> None:
    try:
        import jinja2  # noqa: F401 - asked for, not used here
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise RunnerError(
            f"the page needs {error.name}, which is not installed",
            hint=install_hint("serve"),
        ) from error


def _end_with_input() -> None:
    """Ctrl-C for ourselves as soon as nobody can write to our standard input any more."""
    while os.read(0, 1024):
        pass
    while True:  # the first may come before the server listens for it
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(_SECONDS_TO_HEAR)
