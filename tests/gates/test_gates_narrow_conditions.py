"""What was done always, and only for sizes of the tests since, is asked about: by running."""

import pytest
from coverage_bench import Yard
from test_gates_mutation_python import COLLECTED, UNITTEST, proven

from runner.gates import planned_behaviour
from runner.gates.mutation import run_mutants, survivors
from runner.gates.mutation.narrow_conditions import narrow_conditions
from runner.model import Severity


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    monkeypatch.setattr(survivors, "_LEAST_SECONDS", 120.0)
    monkeypatch.setattr(run_mutants, "_LEAST_PATIENCE", 8.0)


BEFORE = """def touch(cache, key):
    value = cache.get(key)
    if value is not None:
        cache.update({key: cache.pop(key)})
    return value
"""
AT = "        cache.update({key: cache.pop(key)})\n"


def behind(condition):
    return BEFORE.replace(AT, f"        if {condition}:\n    {AT}")


TESTS = """from shop import touch


def test_touch():
    cache = {"a": 1, "b": 2, "c": 3}
    assert touch(cache, "a") == 1
    assert list(cache) == ["b", "c", "a"]
    assert touch(cache, "x") is None
"""
LARGE = TESTS + (
    "    cache = dict.fromkeys(range(9), 1)\n    assert touch(cache, 0)\n"
    "    assert next(iter(cache)) == 0\n"
)


@pytest.mark.parametrize(
    ("code", "tests", "count"),
    [
        (behind("len(cache) in range(1, 4)"), TESTS, 1),
        (behind("len(cache) < 4"), TESTS, 1),
        (behind("len(cache) in (1, 2, 3)"), TESTS, 1),
        (behind("1 <= len(cache) <= 3"), TESTS, 1),
        (BEFORE.replace("is not None", "is not None and len(cache) <= 3"), TESTS, 1),
        (behind("len(cache) < 4"), LARGE, 0),
        (behind("len(cache) > 1"), TESTS, 0),
        (behind("len(cache) != 9"), TESTS, 0),
        (behind("key in cache"), TESTS, 0),
        (BEFORE, TESTS, 0),
    ],
)
def test_a_size_that_no_test_goes_beyond_is_asked_about(tmp_path, code, tests, count):
    yard = Yard(tmp_path)
    yard.write("shop.py", code, before=BEFORE).write("test_shop.py", tests + COLLECTED)
    bench = proven(yard, f"{UNITTEST} test_shop")
    (check,) = planned_behaviour.checks(bench.task, bench.settings)
    found = planned_behaviour.prove(check, bench).findings
    assert [one.severity for one in found if "is new and holds" in one.message] == [
        Severity.QUESTION
    ] * count


def codes(path, after, before):
    return [one.code for one in narrow_conditions(path, after.encode(), before.encode())]


SCRIPT = "function touch(list, n) {{\n  {0}list.push(n);{1}\n  return list;\n}}\n"
GO = "package a\n\nfunc Touch(l *List, n int) {{\n\t{0}\n\t\tl.Push(n)\n\t{1}\n}}\n"


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ("", "if (list.length < 4) ", ["list.length < 4"]),
        ("", "if (n && list.length <= 3) ", ["list.length <= 3"]),
        ("", "if ([1, 2, 3].includes(n)) ", ["[1, 2, 3].includes(n)"]),
        ("", "if (list.length > 4) ", []),
        ("if (list.length < 4) ", "if (n && list.length < 4) ", []),
        ("", "if (n === 0) ", []),
    ],
)
def test_conditions_of_scripts(before, after, wanted):
    old, new = (SCRIPT.format(one, "") for one in (before, after))
    assert codes("a.js", new, old) == wanted
    block = SCRIPT.format(after and after + "{\n    ", "\n  }" if after else "")
    assert codes("a.ts", block, old) == wanted


@pytest.mark.parametrize(
    ("head", "wanted"),
    [
        ("if len(l.Rows) < 4 {", ["len(l.Rows) < 4"]),
        ("if k := n; k == 3 && n > 0 {", ["k == 3"]),
        ("if n > 0 {", []),
    ],
)
def test_conditions_of_go(head, wanted):
    assert codes("a.go", GO.format(head, "}"), GO.format("", "")) == wanted


@pytest.mark.parametrize("body", ["return value", "raise KeyError(key)", "return None"])
def test_a_way_out_that_stands_elsewhere_too_is_no_work(body):
    after = BEFORE.replace("    if value", f"    if len(cache) < 2:\n        {body}\n    if value")
    assert codes("a.py", after, BEFORE.replace("return value", f"{body}\n    return value")) == []


def test_a_new_function_has_done_nothing_before():
    assert codes("a.py", behind("len(cache) < 4").replace("touch", "take"), BEFORE) == []
