"""Expectations that the same change recorded are told."""

from dataclasses import replace

import pytest
from gates_bench import a_bench, a_task

from runner.gates import recorded_answers
from runner.model import Action, Change, Severity, digest_of

READS = {"tests/test_a.py": "GOLDEN = read('answers_golden.json')\n"}
CODE = {"shop.py": "def a():\n    return 1\n"}


def said(folder, files, *, by_person=False, mutation="warn"):
    changes = tuple(
        Change(path, Action.CREATE, 0o100644, None, digest_of(text.encode()), text.encode())
        for path, text in files.items()
    )
    bench = replace(
        a_bench(folder),
        task=a_task(outputs=("any",)),
        changes=changes,
        by_person=by_person,
    )
    bench = replace(bench, settings=replace(bench.settings, mutation=mutation))
    (check,) = recorded_answers.checks(bench.task, bench.settings)
    return recorded_answers.prove(check, bench).findings


@pytest.mark.parametrize(
    "path",
    [
        *("tests/__snapshots__/a.test.ts.snap", "tests/__snapshots__/test_a.ambr"),
        *("tests/golden_count.json", "tests/data/expected/a.txt", "testdata/bump.golden"),
        *("tests/a.approved.txt", "answers_golden.json"),
    ],
)
def test_a_record_beside_the_code_is_told(tmp_path, path):
    (finding,) = said(tmp_path, CODE | READS | {path: "{}\n"})
    assert (finding.path, finding.severity) == (path, Severity.WARNING)
    (finding,) = said(tmp_path, CODE | READS | {path: "{}\n"}, mutation="strict")
    assert finding.severity is Severity.QUESTION


@pytest.mark.parametrize(
    "files",
    [
        READS | {"tests/golden_count.json": "{}\n"},
        CODE | READS | {"tests/orders.json": "{}\n"},
        CODE | READS | {"src/unexpected/a.json": "{}\n"},
        CODE | {"docs/expected-load.md": "much\n"},
        CODE | {"tests/test_snapshot.py": "def test_a():\n    assert a() == 1\n"},
    ],
    ids=["no code", "an input", "another word", "a document", "code"],
)
def test_what_is_no_record_is_left_alone(tmp_path, files):
    assert said(tmp_path, files) == ()


def test_a_person_is_told_nothing(tmp_path):
    assert said(tmp_path, CODE | READS | {"tests/golden.json": "{}\n"}, by_person=True) == ()
