import json
from pathlib import Path

import pytest

from runner.model import Coverage, Spec, Status, Task
from runner.report.documents import document, plain
from runner.report.graph_drawing import mermaid
from runner.report.table import table
from runner.text.display import columns, cut

SPEC = Spec("sha256:a", "sha256:b")


def test_a_document_begins_with_its_schema_and_kind():
    text = document(
        "status",
        dry_run=False,
        tasks=[Coverage(84.0, 120, 70.0)],
        statuses={"TASK-001": Status.IN_PROGRESS, Status.DONE: Path("a/b")},
        nothing=None,
    )
    assert text.startswith('{\n  "schemaVersion": 1,\n  "kind": "status",\n')
    assert text.endswith("}\n")
    assert json.loads(text) == {
        "schemaVersion": 1,
        "kind": "status",
        "dryRun": False,
        "tasks": [{"percent": 84.0, "lines": 120, "threshold": 70.0, "whole": None}],
        "statuses": {"TASK-001": "IN-PROGRESS", "DONE": "a/b"},
        "nothing": None,
    }


def test_dataclasses_become_objects_with_names_of_json():
    task = plain(Task("TASK-001", "t", 3, SPEC, depends_on=("TASK-000",)))
    assert task["dependsOn"] == ["TASK-000"]
    assert task["spec"] == {"what": "sha256:a", "proof": "sha256:b"}


def test_nothing_that_is_not_seen_is_printed_as_it_is():
    assert document("x", title="a\x1b\u202e\udc80").isascii()


@pytest.mark.parametrize("value", [b"bytes", object(), Task])
def test_what_has_no_shape_in_json_is_refused(value):
    with pytest.raises(TypeError):
        plain(value)


def test_a_table_is_aligned_also_with_wide_characters():
    text = table(
        ("Task", "Title", "Seconds"),
        [("TASK-001", "予約モデル", "1.5"), ("TASK-002", "été", "12.0"), ("T3", "", "—")],
    )
    assert text == (
        "Task      Title       Seconds\n"
        "TASK-001  予約モデル      1.5\n"
        "TASK-002  été            12.0\n"
        "T3                          —\n"
    )


def test_a_table_shows_foreign_text_and_fits_the_terminal():
    text = table(("A", "B"), [("\x1b[31m", "x" * 50)], width=20)
    assert text == "A         B\n\\x1b[31m  xxxxxxxxx…\n"
    assert max(map(columns, text.splitlines())) == 20
    assert table(("A",), []) == "A\n"


def test_cutting_never_halves_a_wide_character():
    assert cut("予約モデル", 6) == "予約…"
    assert cut("e\u0301te", 3) == "e\u0301te"
    assert columns("e\u0301te") == 3


def test_a_graph_is_drawn_with_its_statuses():
    tasks = [
        Task("TASK-001", "Model", 1, SPEC, Status.DONE),
        Task("TASK-002", 'Say "hi"];\nx --> <b>', 5, SPEC, depends_on=("TASK-001", "TASK-009")),
    ]
    text = mermaid(tasks, {"TASK-002": Status.BLOCKED})
    assert text.splitlines()[:4] == [
        "flowchart TD",
        '    t1["TASK-001: Model<br/>DONE"]:::done',
        '    t2["TASK-002: Say #34;hi#34;#93;#59;#92;nx --#62; #60;b#62;<br/>BLOCKED"]:::blocked',
        "    t1 --> t2",
    ]
    assert text.count("classDef") == len(Status)
