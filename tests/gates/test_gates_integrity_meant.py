"""A test that is gone or says less asks nobody where the plan itself says that it is meant."""

import pytest
from gates_bench import a_bench, a_task, own_check
from gates_trees import changes_between
from msgspec.structs import replace

from runner.gates import integrity
from runner.model import Level, TestContract

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


def said(folder, after, **fields):
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
    assert said(tmp_path, after, prose="Remove `tax`, with its tests.") == [("question", GONE)]


@pytest.mark.parametrize("named", ["test_tax", "test_shop.py", "test_*.py"])
def test_what_changes_tests_names_is_told(tmp_path, named):
    gone = said(tmp_path, WITHOUT_TAX | {"shop.py": CODE}, changes_tests=(named,))
    assert gone == [("warning", f"{GONE}: required by the plan")]


def test_another_name_in_changes_tests_excuses_nothing(tmp_path):
    after = WITHOUT_TAX | {"shop.py": CODE}
    assert said(tmp_path, after, changes_tests=("test_price",)) == [("question", GONE)]
