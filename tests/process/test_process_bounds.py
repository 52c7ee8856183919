"""Processors, bytes a second and bytes on disk of one command: held by the kernel, or said."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from settings_of import settings_of

from runner.process import cgroups
from runner.process.base import Ended
from runner.process.cgroups import Grounds, explain_unheld, group_for
from runner.process.limits import Limits, apply_bounds, find_device, with_device

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
    assert "page cache" in explain_unheld(known, old)[0]


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
