"""What a line names is found in a time that grows with the line, whatever stands in it."""

from types import SimpleNamespace

import pytest
from growth import grows_as_its_input

from runner.editor.mentions import mention_at, tasks_named
from runner.editor.source_text import SourceText, TextPosition

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
