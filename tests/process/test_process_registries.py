"""`Network: registries`: named hosts are reached through a proxy, and nothing else is."""

from __future__ import annotations

import http.client
import os
import socket
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from process_bench import QUICK, Bench, a_place
from registry_bench import a_registry, opened

from runner.config.registries import Registries
from runner.errors import RunnerError
from runner.model import Network
from runner.process.egress.server import EgressServer, RequestRefused, parse_request
from runner.process.egress.upstream import is_private
from runner.process.sandbox import NoSandbox, choose_sandbox

_FETCH = """
import http.client, os, socket, sys, urllib.request
for leave_out in ('no_proxy', 'NO_PROXY'):  # the registry of this test is a localhost
    del os.environ[leave_out]
name, other, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
print(urllib.request.urlopen(f'http://{name}/simple/').read())
proxy = http.client.HTTPConnection(os.environ['https_proxy'].removeprefix('http://'))
host, at = name.split(':')
proxy.set_tunnel(host, int(at))
proxy.request('GET', '/tunnel')
print(proxy.getresponse().read())
def attempt(what, act):
    try:
        act(); print(what, 'arrived')
    except OSError as problem:
        print(what, problem)
attempt('refused', lambda: urllib.request.urlopen(f'http://{other}/'))
attempt('direct', lambda: socket.create_connection(('127.0.0.1', port), 3))
attempt('names', lambda: socket.getaddrinfo('example.org', 443))
"""


def reaching(*names: str):
    return replace(QUICK, registries=Registries.of(names))


def open_now() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def run(context: Bench, line, limits):
    return context.run(line, network=Network.REGISTRIES, limits=limits)


def test_inside_a_named_host_answers_others_are_refused_and_there_is_no_other_way(walled):
    with a_registry() as good, a_registry(b"never") as bad:
        words = (good.name, bad.name, str(good.server_port))
        ran = run(walled, (sys.executable, "-c", _FETCH, *words), reaching(good.name))
    lines = ran.tail.splitlines()
    assert lines[:2] == ["b'a package\\n'"] * 2, ran.tail
    why = "not one of the allowed registries"
    assert lines[2] == f"refused HTTP Error 403: {bad.name} was refused: {why}"
    assert lines[3].startswith("direct [Errno 111]")
    assert lines[4].startswith("names [Errno")
    hint = f'(to allow it, set sandbox.registries = ["{bad.name}"] in your own settings)'
    assert lines[5:] == [f"runner: {bad.name} could not be reached: {why} {hint}"]
    assert bad.asked == []
    assert [path for _, path, _ in good.asked] == ["/simple/", "/tunnel"]


def test_nothing_of_the_way_outlives_the_command(walled):
    before, threads = open_now(), threading.active_count()
    line = "echo $https_proxy; readlink /proc/self/ns/net; (sleep 30; curl -s http://pypi.org) & "
    ran = run(walled, line, QUICK)
    assert ran.passed
    assert ran.left_behind
    assert open_now() == before
    assert threading.active_count() == threads
    address, network = ran.tail.split()[:2]
    assert address.startswith("http://127.0.0.1:")
    assert network.startswith("net:[")
    ours = str(Path("/proc/self/ns/net").readlink())
    assert network != ours  # it never was a port of this machine


def test_a_command_ends_as_it_would_without_a_proxy(walled):
    assert run(walled, ("nosuch-program",), QUICK).exit == 127
    assert run(walled, "exit 7", QUICK).exit == 7
    assert run(walled, "kill -9 $$", QUICK).exit == 137
    assert run(walled, "yes | head -1", QUICK).tail == "y\n"


def test_without_a_sandbox_it_is_said_that_nothing_holds_it(tmp_path):
    ran = run(Bench(a_place(tmp_path), NoSandbox()), "echo done", QUICK)
    note = "runner: without a sandbox, `Network: registries` gives full network access"
    assert ran.tail == f"{note}\ndone\n"


def test_landlock_cannot_hold_it_and_does_not_start(tmp_path):
    try:
        context = Bench(a_place(tmp_path), choose_sandbox("landlock"))
    except RunnerError as error:
        pytest.skip(error.message)
    ran = run(context, "echo done", QUICK)
    assert ran.exit == 126
    assert "landlock cannot limit the network to registries; bubblewrap can" in ran.tail


