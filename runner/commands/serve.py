"""`runner serve`: the plan as a page in the browser, for one person or for a team.

A team's page has its queue and builds, for people with tokens and roles.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import threading
import time
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING

from runner.commands.catalogue import Command
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.text.display import display
from runner.text.wording import install_hint, refusal_of_import

if TYPE_CHECKING:
    import argparse
    import ssl
    from collections.abc import Mapping
    from ipaddress import IPv4Network, IPv6Network

    from runner.commands import team_store
    from runner.config import paths
    from runner.serve import guard, listener, metrics, team_board, webhook
    from runner.serve.guard import Gateway
    from runner.team import people, store_engine, team_budget
    from runner.team.store_engine import Store
else:
    listener = lazy_module("runner.serve.listener")
    metrics = lazy_module("runner.serve.metrics")
    paths = lazy_module("runner.config.paths")
    team_store = lazy_module("runner.commands.team_store")
    store_engine = lazy_module("runner.team.store_engine")
    team_budget = lazy_module("runner.team.team_budget")
    webhook = lazy_module("runner.serve.webhook")
    ssl = lazy_module("ssl")
    guard = lazy_module("runner.serve.guard")
    people = lazy_module("runner.team.people")
    team_board = lazy_module("runner.serve.team_board")

# --- for one person -------------------------------------------------------------------


_SERVE = """\
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


def serve_arguments(parser: argparse.ArgumentParser) -> None:
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


def execute_serve(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
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


# --- for a team -----------------------------------------------------------------------


_FLAGS = ("store", "listen", "name", "tls_cert", "tls_key", "behind_proxy")
_HTTPS = 443


def add_team_flags(parser: argparse.ArgumentParser) -> None:
    """What `runner serve` takes for a team."""
    add = parser.add_argument_group("for a team").add_argument
    add("--team", action="store_true", help="the team's store, for people who sign in")
    add("--store", default="", metavar="URL", help="another store, or its path")
    add("--listen", default="", metavar="ADDRESS", help="not on 127.0.0.1 alone: needs TLS")
    add(
        *("--name",),
        action="append",
        default=[],
        metavar="HOST[:PORT]",
        help="what browsers call it; again for more",
    )
    add("--tls-cert", default="", metavar="FILE", help="the certificate with its chain (PEM)")
    add("--tls-key", default="", metavar="FILE", help="its private key (PEM)")
    add("--behind-proxy", default="", metavar="ADDRESS", help="a proxy there does TLS")


def require_no_team_flags(given: argparse.Namespace) -> None:
    """Raise RunnerError for a flag that means nothing without `--team`."""
    for flag in _FLAGS:
        if getattr(given, flag):
            said = f"--{flag.replace('_', '-')}"
            raise RunnerError(f"{said} is for a team", hint=f"`runner serve --team` with {said}")


def serve_team(given: argparse.Namespace, environ: Mapping[str, str], hook_secret: str) -> ExitCode:
    """Serve until it is ended. Raises RunnerError for what would let others listen in."""
    if given.link:
        raise RunnerError("a team's page opens no links", hint="runner people token NAME")
    if given.also or given.task_graph:
        raise RunnerError("a team's page shows its store, and no folders", hint="leave --also out")
    address = given.listen or listener.LOOPBACK
    _require_safe(given, address)
    settings = team_store.read_settings(environ)
    with team_store.open_team(given, environ) as store:
        is_direct = not ip_address(address).is_loopback and not given.behind_proxy
        most = listener.MOST_OF_ADDRESS if is_direct else 0
        door = listener.Door.open(given.port, address, most_of_address=most)
        gateway = _find_gateway(given, address, door.port)
        instance = hashlib.sha256(f"{store.shown} {door.port}".encode()).hexdigest()[:8]
        entrance = listener.Entrance(gateway, instance, (given.tls_cert, given.tls_key))
        desk = team_board.TeamDesk(store, settings.four_eyes, settings.worker_default_branch)
        _hint_at_people(store)
        listener.serve_team(
            *(desk, door, paths.Places.of(environ), entrance),
            lambda link: print(link, flush=True),
            hook_secret,
        )
    return ExitCode.OK


def _require_safe(given: argparse.Namespace, address: str) -> None:
    if bool(given.tls_cert) != bool(given.tls_key):
        raise RunnerError("TLS needs both files", hint="--tls-cert chain.pem --tls-key key.pem")
    if given.tls_cert and given.behind_proxy:
        raise RunnerError("either the proxy does TLS, or this server", hint="one of the two")
    _read_proxy(given.behind_proxy)
    try:
        is_loopback = ip_address(address).is_loopback
    except ValueError as error:
        raise RunnerError("this is no address", where=address, hint="--listen 0.0.0.0") from error
    if not is_loopback and not given.tls_cert and not given.behind_proxy:
        raise RunnerError(
            "on another address than loopback tokens would cross the network in plain sight",
            where=f"--listen {address}",
            hint="--tls-cert FILE --tls-key FILE, or --behind-proxy ADDRESS",
        )
    if (given.behind_proxy or not is_loopback) and not given.name:
        raise RunnerError(
            "what do browsers call this server?", hint="--name runner.example.org, as they type it"
        )
    if given.tls_cert:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(given.tls_cert, given.tls_key)
        except (OSError, ssl.SSLError) as error:
            raise RunnerError(
                f"this certificate cannot be used: {error.strerror or error}",
                where=f"{given.tls_cert}, {given.tls_key}",
                hint="two PEM files that belong to each other, readable by you",
            ) from error


def _read_proxy(said: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(said, strict=False) if said else None
    except ValueError as error:
        raise RunnerError(
            "this is no address of a proxy",
            where=said,
            hint="--behind-proxy 127.0.0.1, or a network: 10.0.0.0/24",
        ) from error


def _find_gateway(given: argparse.Namespace, address: str, port: int) -> Gateway:
    proxy = _read_proxy(given.behind_proxy)
    scheme = "https" if given.tls_cert or proxy else "http"
    names = [name.casefold() for name in given.name]
    if not names:
        shown = f"[{address}]" if ":" in address else address
        names = [shown, *(("localhost",) if address == listener.LOOPBACK else ())]
    # A proxy is called by its own port, which is in its name where it is not the usual one.
    if proxy is None and not (scheme == "https" and port == _HTTPS):
        names = [name if _has_port(name) else f"{name}:{port}" for name in names]
    return guard.Gateway(frozenset(names), scheme, proxy)


def _has_port(name: str) -> bool:
    return name.rpartition(":")[2].isdecimal() and not name.endswith("]")


def _hint_at_people(store: Store) -> None:
    known = people.list_people(store)
    if not any(token.is_live for one in known for token in one.tokens):
        print(
            "nobody has a token yet: runner people add NAME --role admin, then runner people token"
            " NAME",
            file=sys.stderr,
            flush=True,
        )


COMMANDS = {
    "serve": Command(_SERVE, serve_arguments, execute_serve),
}
