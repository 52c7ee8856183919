"""A command that takes too long is ended, and nothing it started outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from process_bench import Bench, a_place, bubblewrap

from runner.errors import RunnerError
from runner.process import platform, process_tree
from runner.process.base import Ended
from runner.process.limits import Limits
from runner.process.own_command import OwnCommand, OwnCommandResult, ask_for_secret
from runner.process.sandbox import NoSandbox


def alive(word: str) -> list[int]:
    """Live processes that have this word as an argument."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if word.encode() in words:
            found.append(int(folder.name))
    return found


def gone(word: str) -> bool:
    """Whether they are gone, if they are given a moment to be taken from the table."""
    until = time.monotonic() + 10
    while alive(word) and time.monotonic() < until:
        time.sleep(0.01)
    return not alive(word)


def test_silence_ends_it_but_talking_keeps_it(context):
    ran = context.run("echo x; sleep 41.1", limits=Limits(soft=0, idle=0.3, hard=9))
    assert (ran.ended, ran.exit, ran.passed) == (Ended.IDLE, 143, False)
    assert ran.tail.startswith("x\n")
    talking = "for i in 1 2 3 4 5; do echo $i; sleep 0.12; done"
    ran = context.run(talking, limits=Limits(soft=0, idle=0.5, hard=9))
    assert (ran.ended, ran.exit) == (Ended.EXITED, 0)


def test_the_hard_limit_ends_it_even_while_it_talks(context):
    ran = context.run("while :; do echo x; sleep 0.01; done", limits=Limits(idle=5, hard=0.4))
    assert (ran.ended, ran.exit) == (Ended.HARD, 143)
    assert 0.4 <= ran.seconds < 10


_WORK = """import os, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
while time.process_time() < 0.4: pass
"""
_CROWD = """import os, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
end = time.monotonic() + 60
while time.monotonic() < end: pass
"""


@pytest.fixture
def crowd():
    """Others that keep one processor busy."""
    # Each with a session of its own: autogroups share a processor alike (sched(7)).
    words = [sys.executable, "-c", _CROWD]
    each = [subprocess.Popen(words, start_new_session=True) for _ in range(4)]
    yield
    for one in each:
        one.kill()
        one.wait()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no way to keep it on one")
def test_what_a_busy_machine_has_it_wait_is_neither_its_own_time_nor_its_silence(context, crowd):
    waiting = (sys.executable, "-c", _WORK)
    assert context.run(waiting, limits=Limits(hard=0.5)).ended is Ended.HARD
    assert context.run(waiting, limits=Limits(idle=0.5, hard=0)).ended is Ended.IDLE
    ran = context.run(waiting, limits=Limits(idle=1.0, hard=1.0, queue=100))
    assert ran.passed, ran
    assert ran.seconds > 1.0 > ran.seconds - ran.queued
    silent = context.run("echo up; sleep 41.4", limits=Limits(idle=0.5, hard=0, queue=100))
    assert silent.ended is Ended.IDLE


def test_a_command_that_waits_for_nobody_is_ended_by_the_clock_all_the_same(context):
    began = time.monotonic()
    for line in ("sleep 41.3", (sys.executable, "-c", "while True: pass")):
        ran = context.run(line, limits=Limits(hard=0.5, queue=100))
        assert ran.ended is Ended.HARD
        assert ran.seconds - ran.queued >= 0.5
    assert time.monotonic() - began < 60


def test_a_person_ends_it(context):
    cancelled = threading.Event()
    threading.Timer(0.2, cancelled.set).start()
    ran = context.run("sleep 41.2", cancelled=cancelled)
    assert ran.ended is Ended.CANCELLED
    assert ran.seconds < 10
    assert gone("41.2")


def test_the_soft_limit_only_says_so(context):
    told: list[str] = []
    ran = context.run("sleep 0.5; echo end", tell=told.append, limits=Limits(soft=0.2))
    assert ran.passed
    assert told[0] == "still running after 0.2 seconds"


def test_lines_are_told_now_and_then(context):
    told: list[str] = []
    context.run("echo one; sleep 0.4; echo two; sleep 0.4", tell=told.append)
    assert told == ["one", "two"]


def test_a_command_may_tidy_up_when_asked_to_end(context):
    line = "trap 'echo tidied > note; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    ran = context.run(line, limits=Limits(soft=0, idle=0.4, hard=9))
    assert ran.ended is Ended.IDLE
    assert (context.place.tree / "note").read_text() == "tidied\n"


def test_one_that_refuses_to_end_is_killed(context, monkeypatch):
    monkeypatch.setattr("runner.process.supervise.GRACE", 0.3)
    line = "trap '' TERM; sleep 41.3; sleep 41.3; sleep 41.3"
    ran = context.run(line, limits=Limits(soft=0, idle=0.3, hard=9))
    assert (ran.ended, ran.exit) == (Ended.IDLE, 137)
    assert gone("41.3")


