"""What a run says while it goes: plain lines, lines by task, and the view of what runs now."""

import os
import pty
import re
import threading
import time
from contextlib import suppress
from io import StringIO

import pytest
from msgspec.structs import replace
from report_results import FAILED, PASSED, Story

from runner.model import Status
from runner.report.console import NORMAL, QUIET, VERBOSE, Console, wants_colour, wants_live
from runner.report.live import LiveConsole
from runner.report.status_line import StatusWork, seconds_left


def plain(level=NORMAL, **more):
    stream = StringIO()
    return Console(level=level, colour=False, stream=stream, **more), stream


# --- plain lines ----------------------------------------------------------------------


def test_every_line_begins_with_its_task():
    console, stream = plain()
    story = Story(console.hear)
    story.started()
    story.gate()
    story.gate(proof=FAILED)
    story.failed()
    story.started(attempt=2)
    story.done(attempt=2)
    assert stream.getvalue() == (
        "TASK-001 started (attempt 1, blocks)\n"
        "TASK-001 ✓ TC-001 0.25 s\n"
        "TASK-001 ✗ gate:lint 1.50 s\n"
        "TASK-001 attempt failed\n"
        "TASK-001   TC-002: src/a,b:c.py:3: 100% wrong: ]]> <b> & \\x1b[31m\\u202e\uffff\n"
        "TASK-001     ```\n"
        "TASK-001     assert 1 == 2\\x00\n"
        "TASK-001     ::error::no\n"
        "TASK-001     hint: mend | it\n"
        "TASK-001 started (attempt 2, blocks)\n"
        "TASK-001 DONE as bbbbbbbbbbbb in 2.00 s\n"
    )


def test_quiet_says_nothing_and_verbose_says_what_commands_print():
    console, stream = plain(QUIET)
    story = Story(console.hear)
    story.started()
    console.progress("TASK-001", "a line")
    story.done()
    assert stream.getvalue() == ""
    console, stream = plain(VERBOSE)
    console.progress("TASK-001", "a \x1b[2J line\nand another")
    assert stream.getvalue() == "TASK-001 | a \\x1b[2J line\nTASK-001 | and another\n"


def test_colours_frame_words_and_never_what_is_foreign():
    stream = StringIO()
    story = Story(Console(level=NORMAL, colour=True, stream=stream).hear)
    story.started(task="TASK-00\x1b1")
    assert stream.getvalue() == "\x1b[1mTASK-00\\x1b1\x1b[0m started (attempt 1, blocks)\n"


def test_lines_by_task_come_together_with_the_whole_log(tmp_path):
    (tmp_path / "one.log").write_text("first\nlast \x1b[1m\n")
    console, stream = plain(grouped=True, root=tmp_path)
    story = Story(console.hear)
    story.started("TASK-001")
    story.started("TASK-002")
    story.gate("TASK-001", _logged("one.log"))
    story.gate("TASK-002", FAILED)
    assert stream.getvalue() == ""
    story.done("TASK-001")
    assert stream.getvalue() == (
        "TASK-001 started (attempt 1, blocks)\n"
        "TASK-001 ✓ TC-001 0.25 s\n"
        "TASK-001 | first\n"
        "TASK-001 | last \\x1b[1m\n"
        "TASK-001 DONE as bbbbbbbbbbbb in 2.00 s\n"
    )
    console.close()
    assert stream.getvalue().endswith(
        "TASK-002 started (attempt 1, blocks)\nTASK-002 ✗ gate:lint 1.50 s\n"
    )


def _logged(log):
    return replace(PASSED, log=log)


def test_of_a_long_log_the_end_is_shown_and_where_all_of_it_is(tmp_path):
    (tmp_path / "long.log").write_text("".join(f"line {n}\n" for n in range(100_000)))
    console, stream = plain(grouped=True, root=tmp_path)
    story = Story(console.hear)
    story.started()
    story.gate(proof=_logged("long.log"))
    story.done()
    said = stream.getvalue()
    assert "TASK-001 | … 1088890 bytes in total, see long.log\n" in said
    assert said.endswith("TASK-001 | line 99999\nTASK-001 DONE as bbbbbbbbbbbb in 2.00 s\n")
    assert len(said) < 40_000


def test_a_log_that_is_gone_is_no_reason_to_fail(tmp_path):
    console, _ = plain(grouped=True, root=tmp_path)
    story = Story(console.hear)
    story.started()
    story.gate(proof=_logged("gone.log"))
    story.done()


# --- while a person is asked ----------------------------------------------------------


def test_nobody_speaks_while_a_person_is_asked_and_nobody_waits():
    console, stream = plain(VERBOSE)
    with console.pause():
        worker = threading.Thread(target=console.progress, args=("TASK-002", "a line"))
        worker.start()
        worker.join(60)
        assert not worker.is_alive()
        console.say("apply?")
        assert stream.getvalue() == "apply?\n"
    assert stream.getvalue() == "apply?\nTASK-002 | a line\n"


