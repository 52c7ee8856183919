"""What is told of open documents: at once, while somebody types, and once they are closed."""

import os

import pytest

from runner.editor import open_plan
from runner.editor.open_plan import OpenDocuments, TextPosition, TextSpan, path_of_uri

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