@pytest.mark.parametrize(
    "start",
    [
        "sleep 41.4 &",
        "setsid sleep 41.4 &",
        "(setsid sh -c 'sleep 41.4 & sleep 41.4' &)",
        "env -i setsid sleep 41.4 &",
        "nohup setsid sleep 41.4 >/dev/null 2>&1 </dev/null &",
    ],
)
def test_what_it_leaves_running_is_ended_and_counted(context, start):
    ran = context.run(f"{start}\nsleep 0.1; echo done")
    assert (ran.ended, ran.exit, ran.tail) == (Ended.EXITED, 0, "done\n")
    assert ran.left_behind >= 1
    assert ran.seconds < 10
    assert gone("41.4")


def test_what_hides_is_ended_too_when_it_takes_too_long(context):
    line = "env -i setsid sleep 41.5 & (setsid sleep 41.5 &); sleep 41.5"
    ran = context.run(line, limits=Limits(soft=0, idle=0.3, hard=9))
    assert ran.ended is Ended.IDLE
    assert gone("41.5")


def test_processes_that_keep_forking_are_ended(context):
    line = "f() { sleep 41.6 & f & sleep 0.02; }; f; sleep 0.2"
    ran = context.run(line)
    assert ran.left_behind >= 1
    assert gone("41.6")


def test_a_command_that_ends_does_not_touch_another_ones_daemons(context):
    results = []

    def long_one() -> None:
        line = "(setsid sleep 41.7 &); (env -i setsid sleep 41.8 &); sleep 2; echo end"
        results.append(context.run(line))

    thread = threading.Thread(target=long_one)
    thread.start()
    time.sleep(0.2)
    for _ in range(5):
        assert context.run("setsid sleep 41.9 & sleep 0.02").left_behind == 1
    assert alive("41.7")
    assert alive("41.8")
    thread.join()
    assert results[0].left_behind == 2
    assert gone("41.7")
    assert gone("41.8")
    assert gone("41.9")


def test_children_that_other_code_started_are_left_alone(context):
    other = subprocess.Popen(["sleep", "42.1"])
    try:
        context.run("setsid sleep 42.2 & sleep 0.05")
        assert other.poll() is None
    finally:
        other.kill()
    assert other.wait() == -signal.SIGKILL
    ended = subprocess.Popen(["sh", "-c", "exit 7"])
    context.run("sleep 0.05")
    assert ended.wait() == 7


def test_of_64_threads_one_is_asked_for_orphans_and_what_a_command_leaves_is_found(
    context, monkeypatch
):
    if not platform.adopt_orphans():
        pytest.skip("this system gives orphans to its first process")
    read, asked, over = platform._read, [], threading.Event()
    monkeypatch.setattr(platform, "_read", lambda path: asked.append(path) or read(path))
    waiting = [threading.Thread(target=over.wait) for _ in range(64)]
    try:
        for one in waiting:
            one.start()
        with ThreadPoolExecutor(1) as other:
            left = "setsid sh -c 'sleep 44.7 & sleep 44.7 & exit' &\nsleep 0.2"
            ran = other.submit(context.run, left).result()
    finally:
        over.set()
    assert ran.exit == 0
    assert ran.left_behind >= 1
    assert gone("44.7")
    of_mine = {path for path in asked if path.startswith(f"/proc/{os.getpid()}/task/")}
    assert of_mine == {f"/proc/{os.getpid()}/task/{os.getpid()}/children"}


