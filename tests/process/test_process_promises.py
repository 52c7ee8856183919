"""What a sandbox promises of files and processes, each promise tried by a command that breaks it.

| promise                                         | bubblewrap | Landlock              |
|-------------------------------------------------|------------|-----------------------|
| `~/.ssh` and all of HOME cannot be read          | not there  | refused               |
| another user's file cannot be read               | yes        | yes                   |
| the real repository's own files cannot be read   | not there  | refused               |
| the parent's environment cannot be read          | not there  | refused               |
| nothing is written outside, nor through a link   | yes        | yes                   |
| `.git/hooks` of the repository cannot be written | yes        | yes                   |
| modes of the person's other files stay           | yes        | no                    |
| other processes get no signal                    | not there  | from Linux 6.12       |
| other processes' command lines are not seen      | yes        | no                    |
| what outlives the command is ended               | by kernel  | by us, while we live  |
| no network: TCP, UDP, DNS, AF_VSOCK, abstract    | yes        | yes, by the call filter |
| no network: sockets in the file system           | own mounts | yes, by the call filter |
| loopback alone                                   | yes        | no: as `yes`          |
| a loopback of its own without asking             | yes        | no: `Network: loopback` |
| processes, memory, file size, processor time     | yes        | yes                   |
| room of /tmp and HOME                            | yes        | no                    |

Processes of root and memory of a command together need a cgroup.
"""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from process_bench import QUICK
from promise_bench import NOBODY, Trial

from runner.model import Network
from runner.process.cgroups import our_grounds

if TYPE_CHECKING:
    from promise_bench import Trial

REFUSED = ("No such file", "Permission denied", "Read-only", "not permitted", "cannot create")


def refused(said) -> bool:
    """Whether it failed, and the output says of what."""
    return said.exit != 0 and any(word in said.tail for word in REFUSED)


# --- reading ---------------------------------------------------------------------------


def test_keys_in_home_cannot_be_read(trial: Trial):
    (trial.home / ".ssh").mkdir()
    (trial.home / ".ssh" / "id").write_text("private")
    said = trial.run(f"cat {trial.home}/.ssh/id")
    assert refused(said)
    assert "private" not in said.tail
    assert refused(trial.run(f"ls {trial.home}/.ssh"))


def test_another_users_file_cannot_be_read(trial: Trial):
    if os.geteuid() != 0:
        pytest.skip("only root can make another user's file")
    with tempfile.TemporaryDirectory(dir="/opt") as folder:
        Path(folder).chmod(0o755)
        theirs = Path(folder, "theirs")
        theirs.write_text("private")
        theirs.chmod(0o600)
        os.chown(theirs, *((NOBODY, NOBODY) if trial.user == "self" else (1, 1)))
        assert refused(trial.run(f"cat {theirs}"))
        theirs.chmod(0o644)
        assert trial.run(f"cat {theirs}").tail == "private"  # it is the mode that kept it


def test_password_digests_cannot_be_read(trial: Trial):
    assert refused(trial.run("cat /etc/shadow")) or trial.run("cat /etc/shadow").tail == ""


def test_the_repositorys_own_files_cannot_be_read(trial: Trial):
    (trial.place.shown / ".env").write_text("private")
    assert refused(trial.run(f"cat {trial.place.shown}/.env"))


