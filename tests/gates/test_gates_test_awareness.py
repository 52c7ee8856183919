"""Product code that names a sign of a test tool is a note for the reviewer, and refuses nothing."""

import pytest
from gates_bench import a_bench, a_task, own_check
from msgspec.structs import replace

from runner.gates import test_awareness
from runner.gates.test_paths import is_test_of
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


# --- what makes a file a test: its path, or a test contract that runs it --------------


STEPS = b"jobs: {test: {steps: [{run: python3 -m unittest}]}}\n"


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (".github/workflows/ci.yml", "grep -q unittest .github/workflows/ci.yml"),
        ("README.md", "test -f README.md && LC_ALL=C grep -q unittest README.md"),
        ("scripts/check.sh", "sh -c 'grep -q unittest scripts/check.sh'"),
    ],
)
def test_what_a_contract_only_looks_into_is_no_test_of_it(path, line):
    assert not is_test_of(path, lambda: STEPS, [line])


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("t_lib.py", "python -m unittest t_lib"),
        ("check.sh", "test -x check.sh && bash check.sh"),
        ("check.sh", "diff <(bash check.sh) expected.txt"),
        ("check.sh", 'test "$(./check.sh)" = 3'),
        ("check.sh", "for one in check.sh; do bash $one; done"),
        ("check.sh", "grep -q 'check.sh"),
    ],
)
def test_what_a_contract_runs_is_one_whatever_looks_at_it_too(path, line):
    assert is_test_of(path, lambda: STEPS, [line])
    assert is_test_of(path, lambda: STEPS, ["grep -q x README.md", line])


EXAMPLES = b"# Shop\n\n    >>> price(2)\n    6\n"


@pytest.mark.parametrize(
    ("path", "line", "runs"),
    [
        ("README.md", "python3 -m doctest README.md", True),
        ("docs/use.rst", "python -m pytest --doctest-glob='*.rst'", True),
        ("docs/use.rst", "pytest docs/use.rst", True),
        ("docs/use.rst", "python -m pytest --doctest-glob='*.md'", False),
        ("README.md", "python -m doctest docs/use.rst", False),
        ("README.md", "grep -q doctest README.md && python -m doctest a.rst", False),
        ("README.md", "wc -l README.md", False),
        ("shop.py", "python -m doctest shop.py", False),  # it is the product, too
    ],
)
def test_a_text_is_a_test_where_its_examples_are_run(path, line, runs):
    assert is_test_of(path, lambda: EXAMPLES, [line]) is runs
    assert not is_test_of(path, lambda: b"# Shop\n", [line])
