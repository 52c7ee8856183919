"""Control groups: where they may be made, what they limit, and that none is left."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import pytest
from settings_of import settings_of

from runner.config.settings import Settings
from runner.model import Resource
from runner.process import cgroups, supervise
from runner.process.base import Ended
from runner.process.cgroups import CommandCgroups, Grounds, explain_unheld, grounds_in, group_for
from runner.process.limits import Limits, apply_bounds, find_device, memory_of, with_device

GIGABYTE = 2**30


def a_hierarchy(folder: Path, **files: str) -> Path:
    """A folder that looks like one of the kernel's."""
    folder.mkdir(parents=True)
    (folder / "cgroup.procs").write_text("")
    for name, text in files.items():
        (folder / name.replace("_", ".", 1)).write_text(text)
    return folder


def a_mount(folder: Path, kind: str, options: str = "rw") -> str:
    return f"cgroup {folder} {kind} {options} 0 0\n"


def test_the_root_of_version_1_is_ours(tmp_path):
    pids = a_hierarchy(tmp_path / "pids")
    found = grounds_in("8:pids:/\n", a_mount(pids, "cgroup", "rw,pids"))
    assert found == Grounds(pids=str(pids))
    assert found.held == {"pids"}


@pytest.mark.skipif(os.geteuid() != 0, reason="root may write everything")
def test_what_another_made_is_left_alone_by_root(tmp_path):
    a_hierarchy(tmp_path / "memory")
    a_hierarchy(tmp_path / "memory" / "service")
    text = a_mount(tmp_path / "memory", "cgroup", "rw,memory")
    assert grounds_in("4:memory:/service\n", text) == Grounds()


def test_version_2_gives_the_controllers_that_can_be_had(tmp_path):
    top = a_hierarchy(tmp_path / "all", cgroup_controllers="cpu memory pids")
    (top / "cgroup.subtree_control").write_text("memory pids")
    found = grounds_in("0::/\n", a_mount(top, "cgroup2"))
    assert found == Grounds(unified=str(top), controllers=frozenset({"memory", "pids"}))
    (top / "cgroup.subtree_control").write_text("")
    grounds_in("0::/\n", a_mount(top, "cgroup2"))
    assert (top / "cgroup.subtree_control").read_text() == "+memory +pids"


def test_no_cgroups_at_all_is_no_group():
    assert grounds_in("", "") == Grounds()
    assert group_for(Limits(), Grounds()) is None