def test_no_zombies_are_kept(tmp_path):
    # In a process of its own: this one has adopted what other tests left behind.
    script = (
        "from pathlib import Path; import os, sys;"
        "from runner.process.base import *; from runner.process.supervise import run;"
        "from runner.process.sandbox import NoSandbox;"
        "place = Place(*[Path(sys.argv[1])] * 3);"
        "line = 'for i in 1 2 3; do setsid sleep 42.3 & done; (sleep 0.01 &); sleep 0.05';"
        "[run(Command(each, place, {'PATH': '/bin'}), NoSandbox()) for each in (line, 'true')];"
        "pids = Path(f'/proc/self/task/{os.getpid()}/children').read_text().split();"
        "print([Path(f'/proc/{pid}/stat').read_text() for pid in pids])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "[]\n"


def test_what_a_killed_run_left_is_found_by_its_marks(tmp_path):
    script = (
        "from pathlib import Path; import sys, os;"
        "from runner.process import process_tree;"
        "from runner.process.base import *; from runner.process.supervise import run;"
        "from runner.process.sandbox import NoSandbox;"
        "print(process_tree.own_prefix(), flush=True);"
        "place = Place(*[Path(sys.argv[1])] * 3);"
        "run(Command('setsid sleep 42.4 & sleep 42.4', place, {'PATH': '/bin'}), NoSandbox())"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=env
    ) as run:
        prefix = run.stdout.readline().strip()
        until = time.monotonic() + 30
        while len(alive("42.4")) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        run.kill()
    assert alive("42.4")
    assert process_tree.end_marked(prefix) >= 2
    assert gone("42.4")


def test_bubblewrap_ends_with_a_killed_run(walled, tmp_path):
    script = (
        "from pathlib import Path; import sys;"
        "from runner.process.base import *; from runner.process.supervise import run;"
        "from runner.process.sandbox import *;"
        "place = Place(*[Path(each) for each in sys.argv[1:]]);"
        "command = Command('setsid sleep 42.5 & sleep 42.5', place, {'PATH': '/bin'});"
        "run(command, choose_sandbox('bubblewrap'))"
    )
    place = walled.place
    folders = [str(place.tree), str(place.shown), str(place.box)]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen([sys.executable, "-c", script, *folders], env=env) as run:
        until = time.monotonic() + 30
        while len(alive("42.5")) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        run.kill()
    assert gone("42.5")


def test_a_secret_that_is_asked_for_meanwhile_is_no_leftover_of_a_command(bare, tmp_path):
    """Both begin a session, and the command began before: only the mark tells them apart."""
    with ThreadPoolExecutor(1) as pool:
        ran = pool.submit(bare.run, "sleep 0.4")
        time.sleep(0.2)
        line = "(setsid sleep 0.8 >&2 &); sleep 0.8; echo a-value"
        answer = ask_for_secret(line, tmp_path, os.environ)
    assert (answer, ran.result().left_behind) == (OwnCommandResult("a-value"), 0)


def test_a_command_of_our_own_that_stays_is_no_leftover_of_a_command(bare, tmp_path):
    with ThreadPoolExecutor() as pool:
        ran = pool.submit(bare.run, "sleep 0.1")
        time.sleep(0.03)
        own = OwnCommand(("help", "settings"), tmp_path, os.environ, stays=True)
        left = ran.result().left_behind
    code = own.wait(60)
    own.forget()
    assert (code, left) == (0, 0)


def test_what_may_have_written_to_a_tree_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(process_tree, "_begun", {})
    own, other = a_place(tmp_path / "own"), a_place(tmp_path / "other")
    held = Bench(own, bubblewrap())
    assert process_tree.count_visits(own.tree) == 0
    held.says("true")
    assert (process_tree.count_visits(own.tree), process_tree.count_visits(other.tree)) == (1, 0)
    with ThreadPoolExecutor() as pool:
        pool.submit(held.run, "sleep 0.4")
        time.sleep(0.2)
        assert (process_tree.count_visits(own.tree), process_tree.count_visits(other.tree)) == (
            None,
            0,
        )
    assert process_tree.count_visits(own.tree) == 2
    Bench(other, NoSandbox()).says("true")
    assert (process_tree.count_visits(own.tree), process_tree.count_visits(other.tree)) == (
        None,
        None,
    )


LOST = """\
import os, subprocess, sys
from runner.process import process_tree

def interrupted(_mark, first, *_rest):
    print(first.pid)
    raise KeyboardInterrupt

process_tree.ProcessTree = interrupted
mark = process_tree.new_mark()
variables = {**os.environ, process_tree.MARK: mark}
words = ["sleep", "300"]
process_tree.plant(mark, lambda: subprocess.Popen(words, env=variables, start_new_session=True))
"""


def test_what_an_interrupt_during_its_start_leaves_running_ends_with_the_process():
    ended = subprocess.run(
        [sys.executable, "-c", LOST], capture_output=True, text=True, check=False, timeout=60
    )
    assert "KeyboardInterrupt" in ended.stderr
    left = platform.process(int(ended.stdout))
    assert left is None or not left.alive


@pytest.fixture
def small(tmp_path):
    """A bench on a disk of two megabytes, and the disk."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "t", disk], check=False).returncode:
        pytest.skip("only who may mount has a disk to fill")
    yield Bench(a_place(disk), NoSandbox()), disk
    subprocess.run(["umount", "-l", disk], check=True)


def test_a_command_that_fills_the_disk_is_no_failed_check(small):
    context, _ = small
    with pytest.raises(RunnerError, match="the disk is full") as met:
        context.run("head -c 9000000 /dev/zero > big")
    assert "free some space" in met.value.hint


def test_one_that_tidied_up_behind_itself_is_none_either(small):
    context, _ = small
    with pytest.raises(RunnerError, match="the disk is full"):
        context.run("head -c 9000000 /dev/zero > big; rm big; exit 1")


def test_a_command_that_passes_on_a_full_disk_has_passed(small):
    context, disk = small
    left = os.statvfs(disk)
    (disk / "filler").write_bytes(bytes(left.f_bavail * left.f_frsize - 20_000))
    assert context.run("true").passed


def test_words_alone_are_not_believed_where_there_is_room(bare):
    ran = bare.run("echo 'No space left on device' >&2; exit 1")
    assert (ran.exit, ran.passed) == (1, False)


def test_linux_without_proc_is_told_and_is_no_bug(monkeypatch):
    there = os.path.exists
    monkeypatch.setattr(os.path, "exists", lambda path: path != "/proc/self/stat" and there(path))
    monkeypatch.setitem(sys.modules, "psutil", None)  # as where it is not installed
    monkeypatch.delitem(sys.modules, "runner.process.process_table", raising=False)
    monkeypatch.delattr("runner.process.process_table", raising=False)
    platform._elsewhere.cache_clear()
    try:
        with pytest.raises(RunnerError, match="/proc not found") as told:
            platform.process(1)
    finally:
        platform._elsewhere.cache_clear()
    assert told.value.hint.startswith("mount -t proc proc /proc")
