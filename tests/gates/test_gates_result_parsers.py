"""Results per test, read from what the tools people use print."""

import subprocess
import sys
import time

import pytest

from runner.gates.result_parsers import parse_results
from runner.gates.test_reports import tap_results

GO_JSON = """{"Action":"run","Package":"shop","Test":"TestA"}
{"Action":"pass","Package":"shop","Test":"TestA","Elapsed":0}
{"Action":"fail","Package":"shop","Test":"TestB","Elapsed":0}
{"Action":"fail","Package":"shop"}
{"Action":"torn
"""


@pytest.mark.parametrize(
    ("output", "found"),
    [
        (
            "--- PASS: TestA (0.00s)\n    --- FAIL: TestA/x (0.01s)\n",
            "TestA passed, TestA/x failed",
        ),
        ("--- SKIP: TestA (0.00s)\n", "TestA skipped"),
        (
            GO_JSON + '{"Action":"pass","Test":' + "[" * 100_000,
            "shop.TestA passed, shop.TestB failed",
        ),
        (
            "test tests::a ... ok\ntest tests::b ... FAILED\ntest c ... ignored\n",
            "tests::a passed, tests::b failed, c skipped",
        ),
    ],
)
def test_the_tests_that_a_tool_names(output, found):
    results = parse_results(output)
    assert ", ".join(f"{test.id} {test.outcome}" for test in results.tests) == found


def test_a_tool_that_names_none_says_nothing():
    assert parse_results("3 passed in 0.1s\nit went well\n") is None


def test_the_tests_that_node_prints_in_tap_are_named_with_their_groups():
    said = """TAP version 13
# Subtest: a price
ok 1 - a price
  ---
  duration_ms: 0.5
  ...
# Subtest: group
    # Subtest: inner
    not ok 1 - inner
    # Subtest: later
    ok 2 - later # TODO
    1..2
not ok 2 - group
# Subtest: left out
ok 3 - left out # SKIP
1..3
# pass 1
"""
    found = tap_results(said)
    assert [(one.id, str(one.outcome)) for one in found.tests] == [
        ("a price", "passed"),
        ("group > inner", "failed"),
        ("group > later", "xfailed"),
        ("left out", "skipped"),
    ]
    assert tap_results(said.removeprefix("TAP version 13\n")) is None


def test_examples_are_read_as_doctest_tells_them(tmp_path):
    """Of the Python that runs this: each tried one with `-v`, else those that failed."""
    text = ">>> 1 + 1\n2\n>>> for n in (1, 2):\n...     print(n)\n1\n3\n>>> 1 / 0\n>>> 1 + 1\n2\n"
    (tmp_path / "a.md").write_text(text)

    def told(*words):
        call = (sys.executable, "-m", "doctest", *words, "a.md")
        ran = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
        return {one.id: one.outcome.value for one in parse_results(ran.stdout).tests}

    bad = {"doctest > for n in (1, 2): print(n)": "failed", "doctest > 1 / 0": "failed"}
    assert told("-v") == {"doctest > 1 + 1": "passed", **bad}
    assert told() == bad


BLANKS = " " * 50_000
HOSTILE = {
    "jest": f"\u25cf sums \u203a adds{BLANKS}x",
    "vitest": f"FAIL a.test.ts > adds{BLANKS}x",
    "TAP": f"not ok 1 - adds{BLANKS}x",
    "nested": '{"a":' * 5000 + '"Test"',
    "very many": "TAP version 13\n" + "".join(f"ok {n} - test {n}\n" for n in range(8000)),
}


@pytest.mark.parametrize("output", HOSTILE.values(), ids=HOSTILE)
def test_whatever_a_tool_prints_is_read_in_its_own_time(output):
    began = time.thread_time()
    parse_results(output)
    tap_results(output)
    assert time.thread_time() - began < 4