def test_the_limits_are_written_in_the_words_of_each_version(tmp_path, monkeypatch):
    written = {}
    monkeypatch.setattr(cgroups, "_write", lambda path, text: written.update({path: text}))
    limits = Limits(processes=50, together=GIGABYTE)
    new = Grounds(str(tmp_path), frozenset({"memory", "pids"}))
    group = group_for(limits, new)
    folder = group.folders[0]
    assert written == {
        f"{folder}/memory.max": str(GIGABYTE),
        f"{folder}/memory.swap.max": "0",
        f"{folder}/memory.oom.group": "1",
        f"{folder}/pids.max": "50",
    }
    assert group.around(("true",))[-1] == "true"
    assert group.close() == ""
    written.clear()
    old = group_for(limits, Grounds(pids=str(tmp_path), memory=str(tmp_path / "..")))
    words = {path.rpartition("/")[2] for path in written}
    assert words == {"pids.max", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"}
    assert old.around(("true",)) == ("true",)
    old.close()
    assert list(tmp_path.iterdir()) == []


def test_a_limit_that_was_reached_is_said(tmp_path):
    group = group_for(Limits(processes=50), Grounds(pids=str(tmp_path)))
    (Path(group.folders[0]) / "pids.events").write_text("max 3\n")
    (Path(group.folders[0]) / "memory.oom_control").write_text("under_oom 0\noom_kill 1\n")
    assert group.close().splitlines() == [
        "runner: the command reached its limit of 50 processes",
        "runner: the command used more than its memory and was stopped",
    ]


def test_no_group_is_left_behind(context):
    grounds = cgroups.our_grounds()
    if not grounds.held:
        pytest.skip("no cgroup can be made here")
    context.run("setsid sleep 42.5 & sleep 0.05")
    context.run("kill -9 $$")
    context.run(("no-such-program",))
    ours = [
        name
        for base in (grounds.unified, grounds.pids, grounds.memory)
        if base
        for name in Path(base).glob(f"runner-{os.getpid()}-*")
    ]
    assert ours == []


def test_the_kernels_version_2_takes_the_command_and_ends_it(context, monkeypatch):
    base = cgroups.our_grounds().unified
    if not base:
        pytest.skip("no cgroup of version 2 can be made here")
    made = []

    def a_group(limits: Limits) -> CommandCgroups:
        folder = Path(base, f"runner-{os.getpid()}-test{len(made)}")
        folder.mkdir()
        made.append(folder)
        return CommandCgroups(str(folder), (), limits)

    monkeypatch.setattr(supervise, "group_for", a_group)
    inside = []

    def look(_line: str) -> None:
        inside.extend((made[-1] / "cgroup.procs").read_text().split())

    assert context.run("echo here; sleep 0.6; echo over", tell=look).passed
    assert len(inside) >= 2
    assert context.run("exit 3").exit == 3
    assert context.run("sleep 30", limits=Limits(hard=0.3)).ended is Ended.HARD
    assert [folder for folder in made if folder.exists()] == []


_TOGETHER = """
import subprocess, sys
line = "x = bytearray(40 << 20); x[::4096] = b'1' * len(x[::4096]); import time; time.sleep(0.6)"
each = [subprocess.Popen([sys.executable, "-c", line]) for _ in range(3)]
print(sorted({one.wait() for one in each}))
"""


def our_memory_of_version_1() -> str:
    """The group of version 1 that this process is in, where a group below it can be made."""
    lines = (line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines())
    own = next((path for _, names, path in lines if "memory" in names.split(",")), None)
    mounts = (line.split() for line in Path("/proc/self/mounts").read_text().splitlines())
    at = next((m[1] for m in mounts if m[2] == "cgroup" and "memory" in m[3].split(",")), None)
    folder = f"{at}{own}".rstrip("/")
    if own is None or at is None or not os.access(f"{folder}/tasks", os.W_OK):
        pytest.skip("no group of memory of version 1 can be made here")
    return folder


def test_the_kernels_memory_of_version_1_is_counted_over_all_processes(context, monkeypatch):
    """Each of them alone has what it needs; together they have not."""
    base = our_memory_of_version_1()
    monkeypatch.setattr(
        supervise, "group_for", lambda limits: group_for(limits, Grounds(memory=base))
    )
    limits = Limits(hard=30, together=100 * 2**20)
    ran = context.run((sys.executable, "-c", _TOGETHER), limits=limits)
    assert ran.tail.splitlines() == [
        "[-9, 0]",
        "runner: the command used more than its 100 MiB of memory and was stopped",
    ]
    assert context.says("echo fine", limits=limits) == "fine\n"
    assert list(Path(base).glob(f"runner-{os.getpid()}-*")) == []


def test_groups_that_a_killed_runner_left_are_taken_away(tmp_path):
    names = {"runner-1-1": 1, "runner-99999999-1": 1, "runner-99999998-1": time.time(), "other": 1}
    for name, moment in names.items():
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (moment, moment))
    cgroups._sweep(str(tmp_path))
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["other", "runner-1-1", "runner-99999998-1"]


def test_we_ourselves_stay_where_we_were(context):
    before = Path("/proc/thread-self/cgroup").read_text()
    context.run("true")
    assert Path("/proc/thread-self/cgroup").read_text() == before