def test_the_parents_environment_cannot_be_read(trial: Trial, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_PARENT", "hunter2" * 2)
    said = trial.run(
        "cat /proc/$PPID/environ /proc/[0-9]*/environ 2>errors | tr '\\0' '\\n'; "
        f"cat /proc/{os.getpid()}/environ"
    )
    assert refused(said)
    assert "SECRET_OF_THE_PARENT" not in said.tail
    assert "RUNNER_COMMAND" in said.tail  # its own can be read


def test_the_parents_memory_cannot_be_read(trial: Trial):
    code = "import os; os.open(f'/proc/{os.getppid()}/mem', os.O_RDWR)"
    mine = trial.runs(
        f"import sys; {code.replace('os.getppid()', 'int(sys.argv[1])')}", os.getpid()
    )
    assert refused(mine)


# --- writing ---------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["/etc/x", "/usr/bin/x", "/var/lib/x", "/opt/x", "/x"])
def test_nothing_is_written_outside(trial: Trial, target):
    assert refused(trial.run(f"echo x > {target}"))
    assert not Path(target).exists()


def test_nothing_is_written_or_taken_from_home_and_its_neighbours(trial: Trial):
    kept = trial.home / "kept"
    kept.write_text("kept")
    beside = trial.folder / "beside"
    beside.write_text("kept")
    trial.run(f"echo x > {kept}; rm -f {kept}; mv {kept} moved; ln {kept} linked; echo > {beside}")
    assert (kept.read_text(), beside.read_text()) == ("kept", "kept")
    trial.runs("import os, sys; os.truncate(sys.argv[1], 0)", kept)
    assert kept.read_text() == "kept"


def test_the_real_hooks_cannot_be_written(trial: Trial):
    hooks = trial.place.shown / ".git" / "hooks"
    hooks.mkdir(parents=True)
    trial.run(f"mkdir -p {hooks}; echo evil > {hooks}/post-commit")
    assert list(hooks.iterdir()) == []
    assert not refused(trial.run("mkdir -p .git/hooks && echo mine > .git/hooks/x"))


@pytest.mark.parametrize("link", ["file", "folder"])
def test_nothing_is_written_through_a_link(trial: Trial, link):
    outside = trial.folder / "outside"
    outside.mkdir()
    (outside / "file").write_text("kept")
    target = outside / "file" if link == "file" else outside
    (trial.place.tree / "link").symlink_to(target)
    said = trial.run("echo x > link" if link == "file" else "echo x > link/new")
    assert refused(said)
    assert [path.name for path in outside.iterdir()] == ["file"]
    assert (outside / "file").read_text() == "kept"


def test_controls_of_the_kernel_cannot_be_written(trial: Trial):
    code = (
        "import os\n"
        "for path in ('/proc/sys/kernel/core_pattern', '/proc/sys/kernel/modprobe',\n"
        "        '/proc/sysrq-trigger', '/sys/power/state'):\n"
        "    try: os.close(os.open(path, os.O_WRONLY))\n"
        "    except OSError: continue\n"
        "    print(path)\n"
    )
    assert trial.runs(code).tail == ""


def test_its_own_places_can_be_written(trial: Trial):
    said = trial.run('echo a > x; echo b > "$HOME/x"; echo c > "$TMPDIR/x"; cat x ~/x "$TMPDIR/x"')
    assert (said.exit, said.tail) == (0, "a\nb\nc\n")
    assert (trial.place.tree / "x").read_text() == "a\n"
    assert list(trial.home.iterdir()) == []
    assert list(trial.place.box.iterdir()) == []


# --- processes -------------------------------------------------------------------------


def test_other_processes_get_no_signal(trial: Trial):
    user = NOBODY if trial.user == "nobody" else os.geteuid()
    with subprocess.Popen(["sleep", "30"], user=user) as other:
        try:
            said = trial.run(f"kill -KILL {other.pid}")
            assert said.exit != 0
            assert other.poll() is None
        finally:
            other.kill()


def test_what_outlives_its_parent_is_ended(trial: Trial):
    mark = f"4{os.getpid()}.{time.monotonic_ns() % 1000}"
    said = trial.run(f"setsid setsid sleep {mark} >/dev/null 2>&1 & sleep 0.2; echo over")
    assert (said.exit, said.tail) == (0, "over\n")
    assert said.left_behind == 1
    lines = [_command_line(path) for path in Path("/proc").glob("[0-9]*/cmdline")]
    assert [line for line in lines if mark in line] == []


def _command_line(path: Path) -> str:
    try:
        return path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


MEGABYTE = 1024 * 1024
_FORKS = """
import os, signal, sys, time
children, said = [], ''
for _ in range(int(sys.argv[1])):
    try:
        pid = os.fork()
    except OSError as problem:
        said = problem.strerror
        break
    if not pid:
        time.sleep(30)
        os._exit(0)
    children.append(pid)
print(len(children), said)
for pid in children:
    os.kill(pid, signal.SIGKILL)
"""


def _running() -> int:
    return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])


def test_processes_that_multiply_come_to_an_end(trial: Trial):
    root = trial.user == "self" and os.geteuid() == 0
    together = "pids" in our_grounds().held and trial.user == "self"
    if root and not together:
        pytest.skip("RLIMIT_NPROC does not hold for root, and no cgroup can be made")
    most = 40 if together else 40 + _running()
    attempts = most + 300  # the attempt itself is bounded: it ends when nothing stops it
    said = trial.runs(_FORKS, attempts, limits=replace(QUICK, processes=40))
    count, _, why = said.tail.splitlines()[0].partition(" ")
    assert why == "Resource temporarily unavailable"
    assert int(count) < attempts
    if together:
        assert int(count) <= 40
        assert "runner: the command reached its limit of 40 processes" in said.tail


def test_memory_without_measure_is_refused(trial: Trial):
    code = f"held = bytearray({300 * MEGABYTE}); print(len(held))"
    said = trial.runs(code, limits=replace(QUICK, together=64 * MEGABYTE))
    assert said.exit != 0
    assert "MemoryError" in said.tail or "memory" in said.tail
    assert trial.runs(code).exit == 0  # it is the limit that refused


def test_a_file_without_end_is_refused(trial: Trial):
    limits = replace(QUICK, file_size=MEGABYTE)
    said = trial.run(
        "head -c 3000000 /dev/zero > big; code=$?; wc -c < big; exit $code", limits=limits
    )
    assert said.exit != 0
    assert str(MEGABYTE) in said.tail
    assert "File size limit exceeded" in said.tail or "File too large" in said.tail


def test_places_in_memory_have_a_size(trial: Trial):
    if trial.word == "landlock":
        pytest.skip("nothing is mounted: what is written to TMPDIR is the disk's")
    for path in ("/tmp", '"$HOME"', "/dev/shm"):
        said = trial.run(f"df --output=size -B1 {path} | tail -n 1")
        assert int(said.tail) <= 2048 * MEGABYTE


def test_work_without_end_runs_out_of_processor_time(trial: Trial):
    said = trial.run("while :; do :; done", limits=replace(QUICK, cpu=1))
    assert said.exit in {137, 152}  # SIGKILL at the hard limit, SIGXCPU at the soft one


def test_open_files_have_a_number(trial: Trial):
    code = "held = [open('/dev/null') for _ in range(200)]"
    said = trial.runs(code, limits=replace(QUICK, open_files=100))
    assert "Too many open files" in said.tail


def test_limits_cannot_be_taken_back(trial: Trial):
    code = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (2**40, 2**40))"
    said = trial.runs(code, limits=replace(QUICK, file_size=MEGABYTE))
    assert said.exit == 1
    assert "not allowed to raise maximum limit" in said.tail


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
