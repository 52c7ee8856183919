"""Lines and columns are those of the protocol, in whatever units the client counts."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.editor.source_text import SourceText, TextPosition, TextSpan, Units

TEXTS = st.text(st.sampled_from("ab\n\r\u2028é😀\ud800"), max_size=12)


def lines_of(text):
    return re.split(r"\r\n|\n|\r", text.replace("\ud800", "\ufffd"))


@given(TEXTS)
def test_lines_end_in_lf_cr_lf_or_cr_and_in_nothing_else(text):
    made = SourceText.of(text)
    assert made.text == text.replace("\ud800", "\ufffd")
    assert made.lines() == lines_of(text)


@given(TEXTS, TEXTS, st.data())
def test_a_change_is_that_of_the_whole_text(text, new, draw):
    made = SourceText.of(text)
    lines = lines_of(text)
    places = [TextPosition(n, c) for n, line in enumerate(lines) for c in range(len(line) + 1)]
    one, other = draw.draw(st.sampled_from(places)), draw.draw(st.sampled_from(places))

    def offset(place):
        ends = [match.end() for match in re.finditer(r"\r\n|\n|\r", text)]
        return ([0, *ends])[place.line] + place.column

    start, end = sorted((offset(one), offset(other)))
    clean = (text[:start] + new + text[end:]).replace("\ud800", "\ufffd")
    after = made.change(TextSpan(one, other), new)
    assert after.text == clean
    assert after.lines() == lines_of(clean)


@pytest.mark.parametrize(("name", "units"), [("utf-8", 7), ("utf-16", 4), ("utf-32", 3)])
def test_columns_are_counted_in_the_agreed_units(name, units):
    by, text = Units(name), SourceText.of("aé😀b")
    assert text.units(TextPosition(0, 3), by) == units
    assert text.place(0, units, by) == TextPosition(0, 3)
    assert text.place(0, units - 1, by) == TextPosition(0, 2)


def test_a_position_outside_of_the_text_is_its_nearest_place():
    text, by = SourceText.of("ab\ncd"), Units()
    assert text.place(0, 99, by) == TextPosition(0, 2)
    assert text.place(9, 9, by) == TextPosition(1, 2)
    assert text.place(-1, 9, by) == TextPosition(0, 0)
    assert text.place(1, -4, by) == TextPosition(1, 0)


@given(st.text(max_size=20), st.integers(0, 30))
def test_units_and_characters_are_turned_into_each_other(line, column):
    line = line.replace("\n", "").replace("\r", "").replace("\ud800", "")
    column = min(column, len(line))
    for name in ("utf-8", "utf-16", "utf-32"):
        by = Units(name)
        assert by.column(line, by.count(line[:column])) == column
