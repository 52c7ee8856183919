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
    assert not is_test_of(path, STEPS, [line])


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
    assert is_test_of(path, STEPS, [line])
    assert is_test_of(path, STEPS, ["grep -q x README.md", line])
