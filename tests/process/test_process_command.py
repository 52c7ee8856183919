"""A command ends as it says itself, and what it says is heard."""

from __future__ import annotations

import errno
import hashlib
import os
import selectors
import shutil
import threading
import time
from pathlib import Path

import pytest
from msgspec.structs import replace
from process_bench import a_place

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.process import child
from runner.process.base import Ended


def test_a_place_is_the_same_whatever_submodules_its_tree_has(tmp_path):
    place = a_place(tmp_path)
    other = replace(place, submodules={"lib": tmp_path})
    assert (other, hash(other)) == (place, hash(place))
    assert replace(place, start="sub/") != place


def test_both_streams_are_heard_in_the_order_they_were_written(context):
    ran = context.run("echo one; echo two >&2; echo three; echo four >&2")
    assert ran.tail == "one\ntwo\nthree\nfour\n"
    assert ran.size == len(ran.tail)
    assert ran.output == "sha256:" + hashlib.sha256(ran.tail.encode()).hexdigest()


@pytest.mark.parametrize(
    ("line", "code"),
    [("true", 0), ("exit 3", 3), ("kill -9 $$", 137), ("kill -15 $$", 143), ("no-such-tool", 127)],
)
def test_the_exit_code_is_what_a_shell_would_say(context, line, code):
    ran = context.run(line)
    assert (ran.ended, ran.exit, ran.passed) == (Ended.EXITED, code, code == 0)


def test_an_argument_list_is_taken_as_it_stands(context):
    odd = ("printf", "%s|", "$HOME", "a b", "*", "-x", "ünï", "line\nbreak", "")
    assert context.says(odd) == "$HOME|a b|*|-x|ünï|line\nbreak||"


def test_an_executable_that_is_not_there_is_a_clear_value(context):
    ran = context.run(("no-such-tool", "--version"))
    assert (ran.ended, ran.exit, ran.passed) == (Ended.COULD_NOT_START, 127, False)
    assert ran.tail == "no-such-tool: not found on PATH\n"
    ran = context.run(("./missing",))
    assert ran.tail == "./missing: file not found or not executable\n"


def test_a_command_line_longer_than_the_system_allows_is_a_value(context):
    ran = context.run("true " + "x" * 2_000_000)
    assert ran.ended is Ended.COULD_NOT_START
    assert "longer than this system allows" in ran.tail


def test_an_empty_argument_list_and_a_nul_byte_are_values(context):
    assert context.run(()).tail == "the command is empty\n"
    assert context.run(("echo", "a\0b")).ended is Ended.COULD_NOT_START


def test_a_program_of_the_tree_starts_by_relative_path_and_by_the_repositorys_path(walled):
    script = walled.place.tree / "tool"
    script.write_text("#!/bin/sh\necho from the tree\n")
    script.chmod(0o755)
    assert walled.says(("./tool",)) == "from the tree\n"
    assert walled.says((str(walled.place.shown / "tool"),)) == "from the tree\n"


def test_it_starts_in_the_folder_it_names(context):
    (context.place.tree / "a" / "b").mkdir(parents=True)
    assert context.says("pwd", folder="a/b").endswith("/a/b\n")
    project = context.at(replace(context.place, start="a"))
    assert project.says("pwd").endswith("/a\n")
    assert project.says("pwd", folder="b").endswith("/a/b\n")


def test_standard_input_longer_than_a_pipe_reaches_its_reader(context):
    assert context.says("wc -c", stdin=b"x" * 3_000_000).strip() == "3000000"


def test_standard_input_that_nobody_reads_blocks_nobody(context):
    assert context.says("head -c 1 >/dev/null; echo done", stdin=b"x" * 3_000_000) == "done\n"
    assert context.says("echo done", stdin=b"x" * 3_000_000) == "done\n"


def test_input_and_output_larger_than_pipes_do_not_wait_for_each_other(context):
    ran = context.run("cat", stdin=b"0123456789abcde\n" * 200_000)
    assert (ran.exit, ran.size) == (0, 3_200_000)


def test_without_input_the_command_reads_an_end_at_once(context):
    assert context.says("cat; echo end") == "end\n"


def test_a_command_that_closes_its_output_and_goes_on_is_waited_for(context):
    ran = context.run("echo first; exec >&- 2>&-; sleep 0.3; exit 4")
    assert (ran.exit, ran.tail) == (4, "first\n")
    assert ran.seconds >= 0.3


