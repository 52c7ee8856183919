"""Control groups: where they may be made, what they hold, and that none is left."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from settings_of import settings_of

from runner.config.settings import Settings
from runner.model import Resource
from runner.process import cgroups, supervise
from runner.process.base import Ended
from runner.process.cgroups import CommandCgroups, Grounds, grounds_in, group_for
from runner.process.limits import Limits, apply_bounds, memory_of

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
