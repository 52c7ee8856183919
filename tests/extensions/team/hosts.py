"""Hosts on one machine: network namespaces on a bridge, with disks and clocks of their own.

What stands outside of them is reached over that bridge alone: git's daemon, and the store by a
door that hands on to its socket. So a cut is a cut: what was under way gets no answer.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import threading
import time

# What the time is may jump, how long something takes does not (clock_gettime(2)): libfaketime moves
# sleeps until a moment of the monotonic clock, too, which then fail.
_CLOCK = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *at) {
    long done = syscall(SYS_clock_gettime, id, at);
    char said[32] = {0};
    const char *name = getenv("HOST_CLOCK");
    int file = done || id != CLOCK_REALTIME || !name ? -1 : open(name, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        if (read(file, said, sizeof said - 1) > 0) at->tv_sec += atol(said);
        close(file);
    }
    return (int)done;
}
int gettimeofday(struct timeval *at, void *zone) {
    struct timespec now;
    int done = clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return done;
}
time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
"""
HAS_CLOCKS = shutil.which("cc") is not None
_BRIDGE, _NET = f"rb{os.getpid() % 10_000}", f"10.{77 + os.getpid() % 100}.{os.getpid() % 250}"
ADDRESS = f"{_NET}.1"
_DISK = 256 << 20


def find_lack():
    """Why this machine does not let us have them; empty where it does."""
    if os.geteuid():
        return "network namespaces and disks of their own need root"
    if missing := [name for name in ("ip", "unshare", "mount") if shutil.which(name) is None]:
        return f"there is no {', '.join(missing)} (apt-get install iproute2 util-linux)"
    name = f"probe{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False)
    subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    said = made.stderr.decode("utf-8", "replace").strip()
    return f"no network namespace can be made: {said}" if made.returncode else ""


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Hosts:
    """So many of them, and the way to what all of them ask."""

    def __init__(self, number, folder):
        self.number, self.folder = number, folder
        self._ends = contextlib.ExitStack()

    def __enter__(self):
        ip("link", "add", _BRIDGE, "type", "bridge")
        self._ends.callback(ip, "link", "del", _BRIDGE)
        ip("addr", "add", f"{ADDRESS}/24", "dev", _BRIDGE)
        ip("link", "set", _BRIDGE, "up")
        for at in range(self.number):
            self._make(at)
        return self

    def __exit__(self, *_):
        self._ends.close()

    def _make(self, at):
        name, outer, inner = self.name(at), f"{_BRIDGE}o{at}", f"{_BRIDGE}i{at}"
        ip("netns", "add", name)
        self._ends.callback(ip, "netns", "del", name)
        ip("link", "add", outer, "type", "veth", "peer", "name", inner)
        ip("link", "set", inner, "netns", name)
        ip("link", "set", outer, "master", _BRIDGE, "up")
        ip("-n", name, "addr", "add", f"{_NET}.{10 + at}/24", "dev", inner)
        ip("-n", name, "link", "set", inner, "up")
        ip("-n", name, "link", "set", "lo", "up")
        home = self.folder / f"home-w{at}"
        home.mkdir()
        words = ["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs", str(home)]
        subprocess.run(words, check=True)
        self._ends.callback(subprocess.run, ["umount", "-l", str(home)], check=False)
        self.set_clock(at, 0)

    def name(self, at):
        return f"{_BRIDGE}n{at}"

    def prefix(self, at):
        """Before the words of a program that is to run there; its pid is that of the program."""
        said = f'hostname w{at} && exec "$@"'
        return ["ip", "netns", "exec", self.name(at), "unshare", "--uts", "sh", "-c", said, "sh"]

    def variables(self, at):
        """By which a program there has that host's clock."""
        if not HAS_CLOCKS:
            return {}
        library, place = self.folder / "clock.so", str(self.folder / f"clock-{at}")
        if not library.exists():
            words = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), "-x", "c", "-"]
            subprocess.run(words, input=_CLOCK.encode(), check=True)
        return {"LD_PRELOAD": str(library), "HOST_CLOCK": place}

    def set_clock(self, at, seconds):
        new = self.folder / f"clock-{at}.new"
        new.write_text(f"{seconds}\n")
        new.replace(self.folder / f"clock-{at}")

    def cut(self, at):
        ip("link", "set", f"{_BRIDGE}o{at}", "down")

    def join(self, at):
        ip("link", "set", f"{_BRIDGE}o{at}", "up")

    def fill(self, at):
        """Leave no byte on its disk."""
        filler = self.folder / f"home-w{at}" / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 20))

    def empty(self, at):
        (self.folder / f"home-w{at}" / "filler").unlink(missing_ok=True)

    # --- what they ask ---

    def serve_git(self, folder):
        """Git's daemon over all repositories there; gives what their addresses begin with."""
        with socket.create_server((ADDRESS, 0)) as probe:
            port = probe.getsockname()[1]
        words = ["git", "daemon", f"--listen={ADDRESS}", f"--port={port}", "--reuseaddr"]
        words += ["--export-all", "--enable=receive-pack", f"--base-path={folder}", str(folder)]
        daemon = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        self._ends.callback(daemon.wait)
        self._ends.callback(daemon.terminate)
        time.sleep(0.3)
        return f"git://{ADDRESS}:{port}"

    def serve_socket(self, path):
        """A door to a socket of this machine; gives its port."""
        server = socket.create_server((ADDRESS, 0), backlog=64)
        self._ends.callback(server.close)
        threading.Thread(target=_take_in, args=(server, str(path)), daemon=True).start()
        return server.getsockname()[1]


def _take_in(server, path):
    with contextlib.suppress(OSError):
        while True:
            outer = server.accept()[0]
            inner = socket.socket(socket.AF_UNIX)
            try:
                inner.connect(path)
            except OSError:
                outer.close()
                continue
            for ends in ((outer, inner), (inner, outer)):
                threading.Thread(target=_hand_on, args=ends, daemon=True).start()


def _hand_on(source, target):
    with contextlib.suppress(OSError):
        while said := source.recv(1 << 16):
            target.sendall(said)
    for one in (source, target):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
