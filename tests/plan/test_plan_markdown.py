"""Cut at headings, a file must read as it does whole."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from plan_documents import EXAMPLES, documents

from runner.plan.markdown import parse, pieces
from runner.plan.source import body_start, text_of


def assert_cut_equals_whole(data: bytes) -> None:
    whole = parse(text_of(data[body_start(data) :]))
    cut, line = [], 0
    for piece in pieces(data):
        cut += [node.move(line) for node in piece.nodes]
        line += piece.source.line_count
    assert cut == whole


@given(documents())
@example(b"```\n# x\r```\r\n# y")
@example(b"<div>\n# in it\n\n# out of it")
@example(b"<!--\n# a\n\n# b\n--> tail\n# c")
@example(b"- ```\n# out\n  ```\n# y\n")
@example(b"~~~\n# a\n\n# b\n")
@example(b"```\n\nTitle\n===\n```\n")
@example(b"<div>\r\n# a\r\n\r\n# b\r\n")
def test_any_document_cut_at_headings_equals_the_whole(data):
    assert_cut_equals_whole(data)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_commonmark_example_between_headings_is_cut_rightly(end):
    for markdown in EXAMPLES:
        text = f"# A\n\n{markdown}\n## TASK-001: B\n\n{markdown}# C\n{markdown}"
        assert_cut_equals_whole(text.replace("\n", end).encode())


def test_a_file_of_a_hundred_thousand_lines_is_cut_at_all_its_headings():
    section = b"## TASK-001: a\n\n- Status: PENDING\n\n```\n# not one\n```\n\ntext\n\n"
    found = sum(1 for _ in pieces(section * 10_000))
    assert found == 10_000


def test_a_fence_that_never_closes_reaches_to_the_end():
    data = b"# a\n\n```\n" + b"# x\n" * 3000
    assert len(list(pieces(data))) == 1
