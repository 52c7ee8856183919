"""Commands restricted by Landlock and by the filter of system calls; tools go on working."""

from __future__ import annotations

import errno
import os
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from process_bench import Bench, a_place

from runner.errors import ExitCode, RunnerError
from runner.process import syscalls
from runner.process.base import command_environment
from runner.process.sandbox import choose_sandbox

if TYPE_CHECKING:
    from promise_bench import Trial


@pytest.fixture
def locked(tmp_path) -> Bench:
    """A bench with Landlock."""
    try:
        return Bench(a_place(tmp_path), choose_sandbox("landlock"))
    except RunnerError as error:
        pytest.skip(error.message)


def test_a_command_works_in_the_scratch_tree_where_it_lies(locked):
    (locked.place.tree / "file").write_text("scratch")
    assert locked.says("pwd; cat file") == f"{locked.place.tree}\nscratch"
    assert locked.sandbox.sees(locked.place, locked.place.tree) == locked.place.tree


def test_files_are_made_moved_linked_and_removed_in_the_tree(locked):
    locked.says("mkdir a b; echo x > a/x; mv a/x b/y; ln b/y b/z; ln -s y b/l; rm b/y; rmdir a")
    assert sorted(path.name for path in (locked.place.tree / "b").iterdir()) == ["l", "z"]


def test_home_and_the_temporary_folder_are_new_for_each_command(locked):
    locked.says('echo evil > "$HOME/.gitconfig"; echo x > "$TMPDIR/x"')
    assert locked.says('ls -A "$HOME"; ls -A "$TMPDIR"') == ""
    assert list(locked.place.box.iterdir()) == []


def test_the_box_and_shared_folders_are_seen(locked):
    shared = locked.place.shown / "node_modules"
    shared.mkdir()
    (shared / "lib").write_text("shared")
    (locked.place.tree / "node_modules").symlink_to(shared)
    context = locked.at(replace(locked.place, shares=("node_modules",)))
    box = context.place.box
    assert context.says(f"cat node_modules/lib; echo decided > {box}/d") == "shared"
    assert (box / "d").read_text() == "decided\n"
    assert context.run("echo x > node_modules/lib").exit != 0


def test_further_paths_are_read_only_when_the_person_says_so(locked, tmp_path):
    extra = tmp_path / "models"
    extra.mkdir()
    (extra / "weights").write_text("here")
    assert locked.run(f"cat {extra}/weights").exit != 0
    told = Bench(locked.place, choose_sandbox("landlock", (extra,)))
    assert told.says(f"cat {extra}/weights") == "here"
    assert told.run(f"echo x > {extra}/weights").exit != 0


def test_tools_below_home_are_found(locked, tmp_path):
    home = tmp_path / "home"
    (home / ".cargo" / "bin").mkdir(parents=True)
    (home / ".cargo" / "credentials.toml").write_text("private")
    tool = home / ".cargo" / "bin" / "mytool"
    tool.write_text("#!/bin/sh\necho mine $CARGO_HOME\n")
    tool.chmod(0o755)
    path = f"{tool.parent}:/usr/bin:/bin"
    env = command_environment({"HOME": str(home), "PATH": path})
    assert locked.says("mytool", environment=env) == f"mine {home}/.cargo\n"
    assert locked.run('cat "$CARGO_HOME/credentials.toml"', environment=env).exit != 0


def test_the_interpreter_with_its_packages_works(locked):
    assert locked.says((sys.executable, "-c", "import pytest, ssl, sqlite3; print('ok')")) == "ok\n"


@pytest.mark.parametrize("tool", ["git --version", "node -e 0", "cargo --version", "java -version"])
def test_tools_of_the_person_start(locked, tool):
    if subprocess.run(["sh", "-c", tool], capture_output=True, check=False).returncode:
        pytest.skip(f"{tool.split()[0]} does not work here")
    assert locked.run(tool).passed


def test_git_commits_in_the_tree(locked):
    line = (
        "git init -q . && echo x > x && git add . && "
        "git -c user.name=a -c user.email=a@b commit -qm one && git log --format=%s"
    )
    assert locked.says(line) == "one\n"


def test_it_gives_up_all_privileges_and_we_keep_ours(locked):
    before = Path("/proc/thread-self/status").read_text()
    said = locked.says("grep -E 'CapEff|CapPrm|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status")
    words = dict(line.split() for line in said.splitlines())
    assert words["CapEff:"] == words["CapPrm:"] == "0" * 16
    assert os.geteuid() != 0 or words["CapBnd:"] == "0" * 16
    assert words["NoNewPrivs:"] == "1"
    after = Path("/proc/thread-self/status").read_text()
    wanted = ("CapEff", "CapBnd", "NoNewPrivs", "Seccomp:")
    kept = [
        [line for line in text.splitlines() if line.startswith(wanted)] for text in (before, after)
    ]
    assert kept[0] == kept[1]


def test_many_start_at_once_each_with_its_own_rights(locked, tmp_path):
    benches = [locked.at(a_place(tmp_path / str(number))) for number in range(6)]
    neighbour = benches[0].place.tree / "mine"
    neighbour.write_text("kept")
    codes = []

    def work(context: Bench) -> None:
        codes.append(context.run(f"echo x > own && ! cat {neighbour}").exit)

    threads = [threading.Thread(target=work, args=(context,)) for context in benches[1:]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [0] * 5
    assert neighbour.read_text() == "kept"


def test_terminals_of_the_person_cannot_be_opened(locked):
    main, side = os.openpty()
    try:
        assert locked.run(f"echo x > {os.ttyname(side)}").exit != 0
    finally:
        os.close(main)
        os.close(side)


def test_a_place_that_is_gone_is_no_failure_of_the_command(locked, tmp_path):
    gone = replace(locked.place, tree=tmp_path / "gone")
    with pytest.raises(RunnerError, match=r"^the scratch tree is missing: ") as caught:
        locked.at(gone).run("true")
    assert caught.value.code is ExitCode.CONFLICT
    assert list(locked.place.box.iterdir()) == []


def test_what_a_kernel_does_not_hold_is_said(locked):
    always = replace(locked.sandbox, version=7).gaps
    assert ["loopback" in always[0], "modes" in always[1]] == [True, True]
    assert replace(locked.sandbox, version=3).gaps == (
        *always,
        "TCP is limited only by the system call filter",
        "device controls (ioctl) are not blocked",
        "signals to your other processes are not blocked",
    )


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
