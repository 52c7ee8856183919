"""Takes away from this Python what macOS does not have; PYTHONPATH leads here in emulations.

/proc is hidden by whoever starts it; psutil, which stands for it there, is told of another mount
of it. What looks like macOS is the Python and its system, never the programs that it starts.
"""

import ctypes
import os
import resource
import select
import selectors
import signal
import socket
import subprocess  # noqa: F401 - chosen by what this system has, before its name changes
import sys
import sysconfig
import tempfile  # noqa: F401 - likewise
import time
import types

MISSING = {
    os: (
        "sched_getaffinity sched_setaffinity pidfd_open memfd_create waitid getxattr setxattr "
        "listxattr removexattr O_PATH O_TMPFILE O_DIRECT O_NOATIME P_PIDFD P_PID P_ALL P_PGID "
        "WEXITED WNOWAIT WSTOPPED copy_file_range splice fdatasync posix_fallocate posix_fadvise "
        "pipe2 unshare setns eventfd getrandom setresuid setresgid getresuid"
    ),
    time: "CLOCK_BOOTTIME CLOCK_TAI CLOCK_MONOTONIC_COARSE pthread_getcpuclockid",
    signal: "sigtimedwait sigwaitinfo SIGPOLL SIGPWR SIGSTKFLT SIGCLD SIGRTMIN SIGRTMAX",
    select: "epoll EPOLLIN EPOLL_CLOEXEC",
    socket: "SOCK_CLOEXEC SOCK_NONBLOCK SO_PEERCRED AF_NETLINK AF_VSOCK SO_PASSCRED",
    resource: "prlimit RLIMIT_NICE RLIMIT_RTPRIO RLIMIT_SIGPENDING RLIMIT_MSGQUEUE RLIMIT_OFILE",
}
for module, names in MISSING.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)

selectors.DefaultSelector = selectors.PollSelector
del selectors.EpollSelector


class Library(ctypes.CDLL):
    """The C library without Linux's own calls."""

    def __getattr__(self, name):
        if name in {"prctl", "syscall", "capset", "memfd_create"}:
            raise AttributeError(f"dlsym: symbol not found: {name}")
        return super().__getattr__(name)


ctypes.CDLL = Library
sys.modules["_scproxy"] = types.SimpleNamespace(  # what urllib asks on macOS
    _get_proxy_settings=dict, _get_proxies=dict
)

if hidden := os.environ.get("EMULATION_PROCESSES"):
    import psutil  # its Linux half, since that is what is here

    psutil.PROCFS_PATH = hidden

sysconfig.get_config_vars()  # of a file that bears the system's name
sys.platform = "darwin"
