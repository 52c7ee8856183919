"""`runner serve --team`: a team's queue and builds as a page, for people with tokens and roles."""

from __future__ import annotations

import hashlib
import sys
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    import argparse
    import ssl
    from collections.abc import Mapping
    from ipaddress import IPv4Network, IPv6Network

    from runner.commands.team import team_store
    from runner.config import paths
    from runner.serve import guard, listener, team_board
    from runner.serve.guard import Gateway
    from runner.team import people
    from runner.team.store_engine import Store
else:
    ssl = lazy_module("ssl")
    guard = lazy_module("runner.serve.guard")
    listener = lazy_module("runner.serve.listener")
    paths = lazy_module("runner.config.paths")
    people = lazy_module("runner.team.people")
    team_board = lazy_module("runner.serve.team_board")
    team_store = lazy_module("runner.commands.team.team_store")

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
            raise RunnerError(f"{said} is for a team", hint=f"runner serve --team {said} …")


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
        door = listener.Door.open(given.port, address)
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
