"""`runner serve --team`: the flags of a team's page, and its server."""

from __future__ import annotations

import hashlib
import ssl
import sys
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from runner.commands.programs import PORTS, prepare
from runner.errors import ExitCode, RunnerError
from runner.extensions.team.store_commands import open_team, read_settings
from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from ipaddress import IPv4Network, IPv6Network

    from runner.config import paths
    from runner.extensions.team import builds_page, people, team_site
    from runner.extensions.team.store_engine import Store
    from runner.serve import guard, listener
    from runner.serve.guard import Gateway
else:
    guard = lazy_module("runner.serve.guard")
    listener = lazy_module("runner.serve.listener")
    paths = lazy_module("runner.config.paths")
    people = lazy_module("runner.extensions.team.people")
    builds_page = lazy_module("runner.extensions.team.builds_page")
    team_site = lazy_module("runner.extensions.team.team_site")

_FLAGS = ("store", "listen", "name", "tls_cert", "tls_key", "behind_proxy")
_HTTPS = 443


def _require_no_team_flags(given: argparse.Namespace) -> None:
    """Raise RunnerError for a flag that means nothing without `--team`."""
    for flag in _FLAGS:
        if getattr(given, flag):
            name = f"--{flag.replace('_', '-')}"
            raise RunnerError(f"{name} needs --team", hint=f"use {name} with `runner serve --team`")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode | None:
    """Serve until it is ended; None without `--team`.

    Raises RunnerError for what would let others listen in.
    """
    if not given.team:
        _require_no_team_flags(given)
        return None
    if given.metrics_token:
        return None
    if not 0 <= given.port < PORTS:
        raise RunnerError(f"the port must be from 0 to {PORTS - 1}", where=str(given.port))
    if given.link:
        raise RunnerError("--link does not work with --team", hint="runner team people token NAME")
    if given.also or given.task_graph:
        raise RunnerError("--team does not work with folders", hint="omit --also and --task-graph")
    address = given.listen or listener.LOOPBACK
    _require_safe(given, address)
    environ, hook_secret = prepare(given, environ)
    own = read_settings(environ).team
    with open_team(given, environ) as store:
        is_direct = not ip_address(address).is_loopback and not given.behind_proxy
        most = listener.MOST_OF_ADDRESS if is_direct else 0
        door = listener.ListenAddress.open(given.port, address, most_of_address=most)
        gateway = _find_gateway(given, address, door.port)
        instance = hashlib.sha256(f"{store.shown} {door.port}".encode()).hexdigest()[:8]
        entrance = team_site.Entrance(gateway, instance, (given.tls_cert, given.tls_key))
        context = builds_page.TeamContext(store, own.four_eyes, own.worker_default_branch)
        _hint_at_people(store)
        team_site.serve_team(
            *(context, door, paths.Places.of(environ), entrance),
            lambda link: print(link, flush=True),
            hook_secret,
        )
    return ExitCode.OK


def _require_safe(given: argparse.Namespace, address: str) -> None:
    if bool(given.tls_cert) != bool(given.tls_key):
        raise RunnerError("missing TLS file", hint="--tls-cert chain.pem --tls-key key.pem")
    if given.tls_cert and given.behind_proxy:
        raise RunnerError("--tls-cert cannot be combined with --behind-proxy", hint="omit one")
    _read_proxy(given.behind_proxy)
    try:
        is_loopback = ip_address(address).is_loopback
    except ValueError as error:
        raise RunnerError("invalid address", where=address, hint="--listen 0.0.0.0") from error
    if not is_loopback and not given.tls_cert and not given.behind_proxy:
        raise RunnerError(
            "without TLS, tokens would cross the network unencrypted",
            where=f"--listen {address}",
            hint="--tls-cert FILE --tls-key FILE, or --behind-proxy ADDRESS",
        )
    if (given.behind_proxy or not is_loopback) and not given.name:
        raise RunnerError(
            "missing host name of the server", hint="--name HOST, such as runner.example.org"
        )
    if given.tls_cert:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(given.tls_cert, given.tls_key)
        except (OSError, ssl.SSLError) as error:
            raise RunnerError(
                f"this certificate cannot be used: {error.strerror or error}",
                where=f"{given.tls_cert}, {given.tls_key}",
                hint="use a PEM certificate and its matching key that you can read",
            ) from error


def _read_proxy(typed: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(typed, strict=False) if typed else None
    except ValueError as error:
        raise RunnerError(
            "invalid proxy address",
            where=typed,
            hint="--behind-proxy 127.0.0.1, or a network: 10.0.0.0/24",
        ) from error


def _find_gateway(given: argparse.Namespace, address: str, port: int) -> Gateway:
    proxy = _read_proxy(given.behind_proxy)
    scheme = "https" if given.tls_cert or proxy else "http"
    names = [name.casefold() for name in given.name]
    if not names:
        shown = f"[{address}]" if ":" in address else address
        names = [shown, *(("localhost",) if address == listener.LOOPBACK else ())]
    # A proxy uses its own port, which its name includes if it is not the default.
    if proxy is None and not (scheme == "https" and port == _HTTPS):
        names = [name if _has_port(name) else f"{name}:{port}" for name in names]
    return guard.Gateway(frozenset(names), scheme, proxy)


def _has_port(name: str) -> bool:
    return name.rpartition(":")[2].isdecimal() and not name.endswith("]")


def _hint_at_people(store: Store) -> None:
    known = people.list_people(store)
    if not any(token.is_live for one in known for token in one.tokens):
        print(
            "no valid token yet: runner team people add NAME --role admin, then"
            " runner team people token NAME",
            file=sys.stderr,
            flush=True,
        )