# --- the proxy by itself ----------------------------------------------------------------


def test_a_host_whose_address_is_private_is_refused_unless_the_person_named_it():
    with a_registry() as server:
        ours = Registries(entries=(server.name,))  # as if it were one of the usual ones
        with opened(ours) as door:
            said = door.asks(f"GET http://{server.name}/ HTTP/1.1\r\n\r\n".encode())
            assert b" 403 " in said
            assert "its address is in a private network" in door.door.close()
        assert server.asked == []


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.31.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1%eth0",
        "fd00::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "ff02::1",
    ],
)
def test_addresses_behind_which_something_private_may_lie(address):
    assert is_private(address)


@pytest.mark.parametrize("address", ["151.101.0.223", "8.8.8.8", "2a04:4e42::223", "172.32.0.1"])
def test_addresses_of_the_internet(address):
    assert not is_private(address)


def test_much_goes_both_ways_at_once_and_an_end_is_passed_on():
    mass = os.urandom(1 << 20)
    with a_registry(mass) as server, opened(Registries.of([server.name])) as door:
        client = http.client.HTTPConnection(*door.address)
        client.set_tunnel("localhost", server.server_port)
        client.request("POST", "/", mass)
        assert client.getresponse().read() == mass
        client.close()
        assert server.received == mass


def test_who_says_something_while_it_is_slow_to_read_is_heard():
    mass, heard = bytes(16 << 20), []

    def serve() -> None:
        server, _ = listener.accept()
        with server:
            server.sendall(mass)
            while chunk := server.recv(65536):
                heard.append(chunk)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        name = f"localhost:{listener.getsockname()[1]}"
        serving = threading.Thread(target=serve)
        with opened(Registries.of([name])) as door:
            serving.start()
            connection, said = door.tunnel(name)
            said = said.partition(b"\r\n\r\n")[2]
            with connection:
                time.sleep(0.3)  # until no end takes any more
                for _ in range(200):
                    connection.sendall(b"window update")
                    time.sleep(0.002)
                while len(said) < len(mass):
                    chunk = connection.recv(65536)
                    assert chunk, len(said)
                    said += chunk
                connection.shutdown(socket.SHUT_WR)
                serving.join()
    assert said == mass
    assert b"".join(heard) == b"window update" * 200


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("behind", [b"", b"body"])
def test_a_second_request_on_a_connection_reaches_nobody(at_once, behind):
    with (
        a_registry() as proxy,
        opened(
            Registries.of(["localhost"]), {"http_proxy": f"http://localhost:{proxy.server_port}"}
        ) as door,
    ):
        proxy.goes_on = True
        size = b"Content-Length: %d\r\n" % len(behind)
        first = b"%s http://localhost/ HTTP/1.1\r\n%s\r\n" % (b"POST" if behind else b"GET", size)
        second = b"GET http://evil.example/ HTTP/1.1\r\n\r\n"
        with socket.create_connection(door.address, timeout=10) as connection:
            connection.sendall(first + behind + (second if at_once else b""))
            said = connection.recv(65536)
            connection.sendall(second)
            while chunk := connection.recv(65536):
                said += chunk
    assert said.count(b"200 OK") == 1
    assert [path for _, path, _ in proxy.asked] == ["http://localhost/"]
    assert proxy.received == behind


@pytest.mark.parametrize(
    "line",
    [
        b"Transfer-Encoding: chunked",
        b"transfer-encoding : chunked",
        b"Content-Length: 4\r\nContent-Length: 5",
        b"Content-Length: +4",
        b"Content-Length: 4, 4",
        b"Content-Length: -1",
    ],
)
def test_a_body_whose_end_two_may_see_in_two_places_is_refused(line):
    with pytest.raises(RequestRefused):
        parse_request(b"POST http://pypi.org/ HTTP/1.1\r\n" + line)


