"""What a sandbox promises of the machine's resources: every attempt here has an end of its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from process_bench import QUICK

from runner.process.cgroups import our_grounds

if TYPE_CHECKING:
    from promise_bench import Trial


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