def test_threads_never_halve_a_line():
    console, stream = plain(VERBOSE)
    lines = [f"{letter * 200}" for letter in "abcdefgh"]
    threads = [
        threading.Thread(target=lambda line=line: [console.say(line) for _ in range(50)])
        for line in lines
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(stream.getvalue().splitlines()) == sorted(lines * 50)


# --- the view -------------------------------------------------------------------------


class Screen:
    """A terminal as a person sees it: rows of letters, of the few commands that the view uses."""

    def __init__(self, columns=90, rows=12):
        self.columns, self._rows, self._row, self._column = columns, [""], 0, 0
        self.rows = rows
        self._wraps = True

    def take(self, text):
        while text:
            text = self._one(text)

    def _one(self, text):
        if text[0] == "\x1b":
            end = next(at for at in range(2, len(text)) if text[at].isalpha())
            self._command(text[2:end], text[end])
            return text[end + 1 :]
        if text[0] == "\r":
            self._column = 0
        elif text[0] == "\n":
            self._row, self._column = self._row + 1, 0
            if self._row == len(self._rows):
                self._rows.append("")
        else:
            self._write(text[0])
        return text[1:]

    def _command(self, numbers, letter):
        if letter == "A":
            self._row = max(0, self._row - int(numbers or 1))
        elif letter == "K":
            self._rows[self._row] = self._rows[self._row][: self._column]
        elif numbers.startswith("?7"):
            self._wraps = letter == "h"
        else:
            assert letter == "m", f"{numbers}{letter}"

    def _write(self, letter):
        if self._column == self.columns:
            if not self._wraps:
                return
            self._one("\n")
        row = self._rows[self._row].ljust(self._column)
        self._rows[self._row] = row[: self._column] + letter + row[self._column + 1 :]
        self._column += 1

    def reflow(self, columns):
        """Break every row as a terminal does whose window is made narrower."""
        before, self.columns = self._rows, columns
        self._rows = [
            row[at : at + columns] for row in before for at in range(0, max(1, len(row)), columns)
        ]
        self._row = len(self._rows) - 1
        self._column = len(self._rows[-1])

    @property
    def text(self):
        return "\n".join(row.rstrip() for row in self._rows).rstrip()


class Watched(LiveConsole):
    """The view, drawn when the test says so, on a screen that can be looked at."""

    def __init__(self, screen, **more):
        stream = StringIO()
        super().__init__(**{"level": NORMAL, "colour": False, "stream": stream} | more)
        self._full, self._empty = "#", "."
        self.screen = screen

    def _begin(self):
        self._thread = threading.Thread(target=lambda: None)
        self._thread.start()

    def _size(self):
        return self.screen.columns, self.screen.rows

    def look(self):
        if not self._ended.is_set():
            self._draw()
        self.screen.take(self._stream.getvalue())
        self._stream.seek(0)
        self._stream.truncate()
        return self.screen.text


@pytest.fixture
def watched():
    console = Watched(Screen())
    needs = {"TASK-001": (), "TASK-002": ("TASK-001",), "TASK-003": ()}
    console.expect(lambda: StatusWork(needs, {"TASK-002": 90.0}, 2))
    return console, Story(console.hear)


def test_what_runs_stands_below_with_its_step_and_its_last_line(watched):
    console, story = watched
    story.started("TASK-001")
    story.started("TASK-003")
    assert console.look() == (
        "TASK-001  building  0 s\n"
        "TASK-003  building  0 s\n"
        "........................ 0/3 done · 2 running · about 3 min 00 s left"
    )
    story.gate("TASK-001")
    console.progress("TASK-001", "before\ncollected \x1b[2J 3 items\n")
    console.progress("TASK-002", "of a task that does not run")
    assert console.look().splitlines()[:2] == [
        "TASK-001  TC-001    0 s  collected \\x1b[2J 3 items",
        "TASK-003  building  0 s",
    ]


def test_what_ended_stands_above_for_good(watched):
    console, story = watched
    story.started("TASK-001")
    console.look()
    story.done("TASK-001")
    story.started("TASK-003")
    story.failed("TASK-003")
    story.blocked("TASK-003")
    text = console.look()
    assert text.startswith("TASK-001 DONE as bbbbbbbbbbbb in 2.00 s\nTASK-003 attempt failed\n")
    foot = "########................ 1/3 done · 0 running · 1 BLOCKED · about "
    assert text.splitlines()[-1].startswith(foot)
    console.close()
    assert "done ·" not in console.look()
    assert "TASK-001 DONE" in console.look()
    assert "TASK-003 BLOCKED — TC-002 failed" in console.look()


def test_a_line_is_cut_one_column_before_the_edge(watched):
    console, story = watched
    story.started("TASK-001")
    console.progress("TASK-001", "予" * 80)
    console.progress("TASK-001", "x" * 300)
    row = console.look().splitlines()[0]
    assert row.endswith("x…")
    assert len(row) == console.screen.columns - 1


def test_a_window_made_narrower_keeps_no_old_line_and_loses_none(watched):
    console, story = watched
    story.started("TASK-003")
    story.done("TASK-003")
    story.started("TASK-001")
    console.progress("TASK-001", "x" * 100)
    console.look()
    console.screen.reflow(25)
    text = console.look()
    assert text.count("TASK-001") == 1
    assert text.replace("\n", "").startswith("TASK-003 DONE as bbbbbbbbbbbb in 2.00 s")
    console.screen.columns = 90
    assert console.look().count("TASK-001") == 1


def test_more_tasks_than_rows_are_counted():
    console = Watched(Screen(rows=7))
    story = Story(console.hear)
    for number in range(9):
        story.started(f"TASK-{number}")
    assert console.look().splitlines()[3] == "… and 6 more"


def test_the_view_steps_aside_for_a_question(watched):
    console, story = watched
    story.started("TASK-001")
    console.look()
    with console.pause():
        console.say("apply?")
        console._draw()
        assert _seen(console) == "apply?"
        story.started("TASK-003")
        threading.Thread(target=story.done, args=("TASK-003",)).start()
        time.sleep(0.05)
        assert _seen(console) == "apply?"
    assert console.look().splitlines()[:2] == [
        "apply?",
        "TASK-003 DONE as bbbbbbbbbbbb in 2.00 s",
    ]


def _seen(console):
    console.screen.take(console._stream.getvalue())
    console._stream.seek(0)
    console._stream.truncate()
    return console.screen.text


def test_verbose_shows_above_what_the_view_shows_in_passing():
    console = Watched(Screen(), level=VERBOSE)
    story = Story(console.hear)
    story.started()
    story.gate()
    console.progress("TASK-001", "a line")
    assert console.look().splitlines()[:3] == [
        "TASK-001 started (attempt 1, blocks)",
        "TASK-001 ✓ TC-001 0.25 s",
        "TASK-001 | a line",
    ]


def test_a_hundred_thousand_lines_are_one_row(watched):
    """Workers leave their line and go on: what is drawn does not grow with what is printed."""
    console, story = watched
    story.started("TASK-001")
    for number in range(100_000):
        console.progress("TASK-001", f"line {number}")
    row = console.look().splitlines()[0]
    assert re.fullmatch(r"TASK-001  building  \d+ s  line 99999", row)
    assert console._above == []


def test_a_terminal_that_has_gone_ends_the_view_and_not_the_run():
    master, slave = pty.openpty()
    with suppress(OSError), os.fdopen(slave, "w") as stream:
        console = LiveConsole(level=NORMAL, colour=False, stream=stream)
        story = Story(console.hear)
        story.started()
        os.close(master)
        console._draw()
        assert console._ended.wait(60)
        console._running.clear()
        console._drawn = []
        console.close()
        ended = True
    assert ended


# --- who gets it ----------------------------------------------------------------------


def test_who_gets_colours_and_who_gets_the_view():
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as terminal, os.fdopen(master):
        for environ, colour, live in (
            ({"TERM": "xterm"}, True, True),
            ({"TERM": "xterm", "NO_COLOR": "1"}, False, True),
            ({"TERM": "dumb"}, False, False),
            ({"TERM": "xterm", "CI": "true"}, True, False),
            ({}, True, False),
        ):
            assert (wants_colour(terminal, environ), wants_live(terminal, environ)) == (
                colour,
                live,
            ), environ
    assert not wants_live(StringIO(), {"TERM": "xterm"})


# --- the estimate ---------------------------------------------------------------------

CHAIN = {"A": (), "B": ("A",), "C": ("B",), "D": ()}


def left(statuses="", seconds=None, elapsed=None, jobs=2, needs=CHAIN):
    known = dict.fromkeys(needs, Status.PENDING) | {
        id_: Status.DONE for id_ in statuses if id_ in needs
    }
    return seconds_left(StatusWork(needs, seconds or {}, jobs), known, {}, elapsed or {})


def test_without_a_past_there_is_no_estimate():
    assert left() is None


def test_a_run_lasts_as_long_as_its_longest_chain():
    assert left(seconds=dict.fromkeys("ABCD", 10.0)) == 30.0
    assert left("AB", seconds=dict.fromkeys("ABCD", 10.0)) == 10.0


def test_a_run_lasts_as_long_as_its_jobs_are_busy():
    assert left(seconds=dict.fromkeys("ABCD", 10.0), jobs=1) == 40.0


def test_a_task_without_a_past_lasts_as_long_as_the_others():
    assert left(seconds={"A": 4.0, "D": 8.0}) == 16.0


def test_what_has_run_already_is_counted():
    assert left(seconds=dict.fromkeys("ABCD", 10.0), elapsed={"A": 8.0}) == 22.0
    assert left(seconds=dict.fromkeys("ABCD", 10.0), elapsed={"A": 99.0}) == 20.0


def test_what_waits_for_a_blocked_task_is_left_out():
    statuses = dict.fromkeys("ABCD", Status.PENDING) | {"B": Status.BLOCKED}
    work = StatusWork(CHAIN, dict.fromkeys("ABCD", 10.0), 2)
    assert seconds_left(work, statuses, {}, {}) == 10.0


def test_nothing_left_is_no_time():
    assert left("ABCD", seconds={"A": 1.0}) == 0.0
