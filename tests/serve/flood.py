"""A client that floods a page: `flood.py PORT SECONDS COUNT`, with requests as JSON on its input.

It opens closed connections again, up to twice as many in all, and counts the answers by status.
"""

import collections
import json
import selectors
import socket
import sys
import time


def flood(port, seconds, count, requests):
    answers = collections.Counter()
    watched = selectors.DefaultSelector()
    end = time.monotonic() + seconds
    opened = 0
    while time.monotonic() < end:
        while len(watched.get_map()) < count and opened < 2 * count:
            client = socket.create_connection(("127.0.0.1", port), timeout=5)
            client.sendall(requests[opened % len(requests)].encode())
            client.setblocking(False)
            watched.register(client, selectors.EVENT_READ)
            opened += 1
        for key, _ in watched.select(0.05):
            try:
                said = key.fileobj.recv(65536)
            except OSError:
                said = b""
            if said.startswith(b"HTTP/1.1 "):
                answers[said.split()[1].decode()] += 1
            if not said or said.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5")):
                answers["closed"] += 1
                watched.unregister(key.fileobj)
                key.fileobj.close()
    return {**answers, "open": len(watched.get_map())}


if __name__ == "__main__":
    found = flood(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), json.load(sys.stdin))
    sys.stdout.write(json.dumps(found))