def test_only_the_given_variables_are_seen(context):
    said = context.says("env", environment={"PATH": "/usr/bin:/bin", "GREETING": "a\nb"})
    names = {line.partition("=")[0] for line in said.splitlines() if "=" in line}
    added = {"PWD", "OLDPWD", "SHLVL", "_", "TMPDIR", "RUNNER_COMMAND"}
    assert names - added == {"PATH", "GREETING"}


def test_no_descriptor_of_ours_is_open_in_the_command(context, tmp_path):
    with (tmp_path / "secret").open("w") as file:
        os.set_inheritable(file.fileno(), False)
        said = context.says(("/bin/sh", "-c", "ls /proc/$$/fd"))
    assert set(said.split()) <= {"0", "1", "2"}


def test_core_files_are_off_and_memory_is_bounded(context):
    limits = replace(context.command("x").limits, memory=512 * 1024 * 1024, file_size=1024 * 1024)
    said = context.says("ulimit -c; ulimit -v; ulimit -f", limits=limits)
    assert said.split() == ["0", str(512 * 1024), "2048"]
    ran = context.run("head -c 3000000 /dev/zero > big", limits=limits)
    assert ran.exit != 0
    assert (context.place.tree / "big").stat().st_size == 1024 * 1024


def test_the_start_is_an_effect_that_can_be_counted(bare):
    seen: list[str] = []

    def callback(kind: str, _target: str) -> None:
        seen.append(kind)

    effects.watch(callback)
    try:
        bare.run("true")
    finally:
        effects.unwatch(callback)
    assert seen == ["spawn"]


def test_a_log_in_a_folder_that_is_not_there_yet(context, tmp_path):
    log = tmp_path / "logs" / "deep" / "TC-001.log"
    ran = context.run("echo kept", log=log)
    assert ran.log == log
    assert log.read_text() == "kept\n"


def test_an_error_while_hearing_it_leaves_no_process_behind(context):
    class Stop(Exception):  # noqa: N818 - a stop, not an error
        pass

    def tell(_line: str) -> None:
        raise Stop

    with pytest.raises(Stop):
        context.run("echo $$; sleep 47.11", tell=tell)
    assert not processes("47.11")


def processes(word: str) -> list[str]:
    """Command lines of live processes that hold a word of their own."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = each.read_bytes()
        except OSError:
            continue
        if word.encode() in line.split(b"\0"):
            found.append(line.decode("utf-8", "replace"))
    return found


def test_many_at_once_in_threads_each_get_their_own_end(context):
    results: dict[int, tuple[int, str]] = {}

    def one(number: int) -> None:
        ran = context.run(f"setsid sleep 30 & sleep 0.0{number}; echo {number}; exit {number}")
        results[number] = (ran.exit, ran.tail)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: (number, f"{number}\n") for number in range(8)}


# --- what the system would not start says nothing of the work -------------------------


def failing(monkeypatch, times, error):
    """Let the first calls of memfd_create(2) fail, as the system would."""
    left, really = [times], os.memfd_create

    def create(name):
        if left[0]:
            left[0] -= 1
            raise OSError(error, os.strerror(error))
        return really(name)

    monkeypatch.setattr(child.os, "memfd_create", create)


@pytest.mark.parametrize("error", [errno.EROFS, errno.EAGAIN, errno.EMFILE])
def test_what_fails_once_is_tried_again(walled, monkeypatch, error):
    failing(monkeypatch, 2, error)
    ran = walled.run("echo ok")
    assert (ran.ended, ran.exit) == (Ended.EXITED, 0)


def test_what_was_started_and_cannot_be_heard_is_ended_before_it_starts_again(bare, monkeypatch):
    really, left = selectors.DefaultSelector, [1]

    def heard():
        if left and left.pop():
            time.sleep(0.2)  # so that it has begun
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return really()

    before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    monkeypatch.setattr(child.selectors, "DefaultSelector", heard)
    assert bare.run("echo x >> began; sleep 0.5; echo x >> ended").passed
    time.sleep(0.5)
    assert (bare.place.tree / "began").read_text() == "x\nx\n"
    assert (bare.place.tree / "ended").read_text() == "x\n"
    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) <= before


def test_a_machine_that_starts_nothing_is_no_failure_of_the_command(walled, monkeypatch):
    failing(monkeypatch, 99, errno.EROFS)
    with pytest.raises(RunnerError, match="this machine cannot start commands") as told:
        walled.run("echo ok")
    assert told.value.code is ExitCode.CONFLICT
    assert "run again" in told.value.hint


def test_a_scratch_tree_that_somebody_removed_is_told_as_such(bare):
    shutil.rmtree(bare.place.tree)
    with pytest.raises(RunnerError, match="the scratch tree is missing"):
        bare.run("echo ok")
