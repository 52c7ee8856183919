"""Foreign text cannot speak to the terminal, the page or the CI."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.text.display import (
    display,
    display_markdown,
    escape_annotation,
    escape_annotation_property,
)

ANYTHING = st.text(st.characters(codec=None), max_size=60)
UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain — ünïcode 漢字 ✅", "plain — ünïcode 漢字 ✅"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x1b]8;;http://x\x07y", "\\x1b]8;;http://x\\x07y"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u2066b\u2069", "a\\u2066b\\u2069"),
        ("a\u200bb\u200d\ufeff", "a\\u200bb\\u200d\\ufeff"),
        ("\U000e0041", "\\U000e0041"),
        ("\udcff", "\\udcff"),
        ("\x9b31m\x85", "\\x9b31m\\x85"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("\u3164\u115f\u2800", "\\u3164\\u115f\\u2800"),
        ("warn \u26a0\ufe0f", "warn \u26a0\ufe0f"),
        ("x\ufe0f", "x\\ufe0f"),
        ("[/foo] [bold]", "[/foo] [bold]"),
        ("", ""),
    ],
)
def test_what_cannot_be_seen_is_spelled_out(text, shown):
    assert display(text) == shown


def test_lines_keep_newline_and_tab_and_nothing_else():
    assert display("a\n\tb\r\n\x00", lines=True) == "a\n\tb\\r\n\\x00"


def test_every_unseen_character_there_is_becomes_visible():
    for code in range(0x110000):
        if unicodedata.category(chr(code)) in UNSEEN:
            assert display(chr(code)).isprintable(), hex(code)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(ANYTHING)
def test_one_line_holds_no_control_character(text):
    assert not {unicodedata.category(c) for c in display(text)} & UNSEEN


@settings(max_examples=300, derandomize=True, deadline=None)
@given(ANYTHING)
def test_many_lines_hold_no_control_character_but_newline_and_tab(text):
    shown = display(text, lines=True)
    assert not {unicodedata.category(c) for c in shown if c not in "\n\t"} & UNSEEN
    assert shown.count("\n") == text.count("\n")


@settings(max_examples=200, derandomize=True, deadline=None)
@given(ANYTHING)
def test_what_was_made_visible_stays_as_it_is(text):
    assert display(display(text)) == display(text)


def test_an_annotation_is_one_line_that_commands_nothing():
    assert escape_annotation("100%\r\n::error::x\x1b") == "100%25%0D%0A::error::x\\x1b"
    assert escape_annotation_property("a,b:c%") == "a%2Cb%3Ac%25"


@settings(max_examples=200, derandomize=True, deadline=None)
@given(ANYTHING)
def test_an_annotation_never_ends_its_line(text):
    assert len(escape_annotation(text).splitlines()) <= 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<script>x</script>", "&lt;script>x&lt;/script>"),
        (r"\<script>x", r"\&lt;script>x"),
        ("![x](https://evil.example/p.png)", "!&#91;x]&#40;https://evil.example/p.png)"),
        ("[here](javascript:x), [a][b]", "[here]&#40;javascript:x), [a]&#91;b]"),
        ("[a]: /b", "[a]&#58; /b"),
        ("<https://evil.example> <!-- x -->", "&lt;https://evil.example> &lt;!-- x -->"),
        ("1 < 2, a <= b, list[0], f(x)", "1 < 2, a <= b, list[0], f(x)"),
        ("`x ` <img src=y>", "`x ` &lt;img src=y>"),
    ],
)
def test_a_text_in_a_markdown_file_is_words_and_nothing_else(text, shown):
    from markdown_it import MarkdownIt

    assert display_markdown(text) == shown
    rendered = MarkdownIt("commonmark").render(display_markdown(text))
    assert not any(tag in rendered for tag in ("<script", "<img", "<a ", "<!--"))
