"""Product code that names a sign of a test tool is a note for the reviewer, and refuses nothing."""

from dataclasses import replace

import pytest
from gates_bench import a_bench, a_task, own_check

from runner.gates import test_awareness
from runner.model import Action, Change, Severity, digest_of


def found(folder, path, text, before=None):
    data = text.encode()
    change = Change(path, Action.CREATE, 0o100644, None, digest_of(data), data)
    context = replace(
        a_bench(folder),
        task=a_task(outputs=("any",)),
        changes=(change,),
        before=lambda _path: before,
    )
    check = own_check("test_awareness", context)
    return test_awareness.prove(check, context).findings


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("shop.py", "if os.environ.get('PYTEST_CURRENT_TEST'):"),
        ("shop.py", "if 'pytest' in sys.modules:"),
        ("shop.py", "if sys.gettrace():"),
        ("shop.js", "if (process.env.JEST_WORKER_ID) {}"),
        ("shop.ts", "const t = process.env.VITEST;"),
        ("shop.go", 'var t = flag.Lookup("test.v")'),
    ],
)
def test_a_sign_of_a_test_tool_is_named_with_its_line(tmp_path, path, line):
    (one,) = found(tmp_path, path, f"a\n{line}\n")
    assert (one.severity, one.path, one.line) == (Severity.NOTE, path, 2)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("tests/test_shop.py", "os.environ['PYTEST_CURRENT_TEST']"),
        ("notes.txt", "PYTEST_CURRENT_TEST"),
        ("shop.py", "name = 'pytest'"),
    ],
)
def test_tests_documents_and_other_words_are_left_alone(tmp_path, path, line):
    assert found(tmp_path, path, line) == ()


def test_a_line_that_was_there_before_is_no_news(tmp_path):
    line = "if 'pytest' in sys.modules:\n"
    assert found(tmp_path, "shop.py", line, before=line.encode()) == ()
