"""What a page of coverage shows: each line as its tool counts it."""

from runner.gates.coverage.lines import Lines
from runner.report.xml_reports import html_archive


def test_a_form_feed_or_a_line_separator_begins_no_line_of_its_own():
    text = 'A = 1\n\x0c\nB = "\u2028"\nC = 1\n'
    lines = {"a.py": Lines(executable=frozenset({1, 3, 4}), ran=frozenset({1, 3}))}
    _, pages = html_archive(lines, {"a.py": text.encode()})
    rows = dict(pages)["1.html"].decode().split("<pre class=")[1:]
    assert [row.partition(">")[0] for row in rows] == ['"y"', '""', '"y"', '"n"']
    assert "C = 1" in rows[3]
