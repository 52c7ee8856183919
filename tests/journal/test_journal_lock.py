import os
import re
import signal
import subprocess
import sys

import pytest

from runner.errors import ExitCode, RunnerError
from runner.journal.lock import RunLock

_HOLD = """
import sys
from pathlib import Path
from runner.journal.lock import RunLock
RunLock(Path(sys.argv[1])).acquire()
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_second_run_is_told_which_process_has_the_folder(tmp_path, other):
    with pytest.raises(RunnerError) as caught:
        RunLock(tmp_path).acquire()
    assert re.fullmatch(
        rf"another run is active in this folder: process {other.pid}, since \d\d:\d\d:\d\d",
        caught.value.message,
    )
    assert caught.value.code is ExitCode.CONFLICT
    assert f"`kill {other.pid}`" in caught.value.hint
    assert RunLock(tmp_path).holder().pid == other.pid


def test_a_dead_owners_lock_is_taken_over_at_once(tmp_path, other):
    other.send_signal(signal.SIGKILL)
    other.wait()
    assert RunLock(tmp_path).holder() is None
    with RunLock(tmp_path) as lock:
        assert lock.holder().pid == os.getpid()
    assert lock.holder() is None


def test_after_release_the_next_one_has_it(tmp_path):
    first, second = RunLock(tmp_path / "new"), RunLock(tmp_path / "new")
    first.acquire()
    with pytest.raises(RunnerError, match="another run"):
        second.acquire()
    first.release()
    first.release()
    with second:
        assert second.holder().command


def test_a_process_number_given_out_again_is_not_the_holder(tmp_path):
    with RunLock(tmp_path) as lock:
        text = lock.path.read_text()
        lock.path.write_text(re.sub(r'"ticks": \d+', '"ticks": 12', text))
        assert lock.holder() is None


@pytest.mark.parametrize("text", ["", "nonsense", "[]", '{"pid": "x"}'])
def test_a_lock_with_another_text_is_only_a_lock(tmp_path, text):
    (tmp_path / "run.lock").write_text(text)
    assert RunLock(tmp_path).holder() is None
    with RunLock(tmp_path) as held:
        held.path.write_text(text)
        with pytest.raises(RunnerError, match="in this folder: process unknown"):
            RunLock(tmp_path).acquire()


def test_a_link_in_its_place_is_refused(tmp_path):
    (tmp_path / "target").write_text("precious")
    (tmp_path / "run.lock").symlink_to(tmp_path / "target")
    with pytest.raises(RunnerError, match="is a symbolic link"):
        RunLock(tmp_path).acquire()
    assert (tmp_path / "target").read_text() == "precious"
