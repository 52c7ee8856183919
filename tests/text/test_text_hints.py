"""A mistyped word finds its way; a line shows where."""

from __future__ import annotations

import pytest

from runner.model import Finding
from runner.text.display import caret
from runner.text.wording import did_you_mean, finding_lines, nearest, without_repeated_hints

KNOWN = ["Status", "Depends on", "Output files", "Coverage"]


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("statsu", 'did you mean "Status"?'),
        ("DEPEND ON", 'did you mean "Depends on"?'),
        ("colour", ""),
        ("", ""),
        ("x" * 5000, ""),
    ],
)
def test_a_word_near_a_known_one_is_recognised(word, hint):
    assert did_you_mean(word, KNOWN) == hint


def test_a_hint_is_made_visible_like_all_foreign_text():
    assert did_you_mean("na\x1bme", ["na\x1bmes"]) == 'did you mean "na\\x1bmes"?'


def test_nearest_takes_any_iterable():
    assert nearest("jbos", iter(["jobs", "job"])) == "jobs"


def test_of_near_words_the_one_with_the_same_letters_is_meant():
    assert nearest("statsu", ["stats", "status"]) == "status"
    assert nearest("stat", ["stats", "status"]) == "stats"


@pytest.mark.parametrize(
    ("line", "column", "width", "shown"),
    [
        ("abc", 2, 1, "abc\n ^"),
        ("abc", 2, 2, "abc\n ^^"),
        ("\tabc", 2, 3, "    abc\n    ^^^"),
        ("a\tb", 3, 1, "a   b\n    ^"),
        ("漢字x", 3, 1, "漢字x\n    ^"),
        ("漢字x", 2, 1, "漢字x\n  ^^"),
        ("e\u0301x", 3, 1, "e\u0301x\n ^"),
        ("a\x1bb", 3, 1, "a\\x1bb\n     ^"),
        ("abc\r\n", 4, 1, "abc\n   ^"),
        ("abc", 99, 1, "abc\n   ^"),
        ("", 1, 1, "\n^"),
        ("abc", 0, 1, "abc\n^"),
    ],
)
def test_the_caret_stands_under_the_place(line, column, width, shown):
    assert caret(line, column, width) == shown


def test_a_line_of_millions_is_cut_around_the_caret():
    line, under = caret("x" * 3_000_000 + "HERE" + "y" * 3_000_000, 3_000_001, 4).split("\n")
    assert len(line) <= 122
    assert line[under.index("^") :].startswith("HERE")
    assert line.startswith("…")
    assert line.endswith("…")


def test_what_a_command_printed_begins_with_a_line_that_says_something():
    detail = "\n  \nno tests ran\n\nERROR: gone\n\n"
    finding = Finding("TC-001", "it ended with exit code 4", detail=detail)
    assert finding_lines(finding) == [
        "TC-001: it ended with exit code 4",
        "  no tests ran",
        "  ERROR: gone",
    ]


def test_of_a_long_output_the_begin_and_the_end_are_shown():
    """Linters name the rule first, and test tools count their failures last."""
    detail = "F401 `os` imported but unused\n" + "line\n" * 20 + "Found 1 error.\n"
    lines = finding_lines(Finding("gate:lint", "it ended with exit code 1", detail=detail))
    assert lines[1] == "  F401 `os` imported but unused"
    assert lines[5] == "  … 14 lines left out"
    assert lines[-1] == "  Found 1 error."


def test_a_hint_is_shown_once():
    shown = set()
    lines = ["TASK-001   a: b", "TASK-001     hint: do it"]
    assert without_repeated_hints(lines, shown) == lines
    assert without_repeated_hints(lines, shown) == lines[:1]
    assert without_repeated_hints(["    hint: other"], shown) == ["    hint: other"]
