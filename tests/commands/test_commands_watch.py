"""A run on a real terminal: the live view, Ctrl-C, and `--watch`."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands_build import a_ground, a_plan
from commands_terminal import Terminal

from runner.terminal.screen import patience

RUNNER = Path(sys.executable).parent / "runner"
RUN = (str(RUNNER), "run", "--trust", "--no-sandbox")


def slow(ground, command, text="A"):
    """A plan whose first task is proven by a slow command."""
    a_ground(ground)
    ground.write("TASK-GRAPH.md", a_plan(text).replace("`true`", f"`{command}`", 1))
    ground.commit("slow")
    return ground


def save(ground, old, new):
    """Save the plan as an editor does: a new file under the old name."""
    file = ground.folder / "TASK-GRAPH.md"
    beside = file.with_suffix(".tmp")
    beside.write_text(file.read_text().replace(old, new, 1))
    beside.replace(file)


# --- the live view --------------------------------------------------------------------


def test_a_person_sees_what_runs_and_keeps_what_ended(ground):
    hostile = r"printf 'up \033[9A \342\200\256 here\n'; sleep 0.5"
    slow(ground, f"{hostile}; echo first; sleep 1.2; echo last; sleep 0.5", "A; B needs A")
    with Terminal(RUN, NO_COLOR="1") as terminal:
        terminal.until(r"up \x1b[9A \u202e here")
        terminal.until("TC-001  1 s  first")
        terminal.until("/2 done · ")
        terminal.until("last")
        assert terminal.wait() == 0
    line = r"(TASK-\d+) DONE as [0-9a-f]{12} in [\d.]+ s — unproven: only documents\n"
    assert sorted(re.findall(line, terminal.said)) == ["TASK-001", "TASK-002"]
    assert terminal.said.endswith(" s\n")
    assert "2 tasks: 2 DONE (2 unproven); 2 commits, " in terminal.said
    assert not re.search(r"\x1b\[(?:\d+m|9A)", terminal.raw)


def test_a_window_made_narrow_shows_shorter_lines(ground):
    slow(ground, "echo a line that is longer than a narrow window; sleep 2")
    with Terminal(RUN, columns=100, NO_COLOR="1") as terminal:
        before = terminal.until("a line that is longer than a narrow window")
        terminal.resize(40, 20)
        terminal.until("a line that is…", after=before)
        before = terminal.until("\n", after=before)
        terminal.resize(100, 20)
        terminal.until("a line that is longer than a narrow window", after=before)
        assert terminal.wait() == 0


def test_the_view_is_never_higher_than_the_window(ground):
    a_ground(ground)
    plan = a_plan("A; B; C; D; E; F").replace("`true`", "`sleep 0.4`")
    ground.write("TASK-GRAPH.md", plan)
    ground.commit("many")
    with Terminal((*RUN, "-j6"), rows=6, NO_COLOR="1") as terminal:
        terminal.until("… and 4 more")
        assert terminal.wait() == 0


def test_ctrl_c_keeps_the_books_and_ends_with_130(ground):
    slow(ground, "sleep 60", "A; B needs A")
    with Terminal(RUN) as terminal:
        terminal.until("TC-001  1 s")
        terminal.send("\x03")
        terminal.until("press Ctrl-C again to quit now")
        assert terminal.wait() == 130
    assert "interrupted; run again to continue" in terminal.said
    assert ground.runner("status", "--json").json["run"] is None
    assert "IN-PROGRESS" not in (ground.folder / "TASK-GRAPH.md").read_text()


def test_a_second_ctrl_c_ends_at_once(ground):
    """The command ignores every request to end, so the first Ctrl-C has to wait for it."""
    slow(ground, "trap '' TERM INT HUP; sleep 3; sleep 3; sleep 3; sleep 3")
    with Terminal(RUN) as terminal:
        terminal.until("TC-001  1 s")
        terminal.send("\x03")
        terminal.hear(0.5)
        terminal.send("\x03")
        code = terminal.wait(60)
    assert code == -signal.SIGINT  # it did not come to keep its books
    assert ground.runner("status").code == 0


@pytest.mark.parametrize("words", [("--output", "interleaved"), ("-q",)])
def test_an_output_that_was_asked_for_is_lines_also_on_a_terminal(ground, words):
    slow(ground, "echo seen; sleep 0.6")
    with Terminal((*RUN, *words), NO_COLOR="1") as terminal:
        assert terminal.wait() == 0
    assert "\x1b" not in terminal.raw
    assert ("TASK-001 | seen" in terminal.said) is (words != ("-q",))


def test_very_many_lines_neither_flood_nor_fill_the_terminal(ground):
    line = "a line of output that comes again and again"
    slow(ground, f"awk 'BEGIN {{ for (n = 0; n < 200000; n++) print \"{line}\" }}'", "A")
    with Terminal(RUN, NO_COLOR="1") as terminal:
        assert terminal.wait(60) == 0
    assert len(terminal.raw) < 100_000


# --- without a terminal ---------------------------------------------------------------


def run(ground, *words, **environ):
    environment = os.environ | {"CI": "true"} | environ
    return subprocess.run(
        [str(RUNNER), "run", "--no-sandbox", *words],
        cwd=ground.folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_grouped_lines_of_a_task_stay_together_with_what_it_printed(ground):
    a_ground(ground)
    text = a_plan("A; B; C").replace("`true`", "`for i in 1 2 3; do echo $i; sleep 0.2; done`")
    ground.write("TASK-GRAPH.md", text)
    ground.commit("three")
    said = run(ground, "--output", "grouped", "-j3")
    assert said.returncode == 0
    names = [line[:8] for line in said.stderr.splitlines() if line.startswith("TASK-")]
    runs = [name for place, name in enumerate(names) if place == 0 or names[place - 1] != name]
    assert sorted(set(runs)) == ["TASK-001", "TASK-002", "TASK-003"]
    first = [line for line in said.stderr.splitlines() if line.startswith("TASK-001")]
    assert [line for line in first if "|" in line][:3] == [f"TASK-001 | {i}" for i in (1, 2, 3)]


def test_grouped_lines_hold_what_the_implementer_printed_before_what_its_proof_did(ground):
    a_ground(ground, "A")
    command = "- Command: sh -c 'echo building; echo it > a.txt'\n"
    text = a_plan("A").partition("```")[0].replace("- Test contracts", f"{command}- Test contracts")
    ground.write("TASK-GRAPH.md", text.replace("`true`", "`echo proving`"))
    ground.commit("builds")
    said = run(ground, "--output", "grouped", "--review", "off")
    assert said.returncode == 0, said.stderr
    printed = [line for line in said.stderr.splitlines() if " | " in line]
    assert printed == ["TASK-001 | building", "TASK-001 | proving"]


def test_every_line_of_a_failure_names_its_task(ground):
    a_ground(ground, "A")
    ground.write("TASK-GRAPH.md", a_plan("A").replace("`true`", "`echo why; echo how; exit 3`"))
    ground.commit("fails")
    said = run(ground)
    assert said.returncode == 1
    lines = [line for line in said.stderr.splitlines() if not line.startswith("note: ")]
    assert [line for line in lines if not line.startswith("TASK-001 ")] == []
    assert "TASK-001     why" in said.stderr.splitlines()


# --- status --watch -------------------------------------------------------------------


def test_status_is_drawn_anew_when_the_plan_is_saved(ground):
    a_ground(ground)
    with Terminal((str(RUNNER), "status", "--watch")) as terminal:
        terminal.until("next: runner")
        before = len(terminal.said)
        save(ground, "task B", "another title")
        terminal.until("another title", after=before)
        before = len(terminal.said)
        terminal.resize(60, 24)
        terminal.until("another title", after=before)
        terminal.send("\x03")
        assert terminal.wait() == 130
    assert "Traceback" not in terminal.said


def test_a_plan_that_is_gone_for_a_moment_ends_no_watch(ground):
    a_ground(ground)
    file = ground.folder / "TASK-GRAPH.md"
    text = file.read_text()
    with Terminal((str(RUNNER), "status", "--watch")) as terminal:
        before = terminal.until("next: runner")
        file.unlink()
        terminal.until("runner: the plan cannot be read", after=before)
        before = len(terminal.said)
        file.write_text(text)
        terminal.until("next: runner", after=before)


def test_status_watch_without_a_terminal_is_refused(ground):
    a_ground(ground)
    said = ground.runner("status", "--watch")
    assert said.code == 2
    assert said.err == (
        "runner: --watch needs a terminal, but standard output is not a terminal\n"
        "hint: runner status, or runner log --follow\n"
    )


def test_status_watch_as_json_is_refused(ground):
    a_ground(ground)
    assert ground.runner("status", "--watch", "--json").code == 2


# --- run --watch ----------------------------------------------------------------------


def test_a_watch_runs_once_for_what_is_saved_and_says_what_is_wrong(ground):
    a_ground(ground, "A")
    file = ground.folder / "TASK-GRAPH.md"
    with Terminal((*RUN, "--watch"), NO_COLOR="1") as watched:
        before = watched.until("watching TASK-GRAPH.md")
        watched.hear(1.5)
        assert watched.said[before:].strip() == "", "the statuses that a run writes start none"
        for number in range(5):
            file.write_text(f"A word, the {number}th.\n\n" + file.read_text())
            watched.hear(0.1)
        watched.until("watching TASK-GRAPH.md", after=before)
        watched.hear(1.0)
        assert watched.said[before:].count("watching TASK-GRAPH.md") == 1
        before = len(watched.said)
        save(ground, "Depends on: none", "Depends on: TASK-009")
        watched.until("the plan has 1 mistake; nothing has run", after=before)
        watched.until("watching TASK-GRAPH.md", after=before)
        before = len(watched.said)
        plan = a_plan("A; B needs A").replace("Status: PENDING", "Status: DONE", 1)
        ground.write("TASK-GRAPH.md", plan)
        watched.until("TASK-002 DONE", after=before)
        watched.until("watching TASK-GRAPH.md", after=before)
        assert (ground.folder / "b.txt").exists()
        watched.send("\x03")
        assert watched.wait() == 130
    assert "Traceback" not in watched.said


def test_what_was_saved_while_it_ran_is_built_too(ground):
    slow(ground, "sleep 1.5", "A")
    with Terminal((*RUN, "--watch"), NO_COLOR="1") as terminal:
        terminal.until("TC-001")
        file = ground.folder / "TASK-GRAPH.md"
        other = a_plan("A; B").split("## TASK-002")[1]
        file.write_text(file.read_text() + "\n## TASK-002" + other)
        terminal.until("TASK-002 DONE")


@pytest.mark.parametrize("flag", ["--apply=plan.json", "--plan-out=plan.json", "-n"])
def test_a_watch_is_a_run_and_nothing_else(ground, flag):
    a_ground(ground)
    assert ground.runner("run", "--watch", flag).code == 2


def test_only_what_takes_long_is_told(capsys):
    with patience("counting", 5.0):
        pass
    assert capsys.readouterr() == ("", "")
    with patience("counting", 0.05):
        time.sleep(0.2)
    assert capsys.readouterr() == ("", "still counting …\n")
