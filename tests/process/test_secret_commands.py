"""A secret that a command of the person's own prints."""

import os
import signal
import time

import pytest

from runner.process.own_command import ask_for_secret

VALUE = "Leased-Horse/77+battery"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("exit 3", "its command ended with exit code 3"),
        ("no-such-tool read", "its command ended with exit code 127"),
        ("printf ''", "fewer than 4 characters"),
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