@pytest.mark.parametrize(
    ("amount", "size"),
    [
        ("4GB", 4 * GIGABYTE),
        ("512 MB", GIGABYTE // 2),
        ("1.5g", GIGABYTE * 3 // 2),
        ("2GiB", 2 * GIGABYTE),
        ("1048576", 1048576),
        ("much", None),
    ],
)
def test_a_task_says_how_much_memory_it_uses(amount, size):
    assert memory_of((Resource("gpu", "1"), Resource("Memory", amount))) == size
    assert memory_of(()) is None


def test_a_persons_bounds_hold_and_a_task_has_its_own_memory():
    settings = settings_of(processes=99, memory="2GB", file_size="1GB")
    own = apply_bounds(Limits(hard=5), settings)
    assert own == Limits(hard=5, processes=99, together=2 * GIGABYTE, file_size=GIGABYTE)
    assert apply_bounds(Limits(), settings, [Resource("memory", "1GB")]).together == GIGABYTE
    plain = apply_bounds(Limits(), Settings())
    assert plain == Limits()


MEGABYTE = 2**20
_BUSY = "import time; end = time.process_time() + 0.6\nwhile time.process_time() < end: pass"


@pytest.fixture
def holding():
    """What this machine's own cgroups hold; a test that needs more is skipped."""

    def require(what: str) -> Grounds:
        grounds = cgroups.our_grounds()
        if what not in grounds.held:
            pytest.skip(f"no cgroup can be made here for {what}")
        return grounds

    return require


def write_past_the_cache(size: int) -> str:
    return f"dd if=/dev/zero of=big bs=1M count={size} oflag=direct 2>/dev/null && echo written"


def test_a_command_gets_no_more_processor_than_its_share(context, holding):
    holding("cpu")
    ran = context.run((sys.executable, "-c", _BUSY), limits=Limits(hard=60, processors=0.3))
    assert ran.passed
    assert ran.seconds > 1.5, "0.6 s of a processor at 0.3 of one take 2 s"


def test_a_command_writes_no_faster_than_its_rate(context, holding):
    holding("io")
    device = find_device(context.place.tree)
    if not device:
        pytest.skip("the tree lies on no disk of its own number")
    limits = Limits(hard=60, io=2 * MEGABYTE)
    ran = context.run(write_past_the_cache(5), limits=limits)
    assert ran.tail == "written\n"
    assert ran.seconds > 1.5, "5 MB at 2 MB/s take 2.5 s"


def test_a_command_that_writes_too_much_is_ended_and_it_is_said(context, holding):
    holding("io")
    if not find_device(context.place.tree):
        pytest.skip("the tree lies on no disk of its own number")
    line = f"{write_past_the_cache(8)}; sleep 30; echo over"
    ran = context.run(line, limits=Limits(hard=60, disk=5 * MEGABYTE))
    assert "wrote more than 5MB to disk and was stopped" in ran.tail
    assert "over" not in ran.tail
    assert (ran.passed, ran.ended) == (False, Ended.EXITED)
    assert ran.seconds < 20
    fine = context.run(write_past_the_cache(2), limits=Limits(hard=60, disk=50 * MEGABYTE))
    assert fine.tail == "written\n"


def test_no_group_of_a_bound_is_left_behind(context, holding):
    grounds = holding("cpu")
    context.run("true", limits=Limits(processors=1, disk=MEGABYTE))
    for base in filter(None, (grounds.cpu, grounds.blkio, grounds.unified)):
        assert list(Path(base).glob(f"runner-{os.getpid()}-*")) == []


def test_bounds_are_written_in_the_words_of_each_version(tmp_path, monkeypatch):
    (tmp_path / "cgroup.controllers").write_text("cpu io memory pids")
    (tmp_path / "cgroup.subtree_control").write_text("cpu io memory pids")
    written = {}
    monkeypatch.setattr(cgroups, "_write", lambda path, text: written.update({path: text}))
    limits = Limits(processors=2, io=50 * MEGABYTE, disk=10, device="8:0", processes=None)
    new = group_for(limits, Grounds(str(tmp_path), frozenset({"memory", "pids"})))
    (folder,) = new.folders
    assert written == {
        f"{folder}/cpu.max": "200000 100000",
        f"{folder}/io.max": f"8:0 rbps={50 * MEGABYTE} wbps={50 * MEGABYTE}",
    }
    written.clear()
    for name in ("cpu", "blkio"):
        (tmp_path / name).mkdir()
    old = group_for(limits, Grounds(cpu=str(tmp_path / "cpu"), blkio=str(tmp_path / "blkio")))
    words = {path.rpartition("/")[2]: text for path, text in written.items()}
    assert words == {
        "cpu.cfs_quota_us": "200000",
        "blkio.throttle.read_bps_device": f"8:0 {50 * MEGABYTE}",
        "blkio.throttle.write_bps_device": f"8:0 {50 * MEGABYTE}",
    }
    new.close()
    old.close()


def test_who_sets_no_such_bound_gets_no_such_group(tmp_path):
    assert group_for(Limits(), Grounds(cpu=str(tmp_path), blkio=str(tmp_path))) is None


@pytest.mark.parametrize("name", ["io.stat", "blkio.throttle.io_service_bytes"])
def test_what_was_written_is_counted_in_the_words_of_each_version(tmp_path, name):
    said = {
        "io.stat": "8:0 rbytes=9 wbytes=300 rios=1\n8:16 rbytes=0 wbytes=50\n",
        "blkio.throttle.io_service_bytes": "8:0 Read 9\n8:0 Write 350\n8:0 Total 359\nTotal 359\n",
    }
    group = group_for(Limits(disk=400), Grounds(blkio=str(tmp_path)))
    (Path(group.folders[0]) / name).write_text(said[name])
    assert not group.has_written_too_much()
    (Path(group.folders[0]) / name).write_text(said[name].replace("50", "900"))
    assert group.has_written_too_much()
    (Path(group.folders[0]) / name).unlink()
    group.close()


def test_what_is_not_held_is_said_for_each_bound():
    asked = Limits(processors=2, disk=10, io=10)
    assert len(explain_unheld(asked, Grounds())) == 3
    assert explain_unheld(Limits(), Grounds()) == ()
    old = Grounds(cpu="/cpu", blkio="/blkio")
    (first, second) = explain_unheld(with_device(asked, Path("/proc")), old)
    assert "limits.disk is not enforced: the scratch trees are on no block device" in first
    assert "io is not enforced" in second
    known = Limits(processors=2, disk=10, io=10, device="8:0")
    assert [line.split()[0] for line in explain_unheld(known, old)] == ["limits.disk", "limits.io"]
    assert "direct I/O" in explain_unheld(known, old)[0]


def test_a_persons_bounds_become_numbers():
    settings = settings_of(processors=1.5, disk="10GB", io="50MB/s")
    own = apply_bounds(Limits(), settings)
    assert (own.processors, own.disk, own.io) == (1.5, 10 * 2**30, 50 * MEGABYTE)
    assert with_device(Limits(), Path("/")) == Limits()


# --- large pieces of memory go back to the system when they are free ------------------


COPIES = """
import os, sys
from runner.process.platform import trim_memory

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

if sys.argv[1] == "back":
    assert trim_memory()
first = bytes(bytearray(b"x") * 8_000_000)
del first  # what glibc learns from
before, copies, small = resident(), [], []
for _ in range(10):
    copies.append(b"x" * 4_000_000)
    small.append(b"x" * 100_000)
most = resident() - before
del copies
print(most, resident() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a matter of the GNU C library")
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="asked of /proc")
def test_copies_of_a_large_text_leave_nothing_behind():
    kept, back = (
        [float(one) for one in subprocess.check_output([sys.executable, "-c", COPIES, how]).split()]
        for how in ("keep", "back")
    )
    assert kept[0] > 35
    assert kept[1] > 20, "glibc keeps nothing any more: then nothing has to be asked of it"
    assert back[0] > 35
    assert back[1] < kept[1] / 4  # of it one megabyte are the small ones
