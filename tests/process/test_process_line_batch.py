"""Every line that a command prints is told; of very many the last, and how many are missing."""

from __future__ import annotations

import re

from runner.process.limits import Limits
from runner.process.output import MOST, LineBatch, join_lines


def test_every_line_of_a_quick_command_is_told(context):
    told: list[str] = []
    context.run("seq 1 20; echo; printf 'no end'", tell=told.append)
    assert "\n".join(told).split("\n") == [*map(str, range(1, 21)), "", "no end"]


def test_lines_come_while_the_command_goes_on_each_once(context):
    told: list[str] = []
    context.run("seq 1 3; sleep 0.4; seq 4 6", tell=told.append)
    assert told == ["1\n2\n3", "4\n5\n6"]


def test_very_many_are_bounded_and_the_missing_ones_counted(context):
    told: list[str] = []
    ran = context.run("seq 1 300000", tell=told.append, limits=Limits(soft=0))
    lines = "\n".join(told).split("\n")
    lost = sum(int(found[1]) for one in lines if (found := re.match(r"\[\.\.\. (\d+) lines", one)))
    assert lines[-1] == "300000"
    assert lost + sum(one.isdigit() for one in lines) == 300_000
    assert len(lines) <= (MOST + 1) * (ran.seconds / 0.25 + 2)


def test_what_is_not_even_kept_is_counted_and_its_last_line_told(context):
    told: list[str] = []
    context.run("seq 1 300000", tell=told.append, limits=Limits(soft=0, output=10_000))
    assert told[-1].endswith("\n300000")
    assert "lines left out ...]" in "\n".join(told)


def test_a_line_that_is_drawn_anew_is_told_as_it_stands():
    fresh = LineBatch()
    fresh.add(b"10%\r20%\r")
    assert join_lines(*fresh.take()) == "20%"
    fresh.add(b"30%\r40%\ndone\r\nnext")
    assert join_lines(*fresh.take()) == "40%\ndone"
    assert join_lines(*fresh.take()) == ""
    assert join_lines(*fresh.take(whole=True)) == "next"


def test_one_line_without_end_is_held_within_bounds():
    fresh = LineBatch()
    for _ in range(100):
        fresh.add(b"x" * 65_536)
    assert len(join_lines(*fresh.take(whole=True))) <= 131_072