def test_headers_about_the_proxy_stay_here_and_the_host_is_the_one_that_was_checked():
    with a_registry() as server, opened(Registries.of([server.name])) as door:
        lines = ("Host: evil.example", "Proxy-Authorization: Basic x", "X-Kept: 1", "", "")
        head = f"GET http://{server.name}/a?b#c HTTP/1.1\r\n" + "\r\n".join(lines)
        assert door.asks(head.encode()).endswith(b"a package\n")
        ((_, path, headers),) = server.asked
    assert (path, headers["Host"], headers["X-Kept"]) == ("/a?b", server.name, "1")
    assert "Proxy-Authorization" not in headers
    assert headers["Connection"] == "close"


@pytest.mark.parametrize(
    "head",
    [
        "GET / HTTP/1.1",
        "CONNECT user@pypi.org:443 HTTP/1.1",
        "GET ftp://pypi.org/ HTTP/1.1",
        "nonsense",
        "GET http://pypi.org/ HTTP/1.1\r\n folded",
        "CONNECT pypi.org:x HTTP/1.1",
        "GET http://pypi.org\\@evil.example/ HTTP/1.1",
        "GET http:///x HTTP/1.1",
    ],
)
def test_what_is_no_plain_request_is_refused(head):
    with opened(Registries()) as door:
        assert door.asks(f"{head}\r\n\r\n".encode()).split()[1] in (b"400", b"403")


def test_a_head_without_end_is_refused():
    with opened(Registries()) as door:
        said = door.asks(b"GET http://pypi.org/ HTTP/1.1\r\nX: " + b"a" * 20000)
        assert said.startswith(b"HTTP/1.1 431 ")


@given(st.binary(max_size=60) | st.builds(lambda x: b"GET http://" + x + b" HTTP/1.1", st.binary()))
def test_whatever_is_asked_comes_out_as_a_host_or_a_refusal(head):
    try:
        request = parse_request(head)
    except RequestRefused:
        return
    assert not set(request.host) & set("/\\@?# \r\n")
    assert b"\r\n\r\n" not in request.head(absolute=True)[:-4]


def test_the_persons_own_proxy_is_gone_through_with_its_password_unless_it_is_left_out():
    with a_registry(b"by way of") as proxy, a_registry() as server:
        me = "me:p%40ss"
        environ = {"http_proxy": f"http://{me}@localhost:{proxy.server_port}"}
        head = f"GET http://{server.name}/x HTTP/1.1\r\n\r\n".encode()
        with opened(Registries.of([server.name]), environ) as door:
            assert door.asks(head).endswith(b"by way of")
        ((_, path, headers),) = proxy.asked
        assert path == f"http://{server.name}/x"
        assert headers["Proxy-Authorization"] == "Basic bWU6cEBzcw=="
        with opened(Registries.of([server.name]), {**environ, "NO_PROXY": "localhost"}) as door:
            assert door.asks(head).endswith(b"a package\n")


@pytest.mark.parametrize("told", ["http://localhost:abc", "http://[::1", "localhost:99999"])
def test_a_proxy_of_the_person_that_nobody_can_read_is_told(told):
    with opened(Registries.of(["localhost"]), {"http_proxy": told}) as door:
        said = door.asks(b"GET http://localhost/ HTTP/1.1\r\n\r\n")
    assert b"the address of your own proxy is invalid" in said


def test_a_tunnel_goes_through_the_persons_own_proxy_and_its_no_is_told():
    with a_registry() as server:
        names = Registries.of([server.name])
        with opened(names) as further:
            at = f"http://localhost:{further.address[1]}"
            with opened(names, {"https_proxy": at}) as door:
                connection, said = door.tunnel(server.name)
                with connection:
                    assert said.startswith(b"HTTP/1.1 200 ")
                    connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
                    assert b"200 OK" in connection.recv(65536)
        with opened(Registries(())) as further:
            at = f"http://localhost:{further.address[1]}"
            with opened(names, {"https_proxy": at}) as door:
                connection, said = door.tunnel(server.name)
                connection.close()
                assert b" 502 " in said
                assert "your own proxy refused: 403 " in door.door.close()


def test_a_door_that_nobody_went_through_is_closed_and_a_second_time_too():
    door = EgressServer(Registries(), {})
    door.close_own_end()
    assert door.close() == ""
    assert door.close() == ""
