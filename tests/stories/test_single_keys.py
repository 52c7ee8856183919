"""Review at a terminal: one key an answer, other tasks go on, and the terminal is put back."""

import os
import signal
import sys
import termios
import time
from pathlib import Path

import pytest
from commands_terminal import Terminal
from drafter import NAME, Drafter, a_plan, a_script, says
from workplace import a_task

from runner.implementers.registry import IMPLEMENTERS


def begin(workplace, *words, **environ):
    python = (sys.executable, "-m", "runner", "run", "--trust", "--no-sandbox", *words)
    return Terminal(python, columns=120, rows=60, cwd=workplace.root, PAGER="cat", **environ)


def tasks(workplace, *letters, fields=()):
    workplace.plan(
        *(
            a_task(
                f"TASK-{number:03}",
                f"Write {letter}",
                outputs=[f"{letter}.txt"],
                command=f"echo {letter} > {letter}.txt",
                tests=[f"test -s {letter}.txt"],
                fields=fields,
            )
            for number, letter in enumerate(letters, start=1)
        )
    )


def reviews(workplace, task):
    return {(one["review"], one["by"]) for one in workplace.happened("write.reviewed", task)}


def is_cooked(terminal):
    modes = termios.tcgetattr(terminal._descriptor)[3]
    return bool(modes & termios.ICANON and modes & termios.ECHO)


# --- keys -----------------------------------------------------------------------------


def test_one_key_answers_and_the_terminal_is_put_back(workplace):
    tasks(workplace, "a")
    with begin(workplace) as terminal:
        terminal.until("[w]ait?")
        assert not is_cooked(terminal)
        terminal.send("\x1b[A\x1b[A")  # an arrow key answers nothing
        terminal.hear(0.5)
        assert "[A]uto" not in terminal.said
        assert workplace.happened("review.switched") == []
        terminal.send("?")
        heard = terminal.until("leave the task for `runner review`")
        terminal.until("[w]ait?", after=heard - 9)
        terminal.send("a")
        terminal.wait()
    assert terminal.code == 0
    assert workplace.read("a.txt") == "a\n"


@pytest.mark.parametrize(("end", "code"), [("\x03", 130), ("\x04", 3)])
def test_ctrl_c_and_the_end_of_input_leave_the_work_and_the_terminal_whole(workplace, end, code):
    tasks(workplace, "a")
    with begin(workplace) as terminal:
        terminal.until("[w]ait?")
        terminal.send(end)
        terminal.wait()
        assert is_cooked(terminal)
    assert terminal.code == code
    assert not workplace.has("a.txt")
    assert workplace.runner("review", "--json").document["waiting"][0]["id"] == "TASK-001"


def test_who_stops_it_gets_the_terminal_and_is_asked_again(workplace, tmp_path):
    tasks(workplace, "a")
    modes = tmp_path / "modes"
    shell = (
        "import os, signal, subprocess, sys, termios\n"
        "signal.signal(signal.SIGTTOU, signal.SIG_IGN)\n"
        "words = [sys.executable, '-m', 'runner', 'run', '--trust', '--no-sandbox']\n"
        "child = subprocess.Popen(words, process_group=0)\n"
        "os.tcsetpgrp(0, child.pid)\n"
        "os.waitpid(child.pid, os.WUNTRACED)\n"
        "flags = termios.tcgetattr(0)[3]\n"
        "cooked = bool(flags & termios.ECHO and flags & termios.ICANON)\n"
        f"open({str(modes)!r}, 'w').write(str(cooked))\n"
        "os.killpg(child.pid, signal.SIGCONT)\n"
        "sys.exit(child.wait())\n"
    )
    with Terminal((sys.executable, "-c", shell), columns=120, cwd=workplace.root) as terminal:
        heard = terminal.until("[w]ait?")
        terminal.send("\x1a")
        terminal.until("[w]ait?", after=heard)
        assert modes.read_text() == "True"
        terminal.send("a")
        terminal.wait()
    assert terminal.code == 0
    assert workplace.read("a.txt") == "a\n"


def test_a_signal_that_ends_it_puts_the_terminal_back(workplace):
    tasks(workplace, "a")
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup(1) would be inherited
    with begin(workplace) as terminal:
        signal.signal(signal.SIGHUP, before)
        terminal.until("[w]ait?")
        os.kill(terminal._pid, signal.SIGHUP)
        terminal.wait()
        assert is_cooked(terminal)
    assert terminal.code == -signal.SIGHUP


# --- who reviews from now on ----------------------------------------------------------


def test_a_task_or_a_run_is_given_to_whoever_reviews_and_says_so(workplace):
    workplace.settle('review.command = "cat >> /tmp/$$.diff; rm /tmp/$$.diff"\n')
    tasks(workplace, "a", "b", "c", "d")
    with begin(workplace, "-j", "1", RUNNER_REVIEW_COMMAND="") as terminal:
        terminal.until("[A]uto for the task, for the [R]un")
        heard = terminal.until("[w]ait?")
        for task, key in (("TASK-002", "A"), ("TASK-003", "a")):
            terminal.send(key)
            terminal.until(f"{task} wants to create", after=heard)
            heard = terminal.until("[w]ait?", after=heard)
        terminal.send("R")
        terminal.wait()
    assert terminal.code == 0, terminal.said
    switched = workplace.happened("review.switched")
    assert [(one["review"], one["scope"], one["by"]) for one in switched] == [
        ("auto", "task", "person"),
        ("auto", "run", "person"),
    ]
    for task in ("TASK-001", "TASK-003", "TASK-004"):
        assert reviews(workplace, task) == {("auto", "")}, task
    assert reviews(workplace, "TASK-002") == {("applied", "person")}


