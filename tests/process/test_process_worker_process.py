"""A child that stays answers line for line, and never outlives whom it answers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runner.process.interactive import WorkerProcess, WorkerProcessGone

ECHO = """
import sys
print("listening", flush=True)
for line in sys.stdin:
    word = line.strip()
    if word == "die":
        sys.exit(3)
    if word == "sleep":
        __import__("time").sleep(60)
    print(word.upper() * (100_000 if word == "long" else 1), flush=True)
"""


@pytest.fixture
def companion():
    made = WorkerProcess((sys.executable, "-I", "-c", ECHO), {})
    until = time.monotonic() + 20
    while not made.ready() and time.monotonic() < until:
        time.sleep(0.01)
    yield made
    made.close()


def is_gone(pid, seconds=10.0):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


def test_each_line_is_answered_by_one(companion):
    assert companion.ready()
    assert companion.ask(b"one", 10) == b"ONE"
    assert companion.ask(b"x" * 300_000, 10) == b"X" * 300_000
    assert companion.ask(b"long", 10) == b"LONG" * 100_000


def test_one_that_ends_is_gone_for_good(companion):
    with pytest.raises(WorkerProcessGone, match="it ended"):
        companion.ask(b"die", 10)
    with pytest.raises(WorkerProcessGone, match="it ended"):
        companion.ask(b"again", 10)


def test_one_that_does_not_answer_is_ended(companion):
    with pytest.raises(WorkerProcessGone, match="it took too long"):
        companion.ask(b"sleep", 0.2)
    assert is_gone(companion.pid)


def test_it_is_not_ready_before_it_says_so():
    slow = WorkerProcess(("/bin/sh", "-c", "read go"), {})
    assert not slow.ready()
    slow.close()
    assert is_gone(slow.pid)


def test_one_that_never_listens_is_told():
    broken = WorkerProcess(("/bin/sh", "-c", "exit 1"), {})
    assert is_gone(broken.pid)
    with pytest.raises(WorkerProcessGone):
        broken.ready()
    broken.close()


def test_a_person_s_ctrl_c_does_not_reach_it(companion):
    assert os.getpgid(companion.pid) == companion.pid != os.getpgid(0)


def test_it_ends_with_us_however_we_end():
    code = (
        "import sys, time\n"
        "from runner.process.interactive import WorkerProcess\n"
        f"made = WorkerProcess((sys.executable, '-I', '-c', {ECHO!r}), {{}})\n"
        "print(made.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as ours:
        pid = int(ours.stdout.readline())
        ours.send_signal(signal.SIGKILL)
    assert is_gone(pid)
