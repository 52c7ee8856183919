"""A mark that asks a gate to look away is reported when a change adds it, and only then."""

from __future__ import annotations

import pytest
from writes_builders import a_change

from runner.model import Severity
from runner.writes.suppressions import MOST_FINDINGS, marker_findings

MARKS = {
    "x = eval(y)  # nosec": "silences a security scanner",
    "x = eval(y)  #nosec B307": "silences a security scanner",
    "run()  // NOSONAR": "silences a security scanner",
    "key = read()  # pragma: allowlist secret": "silences a secret scan",
    "key = read()  # pragma: whitelist secret": "silences a secret scan",
    "def f():  # pragma: no cover": "hides code from coverage",
    "/* istanbul ignore next */": "hides code from coverage",
    "@pytest.mark.skip": "skips a test",
    "@pytest.mark.skipif(True, reason='')": "skips a test",
    "@pytest.mark.xfail(strict=False)": "skips a test",
    "    pytest.skip('later')": "skips a test",
    "@unittest.skip('later')": "skips a test",
    "it.skip('works', () => {})": "skips a test",
    "test.only('one', () => {})": "skips a test",
    "    t.Skip()": "skips a test",
    "#[ignore]": "skips a test",
}


COUNTED = (
    "import os  # noqa",
    "import os  # NOQA: F401",
    "# ruff: noqa",
    "# pylint: disable=all",
    "/* eslint-disable */",
    "x := 1 //nolint",
    "#![allow(warnings)]",
    "# shellcheck disable=SC2086",
    "x: int = 'a'  # type: ignore",
    "# mypy: ignore-errors",
    "// @ts-ignore",
)


@pytest.mark.parametrize("line", COUNTED)
def test_a_new_mark_for_a_linter_or_a_type_checker_is_a_note(line):
    (found,) = marker_findings(a_change("a.py", f"one = 1\n\n\n{line}\n".encode()), None)
    assert found.message == "1 new suppression of linters or type checkers"
    assert (found.path, found.line, found.severity) == ("a.py", 4, Severity.NOTE)


@pytest.mark.parametrize("line", MARKS)
def test_a_new_mark_is_a_warning_at_its_line(line):
    (found, *more) = marker_findings(a_change("a.py", f"one = 1\n\n\n{line}\n".encode()), None)
    assert not more
    assert found.message == f"this new line {MARKS[line]}"
    assert (found.path, found.line, found.severity) == ("a.py", 4, Severity.WARNING)
    assert 0 < found.column <= len(line)


@pytest.mark.parametrize(
    "line",
    [
        "nosecond = 1",
        "skipped = True",
        "# typed: ignored",
        "noqanswer = 1",
        "unknown_type = ignore",
    ],
)
def test_a_word_that_only_looks_like_a_mark_is_none(line):
    assert marker_findings(a_change("a.py", line.encode()), None) == ()


def test_the_first_of_the_marks_of_a_line_is_pointed_at():
    (found,) = marker_findings(a_change("a.py", b"x = eval(y)  # nosec, # nosec\n"), None)
    assert (found.line, found.column) == (1, 14)


def test_a_mark_that_was_there_may_move_but_not_multiply():
    old = b"import os  # noqa\n"
    moved = a_change("a.py", b"\n\nimport os  # noqa\n", before=old)
    twice = a_change("a.py", old * 2, before=old)
    assert marker_findings(moved, old) == ()
    assert [found.line for found in marker_findings(twice, old)] == [2]


def test_a_source_that_reads_otherwise_than_it_looks_is_reported():
    (found,) = marker_findings(a_change("a.py", b"# coding: utf-7\nx = 1\n"), None)
    assert (
        found.message
        == "this new line makes Python read text that differs from what an editor shows"
    )
    assert marker_findings(a_change("a.py", b"# -*- coding: utf-8 -*-\n"), None) == ()


def test_marks_for_linters_and_type_checkers_are_one_note_with_their_number():
    content = b"import os  # noqa\nx: int = 'a'  # type: ignore\neval(y)  # nosec\n"
    warning, note = marker_findings(a_change("a.py", content), None)
    assert (warning.line, warning.severity) == (3, Severity.WARNING)
    assert (note.line, note.severity) == (1, Severity.NOTE)
    assert note.message == "2 new suppressions of linters or type checkers"


def test_a_flood_of_marks_is_counted_and_not_listed():
    found = marker_findings(a_change("a.py", b"x = 1  # nosec\n" * 1000), None)
    assert len(found) == MOST_FINDINGS + 1
    assert found[-1].message == "980 more such lines in this file"


def test_a_long_line_and_a_binary_file_are_no_trouble():
    assert marker_findings(a_change("a.js", b"# " * (3 << 20)), None) == ()
    assert marker_findings(a_change("a.bin", bytes(range(256)) * 1000), None) == ()
    (found,) = marker_findings(a_change("a.py", b"x" * (5 << 20) + b"  # nosec"), None)
    assert found.line == 1