@pytest.mark.parametrize(
    ("fields", "files", "own", "why"),
    [
        ((), {}, "", "no reviewer is set; set review.command"),
        (("Review: prompt",), {}, 'review.command = "true"\n', "the plan sets Review: prompt"),
        (
            (),
            {"runner.toml": 'review.mode = "prompt"\n'},
            'review.command = "true"\n',
            "this repository's settings have review.mode = prompt",
        ),
    ],
)
def test_what_others_tightened_is_not_given_away(workplace, fields, files, own, why):
    workplace.settle(own)
    if files:
        workplace.commit(files)
    tasks(workplace, "a", fields=fields)
    with begin(workplace) as terminal:
        heard = terminal.until("[w]ait?")
        assert "[A]uto" not in terminal.said
        terminal.send("R")
        terminal.until(why, after=heard)
        terminal.send("w")
        terminal.wait()
    assert workplace.happened("review.switched") == []
    assert not workplace.has("a.txt")


def test_a_control_file_is_still_asked_for_in_a_run_that_was_given_away(workplace):
    workplace.settle('review.command = "true"\n')
    workplace.plan(
        a_task("TASK-001", outputs=["a.txt"], command="echo a > a.txt", tests=["test -s a.txt"]),
        a_task(
            "TASK-002",
            outputs=["AGENTS.md"],
            command="echo do it > AGENTS.md",
            tests=["test -s AGENTS.md"],
            needs=["TASK-001"],
        ),
    )
    with begin(workplace) as terminal:
        heard = terminal.until("[w]ait?")
        terminal.send("R")
        terminal.until("AGENTS.md", after=heard)
        terminal.until("[w]ait?", after=heard)
        terminal.send("a")
        terminal.wait()
    assert terminal.code == 0
    assert reviews(workplace, "TASK-002") == {("applied", "person")}


# --- seven tasks ----------------------------------------------------------------------


def passed(workplace):
    ended = workplace.happened("attempt.finished")
    return {one["task"] for one in ended if one.get("ending") == "passed" and one.get("tree")}


def until(true, terminal, seconds=30.0):
    late = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < late, terminal.said[-900:]
        terminal.hear()


def test_seven_agents_are_answered_with_three_keys(workplace, tmp_path, monkeypatch):
    monkeypatch.setitem(IMPLEMENTERS, NAME, Drafter)
    numbers = range(1, 8)
    for number in numbers:
        script = a_script(says(a_plan(f"{number}.txt")), f"echo {number} > {number}.txt")
        workplace.write({f"agent{number}.sh": script})
    workplace.plan(
        *(
            a_task(
                f"TASK-{number:03}",
                f"Write {number}",
                outputs=[f"{number}.txt"],
                command=f"sh agent{number}.sh",
                tests=[f"test -s {number}.txt"],
                fields=(f"Implementer: {NAME}",),
            )
            for number in numbers
        )
    )
    drafter = str(Path(__file__).with_name("drafter.py"))
    words = (sys.executable, drafter, "run", "-j", "2", "--trust", "--no-sandbox")
    with Terminal(words, columns=120, rows=60, cwd=workplace.root, PAGER="cat") as terminal:
        terminal.until("plan of TASK-")
        heard = terminal.until("yes to a[l]l plans")
        terminal.send("l")
        terminal.until("wants to create", after=heard)
        until(lambda: len(passed(workplace)) == len(numbers), terminal)
        assert workplace.statuses["TASK-007"] != "DONE"
        heard = len(terminal.said)
        terminal.send("t")
        terminal.until("and this one?", after=heard)
        terminal.send("y")
        terminal.wait(60.0)
    assert terminal.code == 0, terminal.said
    assert set(workplace.statuses.values()) == {"DONE"}
    plans = [one["review"] for one in workplace.happened("plan.reviewed")]
    assert (plans.count("applied"), plans.count("off")) == (1, 6)


def test_a_repository_that_wants_plans_read_offers_no_yes_to_all(workplace, monkeypatch):
    monkeypatch.setitem(IMPLEMENTERS, NAME, Drafter)
    workplace.commit({"runner.toml": 'review.plan = "prompt"\n'})
    script = a_script(says(a_plan("a.txt")), "echo a > a.txt")
    workplace.write({"agent.sh": script})
    fields = (f"Implementer: {NAME}",)
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], command="sh agent.sh", fields=fields))
    drafter = str(Path(__file__).with_name("drafter.py"))
    words = (sys.executable, drafter, "run", "--trust", "--no-sandbox")
    with Terminal(words, columns=120, cwd=workplace.root) as terminal:
        terminal.until("[w]ait?")
        assert "a[l]l" not in terminal.said
        terminal.send("w")
        terminal.wait()
    assert terminal.code == 3
