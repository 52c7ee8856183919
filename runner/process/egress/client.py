"""Runs inside a sandbox before a command: opens the route to the proxy, then becomes the command.

It listens on a loopback that nobody but the command reaches, hands the listening socket to the
proxy outside, which alone answers there, and tells tools of it by the variables they know. A file
of its own that imports nothing of this package: an interpreter without site starts it.
"""

from __future__ import annotations

import os
import signal
import socket
import sys

CANNOT_RUN, NOT_FOUND = 126, 127
_WAITING = 64
_NO_PROXY = "localhost,127.0.0.1,::1"


def main() -> int:
    """Run `doorway.py DESCRIPTOR PROGRAM ARGUMENT…`; returns an exit code only if that fails."""
    os.environ.update(_variables(_open_port(int(sys.argv[1]))))
    # Ignored signals stay ignored over execve(2): `yes | head` would run forever, and exceeding
    # ulimit's file size would be an error code that many programs ignore.
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # as this interpreter has them, not a shell
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606 - becoming the command is its work
    except OSError as problem:
        print(f"{sys.argv[2]}: {problem.strerror}", file=sys.stderr)  # noqa: T201 - as a shell says it
        return NOT_FOUND if isinstance(problem, FileNotFoundError) else CANNOT_RUN


def _open_port(descriptor: int) -> int:
    """Open a port inside the sandbox for the proxy outside, and return its number."""
    with (
        socket.socket(fileno=descriptor) as outside,
        socket.create_server(("127.0.0.1", 0), backlog=_WAITING) as listener,
    ):
        # A socket always belongs to the network namespace in which it was made
        # (network_namespaces(7)), whoever accepts on it: so the proxy accepts in here and connects
        # out there.
        socket.send_fds(outside, [b"\0"], [listener.fileno()])
        return int(listener.getsockname()[1])


def _variables(port: int) -> dict[str, str]:
    """Return the proxy variables for pip, npm, cargo, go, git and curl."""
    found = {"no_proxy": _NO_PROXY, "NO_PROXY": _NO_PROXY, "NODE_USE_ENV_PROXY": "1"}
    for name in ("http_proxy", "https_proxy"):
        found[name] = found[name.upper()] = f"http://127.0.0.1:{port}"
    return found


if __name__ == "__main__":
    sys.exit(main())
