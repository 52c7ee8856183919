"""Two output files that are one on macOS are told, by the line of the second."""

import unicodedata

import pytest

from runner.model import Severity
from runner.plan.checks import check_plan
from runner.plan.document import read_plan
from runner.plan.field_names import fold_spelling
from runner.plan.spans import Spans
from runner.writes.paths import warning

COMPOSED = "docs/Übersicht.md"
DECOMPOSED = unicodedata.normalize("NFD", COMPOSED)


def told(*outputs):
    sections = [
        f"## TASK-{number:03}: a\n- Output files: `{path}`\n- Test contracts: `true`\n"
        for number, path in enumerate(outputs, start=1)
    ]
    data = "\n".join(sections).encode()
    plan = read_plan(data, "TASK-GRAPH.md")
    found = check_plan(
        plan.tasks,
        places=Spans(data, "TASK-GRAPH.md"),
        found=lambda _: True,
        exists=lambda _: True,
    )
    return [problem for problem in found if "the same file on macOS" in problem.message]


@pytest.mark.parametrize(
    ("first", "second"),
    [("src/App.py", "src/app.py"), ("Src/app.py", "src/app.py"), (COMPOSED, DECOMPOSED)],
)
def test_spellings_of_one_file_are_told_where_the_second_stands(first, second):
    (problem,) = told(first, second)
    assert (problem.line, problem.severity) == (6, Severity.WARNING)
    assert f'"{second}" and "{first}" are the same file' in problem.message


@pytest.mark.parametrize(
    ("first", "second"),
    [("src/app.py", "src/app.py"), ("src/app.py", "lib/app.py"), ("a/Ü.md", "a/U.md")],
)
def test_others_are_not(first, second):
    assert told(first, second) == []


def test_a_name_in_the_form_that_macos_once_wrote_folds_to_the_one_that_git_keeps():
    assert DECOMPOSED != COMPOSED
    assert fold_spelling(DECOMPOSED) == fold_spelling(COMPOSED)
    assert "normal form C" in warning(DECOMPOSED.split("/")[1])
    assert warning(COMPOSED.split("/")[1]) == ""
