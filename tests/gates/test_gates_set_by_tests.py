"""A variable that is new with a change, and that its tests set before they begin, is told."""

from dataclasses import replace

import pytest
from gates_bench import a_bench, a_task

from runner.gates import test_awareness
from runner.model import Action, Change, Severity, digest_of

CODE = "package shop\n\nvar eleven = 1000\n\nfunc Suffix(x int) int { return x % eleven }\n"
BEGINS = "package shop\n\nfunc init() {\n\televen = 100\n}\n"
MAIN = "package shop\n\nfunc TestMain(m *testing.M) {\n\televen = 100\n\tos.Exit(m.Run())\n}\n"


def said(folder, tests, *, former=b"", by_person=False):
    changes = tuple(
        Change(name, Action.CREATE, 0o100644, None, digest_of(text.encode()), text.encode())
        for name, text in (("shop.go", CODE), ("setup_test.go", tests))
    )
    bench = replace(
        a_bench(folder),
        task=a_task(outputs=("any",)),
        changes=changes,
        before=lambda path: former if path == "shop.go" else None,
        by_person=by_person,
    )
    (check,) = test_awareness.checks(bench.task, bench.settings)
    return [(one.severity, one.message) for one in test_awareness.prove(check, bench).findings]


@pytest.mark.parametrize("tests", [BEGINS, MAIN], ids=["init", "TestMain"])
def test_a_new_variable_that_tests_set_before_they_begin_is_a_question(tmp_path, tests):
    ((severity, message),) = said(tmp_path, tests)
    assert severity is Severity.QUESTION
    assert message == "tests run another program: setup_test.go sets eleven before they begin"
    ((severity, _),) = said(tmp_path, tests, by_person=True)
    assert severity is Severity.WARNING


@pytest.mark.parametrize(
    "tests",
    [
        BEGINS.replace("eleven", "other"),
        BEGINS.replace("init()", "TestSuffix(t *testing.T)"),
        BEGINS.replace("eleven =", "eleven :="),
    ],
    ids=["another", "in a test", "its own"],
)
def test_what_a_test_sets_for_itself_is_left_alone(tmp_path, tests):
    assert said(tmp_path, tests) == []
    assert said(tmp_path, BEGINS, former=CODE.encode()) == []
