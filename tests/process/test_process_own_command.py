"""Commands of the person's own: what one prints as a secret, and a child that stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runner.process.interactive import WorkerProcess, WorkerProcessGone
from runner.process.own_command import ask_for_secret

VALUE = "Leased-Horse/77+battery"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("exit 3", "its command ended with exit code 3"),
        ("no-such-tool read", "its command ended with exit code 127"),
        ("printf ''", "under 4 characters"),
        (r"printf 'ab\000cd'", "NUL"),
        (r"printf '\377\376ab'", "UTF-8"),
        (r"head -c 70000 /dev/zero | tr '\0' a", "more than 64 kB"),
    ],
)
def test_a_value_that_cannot_be_used_says_why(tmp_path, command, why):
    answer = ask_for_secret(command, tmp_path, os.environ)
    assert answer.value == ""
    assert why in answer.trouble


def test_what_a_failing_tool_says_is_not_repeated(tmp_path):
    line = f"echo {VALUE} >&2; echo {VALUE}; exit 1"
    answer = ask_for_secret(line, tmp_path, os.environ)
    assert (answer.value, answer.trouble) == ("", "its command ended with exit code 1")
    assert VALUE not in repr(ask_for_secret(f"echo {VALUE}", tmp_path, os.environ))


def test_a_slow_command_is_ended_with_all_that_it_started(tmp_path):
    line = f"sleep 300 & echo $! > {tmp_path}/child; wait"
    began = time.monotonic()
    answer = ask_for_secret(line, tmp_path, os.environ, seconds=1)
    assert answer.trouble == "its command did not end within 1 s"
    assert time.monotonic() - began < 10
    child = int((tmp_path / "child").read_text())
    for _ in range(50):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        state = open(f"/proc/{child}/stat").read().split()[2]  # noqa: PTH123, SIM115
        if state == "Z":
            return
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    pytest.fail("the child lives on")


def test_a_stop_does_not_wait_for_a_slow_command(tmp_path):
    answer = ask_for_secret("sleep 300", tmp_path, os.environ, lambda: True)
    assert answer.trouble == "it was cancelled"


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
