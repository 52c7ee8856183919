"""What a sandbox promises of the network; where it holds says the table of the other promises."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from runner.model import Network

if TYPE_CHECKING:
    from promise_bench import Trial


_TRY = """
import socket, sys
def attempt(name, family, kind, act):
    try:
        with socket.socket(family, kind) as found:
            found.settimeout(3)
            act(found)
        print(name)
    except OSError as problem:
        print(f'{name}: {problem}', file=sys.stderr)
tcp, udp, name = int(sys.argv[1]), int(sys.argv[2]), chr(0) + sys.argv[3]
attempt('tcp', socket.AF_INET, socket.SOCK_STREAM, lambda s: s.connect(('127.0.0.1', tcp)))
attempt('udp', socket.AF_INET, socket.SOCK_DGRAM, lambda s: s.sendto(b'x', ('127.0.0.1', udp)))
attempt('abstract', socket.AF_UNIX, socket.SOCK_STREAM, lambda s: s.connect(name))
attempt('path', socket.AF_UNIX, socket.SOCK_STREAM, lambda s: s.connect(sys.argv[4]))
"""


@pytest.fixture
def listeners(trial: Trial):
    """Servers of the machine: their addresses as arguments, and the one for datagrams."""
    name = f"runner-promise-{os.getpid()}"
    path = str(trial.folder / "socket")
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(type=socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX) as named,
    ):
        udp.bind(("127.0.0.1", 0))
        udp.settimeout(0.2)
        abstract.bind("\0" + name)
        named.bind(path)
        abstract.listen()
        named.listen()
        yield (tcp.getsockname()[1], udp.getsockname()[1], name, path), udp


def test_nothing_of_the_machine_is_reached(trial: Trial, listeners):
    addresses, udp = listeners
    said = trial.runs(_TRY, *addresses)
    assert said.exit == 0
    reached = [line for line in said.tail.splitlines() if line.isalpha()]
    # A datagram may leave a network of its own without a word; it does not arrive.
    assert set(reached) <= {"udp"}
    with pytest.raises(TimeoutError):
        udp.recv(1)
    assert any(why in said.tail for why in ("Permission denied", "refused", "unreachable"))


def test_with_the_network_asked_for_the_same_words_arrive(trial: Trial, listeners):
    addresses, udp = listeners
    said = trial.runs(_TRY, *addresses, network=Network.YES)
    reached = [line for line in said.tail.splitlines() if line.isalpha()]
    assert {"tcp", "udp"} <= set(reached)
    assert udp.recv(1) == b"x"


def test_abstract_sockets_stay_out_of_reach_of_landlock_with_any_network(word, listeners, trial):
    if word != "landlock":
        pytest.skip("abstract sockets belong to the network namespace")
    from runner.process import syscalls

    if syscalls.landlock_version() < 6:
        pytest.skip("Landlock scopes abstract sockets from version 6")
    addresses, _ = listeners
    said = trial.runs(_TRY, *addresses, network=Network.LOOPBACK)
    assert "abstract: [Errno 1] Operation not permitted" in said.tail


def test_no_name_is_resolved(trial: Trial):
    code = "import socket; socket.getaddrinfo('example.org', 443)"
    said = trial.runs(code)
    assert said.exit == 1
    assert "gaierror" in said.tail or "Permission denied" in said.tail


def test_no_socket_leads_to_the_machines_host(trial: Trial):
    code = "import socket; socket.socket(40, socket.SOCK_STREAM)"  # AF_VSOCK
    said = trial.runs(code)
    assert said.exit == 1
    assert "PermissionError" in said.tail


def test_pairs_of_sockets_work_without_network(trial: Trial):
    code = "import asyncio; print(asyncio.run(asyncio.sleep(0, 'ok')))"
    assert trial.runs(code).tail == "ok\n"


@pytest.mark.parametrize("network", [Network.LOOPBACK, Network.YES])
def test_a_server_of_ones_own_is_reached_where_loopback_is_asked_for(trial: Trial, network):
    code = (
        "import socket\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "socket.create_connection(server.getsockname()); print('ok')"
    )
    assert trial.runs(code, network=network).tail == "ok\n"
