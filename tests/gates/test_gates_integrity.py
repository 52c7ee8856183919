"""Deleted tests, hooks that change how tests end, and new tests that assert nothing."""

from textwrap import dedent

import pytest
from gates_bench import a_bench, a_task, changes_between, own_check
from msgspec.structs import replace

from runner.gates import integrity
from runner.gates.integrity import findings
from runner.gates.test_paths import find_tests
from runner.model import Level, Severity, TestContract

PYTHON = """
import pytest
from shop import price, total

class TestTotal:
    def test_sum(self):
        assert total([1, 2]) == 3

@pytest.mark.parametrize("n", [1, 2, 3])
def test_price(n):
    assert price(n) == n * 2

try:
    import numpy
except ImportError:
    pass
else:
    def test_refuses():
        with pytest.raises(ValueError):
            price(-1)
"""
SCRIPT = """
import { it, describe, expect } from 'vitest'
describe('sums', () => {
  it('adds', () => { expect(add(1, 2)).toBe(3) }) // it('x')
  it.each([[1, 2], [3, 4]])('twice %s', (a, b) => { expect(twice(a)).toBe(b) })
})
test(`plain`, async () => { assert.equal(await f(), 1) })
"""
GO = """package shop

import "testing"

func TestPrice(t *testing.T) { if Price(1) != 2 { t.Errorf("no") } }
func Testing(t *testing.T) {}
func ExampleTotal() {
	fmt.Println(Total())
	// Output: 3
}
"""
RUST = """
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() { assert_eq!(add(1, 2), 3); }

    #[tokio::test]
    #[should_panic(expected = "no")]
    async fn refuses() { parse("x"); }

    fn helper() {}
}
"""
FILES = {
    "tests/test_shop.py": (PYTHON, ["TestTotal.test_sum", "test_price", "test_refuses"]),
    "shop.test.ts": (SCRIPT, ["sums > adds", "sums > twice %s", "plain"]),
    "shop_test.go": (GO, ["TestPrice", "ExampleTotal"]),
    "tests/shop.rs": (RUST, ["adds", "refuses"]),
}


def said(before, after, *, outputs=("shop.py",), **fields):
    return findings(
        changes_between(before, after),
        lambda path: before[path].encode() if path in before else None,
        a_task(outputs=outputs),
        reviewed=fields.pop("reviewed", False),
        **fields,
    )


def refused(path, old, new):
    before = {} if old is None else {path: old}
    return [one.message for one in said(before, {path: new}) if one.refuses]


@pytest.mark.parametrize("path", FILES)
def test_the_tests_of_each_language_are_named_and_assert(path):
    text, names = FILES[path]
    found = find_tests(path, text.encode())
    assert [(one.name, one.asserts) for one in found] == [(name, True) for name in names]


@pytest.mark.parametrize("path", FILES)
def test_a_deleted_file_of_tests_names_each_of_them(path):
    text, names = FILES[path]
    gone = [one.message for one in said({path: text}, {}) if one.refuses]
    assert [one.partition(" was removed")[0] for one in gone] == [
        f"the test {name}" for name in names
    ]


def test_a_deleted_script_of_tests_is_a_question_by_its_file():
    (found,) = said({"tests/check.sh": "exit 1\n"}, {}, by_person=False)
    assert (found.severity, found.message) == (Severity.QUESTION, "tests/check.sh was deleted")


def test_a_test_may_move_to_another_file_that_is_found():
    at = PYTHON.index("@pytest")
    before = {"tests/test_shop.py": PYTHON}
    kept, moved = PYTHON[:at], "import pytest\nfrom shop import price\n" + PYTHON[at:]
    assert said(before, {"tests/test_shop.py": kept, "tests/test_prices.py": moved}) == ()
    assert said(before, {"shop.py": PYTHON})


