"""A variable that is new with a change, and that its tests set before they begin, is told."""

from dataclasses import replace

import pytest
from gates_bench import a_bench, a_task

from runner.gates import test_awareness
from runner.model import Action, Change, Severity, digest_of

CODE = "package shop\n\nvar eleven = 1000\n\nfunc Suffix(x int) int { return x % eleven }\n"
BEGINS = "package shop\n\nfunc init() {\n\televen = 100\n}\n"
MAIN = "package shop\n\nfunc TestMain(m *testing.M) {\n\televen = 100\n\tos.Exit(m.Run())\n}\n"


GO = ("shop.go", "setup_test.go")


def said(folder, tests, *, former=b"", by_person=False, code=CODE, names=GO):
    changes = tuple(
        Change(name, Action.CREATE, 0o100644, None, digest_of(text.encode()), text.encode())
        for name, text in zip(names, (code, tests), strict=True)
    )
    bench = replace(
        a_bench(folder),
        task=a_task(outputs=("any",)),
        changes=changes,
        before=lambda path: former if path == names[0] else None,
        by_person=by_person,
    )
    (check,) = test_awareness.checks(bench.task, bench.settings)
    return [(one.severity, one.message) for one in test_awareness.prove(check, bench).findings]


ADDS = BEGINS.replace("eleven = 100", "eleven -= 900")


@pytest.mark.parametrize("tests", [BEGINS, MAIN, ADDS], ids=["init", "TestMain", "adds"])
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


PYTHON = ("shop.py", "tests/test_shop.py")
SCRIPT = ("shop.js", "test/shop.test.js")
SETS = {
    "an attribute": (PYTHON, "eleven = 1000\n", "import shop\n\nshop.eleven = 100\n"),
    "by name": (PYTHON, "eleven = 1000\n", "import shop\n\nsetattr(shop, 'eleven', 100)\n"),
    "a function": (PYTHON, "def eleven(x):\n    return x\n", "shop.eleven = lambda x: 100\n"),
    "a script": (SCRIPT, "exports.eleven = 1000;\n", "const s = load();\ns.eleven = 100;\n"),
}
OWN = {
    "in a test": (PYTHON, "eleven = 1\n", "def test_it():\n    shop.eleven = 100\n"),
    "another": (PYTHON, "eleven = 1\n", "import os\nos.twelve = 2\neleven = 3\n"),
    "asked": (PYTHON, "eleven = 1\n", "assert shop.eleven == 1\n"),
    "its own": (SCRIPT, "exports.eleven = 1000;\n", "exports.eleven = 3;\n"),
}


@pytest.mark.parametrize(("names", "code", "tests"), SETS.values(), ids=SETS)
def test_other_languages_set_it_where_a_file_of_tests_is_loaded(tmp_path, names, code, tests):
    ((severity, message),) = said(tmp_path, tests, code=code, names=names)
    assert severity is Severity.QUESTION
    assert message == f"tests run another program: {names[1]} sets eleven before they begin"


@pytest.mark.parametrize(("names", "code", "tests"), OWN.values(), ids=OWN)
def test_what_they_set_inside_of_a_test_is_left_alone(tmp_path, names, code, tests):
    assert said(tmp_path, tests, code=code, names=names) == []
