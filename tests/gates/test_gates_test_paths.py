"""What makes a file a test: its path, or a test contract that runs it."""

import pytest

from runner.gates.test_paths import is_test_of

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