@pytest.mark.parametrize(
    ("outputs", "reviewed", "refuses", "hint"),
    [
        (("tests/test_shop.py",), True, False, "the task lists tests/test_shop.py exactly"),
        (
            ("tests/test_shop.py",),
            False,
            True,
            "review the change yourself: runner --review prompt",
        ),
        (("tests/**",), True, True, "list tests/test_shop.py itself in the task's Output files"),
    ],
)
def test_a_task_that_lists_a_file_may_delete_tests_where_a_person_reviews(
    outputs, reviewed, refuses, hint
):
    found = said({"tests/test_shop.py": PYTHON}, {}, outputs=outputs, reviewed=reviewed)
    assert {one.refuses for one in found} == {refuses}
    assert all(hint in one.hint for one in found)


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("conftest.py", "", "collect_ignore = ['test_a.py']\n"),
        (
            "conftest.py",
            "",
            "def pytest_collection_modifyitems(items):\n    items[:] = items[:1]\n",
        ),
        ("conftest.py", "", "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n"),
        ("conftest.py", None, "import os\ndef pytest_unconfigure():\n    os._exit(0)\n"),
        (
            "tests/conftest.py",
            "",
            "def pytest_runtest_makereport(item, call):\n    report.outcome = 'passed'\n",
        ),
        ("tests/test_a.py", "", "import sys\nsys.exit(0)\n"),
        ("conftest.py", "", "import unittest\nunittest.TestCase.assertEqual = lambda *_: None\n"),
        ("tests/test_a.py", "", "import pytest\npytest.raises = quiet\n"),
        ("conftest.py", "", "import unittest\nsetattr(unittest.TestCase, name, quiet)\n"),
    ],
)
def test_a_hook_that_changes_how_tests_end_is_refused(path, old, new):
    assert refused(path, old, new)
    assert refused(path, new, new + "\n") == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("conftest.py", "import pytest\n@pytest.fixture\ndef shop():\n    return 1\n"),
        ("tests/test_a.py", "from shop import app\napp.testing = True\napp.name = NAME\n"),
        ("conftest.py", "import shop\nshop.prices.update(a=3)\nos._seen = 1\n"),
        ("conftest.py", "import json\ndef dump(x):\n    return x\njson.dump = dump\n"),
        (
            "conftest.py",
            "def pytest_configure(config):\n    config.addinivalue_line('markers', 'slow')\n",
        ),
        (
            "tests/test_a.py",
            "import os\ndef test_a():\n    if not os.fork(): os._exit(0)\n    assert f()\n",
        ),
    ],
)
def test_ordinary_test_code_is_fine(path, text):
    assert refused(path, "", text) == []


@pytest.mark.parametrize(
    ("path", "text", "asserts"),
    [
        ("tests/test_a.py", "def test_a():\n    f()\n", False),
        ("tests/test_a.py", "def test_a():\n    check_it(f())\n", True),
        ("tests/test_a.py", "def see(x):\n    assert x\ndef test_a():\n    see(f())\n", True),
        ("tests/test_a.py", "def test_a(mock):\n    mock.assert_called_once()\n", True),
        ("a.test.js", "test('a', (t) => { t.is(f(1), 2); });", True),
        ("a.test.js", "test('a', (done) => { f(1); done(); });", False),
        ("a_test.go", "package a\nfunc TestA(t *testing.T) { assert.Equal(t, 1, F()) }\n", True),
        ("a_test.go", "package a\nfunc TestA(t *testing.T) { F() }\n", False),
        ("tests/a.rs", "#[test]\nfn a() { f(); }\n", False),
        ("tests/a.rs", "#[test]\nfn a() -> Result<(), E> { f()?; Ok(()) }\n", True),
    ],
)
def test_a_new_test_that_asserts_nothing_is_a_warning(path, text, asserts):
    found = said({}, {path: dedent(text)})
    assert [one.severity for one in found] == [Severity.WARNING] * (not asserts)


def test_what_cannot_be_parsed_is_left_to_the_compile_step():
    assert said({"tests/test_a.py": PYTHON}, {"tests/test_a.py": "def ("})
    assert find_tests("tests/test_a.py", b"def (") is None


CODE = "def price(n):\n    return n * 2\n\n\ndef tax(n):\n    return n // 5\n"
TESTS = (
    "import shop\n\n\ndef test_price():\n    assert shop.price(2) == 4\n\n\n"
    "def test_tax():\n    assert shop.tax(10) == 2\n    assert shop.tax(0) == 0\n"
)
WITHOUT_TAX = {
    "shop.py": CODE.partition("\n\n\ndef tax")[0] + "\n",
    "test_shop.py": TESTS.partition("\n\n\ndef test_tax")[0] + "\n",
}
GONE = "the test test_tax was removed (formerly line 8)"


def questions_of(folder, after, **fields):
    before = {"shop.py": CODE, "test_shop.py": TESTS}
    task = a_task(
        test_contracts=(TestContract("TC-001", Level.UNIT, "pytest -q test_shop.py"),), **fields
    )
    context = replace(
        a_bench(folder),
        task=task,
        changes=changes_between(before, after),
        before=lambda path: before[path].encode() if path in before else None,
    )
    check = own_check("integrity", context)
    return [(one.severity.value, one.message) for one in integrity.prove(check, context).findings]


def test_what_goes_while_its_code_stays_is_asked_whatever_the_plan_names(tmp_path):
    after = WITHOUT_TAX | {"shop.py": CODE}
    assert questions_of(tmp_path, after, prose="Remove `tax`, with its tests.") == [
        ("question", GONE)
    ]


@pytest.mark.parametrize("named", ["test_tax", "test_shop.py", "test_*.py"])
def test_what_changes_tests_names_is_told(tmp_path, named):
    gone = questions_of(tmp_path, WITHOUT_TAX | {"shop.py": CODE}, changes_tests=(named,))
    assert gone == [("warning", f"{GONE}: required by the plan")]


def test_another_name_in_changes_tests_excuses_nothing(tmp_path):
    after = WITHOUT_TAX | {"shop.py": CODE}
    assert questions_of(tmp_path, after, changes_tests=("test_price",)) == [("question", GONE)]
