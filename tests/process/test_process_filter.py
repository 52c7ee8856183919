"""The filter of system calls: what fails in every sandbox, and what must go on working."""

from __future__ import annotations

import errno
import struct
from typing import TYPE_CHECKING

import pytest

from runner.process import syscalls

if TYPE_CHECKING:
    from promise_bench import Trial

_CALL = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
for words in sys.argv[1:]:
    numbers = [ctypes.c_long(int(word, 0)) for word in words.split(',')]
    result = libc.syscall(*numbers)
    print(ctypes.get_errno() if result < 0 else 'done')
"""
_NUMBERS = {  # x86_64, aarch64, further arguments
    "mount": (165, 40, ""),
    "unshare of a user namespace": (272, 97, ",0x10000000"),
    "clone of a mount namespace": (56, 220, ",0x20011"),
    "setns": (308, 268, ",-1"),
    "bpf": (321, 280, ",99"),
    "perf_event_open": (298, 241, ""),
    "userfaultfd": (323, 282, ""),
    "keyctl": (250, 219, ",0,-3"),
    "add_key": (248, 217, ""),
    "request_key": (249, 218, ""),
    "init_module": (175, 105, ""),
    "kexec_load": (246, 104, ""),
    "reboot": (169, 142, ",0"),
    "swapon": (167, 224, ""),
    "open_by_handle_at": (304, 265, ""),
    "TIOCSTI": (16, 29, ",0,0x5412"),
    "TIOCSTI with a high half": (16, 29, ",0,0x100005412"),
    "prlimit of another": (302, 261, ",1,7"),
}


@pytest.fixture
def column() -> int:
    machine = syscalls.machine()
    if machine not in {"x86_64", "aarch64"}:
        pytest.skip(f"there is no filter for {machine}")
    return ("x86_64", "aarch64").index(machine)


def test_calls_that_lead_out_are_not_permitted(trial: Trial, column):
    calls = [f"{entry[column]}{entry[2]}" for entry in _NUMBERS.values()]
    said = trial.runs(_CALL, *calls)
    found = dict(zip(_NUMBERS, said.tail.split(), strict=True))
    assert found == dict.fromkeys(_NUMBERS, str(errno.EPERM))


def test_calls_that_cannot_be_looked_into_are_as_if_the_kernel_had_none(trial: Trial):
    said = trial.runs(_CALL, "435,0,0", "425,1,0", "426,-1", "427,-1")
    assert said.tail.split() == [str(errno.ENOSYS)] * 4


def test_programs_start_threads_and_processes_and_ask_for_limits(trial: Trial):
    code = (
        "import os, resource, subprocess, threading\n"
        "from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor\n"
        "subprocess.run(['true'], check=True)\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
        "with ProcessPoolExecutor(2) as pool: print(sum(pool.map(abs, [-1, -2])))\n"
    )
    assert trial.runs(code).tail == "3\n"


def test_a_debugger_may_trace_what_it_starts(trial: Trial):
    code = (
        "import ctypes, os\n"
        "pid = os.fork()\n"
        "if not pid:\n"
        "    os._exit(ctypes.CDLL(None).ptrace(0, 0, 0, 0) != 0)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    assert trial.runs(code).tail == "0\n"


@pytest.mark.parametrize("sockets", syscalls.Sockets)
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_way_through_the_program_ends_with_an_answer(monkeypatch, machine, sockets):
    monkeypatch.setattr(syscalls, "machine", lambda: machine)
    code = list(struct.iter_unpack("=HBBI", syscalls.seccomp_filter.__wrapped__(sockets)))
    for at, (kind, true, false, _) in enumerate(code):
        if kind == 0x06:
            continue
        ways = (at + 1 + true, at + 1 + false) if kind & 0x07 == 0x05 else (at + 1,)
        assert all(at < way < len(code) for way in ways)
    assert code[-1][0] == 0x06


def test_an_unknown_machine_has_no_filter(monkeypatch):
    monkeypatch.setattr(syscalls, "machine", lambda: "riscv64")
    assert syscalls.seccomp_filter.__wrapped__(syscalls.Sockets.NONE) == b""
