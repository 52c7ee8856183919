"""The long tests are there, their parts are the whole, and what is not long always runs."""

import ast
import os
import subprocess
import sys

import pytest
from long_tests import LONG, PART, TABLE, choose, read_long, read_part, write_table

ROOT = TABLE.parents[1]
NAMES = [f"tests/test_a.py::test_{number}[case]" for number in range(40)]
KNOWN = {name.partition("[")[0] for name in NAMES[:30]}


def functions(file):
    """Names of test functions and methods, as pytest writes them."""
    found = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        before = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        found |= {before + one.name for one in inner if isinstance(one, ast.FunctionDef)}
    return found


def test_every_long_test_is_there():
    gone = [
        name
        for name in sorted(read_long())
        for file, _, test in [name.partition("::")]
        if not (ROOT / file).is_file() or test not in functions(ROOT / file)
    ]
    assert gone == []


def test_the_table_is_sorted_and_holds_nothing_short():
    rows = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()]
    assert len(rows) > 100
    assert [row[1] for row in rows] == sorted({row[1] for row in rows})
    assert min(float(row[0]) for row in rows) >= LONG


@pytest.mark.parametrize("parts", [1, 2, 4, 7])
def test_each_long_test_is_in_one_part_and_all_others_in_each(parts):
    chosen = [choose(NAMES, part, parts, KNOWN) for part in range(1, parts + 1)]
    times = [sum(column) for column in zip(*chosen, strict=True)]
    assert times == [1] * 30 + [parts] * 10


@pytest.mark.parametrize("text", ["0/2", "3/2", "2", "a/b", "1/0", ""])
def test_what_is_no_part_is_refused(text):
    with pytest.raises(ValueError, match="one of so many"):
        read_part(text)


def test_a_test_is_as_long_as_the_mean_of_its_cases(tmp_path):
    seconds = tmp_path / "seconds"
    seconds.mkdir()
    (seconds / "1").write_text("0.9\tt.py::test_a[x]\n2.0\tt.py::test_b\n")
    (seconds / "2").write_text("0.2\tt.py::test_a[y]\n0.1\tt.py::test_c\n")
    said = write_table(seconds, tmp_path / "table.tsv")
    assert (tmp_path / "table.tsv").read_text() == "0.6\tt.py::test_a\n2.0\tt.py::test_b\n"
    assert said == "2 of 3 tests are long: 3 of 3 s of a processor"


def run_pytest(*words, **environ):
    """What pytest says of this project's own tests."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", *words],
        cwd=ROOT,
        env={**{k: v for k, v in os.environ.items() if k != PART}, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_pytest_runs_all_unless_it_is_told_a_part():
    file, _, test = min(read_long()).partition("::")
    names = [f"{file}::{test}"]
    whole = run_pytest(*names).stdout
    assert f"{file}::{test}" in whole
    parts = [run_pytest(*names, TESTS_PART=f"{part}/2").stdout for part in (1, 2)]
    cases = [{line for line in one.splitlines() if "::" in line} for one in (whole, *parts)]
    assert cases[1] | cases[2] == cases[0]
    assert not cases[1] & cases[2]
    assert "one of so many" in run_pytest(*names, TESTS_PART="3/2").stderr
