"""Open documents: positions, edits, and the tasks, files and patterns that they mention."""

import os
import re
from types import SimpleNamespace

import pytest
from growth import grows_as_its_input
from hypothesis import given
from hypothesis import strategies as st

from runner.editor import open_plan
from runner.editor.mentions import mention_at, tasks_named
from runner.editor.open_plan import (
    OpenDocuments,
    SourceText,
    TextPosition,
    TextSpan,
    Units,
    path_of_uri,
)

PLAN = "TASK-GRAPH.md"
TEXT = "".join(
    f"## TASK-{number:03d}: T\n\n- Depends on: TASK-{number + 50:03d}\n- Implementer: claude\n\n"
    for number in (1, 2, 3)
)


@pytest.fixture
def opened(shop, monkeypatch):
    """A plan with an unknown need in each of its three tasks, as large as plans become."""
    monkeypatch.setattr(open_plan, "_MANY_TASKS", 2)
    documents = OpenDocuments([shop], os.environ)
    document = documents.open((shop / PLAN).as_uri(), TEXT)
    documents.problems(document.plan)
    return documents, document


def unknown(documents, document, **how):
    found = documents.problems(document.plan, **how)[PLAN]
    return [one.line for one in found if "unknown task" in one.message]


def put(documents, document, line, column, text):
    at = TextPosition(line, column)
    documents.replace(document, document.text.change(TextSpan(at, at), text))


def test_while_somebody_types_what_is_known_of_the_whole_stays_at_its_lines(opened):
    documents, document = opened
    assert unknown(documents, document) == [3, 8, 13]
    put(documents, document, 5, 0, "\n\n")
    assert unknown(documents, document, while_typing=True) == [3, 10, 15]
    assert unknown(documents, document) == [3, 10, 15]


def test_of_a_line_that_is_typed_in_nothing_old_is_told(opened):
    documents, document = opened
    put(documents, document, 7, 22, "9")
    assert unknown(documents, document, while_typing=True) == [3, 13]
    assert unknown(documents, document) == [3, 8, 13]


def test_a_mistake_at_one_place_is_told_at_once_in_a_plan_of_any_size(opened):
    documents, document = opened
    put(documents, document, 8, 0, "- Coverage: lots\n")
    found = documents.problems(document.plan, while_typing=True)[PLAN]
    assert [one.line for one in found if "Coverage" in one.message or "percent" in one.message]


def test_a_line_of_more_than_an_editor_shows_says_how_many_are_left_out(shop, monkeypatch):
    monkeypatch.setattr(open_plan, "MOST_PROBLEMS", 2)
    documents = OpenDocuments([shop], os.environ)
    document = documents.open((shop / PLAN).as_uri(), TEXT)
    found = documents.problems(document.plan)[PLAN]
    assert len(found) == 3
    assert found[-1].message.endswith("are not shown here")
    assert all(one.is_error for one in found[:2])


def test_what_is_closed_is_told_no_more(opened, shop):
    documents, document = opened
    uri = (shop / PLAN).as_uri()
    assert documents.close(uri) == document
    assert documents.find(uri) is None
    assert not documents.is_open(document.plan)
    assert documents.forget(document.plan) == (PLAN,)
    assert documents.close(uri) is None


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a%20b/c.md", "/a b/c.md"),
        ("file://localhost/a", "/a"),
        ("file://elsewhere/a", None),
        ("untitled:a", None),
        ("file:///a%00b", None),
        ("http://[", None),
    ],
)
def test_only_the_uri_of_a_local_file_has_a_path(uri, path):
    found = path_of_uri(uri)
    assert (found and str(found)) == path


HOSTILE = ("a", "a1", "1", "(", "a.", "./", "a/", "TASK ", "T-", "`", "[x](")


def a_plan(line, files=()):
    text = SourceText.of(line)
    return SimpleNamespace(
        text_of=lambda _: text,
        tasks=(),
        prefixes=(),
        file=lambda name: name in files,
    )


@pytest.mark.parametrize("part", HOSTILE)
def test_a_long_line_takes_as_long_as_it_is(part):
    def make(size):
        line = part * size + "/"
        plan = a_plan(line)

        def look():
            assert mention_at(plan, "TASK-GRAPH.md", TextPosition(0, len(line))) is None
            assert list(tasks_named(plan.text_of(""), "TASK-GRAPH.md", plan)) == []

        return look

    assert grows_as_its_input(make, 1_000)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("see src/a.py, too", "src/a.py"),
        ("(a.py)", "a.py"),
        ("as ./docs/x.md says", "docs/x.md"),
        ("`my notes.txt` of", "my notes.txt"),
        (".env is", ".env"),
    ],
)
def test_a_path_is_found_wherever_it_stands(line, name):
    plan = a_plan(line, [name])
    at = TextPosition(0, line.index(name) + 1)
    assert mention_at(plan, "TASK-GRAPH.md", at).name == name


# --- lines and columns are those of the protocol --------------------------------------


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
