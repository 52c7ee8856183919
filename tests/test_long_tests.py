"""The long tests are there, and each nightly one has a short sibling."""

import re
from functools import cache

from long_tests import LONG, OTHERS, TABLE, estimate, find_nightly, read_rows, write_table

ROOT = TABLE.parents[1]
DEFINITION = re.compile(r"^(?:class (\w+)|( {4})?def (test_\w+))", re.MULTILINE)


@cache
def functions(file):
    """Names of test functions and methods, as pytest writes them."""
    found, before = set(), ""
    for name, indent, function in DEFINITION.findall(file.read_text(encoding="utf-8")):
        before = f"{name}::" if name else before
        found.add((before if indent else "") + function)
    return found


def test_every_long_test_is_there():
    gone = [
        name
        for name in sorted(read_rows().keys() - {OTHERS})
        for file, _, test in [name.partition("::")]
        if not (ROOT / file).is_file() or test not in functions(ROOT / file)
    ]
    assert gone == []


def test_the_table_is_sorted_and_holds_nothing_short():
    first, *names = read_rows()
    assert first == OTHERS
    assert len(names) > 100
    assert names == sorted(names)
    assert all(read_rows()[name][0] >= LONG for name in names)


def test_at_most_fifty_tests_are_nightly_and_each_has_a_sibling_that_always_runs():
    nightly = find_nightly()
    marks = sum(
        len(re.findall(r"^@pytest\.mark\.nightly", file.read_text("utf-8"), re.MULTILINE))
        for file in (ROOT / "tests").rglob("test_*.py")
    )
    assert len(nightly) == marks <= 50
    for sibling in nightly.values():
        file, _, test = sibling.partition("::")
        assert (ROOT / file).is_file(), sibling
        assert test in functions(ROOT / file), sibling
    assert not set(nightly) & set(nightly.values())


def test_the_estimate_counts_each_case_and_no_nightly_test(tmp_path):
    table = tmp_path / "table.tsv"
    table.write_text("60.0\t1\tothers\n30.0\t4\tt.py::test_a\n900.0\t1\tt.py::test_b\n")
    assert estimate({"t.py::test_b": "t.py::test_a"}, 2, table).startswith("about 2 minutes on 2")


def test_a_test_is_as_long_as_the_mean_of_its_cases(tmp_path):
    seconds = tmp_path / "seconds"
    seconds.mkdir()
    (seconds / "1").write_text("0.9\tt.py::test_a[x]\n2.0\tt.py::test_b\n")
    (seconds / "2").write_text("0.2\tt.py::test_a[y]\n0.1\tt.py::test_c\n")
    summary = write_table(seconds, tmp_path / "table.tsv")
    rows = "0.1\t1\tothers\n0.6\t2\tt.py::test_a\n2.0\t1\tt.py::test_b\n"
    assert (tmp_path / "table.tsv").read_text() == rows
    assert summary == "2 of 3 tests are long: 3 of 3 s of a processor"
