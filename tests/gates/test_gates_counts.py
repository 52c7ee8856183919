"""How many tests ran, read from the last lines of the tools people use."""

import pytest

from runner.gates.count_parsers import ran_no_test, read_counts


@pytest.mark.parametrize(
    ("output", "counts"),
    [
        ("3 passed in 0.12s", {"passed": 3}),
        ("== 1 failed, 2 passed, 1 skipped in 4.50s ==", {"failed": 1, "passed": 2, "skipped": 1}),
        ("1 passed, 1 warning in 0.1s", {"passed": 1}),
        ("2 errors in 0.10s", {"errors": 2}),
        ("no tests ran in 0.00s", {"passed": 0}),
        ("Ran 5 tests in 0.003s\n\nOK", {"passed": 5}),
        ("Ran 5 tests in 0.003s\n\nOK (skipped=5)", {"passed": 0, "skipped": 5}),
        (
            "Ran 5 tests in 0.003s\n\nFAILED (failures=1, errors=1)",
            {"passed": 3, "failures": 1, "errors": 1},
        ),
        ("Ran 3 tests in 0.003s\n\nOK (expected failures=1)", {"passed": 2, "xfailed": 1}),
        (
            (
                "Ran 9 tests in 0.003s\n\nFAILED (failures=1, expected failures=2, skipped=1,"
                " unexpected successes=3)"
            ),
            {"passed": 2, "failures": 4, "skipped": 1, "xfailed": 2},
        ),
        ("Ran 1 test in 0.003s\n\nFAILED (unexpected successes=1)", {"passed": 0, "failures": 1}),
        ("# tests 4\n# pass 3\n# fail 1\n# skipped 0", {"passed": 3, "failed": 1}),
        (
            "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out",
            {"passed": 2, "failed": 0, "skipped": 1},
        ),
        ("# tests 2\n# pass  1\n# fail  1\n", {"passed": 1, "failed": 1}),  # tape
        ("1 test failed to convince me\n", {}),
        ("2 passed in 0.1s\nsomething else\n1 passed in 0.2s", {"passed": 1}),
        ("it went well", {}),
        ("", {}),
    ],
)
def test_what_a_tool_counted(output, counts):
    assert dict(read_counts(output)) == counts


@pytest.mark.parametrize(
    ("counts", "none"),
    [
        ({}, False),
        ({"passed": 0}, True),
        ({"skipped": 3}, True),
        ({"passed": 0, "failed": 1}, False),
        ({"passed": 1, "deselected": 9}, False),
    ],
)
def test_whether_not_a_single_test_ran(counts, none):
    assert ran_no_test(tuple(counts.items())) is none
